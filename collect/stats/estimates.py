"""Statistics over trials: means of JVM forks are the samples, calls inside a fork are not."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import scipy  # its parts load when first used: stats takes longer than the numbers of a small run
from numpy.typing import NDArray

from collect.stats.spending import ERROR, corrected

_DRAWS = 3999
"""So that the ends of a 95 % interval are draws, the 100th and the 3900th of 3999 in order."""
FEWEST_FOR_COURSE = 8
"""Calls of a trial that can show two levels of SEGMENT calls each, and some noise next to them."""
FEWEST_BLOCKS = 3
"""Blocks that it takes to say anything of cells in different whole plots; our choice: two plots of
each setting leave one degree of freedom for two settings."""
FEWEST_FOR_OUTLIERS = 5
"""Of four samples or fewer, two that happen to agree make any other look far away."""
OUTLYING = 3.5
"""The modified z-score of an outlier (Iglewicz and Hoaglin 1993, section 3)."""
SHIFT = 0.05
"""The change of level that would have been seen in a steady cell; our choice, below the differences
that the papers report."""
_SEEN = 0.8
"""The chance with which a change must be found to count as one that would have been seen."""
SEGMENT = 3
"""The fewest calls that make a level; our choice: one or two slow calls are a pause."""
PENALTY = 3
"""What PELT takes for a further change, in logs of the number of calls: 3 log n is the modified BIC
(Zhang and Siegmund 2007) of a change of mean, without its term for the lengths of the segments."""
CLIP = 4
"""Where the distance of a call from the median is cut, in standard deviations of the noise.

A bounded loss keeps one outlier from being a change of level (Fearnhead and Rigaill 2019, who bound
it at 3). Our choice is 4: one call in 16 000 is beyond it by chance if the noise is normal.
"""
_ROUNDING = 1e-12
"""Relative differences below this, some thousand times the precision of a double, are rounding."""
_LONGEST_LOGS = 300.0
"""Half the length of an interval, in logs, above which it has no ends.

An interim analysis after two blocks may err so seldom that its intervals are that long.
"""
_FAR = 1e5
"""A noncentral chi-squared beyond which its root counts as normal, right to 1 in a million.

SciPy takes a millisecond a draw at 1e6, far longer beyond it, and gives NaN from about 1e12 on.
"""
_SMALLEST_MS = 1e-9
"""In place of times of zero, which have no logarithm: far below the nanosecond of the logs."""

Steadiness = Literal["steady", "drifting", "undecided"]


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; no bounds when there are too few samples for one.

    `lost` counts the samples that failed: the value is that of the others. `error` is how often the
    interval may miss; where there were interim analyses it is less, see collect.stats.spending.
    `is_confirmed` is false of a number whose interval does not show what is said of it by itself.
    """

    value: float
    low: float | None = None
    high: float | None = None
    samples: int = 1
    lost: int = 0
    error: float = ERROR
    is_confirmed: bool = True

    def excludes(self, value: float) -> bool:
        """Return whether there is an interval, and a value lies outside it."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high

    def times(self, factor: float) -> "Estimate":
        """Return the estimate and its bounds times a positive factor."""
        low, high = (None if end is None else factor * end for end in (self.low, self.high))
        return replace(self, value=factor * self.value, low=low, high=high)

    def inverse(self) -> "Estimate":
        """Return one over a positive estimate and its bounds, the lower of which is above 0."""
        low, high = (None if end is None else 1 / end for end in (self.high, self.low))
        return replace(self, value=1 / self.value, low=low, high=high)

    def log2(self) -> "Estimate":
        """Return the logarithm to the base 2 of a positive estimate and its bounds."""
        low, high = (None if end is None else math.log2(end) for end in (self.low, self.high))
        return replace(self, value=math.log2(self.value), low=low, high=high)

    def p_outside(self, low: float, high: float) -> float | None:
        """Return the p-value against the true value lying in [low, high]; None without an interval.

        From the t distribution whose interval this is (normal for one sample): the distance of the
        bound in lengths of the side of the interval that faces it, of logs where value and bound
        are positive. So a longer side never makes it smaller. It is 0 for a number known exactly
        that lies outside, and corrected for interim analyses as the interval is.
        """
        if self.low is None or self.high is None:
            return None
        if low <= self.value <= high:
            return 1.0
        return 0.0 if self.low == self.high else self._p_at(low if self.value < low else high)

    def _p_at(self, bound: float) -> float:
        """Return the p-value against a true value at a bound, where there is an interval."""
        if self.low is None or self.high is None:
            raise ValueError("there is no interval")
        if not math.isfinite(self.value):
            return 1.0 if self.low <= bound <= self.high else ERROR
        places = [self.value, bound, self.low if bound < self.value else self.high]
        if min(places[:2]) > 0:
            places = [math.log(place) if place > 0 else -math.inf for place in places]
        value, bound, faced = places
        if faced == value:
            return 1.0 if bound == value else 0.0
        freedom = self.samples - 1 if self.samples > 1 else math.inf
        distance = abs((bound - value) / (faced - value)) * _student(freedom, self.error)
        return corrected(2 * float(scipy.special.stdtr(freedom, -distance)), self.error)

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


@dataclass(frozen=True)
class Moments:
    """Count, mean and unbiased variance of a sample; no variance for fewer than two values."""

    count: int
    mean: float
    variance: float | None


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


def mean_t(sample: Sequence[float], error: float = ERROR) -> Estimate:
    """Return the mean with Student's t interval, which may miss as often as `error`."""
    mean = float(np.mean(sample))
    if len(sample) < 2:
        return Estimate(mean, samples=len(sample))
    if np.ptp(sample) <= _ROUNDING * abs(mean):
        return Estimate(mean, mean, mean, len(sample), error=error)
    return mean_t_from_moments(Moments(len(sample), mean, float(np.var(sample, ddof=1))), error)


