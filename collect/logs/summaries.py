"""One trial's log reduced to what the cells need."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collect.logs.columns import MISSING, Columns
from collect.logs.first_calls import FirstCalls, first_calls
from collect.run.trials import PHASES, STATUSES
from collect.stats.estimates import Moments

_MEASURE, _OK = PHASES.index("measure"), STATUSES.index("ok")
_BUCKETS = 200
_NS_A_MS = 1e6
QUANTILES = (np.arange(200) + 0.5) / 200
"""Where the distribution of times is drawn: as fine as a chart can show."""


@dataclass(frozen=True)
class TrialSummary:
    """The measured calls of one trial; times in ms over calls with status ok, None without any.

    `calls_per_s` is the throughput of all threads together: of each thread its calls with status ok
    a second, from the start of its first measured call to the end of its last one, summed. So a
    thread that ends early lowers nothing, as the load is held until all have ended. The measured
    phase lasts from the start of the first measured call, ok or not, to the end of the last one.
    `median_ms` is the median call. `log_mean` and `log_variance` are those of the natural logs of
    times in ms, None where a time is zero.
    """

    calls: int
    errors: int
    mean_ms: float | None
    variance_ms2: float | None
    request_bytes: float | None
    response_bytes: float | None
    calls_per_s: float | None = None
    measured_from_ns: int | None = None
    measured_to_ns: int | None = None
    median_ms: float | None = None
    log_mean: float | None = None
    log_variance: float | None = None

    @property
    def moments(self) -> Moments | None:
        """Count, mean and variance of the times."""
        return (
            None if self.mean_ms is None else Moments(self.calls, self.mean_ms, self.variance_ms2)
        )

    @property
    def log_moments(self) -> Moments | None:
        """Count, mean and variance of the logs of the times."""
        return (
            None if self.log_mean is None else Moments(self.calls, self.log_mean, self.log_variance)
        )


@dataclass(frozen=True)
class CountedCalls:
    """The calls of one log that count: their summary, their course and each of their times.

    `course_ms` holds the times in the order of their starts as at most 200 means, `course_at_ns`
    when the first call of each mean started; `times_ns` holds every time, int64, in the same order.
    `first` says how the measured phase begins.
    """

    summary: TrialSummary
    course_ms: NDArray[np.float64]
    times_ns: NDArray[np.int64]
    course_at_ns: NDArray[np.int64]
    first: FirstCalls

    @property
    def spread_ms(self) -> NDArray[np.float64]:
        """The times in ascending order; of more than 200 times, 200 quantiles."""
        if len(self.times_ns) <= len(QUANTILES):
            return np.sort(self.times_ns) / _NS_A_MS
        return np.quantile(self.times_ns, QUANTILES) / _NS_A_MS


def count_calls(columns: Columns) -> CountedCalls:
    """Return the measured calls of a log; only those with status ok count."""
    measured, good = columns["phase"] == _MEASURE, columns["status"] == _OK
    every = np.flatnonzero(measured)
    rows = np.flatnonzero(measured & good)
    start = columns["start_ns"][rows]
    if (np.diff(start) <= 0).any():
        rows = rows[np.lexsort((columns["seq"][rows], start))]
    times_ns = _times(columns, rows)
    times = times_ns.astype(np.float64)
    calls = len(times)
    mean = variance = log_mean = log_variance = None
    if calls:
        mean = _sum(times) / calls
    if mean is not None and calls > 1:
        variance = _sum(np.square(times - mean)) / (calls - 1)
    if calls and times.min() > 0:
        logs = np.log(times / _NS_A_MS)
        log_mean = float(logs.mean())
        log_variance = float(logs.var(ddof=1)) if calls > 1 else None
    summary = TrialSummary(
        calls=calls,
        errors=int(np.count_nonzero(measured & ~good)),
        mean_ms=None if mean is None else mean / _NS_A_MS,
        variance_ms2=None if variance is None else variance / _NS_A_MS**2,
        request_bytes=_mean_size(columns["request_bytes"][rows]),
        response_bytes=_mean_size(columns["response_bytes"][rows]),
        calls_per_s=_throughput(columns, every) if calls else None,
        measured_from_ns=int(columns["start_ns"][every].min()) if len(every) else None,
        measured_to_ns=int(_ends(columns, every).max()) if len(every) else None,
        median_ms=float(np.median(times)) / _NS_A_MS if calls else None,
        log_mean=log_mean,
        log_variance=log_variance,
    )
    at_ns = columns["start_ns"][rows][_bounds(calls)[:-1]]
    return CountedCalls(summary, _course(times), times_ns, at_ns, first_calls(columns))


def _times(columns: Columns, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the times from the intended start where there is one, so that waiting counts."""
    intended = columns["intended_ns"][rows]
    waited = np.where(intended == MISSING, 0, columns["start_ns"][rows] - intended)
    times: NDArray[np.int64] = waited + columns["elapsed_ns"][rows]
    return times


def _throughput(columns: Columns, rows: NDArray[np.intp]) -> float | None:
    start, status = columns["start_ns"][rows], columns["status"][rows]
    threads, thread = np.unique(columns["thread"][rows], return_inverse=True)
    first, last = np.full((2, len(threads)), start[0])
    np.minimum.at(first, thread, start)
    np.maximum.at(last, thread, _ends(columns, rows))
    if (last <= first).any():
        return None
    return float((np.bincount(thread, status == _OK) / (last - first)).sum() * 1e9)


def _ends(columns: Columns, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    ends: NDArray[np.int64] = columns["start_ns"][rows] + columns["elapsed_ns"][rows]
    return ends


def _mean_size(sizes: NDArray[np.int64]) -> float | None:
    """Return the mean of the known sizes; a client writes an unknown size as a negative number."""
    known = sizes[sizes >= 0]
    return float(known.sum() / len(known)) if len(known) else None


def _course(times: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(times) <= _BUCKETS:
        return times / _NS_A_MS
    bounds = _bounds(len(times))
    sums: NDArray[np.float64] = np.add.reduceat(times, bounds[:-1])
    return sums / np.diff(bounds) / _NS_A_MS


def _bounds(calls: int) -> NDArray[np.intp]:
    """Return where each part of the course begins, and at last where the last one ends."""
    parts = min(calls, _BUCKETS)
    return -(-np.arange(parts + 1) * calls // max(parts, 1))


def _sum(values: NDArray[Any]) -> float:
    """Return the sum in the order of additions of earlier versions, which gives the same digits.

    `np.sum` adds in another order and may differ in the last digit.
    """
    return float(np.add.reduceat(values, [0])[0])
