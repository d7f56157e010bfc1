"""The plan of a run: every trial once, in randomised complete blocks."""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Self, get_origin, get_type_hints

from collect.errors import InputError, quoted
from collect.files import write_bytes
from collect.run.arrival import Arrival
from collect.run.cell import Cell, level_text
from collect.run.fields import is_number, is_whole
from collect.run.levels import two_alike
from collect.run.profile import Profile, Settings
from collect.run.setting import Setting, setting_key, setting_of
from collect.run.stop import StopRule
from collect.run.upgrade import FIRST_DRAWING, LEFT_OUT, lift_planned, plans_before
from collect.run.warmup import Warmup, bounds_of
from collect.strict_json import parse_json

SCHEMA = 1
RESTARTS = ("", "none", "block")
_ID = re.compile(r"[a-z0-9][a-z0-9.-]*")
_SLUG_LENGTH = 60
DRAWING = 2
"""How data are drawn in new plans (`CallData.java`)."""
_READ_APART = ("warmup", "stop", "arrival")
_SHOWN = 60


@dataclass(frozen=True)
class PlannedTrial:
    """One line of plan.jsonl: one cell in one block, before it has run.

    `position` counts from 1 over the plan, `timeout_s` is in seconds, `seed` has 63 bits and is the
    same for all trials of a block. `needs` are the services that must answer, on the broker or on
    the first `servers` workers. `calls_in_all` is how many calls all threads make together where an
    imported trial's made not as many each, else 0. `fitted_to` is the number of workers that levels
    were left out for, 0 when none were. `restart` is `block` when the services are restarted
    before each block, `none` when they are not, and empty when that is not known. `stop` is the
    rule by which the run may end before its last block, None without one. `shift` is how many
    places the list of workers is shifted for the block, so that the first `servers` are others; 0
    in a run that does not rotate its workers. `profiled` is true of a trial that runs with a
    profiler and `captured` of one whose packets are kept, each in blocks after all others: they
    never count. `drawing` is how clients draw the data of a call from the seed: 1 where calls send
    the same values shifted by one, 2 where the data of calls are independent. `least_ok` is the
    share of the measured calls that must be ok; 0 where one such call is enough. `arrival` is how
    calls come in an open loop, None in a closed one.
    """

    schema: int
    id: str
    study: str
    profile: str
    block: int
    position: int
    client: str
    factors: Cell
    constants: Mapping[str, Setting]
    node: Mapping[str, Setting]
    calls: int
    warmup: int | Warmup
    threads: int
    timeout_s: int
    seed: int
    needs: Sequence[str] = field(default_factory=list)
    servers: int = 1
    restart: str = ""
    stop: StopRule | None = None
    shift: int = 0
    calls_in_all: int = 0
    fitted_to: int = 0
    profiled: bool = False
    captured: bool = False
    drawing: int = FIRST_DRAWING
    least_ok: float = 0.0
    arrival: Arrival | None = None

    @property
    def counts(self) -> bool:
        """Whether the results rest on the trial."""
        return not (self.profiled or self.captured)

    @property
    def rows(self) -> int:
        """How many calls the trial makes at most, warm-up and measured, over all its threads."""
        return self.calls_in_all or self.warmup_rows[1] + self.measured_rows

    @property
    def measured_rows(self) -> int:
        """How many measured calls the trial makes, over all its threads."""
        return self.calls_in_all or self.threads * self.calls

    @property
    def warmup_rows(self) -> tuple[int, int]:
        """The fewest and the most warm-up calls that the trial makes, over all its threads."""
        least, most = bounds_of(self.warmup)
        return self.threads * least, self.threads * most

    def record(self) -> dict[str, Any]:
        """Return the trial as a JSON object: keys sorted, the factors in the study's order."""
        record = {
            name: dict(sorted(value.items())) if isinstance(value, Mapping) else value
            for name, value in sorted(vars(self).items())
            if name not in LEFT_OUT or value != LEFT_OUT[name]
        }
        if isinstance(self.warmup, Warmup):
            record["warmup"] = self.warmup.record()
        if self.stop:
            record["stop"] = self.stop.record()
        if self.arrival:
            record["arrival"] = self.arrival.record()
        return {**record, "factors": dict(self.factors)}

    def line(self) -> bytes:
        """Return the trial as its line of plan.jsonl."""
        return _line(self.record())

    @classmethod
    def parse(cls, line: bytes) -> Self:
        """Read one line; raises ValueError that says what is wrong with it."""
        stated = parse_json(line)
        if not isinstance(stated, dict) or stated.get("schema") != SCHEMA:
            raise ValueError(f"is not of schema {SCHEMA}")
        record, kinds = lift_planned(stated), _kinds()
        absent = [name for name in kinds if name not in record]
        if absent:
            raise ValueError(f"lacks {', '.join(absent)}")
        for name, kind in kinds.items():
            if name not in _READ_APART and not _is_of(record[name], kind):
                raise ValueError(f"has the {name} {quoted(record[name])[:_SHOWN]}")
        known = {name: record[name] for name in kinds}
        known["warmup"] = _warmup(record["warmup"])
        known["stop"] = _stop(record["stop"]) if "stop" in stated else None
        known["arrival"] = _arrival(record["arrival"]) if "arrival" in stated else None
        trial = cls(**{**known, "factors": Cell(record["factors"])})
        if not _ID.fullmatch(trial.id):
            raise ValueError(f"has the unusable id {trial.id!r}")
        if not trial.factors:
            raise ValueError("has no factors")
        if trial.restart not in RESTARTS:
            raise ValueError(f"has the restart {quoted(trial.restart)[:_SHOWN]}")
        if not FIRST_DRAWING <= trial.drawing <= DRAWING:
            raise ValueError(f"has the drawing {trial.drawing}, which this version does not know")
        if "least_ok" in stated and not 0 < trial.least_ok <= 1:
            raise ValueError(f"has the least_ok {quoted(trial.least_ok)[:_SHOWN]}")
        for name, level in trial.factors.items():
            if not isinstance(level, (bool, int, float, str)):
                raise ValueError(f"has the level {quoted(level)[:_SHOWN]} of {name}")  # noqa: TRY004
        return trial


