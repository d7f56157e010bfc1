"""Tests of groups of samples, also inside blocks: F and robust tests, residuals, effects, pairs.

Groups in blocks hold one value a block each: values at the same place are of one block.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from scipy import optimize, stats
from statsmodels.stats.meta_analysis import effectsize_smd
from statsmodels.stats.oneway import anova_oneway

from collect.stats.estimates import Estimate
from collect.stats.repeated import confidence_of, pay

Groups = Sequence[Sequence[float]]
_KINDS = {
    "F, equal variances": "equal",
    "Welch": "unequal",
    "Brown-Forsythe": "bf",
}
_FEWEST_FOR_SHAPE = 8
"""Residuals that a test of their shape takes; our choice: with fewer it finds next to nothing."""
_FEWEST_OF_A_GROUP = 3
"""Values of each group that a test of their shape takes; two have none."""
_FEWEST_FOR_RANKS = 3
"""Groups that Friedman's test takes."""


@dataclass(frozen=True)
class GroupTest:
    """A test that the groups have one mean; `degrees` are those of numerator and denominator.

    Those of the denominator are None for a statistic with a chi-squared distribution.
    """

    name: str
    statistic: float
    degrees: tuple[float, float | None]
    p_value: float


@dataclass(frozen=True)
class Residuals:
    """How far residuals are from what F assumes: normal, and of one variance.

    `normal_p` is Shapiro and Wilk's of each group, combined (Stouffer), so that unlike variances of
    groups are not taken for long tails; `equal_p` Levene's about medians; None where they say
    nothing.
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

    `effect` is Hedges' g: the difference in standard deviations, corrected for few samples. In
    blocks these are standard deviations of what is left without the blocks.
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


def compare_in_blocks(groups: Groups) -> list[GroupTest]:
    """Test by F with blocks in the model, by F of aligned ranks, and by Friedman.

    Aligned ranks (Hodges and Lehmann 1962) are those of all values, each less the mean of its
    block: one slow value weighs little. Friedman's test takes the order inside each block alone, of
    three groups or more. Empty when the tests cannot be computed.
    """
    values = np.array(groups, dtype=float)
    if len(values) < 2 or not _left_in_blocks(values).any():
        return []
    aligned = stats.rankdata(values - values.mean(axis=0), axis=None).reshape(values.shape)
    found = [
        GroupTest(name, *_f_in_blocks(response))
        for name, response in (("F, blocks in the model", values), ("aligned ranks, F", aligned))
        if _left_in_blocks(response).any()
    ]
    if len(values) >= _FEWEST_FOR_RANKS:
        friedman = stats.friedmanchisquare(*values)
        degrees = (len(values) - 1.0, None)
        statistic, p_value = float(friedman.statistic), float(friedman.pvalue)
        found.append(GroupTest("Friedman, χ²", statistic, degrees, p_value))
    return found


def _f_in_blocks(values: np.ndarray[Any, Any]) -> tuple[float, tuple[float, float], float]:
    """Return F of the groups with its degrees of freedom and p-value; as `anova`, only faster."""
    groups, blocks = values.shape
    between, within = groups - 1.0, (groups - 1.0) * (blocks - 1.0)
    left = float((_left_in_blocks(values) ** 2).sum()) / within
    f = blocks * float(np.var(values.mean(axis=1), ddof=1)) / left
    return f, (between, within), float(stats.f.sf(f, between, within))


def _left_in_blocks(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return what is left of groups in blocks without the means of groups and blocks."""
    of_groups, of_blocks = values.mean(axis=1, keepdims=True), values.mean(axis=0)
    left: np.ndarray[Any, Any] = values - of_groups - of_blocks + values.mean()
    return np.where(np.abs(left) > 1e-12 * np.abs(values).max(initial=0), left, 0.0)


