"""Where one curve overtakes another, with an interval from resampling."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from collect.cells.notation import show
from collect.replication.evidence import Evidence, Untested
from collect.run.cell import Cell
from collect.stats.estimates import CONFIDENCE, FEWEST_FOR_BOOTSTRAP, RESAMPLES, Estimate

_TICK_MS = 1e-6
"""One nanosecond, the unit of the logs: times of zero have no logarithm."""
_Numbers = np.ndarray[Any, np.dtype[np.float64]]


def crossing(places: Sequence[float], blocks: Sequence[Sequence[float]]) -> Estimate:
    """Return the place from which an advantage is above zero: 0 everywhere, infinite nowhere.

    `places` ascend; `blocks` holds a row each block with the advantage at each place, such as the
    log of one time over another. The advantage is taken to grow with the place: the means over
    blocks are made monotone by isotonic regression, which has one crossing however they scatter,
    and the line between its neighbours is cut in the logarithm of the place. The interval is the
    percentile bootstrap over whole blocks, always the same for the same blocks; none for fewer
    than three.
    """
    rows = np.asarray(blocks, dtype=float)
    value = _cross(places, rows.mean(axis=0))
    if len(rows) < FEWEST_FOR_BOOTSTRAP:
        return Estimate(value, samples=len(rows))
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, len(rows), size=(RESAMPLES, len(rows)))
    found = [_cross(places, rows[one].mean(axis=0)) for one in chosen]
    tail = (1 - CONFIDENCE) / 2
    # Of the values themselves: between a place and infinity there is nothing to interpolate.
    low, high = np.quantile(found, [tail, 1 - tail], method="inverted_cdf")
    return Estimate(value, float(low), float(high), len(rows))


def overtaking(
    evidence: Evidence, places: Sequence[float], pairs: Sequence[tuple[Cell, Cell]]
) -> Estimate | Untested:
    """Return the place from which the second cell of a pair is faster; one pair for each place."""
    if len(places) < 2:
        return Untested("it takes two sizes at which both have a time")
    rows = evidence.rows([cell for pair in pairs for cell in pair])
    if isinstance(rows, Untested):
        return rows
    advantages = [
        [
            math.log(max(first, _TICK_MS) / max(second, _TICK_MS))
            for first, second in zip(row[::2], row[1::2], strict=True)
        ]
        for row in rows
    ]
    return crossing(places, advantages)


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
