"""What it costs to analyse a sample while it grows, and to stop by what is seen.

The interim analyses and the last one together may err in 5 % of all runs. An error spending
function (Lan and DeMets 1983) says how much of it is spent after a part of the sample. That of
O'Brien and Fleming's shape spends next to nothing early and leaves most to the last analysis, whose
intervals are hardly longer than those of a run of fixed size.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import scipy  # its parts load when first used

ERROR = 0.05
"""The chance with which an interval alone misses, and with which those of all analyses do."""
CONFIDENCE = 1 - ERROR
_RUNS = 100_000
_FEWEST = 100
"""Runs that must be beyond a level for it to be read off the simulated ones."""
_LEAST = 1e-100
"""An error that is none in practice; the t of a smaller one has no square."""


@cache
def errors_of(analyses: tuple[int, ...]) -> tuple[float, ...]:
    """Return the two-sided error of each analysis after so many blocks, in rising order.

    All together spend 5 %, on each side 2 - 2 Φ(z / √t) after the part t of the most blocks, where
    Φ(-z) is a quarter of 5 %. What an analysis has left is read off simulated t tests of runs that
    no analysis before it ended: tables for the normal distribution let 5.5 % err after 3, 4 and 5
    blocks. Two standard errors of the simulation are left unspent.
    """
    if len(analyses) == 1:
        return (ERROR,)
    spent = 4 * scipy.special.ndtr(
        scipy.special.ndtri(ERROR / 4) * np.sqrt(analyses[-1] / np.array(analyses))
    )
    errors: list[float] = []
    rejected = np.zeros(_RUNS, dtype=bool)
    for p_values, gap, due in zip(
        _p_values(analyses), np.diff(spent, prepend=0), spent, strict=True
    ):
        left = int(_RUNS * due - 2 * np.sqrt(_RUNS * due * (1 - due))) - int(rejected.sum())
        error = max(float(gap), _LEAST)
        if left >= _FEWEST:
            error = float(np.partition(p_values[~rejected], left)[left])
        errors.append(error)
        rejected |= p_values < error
    return tuple(errors)


def _p_values(analyses: Sequence[int]) -> list[np.ndarray]:
    """Return the p-values of t tests at each analysis, in runs in which nothing differs."""
    rng = np.random.default_rng(0)
    count, mean, squares = 0, np.zeros(_RUNS), np.zeros(_RUNS)
    found = []
    for analysis in analyses:
        more = analysis - count
        theirs = rng.normal(scale=more**-0.5, size=_RUNS)
        squares += (theirs - mean) ** 2 * count * more / analysis
        if more > 1:
            squares += rng.chisquare(more - 1, size=_RUNS)
        mean += (theirs - mean) * more / analysis
        count = analysis
        t = mean / np.sqrt(squares / (count - 1) / count)
        found.append(2 * scipy.special.stdtr(count - 1, -np.abs(t)))
    return found


def equal_errors(analyses: Sequence[int]) -> tuple[float, ...]:
    """Return equal parts of the error for each analysis (Bonferroni): the way of old plans."""
    return (ERROR / len(analyses),) * len(analyses)


def corrected(p_value: float, error: float) -> float:
    """Return a p-value of an analysis that may err so often, at most 1.

    Below 0.05 exactly where an interval with this error leaves the hypothesis out.
    """
    return p_value if error == ERROR else min(1.0, p_value * ERROR / error)