def check_residuals(
    groups: Groups, *, are_samples: bool = True, in_blocks: bool = False
) -> Residuals | None:
    """Check the residuals, each value less the mean of its group; None when all are zero.

    With `are_samples` false the values only represent a printed variance, so their shape is not
    tested. With `in_blocks` the means of blocks are taken off too; two groups are then mirror
    images of each other, so that one of them is tested for its shape and variances say nothing.
    """
    if in_blocks:
        parts = list(_left_in_blocks(np.array(groups, dtype=float)))
    else:
        parts = [np.asarray(group) - np.mean(group) for group in groups]
    squares = np.array([float((part**2).sum()) for part in parts])
    if squares.sum() == 0:
        return None
    worst = np.argsort(squares)[::-1][:2]
    are_mirrored = in_blocks and len(parts) == 2
    variances = [float(np.var(part, ddof=1)) for part in parts if len(part) > 1]
    testable = are_samples and sum(map(len, parts)) >= _FEWEST_FOR_SHAPE
    has_ratio = min(variances, default=0) > 0 and not are_mirrored
    return Residuals(
        normal_p=_normal_p(parts[:1] if are_mirrored else parts) if testable else None,
        equal_p=_equal_p(parts) if testable and not are_mirrored else None,
        variance_ratio=max(variances) / min(variances) if has_ratio else None,
        worst=tuple(int(place) for place in worst),
        worst_share=float(squares[worst].sum() / squares.sum()),
    )


def _normal_p(parts: Sequence[np.ndarray[Any, Any]]) -> float | None:
    """Return the p-value of normal groups; W does not hang on the variance of its group."""
    shaped = [part for part in parts if len(part) >= _FEWEST_OF_A_GROUP and np.ptp(part) > 0]
    if not shaped:
        return None
    # A p-value of exactly 1 or 0 has no score.
    p_values = np.clip([stats.shapiro(part).pvalue for part in shaped], 1e-300, 1 - 1e-12)
    return float(stats.combine_pvalues(p_values, method="stouffer").pvalue)


def _equal_p(parts: Sequence[np.ndarray[Any, Any]]) -> float | None:
    if min(map(len, parts)) < 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(stats.levene(*parts, center="median").pvalue)


def compare_pairs(
    groups: Groups, looks: int = 1, *, equal_variances: bool = False
) -> list[PairTest]:
    """Compare every pair by Games and Howell, or by Tukey's HSD with equal variances.

    Intervals and p-values hold for all pairs at once (family-wise 95 %), and pay for `looks` looks.
    Empty when a group has fewer than two samples, or no two differ.
    """
    if len(groups) < 2 or any(len(group) < 2 or np.ptp(group) == 0 for group in groups):
        return []
    values = tuple(tuple(map(float, group)) for group in groups)
    return list(_pairs(values, looks, equal_variances))


@cache
def _pairs(
    groups: tuple[tuple[float, ...], ...], looks: int, equal_variances: bool
) -> tuple[PairTest, ...]:
    """Compare every pair; the intervals of Games and Howell take SciPy seconds, also of print."""
    found = stats.tukey_hsd(*groups, equal_var=equal_variances)
    interval = found.confidence_interval(confidence_of(looks))
    return tuple(
        PairTest(
            *pair,
            Estimate(
                float(found.statistic[pair]),
                float(interval.low[pair]),
                float(interval.high[pair]),
                sum(len(groups[place]) for place in pair),
                looks=looks,
            ),
            pay(float(found.pvalue[pair]), looks),
            hedges(*(groups[place] for place in pair)),
        )
        for pair in combinations(range(len(groups)), 2)
    )


