"""A profile: a study with every choice made, and what each of its cells runs with."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from collect.run.arrival import LEAD_S, SPACINGS, Arrival
from collect.run.cell import Cell, Level, level_text
from collect.run.levels import listed
from collect.run.setting import JDK, OPTIONS, Setting
from collect.run.stop import StopRule
from collect.run.warmup import Warmup

LEAST_OK = 0.9
"""The share of a trial's measured calls that must be ok, unless the study says otherwise."""
OF_JVMS = ("client_heap_mb", "collector", JDK, "jvm_options")
"""The constants that set JVMs; without one that names it, a factor of such a name sets none."""
NAMING = frozenset({*OF_JVMS, "persistence"})
"""The constants whose value may be the name of a factor."""


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

    def settings(self, cell: Cell) -> Settings:
        """Resolve what a cell runs with; of the `where` entries that match it the last wins."""
        plain: dict[str, Any] = {
            "calls": self.calls,
            "warmup": self.warmup,
            "timeout_s": self.timeout_s,
        }
        constants = dict(self.constants)
        for entry in self.where:
            if is_chosen(cell, entry):
                plain.update({name: entry[name] for name in plain if name in entry})
                constants.update(entry.get("constants", {}))
        constants.update(_from_factors(constants, cell))
        return Settings(
            client=_of_level(self.clients, cell),
            constants=constants,
            node=self._node(constants, cell),
            threads=_number(self.threads, cell),
            needs=list(_of_level(self.needs, cell)),
            servers=_number(self.servers, cell),
            arrival=self._arrival(cell),
            **plain,
        )

    def _node(self, constants: Mapping[str, Setting], cell: Cell) -> Mapping[str, Setting]:
        named = {**constants, **cell}
        node = {
            name: _setting_of(name, named.get(value, value)) if isinstance(value, str) else value
            for name, value in self.node.items()
        }
        if cell.get("persistence") == "synced":  # clients read the factor; the broker has to sync
            node["persistence"] = "synced"
        return node

    def _arrival(self, cell: Cell) -> Arrival | None:
        if self.arrival is None:
            return None
        rate = self.arrival["rate"]
        return Arrival(
            rate=cell[rate] if isinstance(rate, str) else rate,  # type: ignore[arg-type]
            spacing=self.arrival.get("spacing", SPACINGS[0]),
            lead_s=self.arrival.get("lead_s", LEAD_S),
        )


def is_chosen(cell: Cell, entry: Mapping[str, Any]) -> bool:
    """Tell whether an entry under `where` selects a cell."""
    return all(cell[factor] in listed(levels) for factor, levels in entry["cells"].items())


def _from_factors(constants: Mapping[str, Setting], cell: Cell) -> dict[str, Setting]:
    """Return the constants that name a factor, with the cell's level of it as their value."""
    return {
        name: _constant_of(name, cell[value])
        for name, value in constants.items()
        if name in NAMING and isinstance(value, str) and value in cell
    }


def _constant_of(name: str, level: Level) -> Setting:
    """Return a level as the value of a constant: options of a JVM are a list of words."""
    return level.split() if name == "jvm_options" and isinstance(level, str) else level


def _setting_of(name: str, value: Setting) -> Setting:
    """Return a constant as a node setting: options of services are one text."""
    if isinstance(value, list) and name.startswith(f"{OPTIONS}."):
        return " ".join(map(str, value))
    return value


def _of_level(choice: Any, cell: Cell) -> Any:
    """Return a choice, or what a choice by level has for the cell's level of its factor."""
    return choice[level_text(cell[choice["factor"]])] if isinstance(choice, Mapping) else choice


def _number(number: int | str, cell: Cell) -> int:
    """Return a number, or the cell's level of the factor that is named in its place."""
    return int(cell[number]) if isinstance(number, str) else number
