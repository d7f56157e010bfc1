"""Levels of factors as a study file states them: one or a list, in one grid or in several."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from collect.printable import as_printed
from collect.run.cell import NOTHING, Level, level_text

Grid = Mapping[str, list[Level]]
"""Factors with their levels; the cells of a grid are all their combinations."""


def grids_of(factors: Any) -> list[Grid]:
    """Return the grids of `factors`, which is one grid or a list of them."""
    return factors if isinstance(factors, list) else [factors]


def levels_in(grids: Iterable[Mapping[str, Sequence[Level]]], factor: str) -> list[Level]:
    """Return the levels of a factor in all grids, one behind the other."""
    return [level for grid in grids for level in grid.get(factor, ())]


def listed(levels: Level | Sequence[Level]) -> Sequence[Level]:
    """Return levels that are one level or a list of them."""
    return levels if isinstance(levels, list) else [levels]  # type: ignore[list-item]


def by_text(choice: Any) -> Any:
    """Return a choice by level with its keys as text: YAML reads 1 and true as other types."""
    if not isinstance(choice, Mapping):
        return choice
    return {level_text(level): chosen for level, chosen in choice.items()}


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

    Examples: "a" and "a " (a blank at the end), "é" in one character and in two, "" and "(none)"
    (which stands for it in tables).
    """
    seen: dict[str, Level] = {}
    for level in levels:
        if isinstance(level, str):
            other = seen.setdefault(as_printed(level) or NOTHING, level)
            if other != level:
                return other, level
    return None
