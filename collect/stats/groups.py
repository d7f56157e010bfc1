"""Tests of groups of samples: F and robust tests, residuals, effect sizes, pairs."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import optimize, stats
from statsmodels.stats.meta_analysis import effectsize_smd
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.oneway import anova_oneway

from collect.stats.estimates import CONFIDENCE, Estimate

Groups = Sequence[Sequence[float]]
_KINDS = {
    "F, equal variances": "equal",
    "Welch": "unequal",
    "Brown-Forsythe": "bf",
}
_FEWEST_FOR_SHAPE = 8
"""Residuals that a test of their shape takes; our choice: with fewer it finds next to nothing."""


@dataclass(frozen=True)
class GroupTest:
    """A test that the groups have one mean; `degrees` are those of numerator and denominator."""

    name: str
    statistic: float
    degrees: tuple[float, float]
    p_value: float


@dataclass(frozen=True)
class Residuals:
    """How far residuals are from what F assumes: normal, and of one variance.

    `normal_p` is Shapiro and Wilk's, `equal_p` Levene's about medians; None where they say nothing.
    `variance_ratio` is the largest variance over the smallest, `worst` the two groups (by place)
    with the largest part of the residual sum of squares, and `worst_share` that part.
    """

    normal_p: float | None
    equal_p: float | None
    variance_ratio: float | None
    worst: tuple[int, ...]
    worst_share: float


@dataclass(frozen=True)
class PairTest:
    """Two groups by place: first less second, with an interval for the whole family of pairs.

    `effect` is Hedges' g: the difference in standard deviations, corrected for few samples.
    """

    first: int
    second: int
    difference: Estimate
    p_value: float
    effect: float | None


def compare_means(groups: Groups) -> list[GroupTest]:
    """Test by F, by Welch and by Brown and Forsythe; empty when they cannot be computed.

    Each group takes two samples that differ. The latter two do without equal variances.
    """
    if len(groups) < 2 or any(len(group) < 2 or np.ptp(group) == 0 for group in groups):
        return []
    found = []
    for name, kind in _KINDS.items():
        result = anova_oneway(groups, use_var=kind)
        degrees = (float(result.df_num), float(result.df_denom))
        found.append(GroupTest(name, float(result.statistic), degrees, float(result.pvalue)))
    return found


def check_residuals(groups: Groups, *, are_samples: bool = True) -> Residuals | None:
    """Check the residuals, each value less the mean of its group; None when all are zero.

    With `are_samples` false the values only represent a printed variance, so their shape is not
    tested.
    """
    squares = np.array([float(((np.asarray(g) - np.mean(g)) ** 2).sum()) for g in groups])
    if squares.sum() == 0:
        return None
    worst = np.argsort(squares)[::-1][:2]
    variances = [float(np.var(group, ddof=1)) for group in groups if len(group) > 1]
    residuals = np.concatenate([np.asarray(group) - np.mean(group) for group in groups])
    testable = are_samples and len(residuals) >= _FEWEST_FOR_SHAPE and min(map(len, groups)) > 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Residuals(
            normal_p=float(stats.shapiro(residuals).pvalue) if testable else None,
            equal_p=float(stats.levene(*groups, center="median").pvalue) if testable else None,
            variance_ratio=max(variances) / min(variances) if min(variances, default=0) else None,
            worst=tuple(int(place) for place in worst),
            worst_share=float(squares[worst].sum() / squares.sum()),
        )


def compare_pairs(groups: Groups, *, equal_variances: bool = False) -> list[PairTest]:
    """Compare every pair by Games and Howell, or by Tukey's HSD with equal variances.

    Intervals and p-values hold for all pairs at once (family-wise 95 %). Empty when a group has
    fewer than two samples, or no two differ.
    """
    if len(groups) < 2 or any(len(group) < 2 or np.ptp(group) == 0 for group in groups):
        return []
    found = stats.tukey_hsd(*groups, equal_var=equal_variances)
    interval = found.confidence_interval(CONFIDENCE)
    return [
        PairTest(
            *pair,
            Estimate(
                float(found.statistic[pair]),
                float(interval.low[pair]),
                float(interval.high[pair]),
                sum(len(groups[place]) for place in pair),
            ),
            float(found.pvalue[pair]),
            hedges(*(groups[place] for place in pair)),
        )
        for pair in combinations(range(len(groups)), 2)
    ]


def hedges(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Hedges' g, the difference in pooled standard deviations; None without any spread."""
    if min(len(first), len(second)) < 2 or not np.ptp(first) + np.ptp(second):
        return None
    sides: list[Any] = []
    for sample in (first, second):
        sides += [np.mean(sample), np.std(sample, ddof=1), len(sample)]
    return float(effectsize_smd(*sides)[0])


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values so that one false alarm among all has the level of one (Holm 1979)."""
    if not p_values:
        return []
    return [float(p) for p in multipletests(p_values, method="holm")[1]]


def p_of_ratio(ratios: Sequence[float]) -> float | None:
    """Return the p-value of the hypothesis that the ratios, one a block, are 1 (t test of logs).

    None with fewer than two, or without any spread.
    """
    logs = np.log(ratios)
    if len(logs) < 2 or np.ptp(logs) <= 1e-12:
        return None
    return float(stats.ttest_1samp(logs, 0).pvalue)


def effect_of(statistic: float, between: int, within: int, size: int) -> Estimate:
    """Return Cohen's f, the effect that an F statistic shows, with its 90 % interval.

    `between` and `within` are the degrees of freedom, `size` is the number of values. The interval
    inverts the noncentral F distribution (Steiger 2004): its lower end is above 0 exactly where p
    is below 0.05. f is the standard deviation of the means over that of the values; Cohen (1988)
    calls 0.1 small.
    """

    def solve(chance: float) -> float:
        def beyond(noncentrality: float) -> float:
            return float(stats.ncf.cdf(statistic, between, within, noncentrality)) - chance

        if stats.f.cdf(statistic, between, within) <= chance:
            return 0.0
        high = 4 * (between * statistic + 10)
        while beyond(high) > 0:
            high *= 2
        return float(optimize.brentq(beyond, 1e-9, high))

    unbiased = max(0.0, between * (statistic * (within - 2) / within - 1)) if within > 2 else 0.0
    low, high = (math.sqrt(solve(chance) / size) for chance in (0.95, 0.05))
    return Estimate(min(max(math.sqrt(unbiased / size), low), high), low, high, size)


def omega_squared(between: float, freedom: int, within_ms: float, total: float) -> float:
    """Return the share of variation a source explains, less what chance alone would explain.

    `between` and `total` are sums of squares, `freedom` the source's degrees, `within_ms` the
    residual mean square. Below zero counts as zero.
    """
    return max(0.0, (between - freedom * within_ms) / (total + within_ms))
