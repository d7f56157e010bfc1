"""Where one curve overtakes another, with an interval from the blocks."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from scipy.optimize import isotonic_regression

from collect.cells.notation import show
from collect.replication.evidence import NO_RATIO, Evidence, Untested
from collect.run.cell import Cell
from collect.stats.estimates import ROUNDING, Estimate
from collect.stats.spending import ERROR

_Numbers = np.ndarray[Any, np.dtype[np.float64]]


def crossing(
    places: Sequence[float], blocks: Sequence[Sequence[float]], error: float = ERROR
) -> Estimate:
    """Return the place from which an advantage is above zero: 0 everywhere, infinite nowhere.

    `places` ascend; `blocks` holds a row each block with the advantage at each place, such as the
    log of one time over another. The advantage is taken to grow with the place: the means over
    blocks are made monotone by isotonic regression, which has one crossing however they scatter,
    and the line between its neighbours is cut in the logarithm of the place. The interval, from two
    blocks on, runs from the first to the last place at which a t test over blocks (95 %) does not
    tell that advantage from zero, which the true crossing is in 95 % of all runs; between places
    the advantage of each block is taken to be linear. There is none where all blocks have the same
    advantage at a place: that is one of a clock's ticks, and how far it is right is unknown.
    """
    rows = np.asarray(blocks, dtype=float)
    value = _cross(places, rows.mean(axis=0))
    if len(rows) < 2 or np.ptp(rows, axis=0).min() <= ROUNDING:
        return Estimate(value, samples=len(rows))
    logs = np.log(places)
    undecided = [
        float(np.interp(part, (0, 1), logs[place : place + 2]))  # the ends are places themselves
        for place in range(len(logs) - 1)
        for part in _undecided(rows[:, place], rows[:, place + 1], error)
    ]
    if not undecided:
        return Estimate(value, value, value, len(rows), error=error)
    low = 0.0 if min(undecided) == logs[0] else float(np.exp(min(undecided)))
    high = math.inf if max(undecided) == logs[-1] else float(np.exp(max(undecided)))
    return Estimate(value, min(low, value), max(high, value), len(rows), error=error)


def _undecided(start: _Numbers, end: _Numbers, error: float) -> list[float]:
    """Return the ends, as parts of the way from `start` to `end`, of where a t test finds nothing.

    The squared mean less its squared critical distance from zero is a parabola along the way.
    """
    critical = scipy.stats.t.isf(error / 2, len(start) - 1)
    factor = critical**2 / len(start)
    way = end - start
    covariance = np.cov(start, way)
    parabola = np.polynomial.Polynomial(
        [
            start.mean() ** 2 - factor * covariance[0, 0],
            2 * start.mean() * way.mean() - 2 * factor * covariance[0, 1],
            way.mean() ** 2 - factor * covariance[1, 1],
        ]
    )
    ends = [float(part) for part in (0.0, 1.0) if parabola(part) <= 0]
    inside = [float(root.real) for root in parabola.roots() if not np.iscomplex(root)]
    return ends + [root for root in inside if 0 < root < 1]


def overtaking(
    evidence: Evidence, places: Sequence[float], pairs: Sequence[tuple[Cell, Cell]]
) -> Estimate | Untested:
    """Return the place from which the second cell of a pair is faster; one pair for each place.

    A block with a time of 0 counts as in `Measured.statistic`.
    """
    if len(places) < 2:
        return Untested("it takes two sizes at which both have a time")
    rows = evidence.rows([cell for pair in pairs for cell in pair])
    if isinstance(rows, Untested):
        return rows
    advantages = [
        [math.log(first / second) for first, second in zip(row[::2], row[1::2], strict=True)]
        for row in rows
        if min(row) > 0
    ]
    if not advantages:
        return Untested(NO_RATIO)
    found = crossing(places, advantages, evidence.error)
    return found if len(advantages) == len(rows) else replace(found, low=None, high=None)


def show_crossing(found: Estimate, places: Sequence[float]) -> str:
    """Return a crossing with its interval as text; beyond the places there is no number."""

    def end(value: float) -> str:
        if value == 0:
            return f"below {show(min(places))}"
        return f"above {show(max(places))}" if math.isinf(value) else show(value)

    text = end(found.value)
    if found.low is None or found.high is None or found.low == found.high:
        return text
    return f"{text} [{end(found.low)}, {end(found.high)}]"


def _cross(
    places: Sequence[float], advantage: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> float:
    fitted = isotonic_regression(advantage).x
    after = int(np.searchsorted(fitted, 0, side="right"))
    if after == 0:
        return 0.0
    if after == len(places):
        return math.inf
    below, above = fitted[after - 1], fitted[after]
    ends = np.log([places[after - 1], places[after]])
    return float(np.exp(ends[0] + (ends[1] - ends[0]) * (0 - below) / (above - below)))
