"""The cells that are drawn side by side: those that differ in the system alone."""

from collections.abc import Mapping, Sequence

from collect.cells.cells import CellResult
from collect.cells.notation import show_level
from collect.run.cell import Cell, Level, level_text


def by_setting(
    cells: Sequence[CellResult], system: str | None
) -> list[tuple[str, list[CellResult]]]:
    """Group cells by the levels of all factors but the system, each group with its name.

    Without a system, as in a study without a module, each cell stands alone.
    """
    grouped: dict[Cell, list[CellResult]] = {}
    for cell in cells:
        grouped.setdefault(cell.cell.without(system) if system else cell.cell, []).append(cell)
    several = {factor for factor, levels in _levels(cells).items() if len(levels) > 1}
    return [(_name_of_setting(rest, several), members) for rest, members in grouped.items()]


def name_of_system(cell: Cell, system: str | None, names: Mapping[str, str]) -> str:
    """Return what the report calls the system of a cell; nothing without a system."""
    if system is None or system not in cell:
        return ""
    level = cell[system]
    return names.get(level_text(level), show_level(level))


def _name_of_setting(rest: Cell, several: set[str]) -> str:
    return ", ".join(
        f"{factor.replace('_', ' ')} {show_level(level)}"
        for factor, level in rest.items()
        if factor in several
    )


def _levels(cells: Sequence[CellResult]) -> Mapping[str, set[Level]]:
    found: dict[str, set[Level]] = {}
    for cell in cells:
        for factor, level in cell.cell.items():
            found.setdefault(factor, set()).add(level)
    return found