def mean_t_from_moments(sample: Moments, error: float = ERROR) -> Estimate:
    """Return the mean with Student's t interval from the moments of a sample."""
    count, mean = sample.count, sample.mean
    if count < 2 or sample.variance is None:
        return Estimate(mean, samples=count)
    if sample.variance == 0:
        return Estimate(mean, mean, mean, count, error=error)
    half = (sample.variance / count) ** 0.5 * _student(count - 1, error)
    if not math.isfinite(half):
        return Estimate(mean, samples=count)
    return Estimate(mean, mean - half, mean + half, count, error=error)


def _student(freedom: float, error: float) -> float:
    """Return the half width of the interval of Student's t, in standard errors.

    From the lower tail: 1 less a tiny error is 1.
    """
    return -float(scipy.special.stdtrit(freedom, error / 2))


@dataclass(frozen=True)
class Quotient(Estimate):
    """A quotient of two means with Fieller's interval, and the samples of both, in pairs."""

    above: tuple[float, ...] = ()
    below: tuple[float, ...] = ()

    def _p_at(self, bound: float) -> float:
        """Return that of the t test of the mean of above - bound * below, as Fieller's interval."""
        left = np.asarray(self.above) - bound * np.asarray(self.below)
        return corrected(float(scipy.stats.ttest_1samp(left, 0).pvalue), self.error)


def quotient_of_means(
    above: Sequence[float], below: Sequence[float], error: float = ERROR
) -> Estimate | None:
    """Return the mean of one quantity over that of another, paired, with Fieller's interval (1954).

    For differences, which may have either sign in a block: the interval holds each quotient `q` at
    which a t test does not tell the mean of `above - q * below` from zero. No interval where
    `below` itself cannot be told from zero, since any quotient may then be true, nor where all
    pairs have the same quotient, as ticks of a clock have; None where its mean is zero.
    """
    count = len(above)
    if not np.mean(below):
        return None
    value = float(np.mean(above) / np.mean(below))
    if count < 2:
        return Estimate(value, samples=count)
    spread = np.cov(above, below) * _student(count - 1, error) ** 2 / count
    first, second = float(np.mean(above)), float(np.mean(below))
    square = second**2 - float(spread[1, 1])
    middle = first * second - float(spread[0, 1])
    last = first**2 - float(spread[0, 0])
    left = np.asarray(above) - value * np.asarray(below)
    if square <= 0 or np.ptp(left) <= _ROUNDING * np.abs(above).max():
        return Estimate(value, samples=count)
    root = math.sqrt(max(middle**2 - square * last, 0.0))
    low, high = (middle - root) / square, (middle + root) / square
    return Quotient(value, low, high, count, error=error, above=tuple(above), below=tuple(below))


def pooled(parts: Sequence[Moments]) -> Moments | None:
    """Return the moments of all samples together; None without any sample."""
    count = sum(part.count for part in parts)
    if not count:
        return None
    mean = sum(part.count * part.mean for part in parts) / count
    if count < 2:
        return Moments(count, mean, None)
    spread = sum(
        (part.count - 1) * (part.variance or 0) + part.count * (part.mean - mean) ** 2
        for part in parts
    )
    return Moments(count, mean, spread / (count - 1))


