"""How much of a variance lies between groups of samples."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when first used: stats takes longer than the numbers of a small run
from numpy.typing import NDArray

from collect.stats.estimates import ROUNDING, Estimate, Moments
from collect.stats.spending import ERROR

Groups = Mapping[int, Mapping[int, float]]
"""A value of each sample, by the name of its group and its own."""
_DRAWS = 3999
"""So that the ends of a 95 % interval are draws, the 100th and the 3900th of 3999 in order."""
_FAR = 1e5
"""A noncentral chi-squared beyond which its root counts as normal, right to 1 in a million.

SciPy takes a millisecond a draw at 1e6, far longer beyond it, and gives NaN from about 1e12 on.
"""


@dataclass(frozen=True)
class Component:
    """The standard deviation between groups, in the unit of the values, and whether it is chance.

    `deviation` is the pooled estimate over several quantities, 0 where groups differ no more than
    values within one; `effects` is how far each group lies from the mean of all; `p_value` is that
    of F.
    """

    deviation: float
    effects: Mapping[int, float]
    p_value: float


@dataclass(frozen=True)
class VarianceSplit:
    """Variance of a cell between forks and between the calls of a fork, in ms²."""

    forks_ms2: float
    calls_ms2: float

    @property
    def share_of_forks(self) -> float | None:
        """The part of the variance that only more forks can average out; None without variance."""
        total = self.forks_ms2 + self.calls_ms2
        return self.forks_ms2 / total if total > 0 else None


def between_groups(quantities: Sequence[Groups]) -> Component | None:
    """Return how much groups differ; each quantity has a value for each sample of each group.

    By the mean squares of a one-way random model (Searle, Casella and McCulloch 1992, section 3.6),
    whose components are averaged over the quantities before one below zero counts as zero. F is of
    the samples' means over the quantities, since quantities of one sample are not independent.
    Where nothing varies, its p-value is 1. None where no group has two samples, or there is one
    group.
    """
    usable = [groups for groups in quantities if _freedom(groups) > 0 and len(groups) > 1]
    if not usable:
        return None
    # Quantities are averaged sample by sample: those of the same samples that have most values.
    held = [{name: set(values) for name, values in groups.items()} for groups in usable]
    most = max(held, key=lambda names: held.count(names) * sum(map(len, names.values())))
    whole = [
        (groups, _mean(groups)) for groups, names in zip(usable, held, strict=True) if names == most
    ]
    together = {
        name: [
            float(np.mean([groups[name][sample] - mean for groups, mean in whole]))
            for sample in samples
        ]
        for name, samples in most.items()
    }
    return Component(
        deviation=max(0.0, float(np.mean([_component(groups) for groups in usable]))) ** 0.5,
        effects={name: float(np.mean(values)) for name, values in together.items()},
        p_value=_p_of_groups(list(together.values())),
    )


def _p_of_groups(groups: Sequence[Sequence[float]]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of groups that are constant
        p_value = float(scipy.stats.f_oneway(*groups).pvalue)
    return 1.0 if math.isnan(p_value) else p_value


def _freedom(groups: Groups) -> int:
    return sum(map(len, groups.values())) - len(groups)


def _mean(groups: Groups) -> float:
    return float(np.mean([np.mean([*values.values()]) for values in groups.values()]))


def _component(groups: Groups) -> float:
    parts = [np.array([*values.values()]) for values in groups.values()]
    sizes = np.array([len(part) for part in parts])
    means = np.array([part.mean() for part in parts])
    total = sizes.sum()
    grand = float((sizes * means).sum() / total)
    between = float((sizes * (means - grand) ** 2).sum()) / (len(sizes) - 1)
    within = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
    usual = (total - (sizes**2).sum() / total) / (len(sizes) - 1)
    return (between - within / _freedom(groups)) / float(usual)


def split_variance(
    counts: Sequence[int], means: Sequence[float], variances: Sequence[float | None]
) -> VarianceSplit | None:
    """Split variance between forks and calls from the calls, mean and variance of each fork.

    The unbiased estimator of the two-level model of Kalibera and Jones (ISMM 2013): the
    variance of the fork means less what the calls contribute to it, never below zero. None when
    there are fewer than two forks or no fork has two calls.
    """
    freedom = sum(count - 1 for count in counts)
    if len(means) < 2 or freedom < 1:
        return None
    spread = sum((n - 1) * v for n, v in zip(counts, variances, strict=True) if v is not None)
    calls = spread / freedom
    forks = float(np.var(means, ddof=1)) - calls * float(np.mean([1 / n for n in counts]))
    return VarianceSplit(max(0.0, forks), calls)


def share_between(blocks: Sequence[Sequence[Moments]], error: float = ERROR) -> Estimate:
    """Return the share of the variation of calls (eta squared) that lies between cells.

    `blocks` holds the moments of one trial a cell, a row each block. Neither part of the variation
    includes the differences between blocks. Each trial weighs the same, however many calls it has:
    in a test of a fixed time the fast cell would else be nearly all. The interval is a generalised
    one (Weerahandi 1993): the variances of trials, about the means of cells and blocks, and of
    calls are drawn from their chi-squared distributions, and the distance of the cells from the
    noncentral one. Simulated, it covers 93 to 96 % from three blocks on, where calls vary more than
    trials as well as where they vary less. None for one block, and without variation of trials.
    """
    count, mean, variance = (
        np.array([[getattr(trial, name) or 0 for trial in row] for row in blocks], dtype=float)
        for name in ("count", "mean", "variance")
    )
    mean = mean - mean.mean(axis=1, keepdims=True) + mean.mean()
    cell_means = mean.mean(axis=0)
    between = float(cell_means.var())
    within = float((variance * (count - 1) / count + (mean - cell_means) ** 2).mean())
    share = between / (between + within) if between + within > 0 else 0.0
    rows, columns = mean.shape
    freedom = (rows - 1) * (columns - 1)
    left = centred(mean)
    if not freedom or np.abs(left).max() <= ROUNDING * np.abs(mean).max():
        return Estimate(share, samples=rows)

    rng = np.random.default_rng(0)
    trial_variance = (left**2).sum() / rng.chisquare(freedom, _DRAWS)
    calls_freedom = max(float((count - 1).sum()), 1.0)
    of_calls = float(variance[count > 1].mean()) if (count > 1).any() else 0.0
    call_variance = of_calls * calls_freedom / rng.chisquare(calls_freedom, _DRAWS)
    distance = rows * columns * between / trial_variance
    noncentrality = _noncentrality(distance, columns, rng.random(_DRAWS))
    cells = noncentrality * trial_variance / (rows * columns)
    forks = np.maximum(trial_variance - call_variance * (1 / count).mean(), 0)
    tail = error / 2
    low, high = np.quantile(cells / (cells + forks + call_variance), [tail, 1 - tail]).tolist()
    # The share of a sample is too large in the mean, in some runs larger than both ends.
    return Estimate(share, min(low, share), max(high, share), rows, error=error)


def _noncentrality(
    distance: NDArray[np.float64], columns: int, chance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the noncentrality at which a chi-squared lies below a distance with this chance."""
    noncentrality = np.zeros(len(distance))
    far = distance > _FAR
    roots = np.sqrt(distance[far]) - scipy.special.ndtri(chance[far])
    noncentrality[far] = roots**2 - (columns - 2)
    near = ~far & (scipy.special.chndtr(distance, columns - 1, 0) > chance)
    noncentrality[near] = scipy.special.chndtrinc(distance[near], columns - 1, chance[near])
    return noncentrality


def centred(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values less the means of their rows and columns, plus the mean of all.

    Rows and columns are the last two axes; each table along the other axes is centred alone.
    """
    of_rows = values.mean(axis=-1, keepdims=True)
    of_columns = values.mean(axis=-2, keepdims=True)
    grand = values.mean(axis=(-2, -1), keepdims=True)
    left: NDArray[np.float64] = values - of_rows - of_columns + grand
    return left