def _line(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
    return text.encode() + b"\n"


def _warmup(value: Any) -> int | Warmup:
    if _is_of(value, int):
        return int(value)
    try:
        return Warmup.parse(value)
    except ValueError as error:
        raise ValueError(f"has the warmup {quoted(value)[:_SHOWN]}, which {error}") from error


def _stop(value: Any) -> StopRule:
    try:
        return StopRule.parse_planned(value)
    except ValueError as error:
        raise ValueError(f"has the stop {quoted(value)[:_SHOWN]}, which {error}") from error


def _arrival(value: Any) -> Arrival:
    try:
        return Arrival.parse(value)
    except ValueError as error:
        raise ValueError(f"has the arrival {quoted(value)[:_SHOWN]}, which {error}") from error


@cache
def _kinds() -> dict[str, Any]:
    """Return the type of each field; found once, as a plan may have ten thousand lines."""
    hints = {**get_type_hints(PlannedTrial), "factors": Mapping}
    return {name: get_origin(kind) or kind for name, kind in hints.items()}


def _is_of(value: Any, kind: Any) -> bool:
    """Tell whether a value of a plan is of its kind; no number of it is below zero."""
    if kind is int:
        return is_whole(value) and 0 <= value < 2**63
    if kind is float:
        return is_number(value)
    return isinstance(value, dict if kind is Mapping else kind)


def make_plan(
    profile: Profile,
    seed: int | None = None,
    rotate: int = 0,
    *,
    capture: bool = False,
    drawing: int = DRAWING,
) -> list[PlannedTrial]:
    """Expand a profile into its trials; the same profile and seed give the same trials.

    Order: blocks one after the other; in a block the groups of cells that need the same node
    settings in random order, so that nodes change as seldom as possible, and the cells of a group
    in random order. Random numbers come from SHA-256 of the seed, the block and the levels: the
    same on every machine and Python, and unchanged for the other cells when a level is added.
    With `rotate`, the number of workers, their list is shifted by one place from block to block.
    The trials with a profiler are further blocks behind all others, and with `capture` one trial of
    each cell whose packets are kept is a block behind these, so that the others have the same ids,
    order and data with them and without. It makes one measured call in one thread, after one to
    warm up, whatever the profile says. `drawing` is that of an earlier version for a run of it,
    which then has no `least_ok` either.
    """
    run_seed = profile.seed if seed is None else seed
    cells = [(cell, profile.settings(cell)) for cell in profile.cells()]
    total = len(cells) * profile.blocks
    widths = (max(2, len(str(profile.blocks))), max(3, len(str(total))))
    trials: list[PlannedTrial] = []
    with_profiler = profile.blocks + profile.profile_forks
    for block in range(1, with_profiler + capture + 1):
        captured = block > with_profiler
        profiled = block > profile.blocks and not captured
        kind = "c" if captured else "p" if profiled else "b"
        one_call = {"calls": 1, "warmup": 1, "threads": 1, "arrival": None} if captured else {}
        for cell, settings in _shuffled(cells, f"{run_seed}/{block}"):
            position = len(trials) + 1
            prefix = f"{kind}{block:0{widths[0]}}-t{position:0{widths[1]}}"
            trials.append(
                PlannedTrial(
                    schema=SCHEMA,
                    id=f"{prefix}-{_slug(cell)}",
                    study=profile.study,
                    profile=profile.name,
                    block=block,
                    position=position,
                    factors=cell,
                    seed=_draw(f"{run_seed}/{block}/data") >> 1,
                    fitted_to=profile.fitted_to,
                    restart=profile.restart,
                    stop=profile.stop,
                    shift=(block - 1) % rotate if rotate and kind == "b" else 0,
                    profiled=profiled,
                    captured=captured,
                    drawing=drawing,
                    least_ok=profile.least_ok if drawing == DRAWING else 0.0,
                    **{**vars(settings), **one_call},
                )
            )
    return trials


def plan_bytes(trials: Sequence[PlannedTrial]) -> bytes:
    """Return the bytes of plan.jsonl."""
    return b"".join(trial.line() for trial in trials)


def write_plan(path: Path, trials: Sequence[PlannedTrial]) -> bool:
    """Write plan.jsonl; return False when the same plan is there already (the run resumes).

    Raises InputError when another plan is there: a plan never changes.
    """
    if is_planned(path, trials):
        return False
    write_bytes(path, plan_bytes(trials))
    return True


def is_planned(path: Path, trials: Sequence[PlannedTrial]) -> bool:
    """Tell whether `path` holds this plan; raises InputError when it holds another.

    A run that an earlier version planned goes on as it began, without what that version lacked.
    """
    if not path.exists():
        return False
    there = path.read_bytes()
    for lines in plans_before([trial.record() for trial in trials]):
        if there == b"".join(map(_line, lines)):
            return True
    raise InputError(
        f"run {_run(path)} exists with another plan: {_difference(path, trials)}; "
        "choose another run name"
    )


def workers_to_fit(path: Path | None, workers: int, *, fit: bool) -> int:
    """Return the number of workers to plan for: that of a run with levels left out, else `workers`.

    So a run that began with `fit` keeps its plan when workers are added. Raises InputError when
    it cannot go on: without `fit`, or with fewer workers than it was fitted to.
    """
    if path is None or not path.exists():
        return workers
    fitted_to = read_plan(path)[0].fitted_to
    if not fitted_to:
        return workers
    left_out = f"run {_run(path)} skips levels that need more than {fitted_to} workers"
    if not fit:
        raise InputError(
            f"{left_out}; continue it with --fit (playbooks: -e fit=true), or choose another "
            "run name for the whole profile"
        )
    if fitted_to > workers:
        raise InputError(
            f"{left_out}, but the inventory has only {workers} now; add the missing workers, or "
            "choose another run name"
        )
    return fitted_to


def in_order(trials: Sequence[PlannedTrial], factors: Iterable[str]) -> list[PlannedTrial]:
    """Return the trials with their factors in this order; others follow in alphabetical order."""
    known = sorted(trials[0].factors)
    wanted = list(dict.fromkeys([*(name for name in factors if name in known), *known]))
    return [replace(trial, factors=trial.factors.in_order(wanted)) for trial in trials]


def _run(path: Path) -> str:
    return path.absolute().parent.name


def read_plan(path: Path) -> list[PlannedTrial]:
    """Read plan.jsonl; raises InputError that names the line that cannot be used."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); give the directory of a run"
        ) from error
    trials = []
    for number, line in enumerate(lines, start=1):
        try:
            trials.append(PlannedTrial.parse(line))
        except (ValueError, TypeError) as error:
            raise InputError(
                f"{path}: line {number} {error}; never edit a plan: plan the run again"
            ) from error
    of_first = _common(trials[0]) if trials else {}
    for number, trial in enumerate(trials, start=1):
        for name, value in _common(trial).items():
            if value != of_first[name]:
                raise InputError(
                    f"{path}: line {number} has the {name} {value}, but line 1 has "
                    f"{of_first[name]}; a plan covers one study and never changes: plan the run "
                    "again"
                )
    for factor in trials[0].factors if trials else ():
        alike = two_alike(trial.factors[factor] for trial in trials)
        if alike:
            raise InputError(
                f"{path}: {factor} has the levels {' and '.join(map(json.dumps, alike))}, which "
                "would be one cell or look like one; plan the run again with levels that differ"
            )
    twice = [trial for trial, count in Counter(trial.id for trial in trials).items() if count > 1]
    if twice or not trials:
        reason = f"the trial {twice[0]} is planned twice" if twice else "holds no trial"
        raise InputError(f"{path}: {reason}; plan the run again")
    return trials


def _common(trial: PlannedTrial) -> dict[str, str]:
    """Return what is the same in all lines of a plan."""
    factors = ", ".join(trial.factors)
    return {
        "study": trial.study,
        "profile": trial.profile,
        "factors": factors,
        "restart": trial.restart,
        "stop": str(trial.stop or "none"),
        "drawing": str(trial.drawing),
        "least_ok": str(trial.least_ok or "none"),
    }


def _shuffled(cells: Sequence[tuple[Cell, Settings]], key: str) -> list[tuple[Cell, Settings]]:
    def rank(pair: tuple[Cell, Settings]) -> tuple[int, int]:
        cell, settings = pair
        of_plot = setting_key(setting_of(settings))
        return _draw(f"{key}/{of_plot}"), _draw(f"{key}/{_canonical(dict(cell))}")

    return sorted(cells, key=rank)


def _canonical(mapping: Mapping[str, Setting]) -> str:
    return json.dumps(mapping, sort_keys=True, separators=(",", ":"))


def _draw(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")


def _slug(cell: Cell) -> str:
    levels = "-".join(map(level_text, cell.levels))
    ascii_only = unicodedata.normalize("NFKD", levels).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9.]+", "-", ascii_only)[:_SLUG_LENGTH].strip("-.") or "cell"


def _difference(path: Path, trials: Sequence[PlannedTrial]) -> str:
    try:
        there = read_plan(path)
    except InputError as error:
        return str(error)
    for name in ("study", "profile"):
        old, new = getattr(there[0], name), getattr(trials[0], name)
        if old != new:
            return f"its {name} is {old}, not {new}"
    if there[0].fitted_to != trials[0].fitted_to:
        return f"it skips no level, and {trials[0].fitted_to} workers are too few for all levels"
    if len(there) != len(trials):
        return f"it has {len(there)} trials, not {len(trials)}"
    for old_trial, new_trial in zip(there, trials, strict=True):
        records = old_trial.record(), new_trial.record()
        names = {**records[0], **records[1]}
        changed = [name for name in names if records[0].get(name) != records[1].get(name)]
        if changed:
            old, new = (quoted(record.get(changed[0])) for record in records)
            return f"{changed[0]} of trial {old_trial.position} is {old}, not {new}"
    return "its bytes differ"
