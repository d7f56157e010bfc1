"""Tests of groups of samples inside blocks: F, F of aligned ranks, residuals, and what F shows.

A group is a sequence of numbers, such as the logs of the trial means of one cell, one a block.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, stats

from collect.stats.components import centred
from collect.stats.estimates import ROUNDING, Estimate
from collect.stats.spending import ERROR, corrected

Groups = Sequence[Sequence[float]]
_FEWEST_FOR_SHAPE = 8
"""Residuals that a test of their shape takes; our choice: with fewer it finds next to nothing."""
_LEAST_ERROR = 1e-9
"""Below it the tails of the noncentral F distribution take long, and are no longer right."""
_NOISELESS = 1e8
"""A noncentrality beyond which only the denominator of F varies: its root is known to 1 in 10 000.

SciPy's noncentral F distribution is NaN from about a hundred times as much on.
"""
_FEWEST_OF_A_GROUP = 3
"""Values of each group that a test of their shape takes; two have none."""


@dataclass(frozen=True)
class GroupTest:
    """A test that the groups have one mean, with the degrees of numerator and denominator."""

    name: str
    statistic: float
    degrees: tuple[float, float]
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


def compare_in_blocks(groups: Groups) -> list[GroupTest]:
    """Test by F with blocks in the model, and by F of aligned ranks.

    Aligned ranks (Hodges and Lehmann 1962) are those of all values, each less the mean of its
    block: one slow value weighs little. Values that differ by rounding are tied. Empty when the
    tests cannot be computed.
    """
    values = np.array(groups, dtype=float)
    if len(values) < 2 or not _left_in_blocks(values).any():
        return []
    steps = (values - values.mean(axis=0)) / (ROUNDING * np.abs(values).max())
    aligned = stats.rankdata(np.round(steps), axis=None).reshape(values.shape)
    return [
        GroupTest(name, *_f_in_blocks(response))
        for name, response in (("F, blocks in the model", values), ("aligned ranks, F", aligned))
        if _left_in_blocks(response).any()
    ]


def _f_in_blocks(values: np.ndarray[Any, Any]) -> tuple[float, tuple[float, float], float]:
    """Return F of the groups with its degrees of freedom and p-value; as `anova`, only faster."""
    groups, blocks = values.shape
    between, within = groups - 1.0, (groups - 1.0) * (blocks - 1.0)
    left = float((_left_in_blocks(values) ** 2).sum()) / within
    f = blocks * float(np.var(values.mean(axis=1), ddof=1)) / left
    return f, (between, within), float(stats.f.sf(f, between, within))


def _left_in_blocks(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return what is left of groups in blocks without the means of groups and blocks."""
    return _without_rounding(centred(values), values)


def _without_rounding(
    left: np.ndarray[Any, Any], values: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return the residuals of values, with 0 for each that is a rounding error."""
    return np.where(np.abs(left) > ROUNDING * np.abs(values).max(initial=0), left, 0.0)


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
        of_group = [np.asarray(group, dtype=float) for group in groups]
        parts = [_without_rounding(values - values.mean(), values) for values in of_group]
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
    """Return the p-value of normal groups; W does not depend on the variance of its group."""
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


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values so that one false alarm among all has the level of one (Holm 1979)."""
    # Not statsmodels' multipletests, which collects garbage at each call, for a tenth of a second.
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(1, np.maximum.accumulate(factors * np.asarray(p_values)[order]))
    return [float(p) for p in corrected]


def p_of_ratio(ratios: Sequence[float], error: float = ERROR) -> float | None:
    """Return the p-value of the hypothesis that the ratios, one a block, are 1 (t test of logs).

    An analysis that may err as often as `error` says corrects it. None with fewer than two, or
    without any spread.
    """
    logs = np.log(ratios)
    if len(logs) < 2 or np.ptp(logs) <= ROUNDING:
        return None
    return corrected(float(stats.ttest_1samp(logs, 0).pvalue), error)


@dataclass(frozen=True)
class Explained(Estimate):
    """The share of the variation that an F test finds explained, with its 90 % interval.

    `statistic` is F, `between` and `within` are its degrees of freedom and `samples` counts the
    values. Where variances are unequal, `beyond` is by how much that moves the critical value: what
    speaks for an effect has F over it, what speaks against one has F as it is.
    """

    statistic: float = 0.0
    between: int = 1
    within: int = 1
    beyond: float = 1.0

    def p_outside(self, low: float, high: float) -> float | None:
        """Return the p-value against the true share lying in [low, high], one-sided.

        From the noncentral F distribution: that of no effect is the p-value of the F test itself.
        """
        if low <= self.value <= high:
            return 1.0
        bound = low if self.value < low else high
        if bound >= 1 or bound < 0:
            return 0.0
        freedom, noncentrality = (self.between, self.within), self.samples * bound / (1 - bound)
        if self.value < low:
            p_value = float(stats.ncf.cdf(self.statistic, *freedom, noncentrality))
        elif bound == 0:
            p_value = float(stats.f.sf(self.statistic / self.beyond, *freedom))
        else:
            p_value = float(stats.ncf.sf(self.statistic / self.beyond, *freedom, noncentrality))
        return corrected(p_value, self.error)


def explained(  # noqa: PLR0913 - the degrees of freedom of a test, and what it is corrected for
    statistic: float,
    between: int,
    within: int,
    size: int,
    *,
    error: float = ERROR,
    beyond: float = 1.0,
) -> Explained:
    """Return the share of the variation that an F statistic shows to be explained.

    `between` and `within` are the degrees of freedom, `size` is the number of values, `beyond` is
    that of Explained. The interval inverts the noncentral F distribution (Steiger 2004): its lower
    end is above 0 exactly where p is below `error`. The value is median-unbiased, from the same
    distribution. An interval that may hardly miss is that of any share, 0 to 1.
    """

    def solve(chance: float, f: float) -> float:
        def above(noncentrality: float) -> float:
            return float(stats.ncf.cdf(f, between, within, noncentrality)) - chance

        if stats.f.cdf(f, between, within) <= chance:
            return 0.0
        if between * f > _NOISELESS:
            return between * f / within * float(stats.chi2.isf(chance, within))
        high = 4 * (between * f + 10)
        while above(high) > 0:
            high *= 2
        return float(optimize.brentq(above, 1e-9, high))

    def share(chance: float, f: float) -> float:
        noncentrality = solve(chance, f)
        return noncentrality / (noncentrality + size)

    moved = statistic / beyond
    value, low, high = share(0.5, moved), 0.0, 1.0
    if error > _LEAST_ERROR:
        low, high = share(1 - error, moved), share(error, statistic)
    return Explained(
        value,
        low,
        high,
        size,
        error=error,
        statistic=statistic,
        between=between,
        within=within,
        beyond=beyond,
    )
