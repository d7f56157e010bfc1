"""Study files: read, checked against the schema, resolved to one profile."""

import itertools
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collect.counts import show_count
from collect.errors import InputError
from collect.printable import as_printed, printable
from collect.project import find_project
from collect.run.arrival import LEAD_S, RATE, SPACINGS, Arrival, geometric_rates, is_rate
from collect.run.cell import Cell, Level, level_text
from collect.run.setting import (
    JDK,
    LEAST_HEAP_MB,
    LEAST_JDK,
    OPTIONS,
    Setting,
    flat_node,
    is_setting,
    problem_of,
    problem_of_jdk,
)
from collect.run.stop import StopRule
from collect.run.warmup import Warmup
from collect.strict_yaml import parse_yaml

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

STUDIES = Path("playbooks/studies")
KIT_STUDIES = Path(__file__).parents[1] / "studies"
"""The studies of rackbench: a link to playbooks/studies in a checkout, copies in a wheel."""
LEAST_OK = 0.9
"""The share of a trial's measured calls that must be ok, unless the study says otherwise."""
OF_JVMS = ("client_heap_mb", "collector", JDK, "jvm_options")
"""The constants that set JVMs; without one that names it, a factor of such a name sets none."""
NAMING = frozenset({*OF_JVMS, "persistence"})
"""The constants whose value may be the name of a factor."""
CELL_COLUMNS = (
    *("trials", "calls", "mean_ms", "ci95_low_ms", "ci95_high_ms", "p50_ms", "p99_ms"),
    *("request_bytes", "response_bytes", "outcome", "failed_trials"),
    *("calls_per_s", "calls_per_s_low", "calls_per_s_high", "limited_by"),
    *("typical_ms", "typical_low_ms", "typical_high_ms", "arithmetic_mean_ms"),
)
"""The columns of cells.csv after `study` and the factors."""
OPEN_COLUMNS = (
    *("offered_per_s", "response_mean_ms", "response_p50_ms", "response_p99_ms", "waited_share"),
    *("response_low_ms", "response_high_ms"),
)
"""Those behind them in an open loop."""
_MOST = 2**31 - 1
"""The most that the runner takes as a number of calls, of threads or of seconds."""
RESERVE_S = 5
"""This much of a trial's timeout_s at most is kept to write its log."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
}


@dataclass(frozen=True)
class Settings:
    """How the trials of one cell are run; `timeout_s` in seconds, `calls` and `warmup` a thread.

    `needs` are the services that must answer, on the broker or on the first `servers` workers.
    Without an `arrival` the loop is closed.
    """

    client: str
    constants: Mapping[str, Setting]
    node: Mapping[str, Setting]
    calls: int
    warmup: int | Warmup
    threads: int
    timeout_s: int
    needs: Sequence[str]
    servers: int
    arrival: Arrival | None = None


@dataclass(frozen=True)
class Profile:
    """A study in one of its profiles, every level checked against its domain.

    `left_out` are the levels of each factor that a lab with `fitted_to` workers has no room for;
    `fitted_to` is 0 when nothing was left out. `restart` is `block` when each block has a start of
    the services of its own, else `none`. `stop` is the rule by which it may end before its last
    block, None without one. `profile_forks` is how many further trials each cell has with a
    profiler. A trial fails whose measured calls are ok to a smaller share than `least_ok`.
    `arrival` is as in the study file, its rate a number or the name of a factor.
    """

    study: str
    name: str
    seed: int
    replicates: int
    grids: tuple[Mapping[str, tuple[Level, ...]], ...]
    clients: str | Mapping[str, str]
    constants: Mapping[str, Setting]
    node: Mapping[str, Setting]
    calls: int
    warmup: int | Warmup
    threads: int | str
    timeout_s: int
    where: tuple[Mapping[str, Any], ...]
    needs: Sequence[str] | Mapping[str, Any]
    servers: int | str
    restart: str = "block"
    stop: StopRule | None = None
    left_out: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)
    fitted_to: int = 0
    profile_forks: int = 0
    least_ok: float = LEAST_OK
    arrival: Mapping[str, Any] | None = None

    @property
    def blocks(self) -> int:
        """How many blocks count: the replicates, or the last analysis of the rule that stops."""
        return self.stop.most if self.stop else self.replicates

    def cells(self) -> list[Cell]:
        """Every combination of levels of every grid once, in the order of the file."""
        combinations = (
            Cell(zip(grid, levels, strict=True))
            for grid in self.grids
            for levels in itertools.product(*grid.values())
        )
        return list(dict.fromkeys(combinations))

    def _arrival(self, cell: Cell) -> Arrival | None:
        if self.arrival is None:
            return None
        rate = self.arrival["rate"]
        return Arrival(
            rate=cell[rate] if isinstance(rate, str) else rate,  # type: ignore[arg-type]
            spacing=self.arrival.get("spacing", SPACINGS[0]),
            lead_s=self.arrival.get("lead_s", LEAD_S),
        )

    def settings(self, cell: Cell) -> Settings:
        """Resolve what a cell runs with; of the `where` entries that match it the last wins."""
        plain: dict[str, Any] = {
            "calls": self.calls,
            "warmup": self.warmup,
            "timeout_s": self.timeout_s,
        }
        constants = dict(self.constants)
        for entry in self.where:
            if all(cell[factor] in _listed(levels) for factor, levels in entry["cells"].items()):
                plain.update({name: entry[name] for name in plain if name in entry})
                constants.update(entry.get("constants", {}))
        for name in NAMING & constants.keys():
            value = constants[name]
            if isinstance(value, str) and value in cell:
                constants[name] = _constant_of(name, cell[value])
        named = {**constants, **cell}
        node = {
            name: named.get(value, value) if isinstance(value, str) else value
            for name, value in self.node.items()
        }
        if cell.get("persistence") == "synced":  # clients read the factor; the broker has to sync
            node["persistence"] = "synced"
        return Settings(
            client=_of_level(self.clients, cell),
            constants=constants,
            node=node,
            threads=_number(self.threads, cell),
            needs=list(_of_level(self.needs, cell)),
            servers=_number(self.servers, cell),
            arrival=self._arrival(cell),
            **plain,
        )


@dataclass(frozen=True)
class Study:
    """A study file that satisfies the schema; `label` is how messages name it.

    One that a run recorded (`is_recorded`) passed the checks of the version that took it.
    """

    label: str
    content: Mapping[str, Any]
    is_recorded: bool = False

    @property
    def factors(self) -> Mapping[str, tuple[Level, ...]]:
        """Each factor with all its levels outside profiles, in the order of the file."""
        levels: dict[str, dict[Level, None]] = {}
        for grid in _grids(self.content["factors"]):
            for factor, values in grid.items():
                levels.setdefault(factor, {}).update(dict.fromkeys(values))
        return {factor: tuple(values) for factor, values in levels.items()}

    def profile(self, name: str, workers: int, *, fit: bool = False) -> Profile:
        """Resolve the profile `name` for a lab with `workers` workers.

        With `fit`, levels that need more workers are left out. Raises InputError when the profile
        is unknown, a level lies outside its domain, a name refers to no factor, or nothing fits.
        """
        profiles = self.content["profiles"]
        if name not in profiles:
            raise InputError(
                f"{self.label}: there is no profile {name!r}; choose one of {', '.join(profiles)}"
            )
        return _Resolver(self, name, workers, fit).resolve()


def find_study(name: str, folders: Sequence[Path] = ()) -> Path:
    """Return the path of a study: `name` is a file, or the name of one in `folders`.

    Without `folders` it is one in playbooks/studies; in a project directory, its own studies come
    first.
    """
    path = Path(name)
    if path.suffix in {".yml", ".yaml"}:
        return path
    # A sweep, which names its folders, takes no path.
    by_path = "" if folders else ", or give the path of a study file"
    folders = folders or study_folders()
    for folder in folders:
        if (folder / f"{name}.yml").is_file():
            return folder / f"{name}.yml"
    # In a checkout, two of them are the same directory.
    searched = {one.resolve(): one for one in reversed(folders) if one.is_dir()}
    known = {
        file.relative_to(folder).with_suffix("").as_posix()
        for folder in searched.values()
        for file in folder.rglob("*.yml")
    }
    shown = sorted(one for one in known if not one.startswith("archived/"))
    raise InputError(
        f"there is no study {name!r} in {' or '.join(map(str, reversed(searched.values())))}; "
        f"choose one of {', '.join(shown) or '(none)'}{by_path}"
    )


def study_folders() -> list[Path]:
    """Return where studies are found by their names, the first one first."""
    project = find_project()
    return [*([project.studies] if project else []), STUDIES, KIT_STUDIES]


def load_study(path: Path) -> Study:
    """Read and check a study file; raises InputError that names the file and the exact place."""
    label = f"{path.parent.name}/{path.name}" if path.parent.name == "studies" else str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{label}: cannot be read ({error}); check its path and its encoding (UTF-8)"
        ) from error
    return parse_study(text, label)


def parse_study(text: str, label: str, *, is_recorded: bool = False) -> Study:
    """Check the text of a study file; raises InputError that names `label` and the exact place.

    One that a run recorded (`is_recorded`) is read as the version did that took it.
    """
    try:
        content = parse_yaml(text, is_recorded=is_recorded)
        errors = sorted(_validator().iter_errors(content), key=lambda e: list(map(str, e.path)))
    except ValueError as error:
        raise InputError(f"{label}: {error}") from error
    if errors:
        raise InputError("\n".join(f"{label}: {_explain(error)}" for error in errors))
    return Study(label, content, is_recorded)


def two_alike(levels: Iterable[Level]) -> tuple[Level, Level] | None:
    """Return two different levels that are equal in a cell or as text; None if there are none.

    Examples: 1 and true, 1 and 1.0, 1 and "1".
    """
    seen: dict[Level, Level] = {}
    for _, level in dict.fromkeys((type(level), level) for level in levels):
        for key in (level, level_text(level)):
            other = seen.setdefault(key, level)
            if type(other) is not type(level):
                return other, level
    return None


def two_alike_in_print(levels: Iterable[Level]) -> tuple[Level, Level] | None:
    """Return two texts that differ only in what nobody sees; None if there are none.

    Examples: "a" and "a " (a blank at the end), "é" in one character and in two.
    """
    seen: dict[str, Level] = {}
    for level in levels:
        if isinstance(level, str):
            other = seen.setdefault(as_printed(level), level)
            if other != level:
                return other, level
    return None


@cache
def _validator() -> "Draft202012Validator":
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - slow, plans need none

    schema = (
        resources.files("collect.run").joinpath("study.schema.json").read_text(encoding="utf-8")
    )
    # JSON has no whole numbers, so that 5.0 would pass for one; a plan would not.
    checker = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    extend: Callable[..., type[Draft202012Validator]] = validators.extend
    return extend(Draft202012Validator, type_checker=checker)(json.loads(schema))


def _explain(error: "ValidationError") -> str:
    where = _path(error.absolute_path)
    if error.validator in {"required", "additionalProperties"}:
        message = error.message.removesuffix(" is a required property")
        if error.validator == "required":
            return f"{message.strip(chr(39))} is missing{f' in {where}' if where else ''}; add it"
        said = printable(error.message)
        return f"{where + ': ' if where else ''}{said}; check the spelling or remove it"
    if error.validator == "anyOf" and error.context:
        reasons = " or ".join(dict.fromkeys(context.message for context in error.context))
        return f"{where}: {printable(reasons)}"
    return f"{where or 'the file'}: {printable(error.message)}"


def _path(parts: Sequence[str | int]) -> str:
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def _listed(levels: Level | Sequence[Level]) -> Sequence[Level]:
    return levels if isinstance(levels, list) else [levels]  # type: ignore[list-item]


def _of_level(choice: Any, cell: Cell) -> Any:
    """Return a choice, or what a choice by level has for the cell's level of its factor."""
    return choice[level_text(cell[choice["factor"]])] if isinstance(choice, Mapping) else choice


