"""Compares the harness's own HTTP client with wrk and Apache JMeter, on a one-byte resource.

wrk gets as many threads as connections, like the other two. Our client is measured from the moment
when all its threads are warm until the first of them has made its calls, so all tools have the same
number of open calls. wrk corrects its percentiles for coordinated omission before it prints them,
so ours are compared with the same correction. The page also shows ours as measured.
"""

from __future__ import annotations

import csv
import io
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import jmeter_run
from bench_lab import BenchLab
from by_hand import HandRun, Trial, study
from row import Row, rate, share

CONCURRENCY = (1, 30, 100)
ROUNDS = 3
SECONDS = 4
JMETER_OPTIONS = ["-Xms512m", "-Xmx512m"]


@dataclass(frozen=True)
class Load:
    """The result of one tool: calls a second; latencies in seconds, by its own percentiles."""

    calls_per_s: float
    p50: float
    p99: float


@dataclass(frozen=True)
class OwnLoad(Load):
    """Our result, corrected like wrk's and as measured; `busy` is the share of time in calls."""

    raw_p50: float
    raw_p99: float
    mean: float
    busy: float


def rows(lab: BenchLab) -> list[Row]:
    """Alternate the tools, each a client of rackbench; return medians over the rounds."""
    install(lab)
    others = planned_others(lab)
    # The first round warms up the server, and gives the number of calls in this time.
    expected = {c: of_wrk(trial_of(others, 1, "wrk", c)).calls_per_s for c in CONCURRENCY}
    run = planned(lab, expected)
    found: dict[tuple[str, int], list[Load]] = defaultdict(list)
    ours: dict[int, list[OwnLoad]] = defaultdict(list)
    for i in range(ROUNDS):
        for c in CONCURRENCY:
            print(f"http at {c} threads, round {i + 1} of {ROUNDS} …", flush=True)
            ours[c].append(harness(run, i + 1, c))
            found["wrk", c].append(of_wrk(trial_of(others, i + 2, "wrk", c)))
            found["jmeter", c].append(of_jmeter(trial_of(others, i + 2, "jmeter", c)))
    return [
        row
        for c in CONCURRENCY
        for row in compared(c, ours[c], found["wrk", c], found["jmeter", c])
    ]


def compared(
    threads: int, ours: list[OwnLoad], wrk: list[Load], jmeter: list[Load]
) -> Iterator[Row]:
    """Yield the rows of one concurrency."""

    def median(loads: list[Load] | list[OwnLoad], what: str) -> float:
        values: list[float] = [getattr(load, what) for load in loads]
        return statistics.median(values)

    def row(what: str, name: str, rival: str, loads: list[Load], target: str = "") -> Row:
        show = {"show": rate} if name == "calls_per_s" else {}
        return Row(what, median(ours, name), rival, median(loads, name), target, **show)

    http = f"`http`, {threads} thread{'s' if threads > 1 else ''}"
    yield row(f"{http}: rate", "calls_per_s", "wrk", wrk, ">= 0.85")
    yield row(f"{http}: rate", "calls_per_s", "JMeter", jmeter, ">= 2")
    yield row(f"{http}: p50, corrected as wrk does", "p50", "wrk", wrk, "0.85 to 1.15")
    yield row(f"{http}: p99, corrected as wrk does", "p99", "wrk", wrk)
    yield row(f"{http}: p50", "p50", "JMeter (whole ms)", jmeter)
    mean = median(ours, "mean")
    yield Row(f"{http}: p50 as measured", median(ours, "raw_p50"), "its mean", mean)
    yield Row(f"{http}: p99 as measured", median(ours, "raw_p99"), "its mean", mean)
    busy = median(ours, "busy")
    yield Row(f"{http}: its threads' time inside calls", busy, "all of it", 1, "> 0.95", share)


def install(lab: BenchLab) -> None:
    """Put JMeter on the client, which already has wrk."""
    jmeter_run.install(lab, JMETER_OPTIONS)


