"""The ratio of two sides of a comparison in one cell, with an interval and what it rests on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from collect.stats.estimates import ROUNDING, Estimate
from collect.stats.spending import ERROR, corrected

Trials = Sequence[float]
"""The trial means of a cell in one run, in ms."""
Unit = Literal["runs", "trials"]


@dataclass(frozen=True)
class Contrast:
    """The ratio of the geometric means of two sides; `p_value` is that of no difference.

    `unit` is what the interval takes for samples: runs, or only the trials of one run a side, which
    do not show how much two nights differ. `p_budget` is that of a ratio equal to the budget, None
    without one.
    """

    ratio: Estimate
    unit: Unit
    p_value: float
    p_budget: float | None = None


@dataclass(frozen=True)
class _Error:
    """The standard error of a difference of logs, with its degrees of freedom."""

    size: float
    freedom: float


def contrast(
    before: Sequence[Trials],
    after: Sequence[Trials],
    noise: Sequence[Trials] = (),
    budget: float | None = None,
    error: float = ERROR,
) -> Contrast | str:
    """Compare the runs of two sides; return the reason in words when they allow no statement.

    Runs are the samples as soon as one side, or `noise` (runs of one and the same thing), has two:
    see `_between`. Otherwise the interval is that of the trials of the two runs: Welch's, of logs;
    it may miss as often as `error`. Runs as samples are not corrected for interim analyses: each is
    one value, whatever ended it.
    """
    for trials in (*before, *after, *noise):
        if len(trials) and (min(trials) <= 0 or not np.isfinite(trials).all()):
            return f"a run has a mean of {min(trials):g} ms; ratios need times above zero"
    sides = [[np.log(trials) for trials in side if len(trials)] for side in (after, before, noise)]
    if not sides[0] or not sides[1]:
        return "a side has no trial"
    between = max(map(len, sides)) > 1
    of_mean = _between(*sides) if between else _within(sides[0][0], sides[1][0])
    if isinstance(of_mean, str):
        return of_mean
    difference = _mean(sides[0]) - _mean(sides[1])
    error = ERROR if between else error

    def p_of(ratio: float) -> float:
        distance = abs(difference - math.log(ratio)) / of_mean.size
        return corrected(float(2 * stats.t.sf(distance, of_mean.freedom)), error)

    reach = float(stats.t.isf(error / 2, of_mean.freedom)) * of_mean.size
    with np.errstate(over="ignore"):
        low, value, high = np.exp([difference - reach, difference, difference + reach]).tolist()
    samples = len(sides[0]) + len(sides[1]) if between else len(sides[0][0]) + len(sides[1][0])
    return Contrast(
        Estimate(value, low, high, samples, error=error),
        "runs" if between else "trials",
        p_of(1),
        None if budget is None else p_of(budget),
    )


def _mean(side: Sequence[np.ndarray]) -> float:
    return float(np.mean([np.mean(logs) for logs in side]))


def _between(
    after: Sequence[np.ndarray], before: Sequence[np.ndarray], noise: Sequence[np.ndarray]
) -> _Error | str:
    """Return the error from the variance of runs about the mean of their group.

    The variance is pooled over both sides and the noise runs, as in Student's test: where nothing
    differs, all of them vary alike. Runs of fewer trials vary more than that; what they add is
    computed from the variance of trials. The degrees of freedom remain those of the runs, which is
    on the safe side: simulated, 1 to 4 % false alarms with 3 trials a run next to runs of 10.
    """
    groups = [group for group in (after, before, noise) if len(group) > 1]
    squares = sum(float(((m - m.mean()) ** 2).sum()) for m in map(_means, groups))
    freedom = sum(len(group) - 1 for group in groups)
    if squares <= ROUNDING**2:
        return "the runs of each side are all equal, so the variance between runs is unknown"
    of_runs = squares / freedom * (1 / len(after) + 1 / len(before))

    expected = sum((len(g) - 1) * _mean_inverse(g) for g in groups) / freedom
    missing = sum((_mean_inverse(side) - expected) / len(side) for side in (after, before))
    runs = [*after, *before, *noise]
    of_trials, trials_freedom = 0.0, sum(len(run) - 1 for run in runs)
    if missing > ROUNDING and trials_freedom:
        spread = sum(float(((run - run.mean()) ** 2).sum()) for run in runs)
        of_trials = missing * spread / trials_freedom
    return _Error(math.sqrt(of_runs + of_trials), freedom)


def _within(after: np.ndarray, before: np.ndarray) -> _Error | str:
    """Return Welch's error of two runs, as if their trials had been drawn from one night."""
    for name, run in (("first", before), ("other", after)):
        if len(run) < 2:
            return f"one trial in the {name} run; at least two are needed to estimate a variance"
    if max(np.ptp(after), np.ptp(before)) <= ROUNDING:
        return "the trials of each run are all equal, so the variance between trials is unknown"
    freedoms = len(after) - 1, len(before) - 1
    parts = [float(np.var(run, ddof=1)) / len(run) for run in (after, before)]
    total = sum(parts)
    spread = sum((part / total) ** 2 / df for part, df in zip(parts, freedoms, strict=True))
    return _Error(math.sqrt(total), 1 / spread)


def _means(group: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([run.mean() for run in group])


def _mean_inverse(group: Sequence[np.ndarray]) -> float:
    return float(np.mean([1 / len(run) for run in group]))
