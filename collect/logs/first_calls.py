"""How the measured phase of a trial begins: its first calls, and the pause before them.

The measured phase is to begin without a pause. A pause of a thread before its first measured call,
or first calls that take longer than the others, show that it did not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from collect.run.trials import PHASES, STATUSES

if TYPE_CHECKING:
    from collect.logs.columns import Columns

_WARMUP, _MEASURE = PHASES.index("warmup"), PHASES.index("measure")
_OK = STATUSES.index("ok")
_NS_A_MS = 1e6
SHORT_MS = 2.0
"""A gap that is no longer is no pause, however short the usual ones are."""
MOST_OVER_USUAL = 3.0
"""A gap that is no longer than so many usual ones is no pause."""


@dataclass(frozen=True)
class FirstCalls:
    """How the measured phase of one trial begins, None where its calls do not say.

    A thread's gap is the time from the end of its last uncounted call to the start of its first
    measured one: `gap_ms` is the median over threads and `longest_gap_ms` the longest; `over_usual`
    and `most_over_usual` are the same of its ratio to the median gap between two measured calls of
    the thread. `late` threads had a gap that is neither usual nor short, see _is_late.
    `over_others` is the first measured call over the median of the others; with several threads the
    median of their first calls.
    """

    gap_ms: float | None = None
    longest_gap_ms: float | None = None
    over_usual: float | None = None
    most_over_usual: float | None = None
    late: int = 0
    over_others: float | None = None


@dataclass(frozen=True)
class Typical:
    """The median and the maximum of a number over trials."""

    median: float
    most: float


@dataclass(frozen=True)
class Beginning:
    """How the measured phases of several trials begin, None where none of their calls says.

    `late` is how many of the `trials` have a late thread.
    """

    trials: int
    late: int
    gap_ms: Typical | None
    over_usual: Typical | None
    over_others: Typical | None


def beginning_of(trials: Iterable[FirstCalls]) -> Beginning:
    """Return the median and the maximum of each number over trials."""
    every = list(trials)
    return Beginning(
        trials=len(every),
        late=sum(one.late > 0 for one in every),
        gap_ms=typical((one.gap_ms, one.longest_gap_ms) for one in every),
        over_usual=typical((one.over_usual, one.most_over_usual) for one in every),
        over_others=typical((one.over_others, one.over_others) for one in every),
    )


def typical(pairs: Iterable[tuple[float | None, float | None]]) -> Typical | None:
    """Return the median of the first and the maximum of the second numbers that are known."""
    known = [pair for pair in pairs if pair[0] is not None]
    if not known:
        return None
    return Typical(
        median(value for value, _ in known if value is not None),
        max(most for _, most in known if most is not None),
    )


def first_calls(columns: Columns) -> FirstCalls:
    """Return how the measured phase of a log begins."""
    before = _by_thread(columns, columns["phase"] == _WARMUP)
    measured = _by_thread(columns, columns["phase"] == _MEASURE)
    gaps, ratios, late = [], [], 0
    for thread, rows in measured.items():
        if thread not in before:
            continue
        gap = int(_gaps(columns, np.array([before[thread][-1], rows[0]]))[0])
        usual = float(np.median(_gaps(columns, rows))) if len(rows) > 1 else 0.0
        gaps.append(gap / _NS_A_MS)
        ratios += [gap / usual] if usual > 0 else []
        late += _is_late(gap, usual)
    return FirstCalls(
        gap_ms=median(gaps) if gaps else None,
        longest_gap_ms=max(gaps, default=None),
        over_usual=median(ratios) if ratios else None,
        most_over_usual=max(ratios, default=None),
        late=late,
        over_others=_over_others(columns, list(measured.values())),
    )


def _is_late(gap_ns: float, usual_ns: float) -> bool:
    """Tell whether a thread paused: for over 2 ms, and over three times its usual gap."""
    return gap_ns > max(SHORT_MS * _NS_A_MS, MOST_OVER_USUAL * usual_ns)


def _by_thread(columns: Columns, chosen: NDArray[np.bool_]) -> Mapping[int, NDArray[np.intp]]:
    """Return the chosen rows of each thread in the order of their starts."""
    rows = np.flatnonzero(chosen)
    if not len(rows):
        return {}
    order = np.lexsort((columns["start_ns"][rows], columns["thread"][rows]))
    rows = rows[order]
    threads, begins = np.unique(columns["thread"][rows], return_index=True)
    return dict(zip(threads.tolist(), np.split(rows, begins[1:]), strict=True))


def _gaps(columns: Columns, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the time between each call and the next one, in ns."""
    start = columns["start_ns"][rows]
    gaps: NDArray[np.int64] = start[1:] - (start + columns["elapsed_ns"][rows])[:-1]
    return gaps


def _over_others(columns: Columns, threads: Sequence[NDArray[np.intp]]) -> float | None:
    """Return the first calls over the median of the others, of those with status ok."""
    is_ok = columns["status"] == _OK
    first = [int(rows[0]) for rows in threads if is_ok[rows[0]]]
    others = [rows[1:][is_ok[rows[1:]]] for rows in threads]
    if not first or not any(map(len, others)):
        return None
    usual = np.median(columns["elapsed_ns"][np.concatenate(others)])
    return float(np.median(columns["elapsed_ns"][first]) / usual) if usual > 0 else None
