"""The course of times in a trial: whether they were steady while measured, or drifted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import scipy  # its parts load when first used: stats takes longer than the numbers of a small run
from numpy.typing import NDArray

FEWEST_FOR_COURSE = 8
"""Calls of a trial that can show two levels of SEGMENT calls each, and some noise next to them."""
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
_SMALLEST_MS = 1e-9
"""In place of times of zero, which have no logarithm: far below the nanosecond of the logs."""

Steadiness = Literal["steady", "drifting", "undecided"]


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
