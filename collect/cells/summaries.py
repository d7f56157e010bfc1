"""One trial's log in a few numbers."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collect.cells.logs import MISSING, PHASES, STATUSES, Columns, Logs
from collect.stats.estimates import Moments

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


def measure(logs: Logs) -> list[Measured]:
    """Summarise the measured calls of each log; only those with status ok count."""
    columns = logs.columns
    measured, good = columns["phase"] == _MEASURE, columns["status"] == _OK
    rows = np.flatnonzero(measured & good)
    calls = _shares(rows, logs)
    _sort_by_start(rows, calls, columns)
    times_ns = _times(columns)[rows]
    times = times_ns.astype(np.float64)
    mean = _quotients(_sums(times, calls), calls)
    squares = _sums(np.square(times - np.repeat(mean, calls)), calls)
    numbers: dict[str, NDArray[Any]] = {
        "calls": calls,
        "errors": _shares(np.flatnonzero(measured & ~good), logs),
        "mean_ms": mean / _NS_A_MS,
        "variance_ms2": _quotients(squares, calls - 1) / _NS_A_MS**2,
        "request_bytes": _mean_sizes(columns["request_bytes"][rows], calls),
        "response_bytes": _mean_sizes(columns["response_bytes"][rows], calls),
    }
    ends = np.cumsum(calls)
    summaries = (
        TrialSummary(**dict(zip(numbers, values, strict=True)))
        for values in zip(*map(_with_none, numbers.values()), strict=True)
    )
    return [
        Measured(summary, _course(times[begin:end]), times_ns[begin:end])
        for summary, begin, end in zip(summaries, ends - calls, ends, strict=True)
    ]


def _shares(rows: NDArray[np.intp], logs: Logs) -> NDArray[np.int64]:
    """Count how many of the rows are of each log."""
    return np.diff(np.searchsorted(rows, logs.ends), prepend=0)


def _sort_by_start(rows: NDArray[np.intp], calls: NDArray[np.int64], columns: Columns) -> None:
    """Put the rows of each log in the order of their starts."""
    start, seq = columns["start_ns"][rows], columns["seq"][rows]
    ends = np.cumsum(calls)
    is_late = np.diff(start, prepend=start[:1] - 1) <= 0
    is_late[(ends - calls)[calls > 0]] = False
    # Each on its own: to sort them all at once takes six times as long.
    for log in np.unique(np.searchsorted(ends, np.flatnonzero(is_late), "right")):
        part = slice(ends[log] - calls[log], ends[log])
        rows[part] = rows[part][np.lexsort((seq[part], start[part]))]


def _times(columns: Columns) -> NDArray[np.int64]:
    """Give the times from the intended start where there is one, so that waiting is not hidden."""
    intended, elapsed = columns["intended_ns"], columns["elapsed_ns"]
    is_open = intended != MISSING
    if not is_open.any():
        return elapsed
    return np.where(is_open, columns["start_ns"] - intended, 0) + elapsed


def _sums(values: NDArray[Any], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Add up the values of each log, of which there are `counts`, one after the other."""
    sums = np.zeros(len(counts))
    if len(values):
        # What holds nothing would be given the value of the next.
        sums[counts > 0] = np.add.reduceat(
            values, (np.cumsum(counts) - counts)[counts > 0], dtype=np.float64
        )
    return sums


def _quotients(sums: NDArray[np.float64], counts: NDArray[Any]) -> NDArray[np.float64]:
    """Divide, where there is anything; NaN elsewhere."""
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _mean_sizes(sizes: NDArray[np.int64], calls: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the means of the known sizes; a client writes unknown as below zero."""
    is_known = sizes >= 0
    return _quotients(_sums(np.where(is_known, sizes, 0), calls), _sums(is_known, calls))


def _with_none(numbers: NDArray[Any]) -> list[Any]:
    return [None if math.isnan(number) else number for number in numbers.tolist()]


def _course(times: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(times) <= _BUCKETS:
        return times / _NS_A_MS
    begins, lengths = _buckets(len(times))
    sums: NDArray[np.float64] = np.add.reduceat(times, begins)
    return sums / lengths / _NS_A_MS


@lru_cache(maxsize=64)
def _buckets(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    bounds = -(-np.arange(_BUCKETS + 1) * count // _BUCKETS)
    return bounds[:-1], np.diff(bounds)