def compare_pairs_in_blocks(groups: Groups, looks: int = 1) -> list[PairTest]:
    """Compare every pair of groups in blocks by Tukey's HSD against what is left in the blocks.

    Intervals and p-values hold for all pairs at once, and pay for `looks` looks. Variances are
    taken to be equal once the blocks are off. Empty when nothing is left in the blocks.
    """
    values = np.array(groups, dtype=float)
    if len(values) < 2 or not (left := _left_in_blocks(values)).any():
        return []
    count, blocks = values.shape
    freedom = (count - 1) * (blocks - 1)
    deviation = math.sqrt(float((left**2).sum()) / freedom)
    error = deviation / math.sqrt(blocks)
    critical = stats.studentized_range.ppf(confidence_of(looks), count, freedom)
    half = float(critical) * error
    pairs = list(combinations(range(count), 2))
    means = values.mean(axis=1)
    differences = [float(means[first] - means[second]) for first, second in pairs]
    p_values = stats.studentized_range.sf(np.abs(differences) / error, count, freedom)
    return [
        PairTest(
            *pair,
            Estimate(difference, difference - half, difference + half, blocks, looks=looks),
            pay(float(p_value), looks),
            in_deviations(difference, deviation, freedom),
        )
        for pair, difference, p_value in zip(pairs, differences, p_values, strict=True)
    ]


def in_deviations(difference: float, deviation: float, freedom: int) -> float:
    """Return Hedges' g (1981): a difference in standard deviations, corrected for few samples.

    `freedom` are the degrees of freedom of the standard deviation.
    """
    return difference / deviation * (1 - 3 / (4 * freedom - 1))


def hedges_of_pairs(differences: Sequence[float]) -> float | None:
    """Return Hedges' g of two systems from their differences, one a block; None without spread.

    In standard deviations of a single value without its block, as `compare_pairs_in_blocks` has it.
    """
    if len(differences) < 2 or np.ptp(differences) <= 1e-12:
        return None
    deviation = float(np.std(differences, ddof=1)) / math.sqrt(2)
    return in_deviations(float(np.mean(differences)), deviation, len(differences) - 1)


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
    # Not statsmodels' multipletests, which collects garbage at each call, for a tenth of a second.
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(1, np.maximum.accumulate(factors * np.asarray(p_values)[order]))
    return [float(p) for p in corrected]


def p_of_ratio(ratios: Sequence[float], looks: int = 1) -> float | None:
    """Return the p-value of the hypothesis that the ratios, one a block, are 1 (t test of logs).

    It pays for `looks` looks. None with fewer than two, or without any spread.
    """
    logs = np.log(ratios)
    if len(logs) < 2 or np.ptp(logs) <= 1e-12:
        return None
    return pay(float(stats.ttest_1samp(logs, 0).pvalue), looks)


def effect_of(statistic: float, between: int, within: int, size: int, looks: int = 1) -> Estimate:
    """Return Cohen's f, the effect that an F statistic shows, with its 90 % interval.

    `between` and `within` are the degrees of freedom, `size` is the number of values. The interval
    inverts the noncentral F distribution (Steiger 2004): its lower end is above 0 exactly where p
    is below 0.05. The value is median-unbiased, from the same distribution: that of Hedges needs
    more than two degrees. f is the standard deviation of the means over that of the values; Cohen
    (1988) calls 0.1 small. With `looks`, both pay for them.
    """
    tail = 0.05 / looks

    def solve(chance: float) -> float:
        def beyond(noncentrality: float) -> float:
            return float(stats.ncf.cdf(statistic, between, within, noncentrality)) - chance

        if stats.f.cdf(statistic, between, within) <= chance:
            return 0.0
        high = 4 * (between * statistic + 10)
        while beyond(high) > 0:
            high *= 2
        return float(optimize.brentq(beyond, 1e-9, high))

    low, value, high = (math.sqrt(solve(chance) / size) for chance in (1 - tail, 0.5, tail))
    return Estimate(value, low, high, size, looks=looks)


def omega_squared(between: float, freedom: int, within_ms: float, total: float) -> float:
    """Return the share of variation a source explains, less what chance alone would explain.

    `between` and `total` are sums of squares, `freedom` the source's degrees, `within_ms` the
    residual mean square. Below zero counts as zero.
    """
    return max(0.0, (between - freedom * within_ms) / (total + within_ms))