def geometric_t(sample: Sequence[float], error: float = ERROR) -> Estimate:
    """Return the geometric mean of positive values with Student's t interval of their logs.

    The mean of times, of bytes and of ratios: what is positive varies by factors, its interval does
    not reach 0, and a mean of ratios is the ratio of means. A sample that holds a zero, as clocks
    of whole milliseconds give it, has its arithmetic mean, without an interval unless all are zero.
    An interval too long for numbers is left out.
    """
    if min(sample) == max(sample):
        return mean_t(sample, error)
    if min(sample) <= 0:
        return Estimate(float(np.mean(sample)), samples=len(sample))
    logs = mean_t(np.log(sample).tolist(), error)
    value = float(np.exp(logs.value))
    if logs.low is None or logs.high is None or logs.high - logs.low > 2 * _LONGEST_LOGS:
        return Estimate(value, samples=logs.samples)
    low, high = float(np.exp(logs.low)), float(np.exp(logs.high))
    return Estimate(value, low, high, logs.samples, error=error)


def positive_mean_t(sample: Moments, error: float = ERROR) -> Estimate:
    """Return the arithmetic mean of positive values, with the t interval of its logarithm.

    By the delta method: the error of the logarithm of a mean is its relative error. For many values
    it is the usual interval; for few it does not reach 0. One too long for numbers is left out.
    """
    plain = mean_t_from_moments(sample, error)
    half = plain.half_width
    if half is None or plain.value <= 0 or half / plain.value > _LONGEST_LOGS:
        return replace(plain, low=None, high=None)
    factor = math.exp(half / plain.value)
    return replace(plain, low=plain.value / factor, high=plain.value * factor)


def share_between(blocks: Sequence[Sequence[Moments]], error: float = ERROR) -> Estimate:
    """Return the share of the variation of calls (eta squared) that lies between cells.

    `blocks` holds the moments of one trial a cell, a row each block. Neither part of the variation
    includes the differences between blocks. The interval is a generalised one (Weerahandi 1993):
    the variances of trials, about the means of cells and blocks, and of calls are drawn from their
    chi-squared distributions, and the distance of the cells from the noncentral one. Simulated, it
    covers 93 to 96 % from three blocks on, where calls vary more than trials as well as where they
    vary less. None for one block, and without variation of trials.
    """
    count, mean, variance = (
        np.array([[getattr(trial, name) or 0 for trial in row] for row in blocks], dtype=float)
        for name in ("count", "mean", "variance")
    )
    mean = mean - mean.mean(axis=1, keepdims=True) + mean.mean()
    cell_means = (count * mean).sum(axis=0) / count.sum(axis=0)
    of_calls = float(((count - 1) * variance).sum())
    within = of_calls + float((count * (mean - cell_means) ** 2).sum())
    grand = float((count * mean).sum() / count.sum())
    between = float((count.sum(axis=0) * (cell_means - grand) ** 2).sum())
    share = between / (between + within) if between + within > 0 else 0.0
    rows, columns = mean.shape
    freedom = (rows - 1) * (columns - 1)
    left = centred(mean)
    if not freedom or np.abs(left).max() <= _ROUNDING * np.abs(mean).max():
        return Estimate(share, samples=rows)

    rng = np.random.default_rng(0)
    trial_variance = (left**2).sum() / rng.chisquare(freedom, _DRAWS)
    calls_freedom = max(float((count - 1).sum()), 1.0)
    call_variance = of_calls / rng.chisquare(calls_freedom, _DRAWS)
    distance = rows * float(((mean.mean(axis=0) - mean.mean()) ** 2).sum()) / trial_variance
    chance = rng.random(_DRAWS)
    noncentrality = np.zeros(_DRAWS)
    far = distance > _FAR
    roots = np.sqrt(distance[far]) - scipy.special.ndtri(chance[far])
    noncentrality[far] = roots**2 - (columns - 2)
    near = ~far & (scipy.special.chndtr(distance, columns - 1, 0) > chance)
    noncentrality[near] = scipy.special.chndtrinc(distance[near], columns - 1, chance[near])
    cells = noncentrality * trial_variance / (rows * columns)
    forks = np.maximum(trial_variance - call_variance * (1 / count).mean(), 0)
    tail = error / 2
    low, high = np.quantile(cells / (cells + forks + call_variance), [tail, 1 - tail])
    return Estimate(share, float(low), float(high), rows, error=error)


