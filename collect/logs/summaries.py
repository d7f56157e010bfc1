"""One trial's log reduced to what the cells need."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collect.logs.columns import MISSING, Columns
from collect.logs.first_calls import FirstCalls, first_calls
from collect.run.recorded import Summary
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

    Times are service times, from the start of a call to its end.
    `calls_per_s` is the throughput of all threads together: of each thread its calls with status ok
    a second, from the start of its first measured call to the end of its last one, summed. So a
    thread that ends early lowers nothing, as the load is held until all have ended. In an imported
    run and of a client that is a program, whose load is not held, it is all such calls a second of
    the measured phase. That phase lasts from the start of the first measured call, ok or not, to
    the end of the last one.
    `median_ms` is the median call and `p99_ms` the 99th percentile. `log_mean` and `log_variance`
    are those of the natural logs of times in ms, None where a time is zero.

    In an open loop `offered_per_s` is the rate at which the measured calls were due and
    `calls_per_s` that at which they ended, from when the first was due. `waited` of them found no
    free thread when they were due. In a closed loop both are None.
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
    p99_ms: float | None = None
    offered_per_s: float | None = None
    waited: int | None = None

    @property
    def is_single(self) -> bool:
        """Whether it is of single calls; else a program said their mean and number alone."""
        return self.mean_ms is None or self.median_ms is not None

    @property
    def moments(self) -> Moments | None:
        """Count, mean and variance of the times; None where there are no single ones."""
        if self.mean_ms is None or not self.is_single:
            return None
        return Moments(self.calls, self.mean_ms, self.variance_ms2)

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
    `first` says how the measured phase begins. `response_ns` are the response times in an open
    loop, from when each call was due to its end, in the same order; empty in a closed one.
    """

    summary: TrialSummary
    course_ms: NDArray[np.float64]
    times_ns: NDArray[np.int64]
    course_at_ns: NDArray[np.int64]
    first: FirstCalls
    response_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def response(self) -> "CountedCalls | None":
        """The same calls with their response times; None in a closed loop."""
        if not len(self.response_ns):
            return None
        return CountedCalls(
            summary=replace(self.summary, **_of_times(self.response_ns)),
            course_ms=_course(self.response_ns.astype(np.float64)),
            times_ns=self.response_ns,
            course_at_ns=self.course_at_ns,
            first=self.first,
        )

    @property
    def spread_ms(self) -> NDArray[np.float64]:
        """The times in ascending order; of more than 200 times, 200 quantiles."""
        if len(self.times_ns) <= len(QUANTILES):
            return np.sort(self.times_ns) / _NS_A_MS
        return np.quantile(self.times_ns, QUANTILES) / _NS_A_MS


def of_summary(said: Summary) -> CountedCalls:
    """Return what a program says of its calls together, without a time of any."""
    no_times, no_starts = np.empty(0, np.float64), np.empty(0, np.int64)
    summary = TrialSummary(
        calls=said.calls,
        errors=0,
        mean_ms=said.mean_ms,
        variance_ms2=None,
        request_bytes=None,
        response_bytes=None,
        calls_per_s=said.calls_per_s,
        measured_from_ns=said.from_ns,
        measured_to_ns=said.to_ns,
    )
    return CountedCalls(summary, no_times, no_starts, no_starts, FirstCalls())


def count_calls(columns: Columns, *, is_held: bool = True) -> CountedCalls:
    """Return the measured calls of a log; only those with status ok count.

    `is_held` tells whether every thread was kept at work until all had made their calls.
    """
    measured, good = columns["phase"] == _MEASURE, columns["status"] == _OK
    every = np.flatnonzero(measured)
    rows = np.flatnonzero(measured & good)
    start = columns["start_ns"][rows]
    if (np.diff(start) <= 0).any():
        rows = rows[np.lexsort((columns["seq"][rows], start))]
    times_ns = columns["elapsed_ns"][rows]
    calls = len(times_ns)
    due = columns["intended_ns"][every]
    # Earlier versions left out the due time of a call that could not be prepared.
    planned = due != MISSING
    is_open = bool(planned.any()) and bool((columns["intended_ns"][rows] != MISSING).all())
    rate = _completed if is_open else _throughput if is_held else _over_all
    summary = TrialSummary(
        calls=calls,
        errors=int(np.count_nonzero(measured & ~good)),
        **_of_times(times_ns),
        request_bytes=_mean_size(columns["request_bytes"][rows]),
        response_bytes=_mean_size(columns["response_bytes"][rows]),
        calls_per_s=rate(columns, every[planned] if is_open else every) if calls else None,
        measured_from_ns=int(columns["start_ns"][every].min()) if len(every) else None,
        measured_to_ns=int(_ends(columns, every).max()) if len(every) else None,
        offered_per_s=_offered(due) if is_open else None,
        waited=_waited(columns, rows) if is_open else None,
    )
    starts = columns["start_ns"][rows]
    return CountedCalls(
        summary,
        _course(times_ns.astype(np.float64)),
        times_ns,
        starts[_bounds(calls)[:-1]],
        first_calls(columns),
        starts - columns["intended_ns"][rows] + times_ns if is_open else np.empty(0, np.int64),
    )


