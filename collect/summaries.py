"""One trial's log in a few numbers."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from collect.logs import MISSING, PHASES, STATUSES, Columns, Log
from collect.statistics import Moments

_MEASURE, _OK = PHASES.index("measure"), STATUSES.index("ok")
_BUCKETS = 200
_NS_A_MS = 1e6


@dataclass(frozen=True)
class TrialSummary:
    """The measured calls of one trial; times in ms over calls with status ok, None without any."""

    calls: int
    errors: int
    mean_ms: float | None
    variance_ms2: float | None
    request_bytes: float | None
    response_bytes: float | None

    @property
    def moments(self) -> Moments | None:
        """Count, mean and variance of the times."""
        return (
            None if self.mean_ms is None else Moments(self.calls, self.mean_ms, self.variance_ms2)
        )


@dataclass(frozen=True)
class Measured:
    """What is kept of a log: its summary, the course of its times and the times themselves.

    `course_ms` holds the times in order of their starts as at most 200 means; `times_ns` every
    counted time, int64, in the same order.
    """

    summary: TrialSummary
    course_ms: NDArray[np.float64]
    times_ns: NDArray[np.int64]


def measure(log: Log) -> Measured:
    """Summarise the measured calls of a log; only those with status ok count."""
    columns = log.columns
    measured = columns["phase"] == _MEASURE
    counted = measured & (columns["status"] == _OK)
    times = _times(columns)[counted]
    start = columns["start_ns"][counted]
    if (start[1:] <= start[:-1]).any():
        times = times[np.lexsort((columns["seq"][counted], start))]
    calls = len(times)
    mean = float(times.mean()) if calls else 0.0
    squares = np.square(times - mean)
    summary = TrialSummary(
        calls=calls,
        errors=int(np.count_nonzero(measured)) - calls,
        mean_ms=mean / _NS_A_MS if calls else None,
        variance_ms2=float(squares.sum()) / (calls - 1) / _NS_A_MS**2 if calls > 1 else None,
        request_bytes=_mean_size(columns["request_bytes"][counted]),
        response_bytes=_mean_size(columns["response_bytes"][counted]),
    )
    return Measured(summary, _course(times), times)


def _times(columns: Columns) -> NDArray[np.int64]:
    """Give the times from the intended start where there is one, so that waiting is not hidden."""
    intended, elapsed = columns["intended_ns"], columns["elapsed_ns"]
    is_open = intended != MISSING
    if not is_open.any():
        return elapsed
    return np.where(is_open, columns["start_ns"] - intended, 0) + elapsed


def _mean_size(sizes: NDArray[np.int64]) -> float | None:
    """Give the mean of the known sizes; a client writes unknown as below zero."""
    if len(sizes) and sizes.min() < 0:
        sizes = sizes[sizes >= 0]
    return float(sizes.mean()) if len(sizes) else None


def _course(times: NDArray[np.int64]) -> NDArray[np.float64]:
    if len(times) <= _BUCKETS:
        return times / _NS_A_MS
    begins, lengths = _buckets(len(times))
    sums: NDArray[np.float64] = np.add.reduceat(times.astype(np.float64), begins)
    return sums / lengths / _NS_A_MS


@lru_cache(maxsize=64)
def _buckets(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    bounds = -(-np.arange(_BUCKETS + 1) * count // _BUCKETS)
    return bounds[:-1], np.diff(bounds)