def centred(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values less the means of their rows and columns, plus the mean of all.

    Rows and columns are the last two axes; each table along the other axes is centred alone.
    """
    of_rows = values.mean(axis=-1, keepdims=True)
    of_columns = values.mean(axis=-2, keepdims=True)
    grand = values.mean(axis=(-2, -1), keepdims=True)
    left: NDArray[np.float64] = values - of_rows - of_columns + grand
    return left


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


def outliers(sample: Sequence[float]) -> tuple[int, ...]:
    """Return the places of values far from the median: a modified z-score above 3.5.

    After Iglewicz and Hoaglin (1993): the distance in median absolute deviations, or in mean ones
    when more than half of the values are equal. Outliers are flagged, never dropped. Of fewer than
    five values, none is an outlier.
    """
    if len(sample) < FEWEST_FOR_OUTLIERS:
        return ()
    distances = np.abs(np.asarray(sample) - np.median(sample))
    scale = scipy.stats.median_abs_deviation(sample, scale="normal")
    if scale == 0:
        scale = float(np.mean(distances)) * math.sqrt(math.pi / 2)
    if scale <= _ROUNDING * abs(float(np.median(sample))):
        return ()
    return tuple(int(place) for place in np.flatnonzero(distances / scale > OUTLYING))


@dataclass(frozen=True)
class Course:
    """What the measured calls of a cell show of a drift.

    `smallest` is the smallest change of level, as a share, that would have been seen in 80 of 100
    cells like this one; None where there are too few calls to see any.
    """

    steadiness: Steadiness
    smallest: float | None = None


def course_of(courses: Sequence[Sequence[float] | NDArray[np.float64]]) -> Course:
    """Tell whether the measured phase of a cell was steady; `courses` has the times by trial.

    A course drifts when PELT (Killick 2012, from ruptures) finds a change point in the logs of its
    times and the medians on its sides differ by more than half of 5 %, so that a change of 5 % is
    not missed. A cell drifts when most of its trials do, or the mean of their courses does, which
    sees what is common to all of them through their noise. It is steady when it does not drift and
    a change of 5 % in that mean would have been seen, a quarter of the calls from its end or
    further inside; else undecided. A trial with fewer than eight calls shows nothing.
    """
    long = [np.asarray(course) for course in courses if len(course) >= FEWEST_FOR_COURSE]
    if 2 * len(long) <= len(courses):
        return Course("undecided")
    # Lengths differ by the calls that failed; the few shorter courses would cost many calls.
    length = int(np.median([len(course) for course in long]))
    whole = [_logs(course[:length]) for course in long if len(course) >= length]
    parts = np.array([_clipped(logs) for logs in whole])
    common = parts.mean(axis=0)
    # The noise of few values is known badly, that of all trials together better.
    of_trials = float(np.mean([_noise(part) ** 2 for part in parts]) / len(parts)) ** 0.5
    noise = max(_noise(common), of_trials)
    smallest = _smallest_seen(noise, length)
    alone = [(_clipped(logs), logs) for logs in map(_logs, long)]
    drifting = sum(_drifts(one, logs, _noise(one)) for one, logs in alone)
    if 2 * drifting > len(courses) or _drifts(common, np.mean(whole, axis=0), noise):
        return Course("drifting", smallest)
    return Course("steady" if smallest <= SHIFT else "undecided", smallest)


def _logs(course: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logs of times about their median."""
    logs = np.log(np.maximum(course, _SMALLEST_MS))
    return np.asarray(logs - np.median(logs))


def _clipped(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logs about their median, cut so that one pause is no change of level."""
    # Outliers stay in the data; they are cut here alone.
    limit = CLIP * _noise(logs)
    return np.clip(logs, -limit, limit)


def _noise(logs: NDArray[np.float64]) -> float:
    """Return the standard deviation of the noise, from what neighbours differ by."""
    noise = float(scipy.stats.median_abs_deviation(np.diff(logs), scale="normal")) / 2**0.5
    return noise if noise > 0 else float(np.std(logs))


def _smallest_seen(noise: float, count: int) -> float:
    """Return the smallest change of level that PELT finds in 80 of 100 such courses.

    A change of d standard deviations after a quarter of n values lowers the cost by 3/16 n d², and
    that of noise has the standard normal distribution about its root.
    """
    height = (PENALTY * math.log(count)) ** 0.5 + float(scipy.special.ndtri(_SEEN))
    return math.expm1(height * noise / (count * 3 / 16) ** 0.5)


def _drifts(clipped: NDArray[np.float64], logs: NDArray[np.float64], noise: float) -> bool:
    """Tell whether the level changes: where it does is seen in `clipped`, by how much in `logs`.

    The levels of a cut course are never farther apart than what it is cut to.
    """
    import ruptures  # noqa: PLC0415 - takes longer to import than the numbers of a small run

    if noise == 0:
        return False
    signal = (clipped / noise).reshape(-1, 1)
    # A linear kernel has the cost of a change of mean; this is PELT in C, Pelt is in Python.
    search = ruptures.KernelCPD(kernel="linear", min_size=SEGMENT)
    ends = search.fit_predict(signal, pen=PENALTY * np.log(len(logs)))
    medians = [np.median(logs[start:end]) for start, end in pairwise([0, *ends])]
    return bool(np.exp(max(medians) - min(medians)) > 1 + SHIFT / 2)