def _of_times(times_ns: NDArray[np.int64]) -> dict[str, Any]:
    """Return what a summary says of times in ns."""
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
    return {
        "mean_ms": None if mean is None else mean / _NS_A_MS,
        "variance_ms2": None if variance is None else variance / _NS_A_MS**2,
        "median_ms": float(np.median(times)) / _NS_A_MS if calls else None,
        "p99_ms": float(np.quantile(times, 0.99)) / _NS_A_MS if calls else None,
        "log_mean": log_mean,
        "log_variance": log_variance,
    }


def _offered(due_ns: NDArray[np.int64]) -> float | None:
    """Return at which rate calls were due, a second; None of fewer than two.

    A call without a due time counts if it is between two calls that have one.
    """
    planned = np.flatnonzero(due_ns != MISSING)
    span = int(due_ns[planned].max() - due_ns[planned].min())
    return float(planned[-1] - planned[0]) / span * 1e9 if span else None


def _completed(columns: Columns, rows: NDArray[np.intp]) -> float | None:
    """Return how many calls ended well a second, from when the first one was due.

    The gap that the first call stands for is counted as the others are, by their mean.
    """
    due, ends = columns["intended_ns"][rows], _ends(columns, rows)
    gap = (due.max() - due.min()) / (len(rows) - 1) if len(rows) > 1 else 0.0
    over = max(float(ends.max() - due.min()), float(due.max() - due.min()) + gap)
    return float(np.count_nonzero(columns["status"][rows] == _OK)) / over * 1e9 if over else None


def _waited(columns: Columns, rows: NDArray[np.intp]) -> int | None:
    """Return how many calls were due before the thread that made them had ended its last one.

    None where the log does not say which thread made a call.
    """
    if (columns["thread"] == MISSING).any():
        return None
    order = np.lexsort((columns["start_ns"], columns["thread"]))
    ends = _ends(columns, order)
    is_first = np.diff(columns["thread"][order], prepend=-1) != 0
    free_from = np.where(is_first, MISSING, np.roll(ends, 1))
    waits = np.zeros(len(order), np.bool_)
    waits[order] = free_from > columns["intended_ns"][order]
    return int(np.count_nonzero(waits[rows]))


def _throughput(columns: Columns, rows: NDArray[np.intp]) -> float | None:
    start, status = columns["start_ns"][rows], columns["status"][rows]
    threads, thread = np.unique(columns["thread"][rows], return_inverse=True)
    first, last = np.full(len(threads), start.max()), np.full(len(threads), start.min())
    np.minimum.at(first, thread, start)
    np.maximum.at(last, thread, _ends(columns, rows))
    if (last <= first).any():
        return None
    return float((np.bincount(thread, status == _OK) / (last - first)).sum() * 1e9)


def _over_all(columns: Columns, rows: NDArray[np.intp]) -> float | None:
    """Return how many calls ended well a second, from the first start to the last end."""
    span = int(_ends(columns, rows).max() - columns["start_ns"][rows].min())
    return np.count_nonzero(columns["status"][rows] == _OK) / span * 1e9 if span else None


def _ends(columns: Columns, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    ends: NDArray[np.int64] = columns["start_ns"][rows] + columns["elapsed_ns"][rows]
    return ends


def _mean_size(sizes: NDArray[np.int64]) -> float | None:
    """Return the mean of the known sizes; a client writes an unknown size as a negative number."""
    known = sizes[sizes >= 0]
    return float(known.mean()) if len(known) else None


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