def planned_others(lab: BenchLab) -> HandRun:
    """Plan a trial a round, concurrency and tool, with a further round to warm up."""
    plan = study(
        "bench-http-others",
        {"factor": "tool", "wrk": "wrk", "jmeter": "jmeter-http"},
        factors={"tool": ["wrk", "jmeter"], "concurrency": list(CONCURRENCY)},
        constants={"path": "/byte", "port": 8080, "seconds": SECONDS, "warm_seconds": SECONDS},
        replicates=ROUNDS + 1,
    )
    return HandRun.planned(lab, "bench-http-others", plan)


def trial_of(run: HandRun, block: int, tool: str, threads: int) -> Trial:
    """Run the trial of this block, tool and concurrency."""
    sealed = run.trial(block, tool, threads)
    if sealed.record["outcome"] != "ok":
        raise SystemExit(sealed.end)
    return sealed


def planned(lab: BenchLab, expected: dict[int, float]) -> HandRun:
    """Plan a trial a round and concurrency, with calls for SECONDS, and as many to warm up."""
    where = [
        {"cells": {"concurrency": c}, "calls": calls, "warmup": calls}
        for c, speed in expected.items()
        for calls in [max(1, round(speed * SECONDS / c))]
    ]
    levels = {"tool": ["http"], "concurrency": list(CONCURRENCY)}
    plan = study("bench-http", "http", factors=levels, replicates=ROUNDS, where=where)
    return HandRun.planned(lab, "bench-http", plan)


def harness(run: HandRun, block: int, threads: int) -> OwnLoad:
    """Run our trial of this block at this concurrency."""
    calls = [
        (int(call["thread"]), int(call["start_ns"]), int(call["elapsed_ns"]))
        for call in measured_calls(trial_of(run, block, "http", threads))
    ]
    return own_load(calls, threads)


def measured_calls(trial: Trial) -> list[dict[str, str]]:
    """Return the rows of the calls that count."""
    rows = csv.DictReader(io.StringIO(trial.calls.decode()))
    return [row for row in rows if (row["phase"], row["status"]) == ("measure", "ok")]


def own_load(calls: list[tuple[int, int, int]], threads: int) -> OwnLoad:
    """Turn thread, start and duration (ns) of calls into rates, while all threads were calling."""
    last: dict[int, int] = {}
    for thread, start, elapsed in calls:
        last[thread] = max(last.get(thread, 0), start + elapsed)
    begin, end = min(start for _, start, _ in calls), min(last.values())
    inside = sorted(elapsed for _, start, elapsed in calls if start + elapsed <= end)
    span = end - begin
    corrected = percentiles(correct(Counter(ns // 1000 for ns in inside), span // 1000, threads))
    return OwnLoad(
        calls_per_s=len(inside) / span * 1e9,
        p50=corrected[50] / 1e6,
        p99=corrected[99] / 1e6,
        raw_p50=inside[len(inside) // 2] / 1e9,
        raw_p99=inside[len(inside) * 99 // 100] / 1e9,
        mean=statistics.fmean(inside) / 1e9,
        busy=sum(inside) / span / threads,
    )


def correct(counts: Counter[int], span: int, threads: int) -> Counter[int]:
    """Add the calls that a slow call delayed, as wrk 4.1 does.

    `counts` has the number of calls by their time in microseconds, `span` is the total time in
    microseconds.
    """
    expected = span * threads // counts.total()
    corrected = Counter(counts)
    for slow in (us for us in counts if us >= 2 * expected):
        for hidden in range(slow - expected, expected, -expected):
            corrected[hidden] += counts[slow]
    return corrected


def percentiles(counts: Counter[int]) -> dict[int, int]:
    """Return the 50th and 99th percentile of counted values."""
    found: dict[int, int] = {}
    total, passed = counts.total(), 0
    for value in sorted(counts):
        passed += counts[value]
        for percent in (50, 99):
            if passed * 100 >= total * percent:
                found.setdefault(percent, value)
    return found


def of_wrk(trial: Trial) -> Load:
    """Return wrk's result."""
    said = trial.record["program"]["summary"]
    return Load(said["calls_per_s"], said["p50_ms"] / 1e3, said["p99_ms"] / 1e3)


def of_jmeter(trial: Trial) -> Load:
    """Return the result of JMeter's calls."""
    times = sorted(int(call["elapsed_ns"]) / 1e9 for call in measured_calls(trial))
    return Load(len(times) / SECONDS, times[len(times) // 2], times[len(times) * 99 // 100])
