"""The harness's own HTTP client against wrk and Apache JMeter, on the same one-byte resource.

wrk gets as many threads as connections, as the other two have. Ours is measured from the moment all
its threads are warm until the first of them has made its calls: all tools then have the same number
of calls under way. wrk corrects its percentiles for coordinated omission before it prints them, so
ours are compared with the same correction; the page shows them as they were measured, too.
"""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import jmeter_run
from bench_lab import PREFIX, BenchLab, said
from by_hand import CLIENT, HandRun, study
from row import Row, rate, share

CONCURRENCY = (1, 30, 100)
ROUNDS = 3
SECONDS = 4
RESOURCE = f"http://{PREFIX}.21:8080/axis/byte"  # of worker1

_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


@dataclass(frozen=True)
class Load:
    """What one tool measured: calls a second; latencies in seconds, as it counts percentiles."""

    calls_per_s: float
    p50: float
    p99: float


@dataclass(frozen=True)
class OwnLoad(Load):
    """Ours: corrected as wrk's, and as measured; `busy` is the share of time spent in calls."""

    raw_p50: float
    raw_p99: float
    mean: float
    busy: float


def rows(lab: BenchLab) -> list[Row]:
    """Alternate the tools; medians over the rounds."""
    install(lab)
    expected = {c: wrk(lab, c).calls_per_s for c in CONCURRENCY}  # warms the server up, too
    run = planned(lab, expected)
    ours: dict[int, list[OwnLoad]] = defaultdict(list)
    others: dict[tuple[str, int], list[Load]] = defaultdict(list)
    for i in range(ROUNDS):
        for c in CONCURRENCY:
            print(f"http at {c} threads, round {i + 1} of {ROUNDS} …", flush=True)
            ours[c].append(harness(run, i + 1, c))
            others["wrk", c].append(wrk(lab, c))
            others["jmeter", c].append(jmeter(lab, c))
    return [
        row
        for c in CONCURRENCY
        for row in compared(c, ours[c], others["wrk", c], others["jmeter", c])
    ]


def compared(
    threads: int, ours: list[OwnLoad], wrk: list[Load], jmeter: list[Load]
) -> Iterator[Row]:
    """The rows of one concurrency."""

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
    """Put wrk, from the packages in the image, and JMeter on the client."""
    apt = ["-m", "ansible.builtin.apt", "-a", "name=wrk install_recommends=false"]
    lab.clocked([".venv/bin/ansible", CLIENT, "--become", *apt])
    jmeter_run.install(lab)


def planned(lab: BenchLab, expected: dict[int, float]) -> HandRun:
    """A trial a round and concurrency, of as many calls as last SECONDS, and as many to warm up."""
    where = [
        {"cells": {"concurrency": c}, "calls": calls, "warmup": calls}
        for c, speed in expected.items()
        for calls in [max(1, round(speed * SECONDS / c))]
    ]
    levels = {"concurrency": list(CONCURRENCY)}
    plan = study("bench-http", "http", factors=levels, replicates=ROUNDS, where=where)
    return HandRun.planned(lab, "bench-http", plan)


def harness(run: HandRun, block: int, threads: int) -> OwnLoad:
    """Run our trial of this block at this concurrency."""
    (trial,) = (i for i in run.ids if i.startswith(f"b{block:02d}-") and i.endswith(f"-{threads}"))
    run.run([trial])
    (sealed,) = run.trials([trial])
    if sealed.record["outcome"] != "ok":
        raise SystemExit(f"{trial} of bench-http {sealed.record['outcome']}: {sealed.record}")
    calls = [
        (int(call["thread"]), int(call["start_ns"]), int(call["elapsed_ns"]))
        for call in csv.DictReader(io.StringIO(sealed.calls.decode()))
        if call["phase"] == "measure"
    ]
    return own_load(calls, threads)


def own_load(calls: list[tuple[int, int, int]], threads: int) -> OwnLoad:
    """Thread, start and duration (ns) of each call to rates, while all threads were calling."""
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
    """Add the calls that a slow one kept from being sent, as wrk 4.1 does.

    `counts` says how many calls took so many microseconds, `span` is all the time in microseconds.
    """
    expected = span * threads // counts.total()
    corrected = Counter(counts)
    for slow in (us for us in counts if us >= 2 * expected):
        for hidden in range(slow - expected, expected, -expected):
            corrected[hidden] += counts[slow]
    return corrected


def percentiles(counts: Counter[int]) -> dict[int, int]:
    """The 50th and 99th percentile of counted values."""
    found: dict[int, int] = {}
    total, passed = counts.total(), 0
    for value in sorted(counts):
        passed += counts[value]
        for percent in (50, 99):
            if passed * 100 >= total * percent:
                found.setdefault(percent, value)
    return found


def wrk(lab: BenchLab, threads: int) -> Load:
    """Run wrk with a connection a thread."""
    options = f"-t {threads} -c {threads} -d {SECONDS}s --timeout 20s --latency"
    printed = said([*lab.ssh(CLIENT), f"wrk {options} {RESOURCE}"]).decode()
    p50, p99 = (
        float(number) * _UNITS[unit]
        for number, unit in re.findall(r"^ +(?:50|99)% +([0-9.]+)([a-z]+)$", printed, re.MULTILINE)
    )
    speed = re.search(r"^Requests/sec: +([0-9.]+)$", printed, re.MULTILINE)
    if speed is None or "Non-2xx" in printed or "Socket errors" in printed:
        raise SystemExit(f"wrk did not measure what it should:\n{printed}")
    return Load(float(speed[1]), p50, p99)


def jmeter(lab: BenchLab, threads: int) -> Load:
    """Run JMeter for as long, after as long a warm-up."""
    url = urlsplit(RESOURCE)
    options = {
        "host": url.hostname,
        "port": url.port,
        "path": url.path,
        "threads": threads,
        "seconds": 2 * SECONDS,
    }
    java = ["-Xms512m", "-Xmx512m"]
    calls = [
        (call.start, call.elapsed)
        for call in jmeter_run.samples(lab, "http.jmx", options, java)
        if call.is_ok
    ]
    end = max(start + elapsed for start, elapsed in calls)
    inside = sorted(ms for start, ms in calls if end - SECONDS * 1000 <= start)
    p50, p99 = inside[len(inside) // 2], inside[len(inside) * 99 // 100]
    return Load(len(inside) / SECONDS, p50 / 1e3, p99 / 1e3)
