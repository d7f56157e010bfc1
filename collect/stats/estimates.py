"""Statistics over trials: means of JVM forks are the samples, calls inside a fork are not."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy  # its parts load when first used: stats takes longer than the numbers of a small run

from collect.stats.spending import ERROR, corrected

FEWEST_BLOCKS = 3
"""Blocks that it takes to say anything of cells in different whole plots; our choice: two plots of
each setting leave one degree of freedom for two settings."""
FEWEST_FOR_OUTLIERS = 5
"""Of four samples or fewer, two that happen to agree make any other look far away."""
OUTLYING = 3.5
"""The modified z-score of an outlier (Iglewicz and Hoaglin 1993, section 3)."""
ROUNDING = 1e-12
"""Relative differences below this, some thousand times the precision of a double, are rounding."""
_LONGEST_LOGS = 300.0
"""Half the length of an interval, in logs, above which it has no ends.

An interim analysis after two blocks may err so seldom that its intervals are that long.
"""


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


def mean_t(sample: Sequence[float], error: float = ERROR, *, is_exact: bool = False) -> Estimate:
    """Return the mean with Student's t interval, which may miss as often as `error`.

    Values that do not vary have none: they are those of a clock's ticks, and how far they are right
    is unknown. Where they are exact, as bytes are, their interval has no length.
    """
    mean = float(np.mean(sample))
    if len(sample) < 2:
        return Estimate(mean, samples=len(sample))
    if np.ptp(sample) <= ROUNDING * abs(mean):
        end = mean if is_exact else None
        return Estimate(mean, end, end, len(sample), error=error)
    return mean_t_from_moments(Moments(len(sample), mean, float(np.var(sample, ddof=1))), error)


def mean_t_from_moments(sample: Moments, error: float = ERROR) -> Estimate:
    """Return the mean with Student's t interval from the moments of a sample; see `mean_t`."""
    count, mean = sample.count, sample.mean
    if count < 2 or not sample.variance:
        return Estimate(mean, samples=count)
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
    if square <= 0 or np.ptp(left) <= ROUNDING * np.abs(above).max():
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


def geometric_t(
    sample: Sequence[float], error: float = ERROR, *, is_exact: bool = False
) -> Estimate:
    """Return the geometric mean of positive values with Student's t interval of their logs.

    The mean of times, of bytes and of ratios: what is positive varies by factors, its interval does
    not reach 0, and a mean of ratios is the ratio of means. A sample that holds a zero, as clocks
    of whole milliseconds give it, has its arithmetic mean, without an interval. Values that differ
    by rounding are equal, also where their logs are near 0: see `mean_t`. An interval too long for
    numbers is left out.
    """
    if np.ptp(sample) <= ROUNDING * min(sample):
        return mean_t(sample, error, is_exact=is_exact)
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
    if scale <= ROUNDING * abs(float(np.median(sample))):
        return ()
    return tuple(int(place) for place in np.flatnonzero(distances / scale > OUTLYING))
