"""Compares the runs of several load generators, as rows of the page."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from row import Ratio, Row, rate, seconds, share

OURS = "ours"
JMETER = "JMeter"
OUR_CALL = "JMeter, our call"
GATLING = "Gatling"
SHARED = "Gatling, one connection"
LAZY = "lazy"  # like "jms", with replies acknowledged in groups: `acknowledge: dups-ok`
RIVALS = {
    "jms": (JMETER, OUR_CALL, GATLING, SHARED),
    LAZY: (GATLING,),  # its runs of "jms": it never waits until a reply is acknowledged
    "soap": (OUR_CALL,),
    "text": (JMETER,),
}
"""The other tools, by the kind of our call. All except SHARED have a connection a thread."""
NAMES = {
    "jms": "JMS request and reply",
    LAZY: "JMS request and reply, acknowledged some at a time",
    "soap": "SOAP call",
    "text": "its envelope, a ready text",
}


@dataclass(frozen=True)
class Load:
    """The result of one run: calls a second; the time of a call in seconds."""

    calls_per_s: float
    p50: float  # of times in whole milliseconds, interpolated
    mean: float

    @property
    def pace(self) -> float:
        """Seconds from call to call; times the threads, a call with its thread's work after it."""
        return 1 / self.calls_per_s


@dataclass(frozen=True)
class Aim:
    """The range that a ratio should be in."""

    words: str
    low: float
    high: float
    digits: int = 2

    def of(self, ratio: Ratio) -> str:
        """Return the aim and whether it is met; only likely if a bound lies inside the interval.

        The displayed ratio counts, so 0.998 is 1.00.
        """
        low, mean, high = (
            round(value, self.digits) for value in (ratio.low, ratio.mean, ratio.high)
        )
        verdict = "met" if self.low <= mean <= self.high else "missed"
        is_unsure = any(low < bound < high for bound in (self.low, self.high))
        return f"{self.words}: {'likely ' if is_unsure else ''}{verdict}"


AS_FAST = Aim(">= 1", 1, float("inf"))
AS_LONG = Aim("0.85 to 1.15", 0.85, 1.15)
ALIKE = Aim("0.9 to 1.1", 0.9, 1.1)

Runs = Mapping[tuple[str, str, int], Sequence[Load]]  # by tool, kind and threads; one a round


def load(calls: Iterable[tuple[int, int]], begin: int, end: int) -> Load:
    """Return the load of the calls in this time; calls are given by start and end in ms.

    The median is that of the calls that ended in it.
    """
    every = list(calls)
    count, mean = _inside_of(every, begin, end)
    took = [done - start for start, done in every if begin < done <= end]
    return Load(
        calls_per_s=count / (end - begin) * 1e3,
        p50=max(0, statistics.median_grouped(took)) / 1e3,
        mean=mean / 1e3,
    )


def own_load(calls: Iterable[tuple[int, int, int, bool]]) -> Load:
    """Return our load from thread, start, duration (ns) and whether a call is measured.

    Only the time counts in which all threads made their measured calls. For the median, times are
    rounded as the other tools round; for the mean they are not.
    """
    every = list(calls)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for thread, start, took, is_measured in every:
        if is_measured:
            first[thread] = min(first.get(thread, start), start)
            last[thread] = max(last.get(thread, 0), start + took)
    begin, end = max(first.values()), min(last.values())
    exact = [(start, start + took) for _, start, took, _ in every]
    count, mean = _inside_of(exact, begin, end)
    whole = [(start // 10**6, done // 10**6) for start, done in exact]
    rounded = load(whole, begin // 10**6, end // 10**6)
    return Load(count / (end - begin) * 1e9, rounded.p50, mean / 1e9)


def _inside_of(calls: Iterable[tuple[int, int]], begin: int, end: int) -> tuple[float, float]:
    """Return the number and mean of the calls in this time; a call partly in it counts in part.

    Otherwise the calls of threads in step would all count or not, depending on the ends of the
    time.
    """
    count = total = 0.0
    for start, done in calls:
        inside = min(done, end) - max(start, begin)
        if inside > 0:
            count += inside / (done - start)
            total += inside
        elif start == done and begin < done <= end:
            count += 1
    if not count:
        raise SystemExit("no call is in the time that counts")
    return count, total / count


def compared(runs: Runs, mbit: int, threads: int) -> Iterator[Row]:
    """Yield the rows of one link, in Mbit/s, and one number of threads.

    Aims apply to the fastest other load generator with as many connections, and to those that do
    the same: JMeter with our call, and Gatling where replies are not acknowledged one by one.
    """
    at = f"{mbit} Mbit/s, {threads} thread{'s' if threads > 1 else ''}"
    for kind, rivals in RIVALS.items():
        what = f"{NAMES[kind]}, {at}"
        mine = runs[OURS, kind, threads]
        theirs = {r: runs[r, "jms" if kind == LAZY else kind, threads] for r in rivals}
        alike = [rival for rival in rivals if rival != SHARED]
        aimed = {
            OUR_CALL,
            max(alike, key=lambda r: statistics.median(_all(theirs[r], "calls_per_s"))),
        }
        for rival, loads in theirs.items():
            aim = AS_FAST if rival in aimed else None
            yield _row(f"{what}: rate", "calls_per_s", mine, (rival, loads), aim, show=rate)
        for rival, loads in theirs.items():
            aim = AS_LONG if rival in aimed else None
            yield _row(f"{what}: p50 in whole ms", "p50", mine, (rival, loads), aim)
        for rival, loads in theirs.items():
            yield _row(f"{what}: mean", "mean", mine, (rival, loads), None)
        for rival, loads in theirs.items():
            inside, others = _inside(mine, threads), _inside(loads, threads)
            yield Row(f"{what}: threads' time inside calls", inside, rival, others, show=share)
    unlike = (f"{JMETER}, a ready text", runs[JMETER, "text", threads])
    soap = runs[OURS, "soap", threads]
    yield _row(f"{NAMES['soap']}, {at}: rate", "calls_per_s", soap, unlike, None, show=rate)
    for kind, protocol, tool in (
        ("soap", "SOAP", OUR_CALL),
        ("text", "HTTP with a ready text", JMETER),
    ):
        for name, words in (("p50", "p50"), ("mean", "mean"), ("pace", "threads / rate")):
            ours, others = (_quotients(runs, (t, kind), threads, name) for t in (OURS, tool))
            what = f"time over JMS / time over {protocol}, {at}: {words}"
            yield Row.of_rounds(what, ours, tool, others, ALIKE, show=share)


def _row(
    what: str,
    name: str,
    mine: Sequence[Load],
    other: tuple[str, Sequence[Load]],
    aim: Aim | None,
    *,
    show: Callable[[float], str] = seconds,
) -> Row:
    """Return the row of the medians over the rounds, with the ratio inside the rounds."""
    rival, theirs = other
    return Row.of_rounds(what, _all(mine, name), rival, _all(theirs, name), aim or "", show=show)


def _all(loads: Sequence[Load], name: str) -> list[float]:
    return [getattr(load, name) for load in loads]


def _inside(loads: Sequence[Load], threads: int) -> float:
    """Return the share of its threads' time that a tool spends in calls: the median of rounds."""
    return statistics.median(load.calls_per_s * load.mean / threads for load in loads)


def _quotients(runs: Runs, which: tuple[str, str], threads: int, name: str) -> list[float]:
    tool, kind = which
    pairs = zip(runs[tool, "jms", threads], runs[tool, kind, threads], strict=True)
    return [getattr(over_jms, name) / getattr(over_http, name) for over_jms, over_http in pairs]
