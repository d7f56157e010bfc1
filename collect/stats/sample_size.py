"""How many blocks and calls a wanted precision takes, from the variances and costs of a pilot."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, special, stats

from collect.stats.spending import ERROR

ASSURANCE = 0.8
"""The share of nights that are to reach what is promised; our choice, as usual for power."""
POWER = 0.8
MOST_BLOCKS = 10_000
"""More blocks than anybody runs."""
_MOST_LOGS = 300.0
"""A difference in logs that so few blocks tell nothing of; a larger one is no number."""
_LEAST_LOGS = math.log(1e-9)
"""The logarithm of the shortest half width, in logs: a pilot that promises less does not vary."""
_QUANTILES = 200
"""Of the chi-squared distribution that stands for the true variance, given that of the pilot."""
_FEWEST_FOR_PRIOR = 3
"""Variances that it takes to see how much they differ among themselves."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """The variance of one quantity over the blocks of a pilot, in squared logs.

    `variance` is that of its values, one a block, with `freedom` degrees; `calls` is what the calls
    of a trial contribute to it.
    """

    variance: float
    freedom: int
    calls: float


def shared_variance(values: Matrix) -> float:
    """Return the variance that all quantities of a block have in common, 0 where there is none.

    `values` has a row for each block and a column for each quantity, NaN where a block lacks it.
    The component of the blocks in the two-way model without replication: the mean covariance of two
    columns, each over the blocks that have both.
    """
    return _mean_covariance(values, ~np.eye(values.shape[1], dtype=bool))


def shared_across(values: Matrix, groups: Sequence[str]) -> float:
    """Return the variance that quantities of different groups of a block have in common.

    As `shared_variance`, of the columns of one group with those of others: `groups` has one name
    for each column. With one group it is that of all columns.
    """
    names = np.asarray(groups)
    apart = names[:, None] != names[None, :]
    return _mean_covariance(values, apart) if apart.any() else shared_variance(values)


def _mean_covariance(values: Matrix, pairs: NDArray[np.bool_]) -> float:
    """Return the mean covariance of these pairs of columns that share two rows; at least 0."""
    covariances = pd.DataFrame(values).cov(min_periods=2).to_numpy()[pairs]
    known = covariances[~np.isnan(covariances)]
    return max(0.0, float(known.mean())) if len(known) else 0.0


def best_repetitions(above_s: float, below_s: float, above: float, below: float) -> float:
    """Return how often to repeat a level inside the one above it, at the least cost.

    Kalibera and Jones (ISMM 2013): the square root of the ratio of costs times the
    inverse ratio of variances. `above_s` and `below_s` are what one repetition of a level adds in
    seconds, `above` and `below` the variance components. Infinite where only `below` varies.
    """
    if below <= 0 or above_s <= 0:
        return 1.0
    if above <= 0 or below_s <= 0:
        return math.inf
    return max(1.0, math.sqrt(above_s / below_s * below / above))


def moderated(spreads: Sequence[Spread]) -> list[Spread]:
    """Return the variances drawn towards their common level, with the degrees that this adds.

    A pilot of few blocks knows the variance of each cell badly, and that of all cells together
    well. The empirical Bayes estimator of Smyth (2004), section 6: how far the variances differ
    beyond chance decides how much each borrows from the others. Fewer than three borrow nothing,
    and no variance borrows more degrees than the others have.
    """
    known = [one for one in spreads if one.variance > 0]
    if len(known) < _FEWEST_FOR_PRIOR:
        return list(spreads)
    half = np.array([one.freedom / 2 for one in known])
    logs = np.log([one.variance for one in known]) - special.digamma(half) + np.log(half)
    seen = float(np.var(logs, ddof=1))
    # With a standard error of their variance added: cells that are unlike must not pass as alike.
    seen *= 1 + math.sqrt(2 / (len(known) - 1))
    beyond = seen - float(special.polygamma(1, half).mean())
    most = float(sum(one.freedom for one in known))
    borrowed = most if beyond <= 0 else min(most, 2 * _inverse_trigamma(beyond))
    level = math.exp(
        float(logs.mean()) + float(special.digamma(borrowed / 2)) - math.log(borrowed / 2)
    )
    result = []
    for one in spreads:
        freedom = one.freedom + min(borrowed, most - one.freedom)
        share = one.freedom / freedom
        variance = share * one.variance + (1 - share) * level
        result.append(Spread(max(variance, one.calls), round(freedom), one.calls))
    return result


def blocks_for(
    half_width: float,
    spreads: Sequence[Spread],
    more: Sequence[float],
    error: float = ERROR,
    *,
    least: int = 2,
) -> int | None:
    """Return the fewest blocks with which 80 % of nights make every interval so narrow, in logs.

    `more` is how many times as many calls as in the pilot each trial makes. An interval may miss as
    often as `error`. At least `least`; None when it would take more than 10 000.
    """
    true = _true(spreads, more)

    def is_enough(blocks: int) -> bool:
        return _chance(half_width, blocks, true, error) >= ASSURANCE

    if not is_enough(MOST_BLOCKS):
        return None
    return least + bisect_left(range(least, MOST_BLOCKS), True, key=is_enough)


def half_width_of(
    blocks: int, spreads: Sequence[Spread], more: Sequence[float], error: float = ERROR
) -> float:
    """Return the half width, in logs, that 80 % of nights with so many blocks reach everywhere.

    An interval may miss as often as `error`. It is 0 where the pilot varies by rounding alone. At
    most 300: a larger one is no number.
    """
    true = _true(spreads, more)

    def short(logs: float) -> float:
        return _chance(math.exp(logs), blocks, true, error) - ASSURANCE

    if not len(true) or short(_LEAST_LOGS) >= 0:
        return 0.0
    logs = optimize.brentq(short, _LEAST_LOGS, math.log(1e6), xtol=1e-4)
    return min(math.exp(logs), _MOST_LOGS)


def detectable(blocks: int, spread: Spread, more: float, error: float = ERROR) -> float:
    """Return the smallest difference, in logs, that a paired t test finds with power 80 %.

    The test is at the level `error`. `spread` is that of the differences inside blocks. From the
    noncentral t distribution, at the variance as estimated. At most 300: a larger one is no number.
    """
    critical = float(stats.t.isf(error / 2, blocks - 1))

    def missed(shift: float) -> float:
        # The other tail adds nothing where the power is 80 %.
        return float(stats.nct.sf(critical, blocks - 1, shift)) - POWER

    # With one degree of freedom the shift is 1.28 times the critical value; 10 more are not enough.
    shift = optimize.brentq(missed, 0, 2 * critical + 10, xtol=1e-6)
    return min(float(shift) * math.sqrt(with_calls(spread, more) / blocks), _MOST_LOGS)


def with_calls(spread: Spread, more: float) -> float:
    """Return the variance that `more` times as many calls would leave."""
    return max(spread.variance - spread.calls, 0.0) + spread.calls / more


def _true(spreads: Sequence[Spread], more: Sequence[float]) -> Matrix:
    """Return quantiles of each true variance, given the pilot's, with more calls or fewer."""
    places = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    rows = [
        np.maximum(one.variance * one.freedom / special.chdtri(one.freedom, places) - one.calls, 0)
        + one.calls / times
        for one, times in zip(spreads, more, strict=True)
        if one.variance > 0
    ]
    return np.array(rows).reshape(len(rows), _QUANTILES)


def _chance(half_width: float, blocks: int, true: Matrix, error: float) -> float:
    """Return the chance that a night makes every interval so narrow (half its length, in logs).

    The variance that the night will find is chi-squared about the true one, and the true one is
    inverse chi-squared about that of the pilot, so that a small pilot promises less. Intervals
    count as independent, which understates the chance where they are not.
    """
    enough = blocks * (half_width / special.stdtrit(blocks - 1, error / 2)) ** 2
    chances = special.chdtr(blocks - 1, (blocks - 1) * enough / true).mean(axis=1)
    return float(chances.prod())


def _inverse_trigamma(value: float) -> float:
    return float(
        optimize.brentq(lambda x: float(special.polygamma(1, x)) - value, 1e-6, 1e9, xtol=1e-9)
    )
