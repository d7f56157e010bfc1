"""The calls of a cell, pooled over its trials: percentiles, and which calls dominate the mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when first used
from numpy.typing import NDArray

from collect.logs.summaries import QUANTILES, CountedCalls
from collect.stats.estimates import ROUNDING, Estimate
from collect.stats.spending import ERROR

FEWEST_TRIALS = 10
"""Trials that can be resampled: intervals from fewer hold the true value in 73 to 84 of 100."""
FEWEST_FOR_P50, FEWEST_FOR_P99 = 6, 299
"""Calls of which an order statistic is beyond the percentile with 95 %, were they independent."""
APART = 1.2
"""A mean call this many times the median call, or that by it, is made by few of the calls."""
_DRAWS = 999
_PLACES = np.unique(np.concatenate([np.linspace(0, 1, 1001), np.linspace(0.95, 1, 1001)]))
"""Quantiles between which resampled calls are not distinguished."""
_NS_A_MS = 1e6


@dataclass(frozen=True)
class Rare:
    """The calls that part the mean from the median of a cell.

    Both are geometric means over trials. Without the `calls` slowest calls, all of `from_ms` or
    more and in `trials` trials, the mean call would be within 20 % of the median call. Where fast
    calls part them, the same of the fastest, all of at most `from_ms`.
    """

    calls: int
    trials: int
    from_ms: float
    are_slow: bool


@dataclass(frozen=True)
class Pooled:
    """All counted calls of a cell, in ms.

    `p50` and `p99` have an interval from ten trials on, by resampling trials: calls of one trial
    are not independent. Simulated, that of p50 holds the true one in 92 to 97 of 100 cells, that of
    p99 in 80 to 95, and in fewer where trials differ by far more than calls. They are None where
    the calls are too few for one, which takes 6 and 299.
    `variance_ms2` treats calls as samples. `spread_ms` are the times in ascending order, or 200
    quantiles of them. `rare` is None where the geometric means over trials of the mean and of the
    median call are alike.
    """

    p50_ms: float
    p99_ms: float
    p50: Estimate | None
    p99: Estimate | None
    mean_ms: float
    variance_ms2: float | None
    spread_ms: NDArray[np.float64]
    rare: Rare | None


def pool(members: Sequence[CountedCalls]) -> Pooled:
    """Pool the calls of trials that count."""
    count = np.array([member.summary.calls for member in members])
    mean = np.array([member.summary.mean_ms for member in members])
    variance = np.array([member.summary.variance_ms2 or 0.0 for member in members])
    times = np.concatenate([member.times_ns for member in members])
    total = len(times)
    grid = QUANTILES if total > len(QUANTILES) else np.linspace(0, 1, total)
    spread = np.quantile(times, grid) / _NS_A_MS
    p50, p99 = (float(value) / _NS_A_MS for value in np.quantile(times, [0.5, 0.99]))
    of_p50, of_p99 = _resampled(members, times)
    overall = float(count @ mean) / total
    squares = float((count - 1) @ variance + count @ (mean - overall) ** 2)
    return Pooled(
        p50_ms=p50,
        p99_ms=p99,
        p50=_percentile(p50, of_p50, len(members)) if total >= FEWEST_FOR_P50 else None,
        p99=_percentile(p99, of_p99, len(members)) if total >= FEWEST_FOR_P99 else None,
        mean_ms=overall,
        variance_ms2=squares / (total - 1) if total > 1 else None,
        spread_ms=spread,
        rare=_rare(members, times),
    )


def _percentile(value: float, deviation: float | None, trials: int) -> Estimate:
    """Return a percentile with the interval of Student's t of its log, of trials as samples.

    Without one where it is the same however trials are resampled, as that of a clock's ticks is.
    """
    if deviation is None or deviation <= ROUNDING or value <= 0:
        return Estimate(value, samples=trials)
    factor = math.exp(deviation * float(scipy.special.stdtrit(trials - 1, 1 - ERROR / 2)))
    return Estimate(value, value / factor, value * factor, trials)


def _resampled(
    members: Sequence[CountedCalls], times: NDArray[np.int64]
) -> tuple[float, float] | tuple[None, None]:
    """Return the standard deviations of the logs of p50 and p99 over resampled trials.

    None for too few trials.
    """
    trials = len(members)
    if trials < FEWEST_TRIALS:
        return None, None
    edges = np.unique(np.quantile(times, _PLACES, method="inverted_cdf"))
    counts = np.array(
        [
            np.bincount(np.searchsorted(edges, member.times_ns), minlength=len(edges))
            for member in members
        ]
    )
    rng = np.random.default_rng(0)
    weights = rng.multinomial(trials, [1 / trials] * trials, _DRAWS)
    below = np.cumsum(weights @ counts, axis=1)
    logs = np.log(np.maximum(edges, 1))
    p50, p99 = (
        float(np.std(logs[(below < part * below[:, -1:]).sum(axis=1)])) for part in (0.5, 0.99)
    )
    return p50, p99


def _rare(members: Sequence[CountedCalls], times: NDArray[np.int64]) -> Rare | None:
    """Return the fewest calls at one end without which mean and median are alike.

    Calls of one time go together, as nothing tells which of them is rarer.
    A trial that has none of its calls left is in neither. None where a median is 0.
    """
    medians = np.array([member.summary.median_ms for member in members])
    if min(medians) <= 0:
        return None
    means = np.array([member.summary.mean_ms for member in members])
    apart = float(np.log(means / medians).mean())
    if abs(apart) <= math.log(APART):
        return None
    are_slow = apart > 0
    order = np.argsort(times, kind="stable")[:: 1 if are_slow else -1]
    rank = np.empty(len(times), np.intp)
    rank[order] = np.arange(len(times))
    ends = np.cumsum([len(member.times_ns) for member in members])
    # By how much each further call moves the log of its trial's mean over its median.
    moves, firsts = np.empty(len(times)), np.zeros(len(times))
    for own, median in zip(map(np.sort, np.split(rank, ends[:-1])), medians, strict=True):
        sums = np.cumsum(np.maximum(times[order[own]], 1), dtype=np.float64)
        logs = np.log(sums / np.arange(1, len(own) + 1) / (median * _NS_A_MS))
        moves[own] = np.diff(logs, prepend=0.0)
        firsts[own[0]] = 1
    parted = np.cumsum(moves) / np.cumsum(firsts)
    alike = parted <= math.log(APART) if are_slow else parted >= -math.log(APART)
    is_last_of_its_time = np.diff(times[order]) != 0
    left = int(np.flatnonzero(alike[:-1] & is_last_of_its_time)[-1]) + 1
    limit = int(times[order[left]])
    trials = sum(
        bool((member.times_ns >= limit).any() if are_slow else (member.times_ns <= limit).any())
        for member in members
    )
    return Rare(len(times) - left, trials, limit / _NS_A_MS, are_slow)
