"""Times by cell as claims and exhibits see them, published or measured, behind one contract."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Protocol

from collect.cells import Cell
from collect.numbers import name_of
from collect.statistics import Estimate, ratio_t
from collect.study import Level

Key = tuple[Level, ...]
"""The levels of a cell in the order a study's module gives its factors."""

Statistic = Callable[[Sequence[float]], float]
"""A positive, dimensionless number from the times of some cells."""


@dataclass(frozen=True)
class Untested:
    """Why a statistic cannot be had."""

    reason: str


class Evidence(Protocol):
    """What a claim is evaluated on."""

    def statistic(self, cells: Sequence[Key], statistic: Statistic) -> Estimate | Untested:
        """Give `statistic` of the times of `cells`, in that order, with its interval."""

    def time(self, cell: Key) -> Estimate | None:
        """Give the time of a cell in ms, None when there is none."""

    @property
    def keys(self) -> Sequence[Key]:
        """The cells there are, whether or not they have a time."""


@dataclass(frozen=True)
class Published:
    """One number a cell, as printed: an interval of no length."""

    times: Mapping[Key, float]
    sources: Mapping[Key, str]

    @property
    def keys(self) -> Sequence[Key]:
        """The published cells in the order of the data file."""
        return tuple(self.times)

    def time(self, cell: Key) -> Estimate | None:
        """Give the printed time in ms."""
        value = self.times.get(cell)
        return None if value is None else Estimate(value, value, value)

    def statistic(self, cells: Sequence[Key], statistic: Statistic) -> Estimate | Untested:
        """Give the statistic of the printed numbers."""
        absent = [cell for cell in cells if cell not in self.times]
        if absent:
            return Untested(f"{name_of(absent[0])} is not published")
        value = statistic([self.times[cell] for cell in cells])
        return Estimate(value, value, value)


@dataclass(frozen=True)
class Measured:
    """The cells of a run; a statistic is taken in each block that has all its cells."""

    cells: Mapping[Key, Cell]

    @property
    def keys(self) -> Sequence[Key]:
        """The planned cells in order of levels."""
        return tuple(self.cells)

    def time(self, cell: Key) -> Estimate | None:
        """Give the mean of the trial means in ms with its t interval."""
        return self.cells[cell].mean if cell in self.cells else None

    def statistic(self, cells: Sequence[Key], statistic: Statistic) -> Estimate | Untested:
        """Give the geometric mean over blocks of the statistic, with the t interval of its logs."""
        for cell in cells:
            outcome = self.cells[cell].outcome if cell in self.cells else "not in this profile"
            if outcome != "ok":
                return Untested(f"{name_of(cell)}: {outcome}")
        samples = [self.cells[cell].samples for cell in cells]
        blocks = sorted(set.intersection(*(set(sample) for sample in samples)))
        rows = [[sample[block] for sample in samples] for block in blocks]
        values = [statistic(row) for row in rows if min(row) > 0]
        if not values:
            return Untested("no block holds all the cells")
        return ratio_t(values)


def load_published(name: str, factors: Mapping[str, type[int] | type[str]]) -> Published:
    """Read collect/published/NAME.csv; `factors` gives the columns of the key and their types.

    Each row names its document, figure, section and page (empty where the text has none).
    """
    text = resources.files("collect").joinpath(f"published/{name}.csv").read_text(encoding="utf-8")
    times: dict[Key, float] = {}
    sources: dict[Key, str] = {}
    for row in csv.DictReader(text.splitlines()):
        key = tuple(kind(row[factor]) for factor, kind in factors.items())
        times[key] = float(row["mean_ms"])
        sources[key] = f"{row['document']}, {row['figure']}"
    return Published(times, sources)
