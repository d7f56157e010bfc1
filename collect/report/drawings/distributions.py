"""The distribution of the times of each cell, the systems compared side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from collect.cells.cells import CellResult
from collect.report.drawings.axis import Axis
from collect.report.drawings.settings import by_setting, name_of_system

WIDTH, HEIGHT = 400, 100
"""The units in which curves are drawn; the page stretches them."""
_THIN_LINES = 600
"""Trials drawn of a run, so that a night of thousands does not fill the page."""
_THIN_POINTS = 40


@dataclass(frozen=True)
class Curves:
    """One cell: the curve over all its calls, those of single trials, and two percentiles."""

    cell: CellResult
    system: str
    axis: Axis
    most: int

    @cached_property
    def pooled(self) -> str:
        """The share of calls that took no longer than a time, as the path of a line."""
        return _path(self.cell.pooled.spread_ms, self.axis) if self.cell.pooled else ""

    @property
    def drawn(self) -> Sequence[NDArray[np.float64]]:
        """The times of the trials that are drawn: all, or some evenly over the run."""
        trials = self.cell.counted
        places = np.linspace(0, len(trials) - 1, min(self.most, len(trials)))
        return [trials[place].spread_ms for place in places.astype(int)]

    @cached_property
    def trials(self) -> str:
        """The curves of single trials as one path."""
        return "".join(_path(_thinned(times), self.axis) for times in self.drawn)

    @property
    def percentiles(self) -> list[tuple[str, float, float]]:
        """Name, value in ms and height in percent of p50 and p99, where the calls allow them."""
        pooled = self.cell.pooled
        if pooled is None:
            return []
        found = [("p50", pooled.p50_ms, 50.0)] if pooled.p50 else []
        return [*found, ("p99", pooled.p99_ms, 99.0)] if pooled.p99 else found


@dataclass(frozen=True)
class Setting:
    """The cells that differ in the system alone, on one logarithmic axis of times in ms."""

    name: str
    axis: Axis
    cells: Sequence[Curves]


def settings_of(
    cells: Sequence[CellResult], system: str | None, names: Mapping[str, str]
) -> list[Setting]:
    """Group the cells that have times by the levels of all factors but the system.

    Without a system, as in a study without a module, each cell stands alone.
    """
    timed = [cell for cell in cells if cell.pooled]
    most = max(3, min(20, _THIN_LINES // max(len(timed), 1)))
    found = []
    for name, members in by_setting(timed, system):
        spreads = (trial.spread_ms for cell in members for trial in cell.counted)
        ends = [float(end) for spread in spreads for end in (spread[0], spread[-1])]
        axis = Axis.over(ends, is_log=True)
        curves = [Curves(c, name_of_system(c.cell, system, names), axis, most) for c in members]
        found.append(Setting(name, axis, curves))
    return found


def _thinned(times: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(times) <= _THIN_POINTS:
        return times
    return np.quantile(times, (np.arange(_THIN_POINTS) + 0.5) / _THIN_POINTS)


def _path(times: NDArray[np.float64], axis: Axis) -> str:
    """Draw a curve in steps: right to each time, then up by its share of the calls."""
    xs = [round(axis.place(time) * WIDTH / 100) for time in times]
    counted = {x: place for place, x in enumerate(xs, start=1)}
    x, y, steps = xs[0], HEIGHT, [f"M{xs[0]} {HEIGHT}"]
    for to, place in counted.items():
        up = round(HEIGHT * (1 - place / len(xs)))
        steps += [f"h{to - x}"] if to > x else []
        steps += [f"v{up - y}"] if up < y else []
        x, y = to, up
    return "".join(steps)