def _by_text(choice: Any) -> Any:
    """Return a choice by level with its keys as text: YAML reads 1 and true as other types."""
    if not isinstance(choice, Mapping):
        return choice
    return {level_text(level): chosen for level, chosen in choice.items()}


def _constant_of(name: str, level: Level) -> Setting:
    """Return a level as the value of a constant: options of a JVM are a list of words."""
    return level.split() if name == "jvm_options" and isinstance(level, str) else level


def _number(number: int | str, cell: Cell) -> int:
    """Return a number, or the cell's level of the factor that is named in its place."""
    return int(cell[number]) if isinstance(number, str) else number


def _grids(factors: Any) -> list[Mapping[str, list[Level]]]:
    return factors if isinstance(factors, list) else [factors]


@dataclass(frozen=True)
class _Resolver:
    study: Study
    name: str
    workers: int
    fit: bool

    def resolve(self) -> Profile:
        arrival = self._arrival()
        grids = self._with_rates(self._overridden_grids(), arrival)
        self._check_same_factors([grid for _, grid in grids])
        self._check_levels_differ(grids)
        left_out: dict[str, dict[Level, None]] = {}
        for origin, grid in grids:
            for factor, levels in grid.items():
                for index, level in enumerate(levels):
                    where = f"{origin[factor]}.{factor}[{index}]"
                    self._check_domain(factor, level, where)
                    if self._lacks_workers(factor, level):
                        if not self.fit:
                            raise self._too_few(where, level)
                        left_out.setdefault(factor, {})[level] = None
        stated, own = self.study.content["constants"], self._own("constants", {})
        exceptions = [self._with_warmup(*entry) for entry in enumerate(self._value("where", []))]
        placed = [("constants", stated), (f"profiles.{self.name}.constants", own)]
        for index, entry in enumerate(exceptions):
            place = f"{self._place('where')}[{index}].constants"
            placed.append((place, entry.get("constants", {})))
        for place, constants in placed:
            for constant, value in constants.items():
                if constant in NAMING and isinstance(value, str) and value in grids[0][1]:
                    for level in (level for _, grid in grids for level in grid[value]):
                        self._check_domain(constant, level, f"{place}.{constant}")
                    continue
                self._check_domain(constant, value, f"{place}.{constant}")
                if self._lacks_workers(constant, value):
                    raise self._too_few(f"{place}.{constant}", value)
        profile = Profile(
            study=self.study.content["study"],
            name=self.name,
            seed=self.study.content["seed"],
            grids=self._fitting([grid for _, grid in grids], left_out),
            clients=_by_text(self.study.content["clients"]),
            constants={**stated, **own},
            node=flat_node({**self.study.content.get("node", {}), **self._own("node", {})}),
            where=tuple(exceptions),
            threads=self._value("threads", 1),
            needs=_by_text(self.study.content.get("needs", [])),
            servers=self.study.content.get("servers", 1),
            restart=self._value("restart", "block"),
            stop=self._stop(),
            profile_forks=self._value("profile_forks", 0),
            least_ok=self._value("least_ok", LEAST_OK),
            arrival=self._named(arrival),
            left_out={factor: tuple(levels) for factor, levels in left_out.items()},
            fitted_to=self.workers if left_out else 0,
            warmup=self._warmup(self._value("warmup"), self._place("warmup")),
            **{key: self._value(key) for key in ("replicates", "calls", "timeout_s")},
        )
        self._check_names(profile)
        self._check_arrival(profile)
        self._check_constants(profile)
        if not self.study.is_recorded:  # earlier versions took what these refuse
            self._check_choices_differ()
            self._check_counts(profile)
            self._check_exceptions(profile)
            self._check_constants_of_jvms(profile)
            self._check_node(profile)
        self._check_jdk(profile)
        self._check_times(profile)
        return profile

    def _own(self, key: str, default: Any) -> Any:
        return self.study.content["profiles"][self.name].get(key, default)

    def _value(self, key: str, default: Any = None) -> Any:
        return self._own(key, self.study.content.get(key, default))

    def _warmup(self, value: Any, place: str) -> int | Warmup:
        try:
            return Warmup.parse(value) if isinstance(value, Mapping) else int(value)
        except ValueError as error:
            raise self._fail(f"{place} {error}; correct it") from error

    def _arrival(self) -> Mapping[str, Any] | None:
        value = self._value("arrival", "none")
        return None if value == "none" else value

    @staticmethod
    def _named(arrival: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Return an arrival whose rate is a number or the name of a factor."""
        if arrival is None or not isinstance(arrival["rate"], Mapping):
            return arrival
        return {**arrival, "rate": RATE}

    def _with_rates(
        self,
        grids: list[tuple[Mapping[str, str], Mapping[str, list[Level]]]],
        arrival: Mapping[str, Any] | None,
    ) -> list[tuple[Mapping[str, str], Mapping[str, list[Level]]]]:
        """Return the grids with the factor that an arrival with `{from, to, steps}` makes."""
        if arrival is None or not isinstance(arrival["rate"], Mapping):
            return grids
        place = f"{self._place('arrival')}.rate"
        if any(RATE in grid for _, grid in grids):
            raise self._fail(
                f"{place} has from, to and steps, which make the factor {RATE}, but the study has "
                f"that factor already; write `rate: {RATE}`, or remove the factor"
            )
        try:
            levels = geometric_rates(arrival["rate"])
        except ValueError as error:
            raise self._fail(f"{place} {error}") from error
        return [({**o, RATE: place}, {**grid, RATE: levels}) for o, grid in grids]

    def _stop(self) -> StopRule | None:
        value, place = self._value("stop", "none"), self._place("stop")
        if value == "none":
            return None
        try:
            rule = StopRule.parse(value)
        except ValueError as error:
            raise self._fail(f"{place} {error}; correct it") from error
        replicates = self._value("replicates")
        if rule.most > replicates:
            raise self._fail(
                f"{place}.looks ends at {rule.most} blocks, but {self._place('replicates')} is "
                f"{replicates}; raise replicates to {rule.most}, remove that number from looks, or "
                "write stop: none"
            )
        return rule

    def _with_warmup(self, index: int, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        if "warmup" not in entry:
            return entry
        place = f"{self._place('where')}[{index}].warmup"
        return {**entry, "warmup": self._warmup(entry["warmup"], place)}

    def _place(self, key: str) -> str:
        return f"profiles.{self.name}.{key}" if self._own(key, None) is not None else key

    def _fail(self, message: str) -> InputError:
        return InputError(f"{self.study.label}: {message}")

    def _overridden_grids(self) -> list[tuple[Mapping[str, str], Mapping[str, list[Level]]]]:
        """Return each grid with the place in the file of the levels of each factor."""
        listed = isinstance(self.study.content["factors"], list)
        own = self._own("factors", {})
        prefix = f"profiles.{self.name}.factors"
        if isinstance(own, list):
            return [(dict.fromkeys(grid, f"{prefix}[{i}]"), grid) for i, grid in enumerate(own)]
        grids = _grids(self.study.content["factors"])
        unknown = [factor for factor in own if not any(factor in grid for grid in grids)]
        if unknown:
            raise self._fail(
                f"{prefix}.{unknown[0]} is not a factor of this study; "
                f"its factors are {', '.join(self.study.factors)}"
            )
        result: list[tuple[Mapping[str, str], Mapping[str, list[Level]]]] = []
        for index, grid in enumerate(grids):
            base = f"factors[{index}]" if listed else "factors"
            origin = {factor: prefix if factor in own else base for factor in grid}
            result.append((origin, {factor: own.get(factor, grid[factor]) for factor in grid}))
        return result

    def _check_same_factors(self, grids: Sequence[Mapping[str, list[Level]]]) -> None:
        first = list(grids[0])
        for index, grid in enumerate(grids[1:], start=1):
            if list(grid) != first:
                raise self._fail(
                    f"factors[{index}] has the factors {', '.join(grid)}, but factors[0] has "
                    f"{', '.join(first)}; give every grid the same factors in the same order"
                )
        for factor in first:
            if factor in ("study", *CELL_COLUMNS, *OPEN_COLUMNS):
                raise self._fail(
                    f"factors.{factor} has the name of a column of cells.csv; choose another name"
                )

    def _check_levels_differ(
        self, grids: Sequence[tuple[Mapping[str, str], Mapping[str, list[Level]]]]
    ) -> None:
        for factor in grids[0][1]:
            levels = [level for _, grid in grids for level in grid[factor]]
            alike = two_alike(levels) or two_alike_in_print(levels)
            if alike:
                place = f"{grids[0][0][factor]}.{factor}"
                first, second = map(json.dumps, alike)
                raise self._fail(
                    f"{place} has the levels {first} and {second}, which would be one cell or look "
                    "like one; write one level, or rename one of the two"
                )

    def _check_choices_differ(self) -> None:
        """Check that no choice by level has two entries for one level, whose last would win."""
        for key in ("clients", "needs"):
            choice = self.study.content.get(key)
            if isinstance(choice, Mapping) and (alike := two_alike(choice)):
                first, second = map(json.dumps, alike)
                raise self._fail(
                    f"{key} has the levels {first} and {second}, which are one; remove one"
                )

    def _check_domain(self, factor: str, level: Level, where: str) -> None:
        if isinstance(level, float) and not math.isfinite(level):
            raise self._fail(f"{where} is {level}, which is not a number; correct it")
        domain = self.study.content.get("domains", {}).get(factor, {})
        wanted = domain.get("type")
        is_boolean = isinstance(level, bool)
        if wanted and (
            not isinstance(level, _TYPES[wanted]) or is_boolean != (wanted == "boolean")
        ):
            raise self._fail(
                f"{where} is {level!r}, not of type {wanted}; write a level of that type"
            )
        if "of" in domain and not self._is_one_of(level, domain["of"]):
            raise self._fail(
                f"{where} is {level!r}; choose one of {', '.join(map(level_text, domain['of']))}"
            )
        for bound, beyond in (("minimum", "below"), ("maximum", "above")):
            if bound not in domain or is_boolean or isinstance(level, (str, list)):
                continue
            limit = domain[bound]
            if limit == "workers":
                continue
            if level < limit if bound == "minimum" else level > limit:
                raise self._fail(
                    f"{where} is {level}, {beyond} the {bound} of {limit}; correct the level"
                )

    def _is_one_of(self, level: Level, allowed: Sequence[Level]) -> bool:
        """Tell whether a level is among those; 0 and false are two, but once were one."""
        kinds = [other for other in allowed if isinstance(other, bool) == isinstance(level, bool)]
        return level in (allowed if self.study.is_recorded else kinds)

    def _lacks_workers(self, factor: str, level: Level) -> bool:
        """Tell whether a level needs more workers than there are."""
        if isinstance(level, (bool, str, list)):
            return False
        domain = self.study.content.get("domains", {}).get(factor, {})
        is_servers = factor == self.study.content.get("servers")
        most = domain.get("maximum") == "workers" or is_servers
        return (most and level > self.workers) or (
            domain.get("minimum") == "workers" and level < self.workers
        )

    def _too_few(self, where: str, level: Level) -> InputError:
        return self._fail(
            f"{where} is {level}, but the inventory has {self._workers()}; "
            "add workers, lower the level, or skip it with --fit (playbooks: -e fit=true)"
        )

    def _workers(self) -> str:
        return show_count(self.workers, "worker")

    def _fitting(
        self, grids: Sequence[Mapping[str, list[Level]]], left_out: Mapping[str, Iterable[Level]]
    ) -> tuple[Mapping[str, tuple[Level, ...]], ...]:
        """Return the grids without the levels left out, and without grids that are empty then."""
        fitting = [
            {
                f: tuple(lv for lv in levels if lv not in left_out.get(f, ()))
                for f, levels in g.items()
            }
            for g in grids
        ]
        kept = tuple(grid for grid in fitting if all(grid.values()))
        if not kept:
            raise self._fail(
                f"no cell of the profile {self.name} fits the inventory, which has "
                f"{self._workers()}; add workers"
            )
        return kept

    def _check_names(self, profile: Profile) -> None:
        factors = profile.grids[0]
        for key, number in (("threads", profile.threads), ("servers", profile.servers)):
            if isinstance(number, str) and number not in factors:
                raise self._fail(
                    f"{self._place(key)} is {number!r}, which is not a factor; "
                    f"write a number or one of {', '.join(factors)}"
                )
        if isinstance(profile.servers, int) and profile.servers > self.workers:
            raise self._fail(
                f"servers is {profile.servers}, but the inventory has {self._workers()}; "
                "add workers or lower it"
            )
        for place, factor, _ in self._selections(profile):
            if factor not in factors:
                raise self._fail(
                    f"{place} is not a factor of this study; its factors are {', '.join(factors)}"
                )
        self._check_choice(profile, "clients", profile.clients, "client", "CLIENT")
        self._check_choice(profile, "needs", profile.needs, "list", "[SERVICE, ...]")

    def _selections(self, profile: Profile) -> Iterator[tuple[str, str, Sequence[Level]]]:
        """Yield each factor that exceptions select cells by: its place, its name, its levels."""
        for index, entry in enumerate(profile.where):
            for factor, levels in entry["cells"].items():
                yield f"{self._place('where')}[{index}].cells.{factor}", factor, _listed(levels)

    def _check_counts(self, profile: Profile) -> None:
        """Check that a factor `threads` sets threads, and that levels of counts are counts."""
        factors = profile.grids[0]
        if "threads" in factors and not self._sets_threads(profile):
            raise self._fail(
                "factors.threads does not set the threads of a trial; write `threads: threads`, or "
                "rename the factor"
            )
        for key, factor in (("threads", profile.threads), ("servers", profile.servers)):
            for level in (lv for grid in profile.grids for lv in grid.get(str(factor), ())):
                is_boolean = isinstance(level, bool)
                if is_boolean or not isinstance(level, int) or not 1 <= level <= _MOST:
                    raise self._fail(
                        f"factors.{factor} has the level {json.dumps(level)}, but {key} takes "
                        f"whole numbers from 1 to {_MOST}; correct the level"
                    )

    def _check_exceptions(self, profile: Profile) -> None:
        """Check that some profile has each level that an exception names."""
        known = self._levels_of_all(profile)
        for place, factor, listed in self._selections(profile):
            unknown = [level for level in listed if level not in known[factor]]
            if unknown:
                idle = "the entry" if len(unknown) == len(listed) else "it"
                raise self._fail(
                    f"{place} has {json.dumps(unknown[0])}, which is a level of no profile, so "
                    f"{idle} has no effect; correct it"
                )

    @staticmethod
    def _sets_threads(profile: Profile) -> bool:
        """Tell whether each cell has as many threads as its level of the factor `threads`."""
        levels = [level for grid in profile.grids for level in grid["threads"]]
        return profile.threads == "threads" or levels == [profile.threads] * len(levels)

    def _levels_of_all(self, profile: Profile) -> Mapping[str, list[Level]]:
        """Return the levels of each factor in any profile, also those that did not fit."""
        content = self.study.content
        every = [content, *content["profiles"].values()]
        grids = [grid for one in every for grid in _grids(one.get("factors", {}))]
        for arrival in (one.get("arrival") for one in every):
            if isinstance(arrival, Mapping) and isinstance(arrival["rate"], Mapping):
                with suppress(ValueError):  # what is wrong with the rates of another profile
                    grids.append({RATE: geometric_rates(arrival["rate"])})
        known: dict[str, list[Level]] = {}
        for grid in (*grids, *profile.grids):
            for factor, levels in grid.items():
                known.setdefault(factor, []).extend(levels)
        return known

    def _check_constants(self, profile: Profile) -> None:
        """Check that no factor is a constant too."""
        factors = profile.grids[0]
        places = [("constants", profile.constants)]
        places += [
            (f"{self._place('where')}[{index}].constants", entry.get("constants", {}))
            for index, entry in enumerate(profile.where)
        ]
        for place, constants in places:
            for name, value in constants.items():
                if name in factors and value != name:
                    raise self._fail(
                        f"{place}.{name} has the value {json.dumps(value)}, but {name} is a factor "
                        "too, and a trial has one value; remove one of the two"
                    )

    def _check_jdk(self, profile: Profile) -> None:
        """Check that the JDK of each cell is the release of one."""
        for cell in profile.cells():
            constants = profile.settings(cell).constants
            if problem := problem_of_jdk(constants.get(JDK, LEAST_JDK)):
                raise self._fail(f"constants.{JDK} {problem}")

    def _check_constants_of_jvms(self, profile: Profile) -> None:
        """Check what constants of JVMs and of persistence take from a factor."""
        for cell in profile.cells():
            constants = profile.settings(cell).constants
            for name in ("collector", "persistence"):
                if name in constants and (problem := problem_of(name, constants[name], ())):
                    raise self._fail(f"constants.{name} {problem}")
            if not isinstance(options := constants.get("jvm_options", []), list):
                raise self._fail(
                    f"constants.jvm_options is {json.dumps(options)}, which is neither a factor of "
                    "texts nor a list; write a list of options, such as [-Xss1m, -Xint]"
                )
            heap = constants.get("client_heap_mb", LEAST_HEAP_MB)
            if not isinstance(heap, int) or isinstance(heap, bool) or heap < LEAST_HEAP_MB:
                raise self._fail(
                    f"constants.client_heap_mb is {json.dumps(heap)}, which is neither a factor "
                    f"nor a heap; write whole numbers of MiB, at least {LEAST_HEAP_MB}"
                )

    def _check_node(self, profile: Profile) -> None:
        """Check that nodes understand each setting, with the value that each cell gives it.

        And that a factor with the name of a setting sets it: others would bear a wrong name.
        """
        every = [profile.settings(cell) for cell in profile.cells()]
        services = {name for settings in every for name in settings.needs}
        for settings in every:
            for name, value in settings.node.items():
                if problem := problem_of(name, value, services):
                    raise self._fail(f"{self._place('node')}.{name} {problem}")
        for name in sorted(profile.grids[0].keys() - NAMING):
            if is_setting(name, services) and not self._is_set(name, profile):
                line = f"{name}: {{tomcat: {name}}}" if name == OPTIONS else f"{name}: {name}"
                raise self._fail(
                    f"factors.{name} is a node setting, but no node gets its levels; write "
                    f"`{line}` under node, or rename the factor"
                )
        self._check_factors_of_jvms(profile)
        self._check_node_constants(profile, every, services)

    def _check_factors_of_jvms(self, profile: Profile) -> None:
        """Check that the JVM of the client or those of the services get such a factor's levels."""
        every = [profile.constants, *(entry.get("constants", {}) for entry in profile.where)]
        named = [constants.get(name) for constants in every for name in OF_JVMS]
        for name in OF_JVMS:
            if name not in profile.grids[0] or name in named or self._is_set(name, profile):
                continue
            of_services = ", or under node for the services" * (name in ("collector", JDK))
            raise self._fail(
                f"factors.{name} is a setting of JVMs, but no JVM gets its levels; write "
                f"`{name}: {name}` under constants for the client{of_services}, or rename the "
                "factor"
            )

    def _check_node_constants(
        self, profile: Profile, every: Iterable[Settings], services: Collection[str]
    ) -> None:
        """Check that no constant passes for a setting that the nodes do not have."""
        for settings in every:
            for name in sorted(settings.constants.keys() - NAMING):
                is_taken = name in profile.node.values() or (
                    settings.node.get(name) == settings.constants[name]
                )
                if is_setting(name, services) and not is_taken:
                    raise self._fail(
                        f"constants.{name} is a node setting, but no node gets it; write it under "
                        "node"
                    )

    @staticmethod
    def _is_set(factor: str, profile: Profile) -> bool:
        """Tell whether nodes get a factor's levels, or anyway have the value of each."""
        return factor in profile.node.values() or all(
            profile.settings(cell).node.get(factor) == cell[factor] for cell in profile.cells()
        )

    def _check_arrival(self, profile: Profile) -> None:
        """Check that each rate is one, and that there are rates where a capacity is asked for."""
        rate = profile.arrival["rate"] if profile.arrival else None
        factors = profile.grids[0]
        if isinstance(rate, str) and rate not in factors:
            raise self._fail(
                f"{self._place('arrival')}.rate is {rate!r}, which is not a factor; write a number "
                f"of calls a second or one of {', '.join(factors)}"
            )
        if "capacity" in self.study.content and profile.arrival and not isinstance(rate, str):
            raise self._fail(
                f"capacity is read off the levels of a rate, but {self._place('arrival')}.rate is "
                f"{rate}; make it a factor: rate: {{from: 10, to: 1000, steps: 7}}"
            )
        if "capacity" in self.study.content and not profile.arrival:
            raise self._fail(
                f"capacity needs an open loop, but the profile {self.name} has no arrival; add "
                "one, or remove capacity"
            )
        for level in dict.fromkeys(lv for g in profile.grids for lv in g.get(str(rate), ())):
            if not is_rate(level):
                raise self._fail(
                    f"factors.{rate} has the level {level!r}, which is not a rate; write numbers "
                    "of calls a second, above 0"
                )

    def _check_times(self, profile: Profile) -> None:
        """Check that no warm-up alone lasts as long as its trial may, nor do calls at a rate."""
        for cell in profile.cells():
            settings = profile.settings(cell)
            self._check_room(settings, cell)
            least_s = settings.warmup.least_s if isinstance(settings.warmup, Warmup) else None
            if least_s is not None and least_s >= settings.timeout_s:
                levels = ", ".join(map(level_text, cell.levels))
                raise self._fail(
                    f"{self._place('warmup')}.least_s is {least_s:g} for {levels}, but timeout_s "
                    f"ends its trials at {settings.timeout_s} s; lower least_s or raise timeout_s"
                )

    def _check_room(self, settings: Settings, cell: Cell) -> None:
        arrival, calls = settings.arrival, settings.threads * settings.calls
        if arrival is None:
            return
        room = settings.timeout_s - min(RESERVE_S, settings.timeout_s / 5)
        if arrival.seconds(calls) >= room:
            raise self._fail(
                f"{calls} calls at {arrival.rate:g} a second take "
                f"{arrival.seconds(calls):.0f} s for {', '.join(map(level_text, cell.levels))}, "
                f"but timeout_s = {settings.timeout_s} leaves {room:.0f} s for them and the "
                "warm-up; lower calls or raise timeout_s"
            )

    def _check_choice(
        self, profile: Profile, key: str, choice: Any, what: str, example: str
    ) -> None:
        """Check that a choice by level names a factor and has something for each of its levels."""
        if not isinstance(choice, Mapping):
            return
        factors, chosen = profile.grids[0], choice["factor"]
        if chosen not in factors:
            raise self._fail(
                f"{key}.factor is {chosen!r}, which is not a factor of this study; "
                f"its factors are {', '.join(factors)}"
            )
        for level in dict.fromkeys(level for grid in profile.grids for level in grid[chosen]):
            if level_text(level) not in choice:
                raise self._fail(
                    f"{key} has no {what} for {chosen} {level!r}; "
                    f"add the line `{level_text(level)}: {example}`"
                )
