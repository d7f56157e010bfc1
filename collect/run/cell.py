"""A cell: one level of each factor, the identity of what a trial measures."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Self

from collect.run.fields import is_number

Level = bool | int | float | str
NOTHING = "(none)"
"""The field of a level that is an empty text, such as no further options of a JVM."""
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


def level_text(level: Level) -> str:
    """Return a level as text, in files and wherever it is looked up by its name."""
    return str(level).lower() if isinstance(level, bool) else str(level)


def level_field(level: Level) -> str:
    """Return a level as a field of a table for others to analyse, which take no empty one."""
    text = level_text(level)
    return text if text.strip() else NOTHING


def level_rank(level: Level) -> tuple[bool, float, str]:
    """Return a sort key for levels: numbers by size, then all others in alphabetical order."""
    if is_number(level):
        return (False, level, "")
    return (True, 0, level_text(level))


class Cell(Mapping[str, Level]):
    """One level of each factor, in the order of the study file.

    A cell never changes. Cells with the same levels are equal and have the same hash, whatever the
    order of their factors.
    """

    __slots__ = ("_levels",)

    def __init__(self, levels: Mapping[str, Level] | Iterable[tuple[str, Level]]) -> None:
        """Take the factors in the order of `levels`."""
        self._levels = dict(levels)

    @classmethod
    def of(cls, **levels: Level) -> Self:
        """Return the cell with these levels."""
        return cls(levels)

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels in the order of the factors."""
        return tuple(self._levels.values())

    def at(self, **levels: Level) -> "Cell":
        """Return the cell that has other levels of some factors."""
        unknown = levels.keys() - self._levels.keys()
        if unknown:
            raise KeyError(f"{', '.join(sorted(unknown))} is not a factor of {self}")
        return Cell({**self._levels, **levels})

    def without(self, *factors: str) -> "Cell":
        """Return the levels of the other factors alone."""
        return Cell((name, level) for name, level in self._levels.items() if name not in factors)

    def in_order(self, factors: Iterable[str]) -> "Cell":
        """Return the same cell with its factors in this order."""
        return Cell((name, self._levels[name]) for name in factors)

    def __getitem__(self, factor: str) -> Level:
        """Return the level of a factor."""
        return self._levels[factor]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the factors."""
        return iter(self._levels)

    def __len__(self) -> int:
        """Return the number of factors."""
        return len(self._levels)

    def __eq__(self, other: object) -> bool:
        """Tell whether another cell, or another mapping, has the same levels."""
        if isinstance(other, Cell):
            return self._levels == other._levels
        return self._levels == other if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        """Return a hash that does not depend on the order of the factors."""
        return hash(frozenset(self._levels.items()))

    def __repr__(self) -> str:
        """Return the levels with the names of their factors."""
        return f"Cell({', '.join(f'{name}={level!r}' for name, level in self._levels.items())})"
