"""How the cells of a run warmed up, and how their measured phases begin."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collect.cells.cells import CellResult
from collect.logs.first_calls import Beginning, FirstCalls, beginning_of
from collect.logs.warmth import Warmth, warmth_of
from collect.report.drawings.settings import name_of_system


@dataclass(frozen=True)
class CellWarmup:
    """A cell with what its JVMs did."""

    result: CellResult
    warmth: Warmth


@dataclass(frozen=True)
class SystemBeginning:
    """How the measured phases of all cells of a system begin."""

    system: str
    beginning: Beginning


def warmups_of(cells: Sequence[CellResult]) -> list[CellWarmup]:
    """Return the cells of which a trial that counts recorded its phases."""
    found = [(cell, warmth_of(t.trial for t in cell.counted)) for cell in cells]
    return [CellWarmup(cell, warmth) for cell, warmth in found if warmth is not None]


def beginnings_of(
    cells: Sequence[CellResult], system: str | None, names: Mapping[str, str]
) -> list[SystemBeginning]:
    """Return each level of the factor `system`, without those whose calls do not say it."""
    grouped: dict[str, list[FirstCalls]] = defaultdict(list)
    for cell in cells:
        name = name_of_system(cell.cell, system, names) or "all cells"
        grouped[name] += [trial.first for trial in cell.counted]
    found = [SystemBeginning(name, beginning_of(firsts)) for name, firsts in grouped.items()]
    return [one for one in found if one.beginning.gap_ms is not None]
