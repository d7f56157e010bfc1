"""Compares the open loop with Gatling's open model, at the same even rate: HTTP, and JMS.

Gatling injects users that make one call each: over connections that they share, or, over JMS, on as
many connections as our client has threads. It logs whole milliseconds, from when a user begins its
call. Our response times count from when the call was due, and are rounded as Gatling rounds. For
Gatling only the last seconds count, because its JVM has no warm-up but its first calls.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import gatling_run
import open_loop
import reference_tools
from aims import GATLING, LAZY, OURS
from bench_lab import BenchLab
from by_hand import HandRun, Trial, study
from open_loop import MBIT, ROUNDS, SECONDS, SHARES, THREADS, planned
from row import Ratio, Row, rate, seconds

WARM_UP_S = 12
PACE = 1000  # approximate calls a second over JMS, which set the length of the closed loop
JMS_CLIENT, JMS_CONSTANTS = reference_tools.OWN[LAZY]
CONSTANTS: dict[str, object] = {
    "client_heap_mb": reference_tools.HEAP_MB,
    "collector": reference_tools.COLLECTOR,
}


@dataclass(frozen=True)
class Sent:
    """The result of one run: answers a second; times in seconds, from whole milliseconds."""

    calls_per_s: float
    mean: float
    p50: float
    p99: float


Tool = Callable[[int, int], Sent]
"""A function that runs a tool in a round, from 1, at a rate in calls a second."""


def http(lab: BenchLab) -> list[Row]:
    """Compare the `http` client and Gatling's HTTP, at shares of wrk's rate."""
    reference_tools.install(lab)
    with reference_tools.sending_at(lab, MBIT):
        rates = shares_of(open_loop.closed(lab))
        run = planned(lab, "bench-open-http", "http", rates, {**CONSTANTS, "path": "/byte"})
        url = f"{reference_tools.AXIS}/byte"
        gatling = gatling_with(lab, "Arriving", {"url": url})
        return compared("http", rates, ours_of(run), gatling)


def jms(lab: BenchLab) -> list[Row]:
    """Compare rackbench's JMS client and Gatling's, at shares of our rate in the closed loop."""
    reference_tools.install(lab)
    with reference_tools.sending_at(lab, MBIT), reference_tools.echoing(lab):
        constants = {**CONSTANTS, **JMS_CONSTANTS, "message_bytes": reference_tools.BYTES}
        rates = shares_of(jms_capacity(lab, constants))
        run = planned(lab, f"bench-open-{JMS_CLIENT}", JMS_CLIENT, rates, constants)
        options = {
            **reference_tools.LAB,
            "connections": THREADS,
            "bytes": reference_tools.BYTES,
        }
        gatling = gatling_with(lab, "RequestReply", options)
        return compared("jms", rates, ours_of(run), gatling)


def shares_of(capacity: float) -> list[int]:
    """Return the offered rates."""
    return [round(share * capacity) for share in SHARES]


def jms_capacity(lab: BenchLab, constants: Mapping[str, object]) -> float:
    """Return the calls a second of our warm threads in the closed loop."""
    plan = study(
        "bench-closed-jms",
        JMS_CLIENT,
        factors={"concurrency": [THREADS]},
        constants=dict(constants),
        calls=PACE * SECONDS // THREADS,
        warmup=PACE * WARM_UP_S // THREADS,
    )
    run = HandRun.planned(lab, "bench-closed-jms", plan)
    return reference_tools.harness(run, 1, THREADS).calls_per_s


def ours_of(run: HandRun) -> Tool:
    """Run our trial of a round and rate."""

    def ours(block: int, offered: int) -> Sent:
        return sent(due_and_done(run.trial(block, offered)))

    return ours


def due_and_done(trial: Trial) -> list[tuple[float, float]]:
    """Return the due time and the end of each counted call, in whole milliseconds."""
    counted = open_loop.measured(trial)
    return [(due // 10**6, (start + took) // 10**6) for due, start, took in counted]


def gatling_with(lab: BenchLab, simulation: str, options: Mapping[str, object]) -> Tool:
    """Run Gatling at a rate; a failed call ends the bench."""

    def gatling(_: int, offered: int) -> Sent:
        given = {**options, "rate": offered, "seconds": WARM_UP_S + SECONDS}
        at = f"{reference_tools.AT}/gatling"
        found = gatling_run.requests(lab, at, simulation, given, reference_tools.JAVA)
        if not found or not all(call.is_ok for call in found):
            failed = sum(not call.is_ok for call in found)
            raise SystemExit(f"Gatling, {simulation}: {failed} of {len(found)} calls failed")
        last = max(call.start for call in found)
        return sent(
            [(call.start, call.end) for call in found if call.start > last - SECONDS * 1000]
        )

    return gatling


def sent(calls: Sequence[tuple[float, float]]) -> Sent:
    """Return the result of calls, given by begin and end in milliseconds."""
    span = max(end for _, end in calls) - min(begin for begin, _ in calls)
    took = sorted(end - begin for begin, end in calls)
    return Sent(
        calls_per_s=len(calls) / span * 1e3,
        mean=statistics.fmean(took) / 1e3,
        p50=took[len(took) // 2] / 1e3,
        p99=took[len(took) * 99 // 100] / 1e3,
    )


def compared(kind: str, rates: list[int], ours: Tool, gatling: Tool) -> list[Row]:
    """Alternate both tools, and return the rows of each rate."""
    found: dict[tuple[str, int], list[Sent]] = defaultdict(list)
    for block in range(1, ROUNDS + 1):
        for offered in rates:
            print(f"{kind} at {offered} /s, round {block} of {ROUNDS} …", flush=True)
            tools = {OURS: ours, GATLING: gatling}
            for name in tools if block % 2 else reversed(tools):
                found[name, offered].append(tools[name](block, offered))
    return [
        row
        for share, offered in zip(SHARES, rates, strict=True)
        for row in rows_of(
            f"open loop, `{kind}`, {MBIT} Mbit/s, {100 * share:.0f} % of capacity ({offered} /s)",
            found[OURS, offered],
            found[GATLING, offered],
        )
    ]


def rows_of(what: str, ours: Sequence[Sent], gatling: Sequence[Sent]) -> list[Row]:
    """Return the rows of one rate, without a ratio if a median is below a millisecond."""
    rows = []
    for name, label, show in (
        ("calls_per_s", "rate", rate),
        ("mean", "mean of the response time, from whole ms", seconds),
        ("p50", "p50 of the response time in whole ms", seconds),
        ("p99", "p99 of the response time in whole ms", seconds),
    ):
        one, other = ([getattr(each, name) for each in tool] for tool in (ours, gatling))
        pair = Ratio.of_pairs(one, other) if min(*one, *other) > 0 else None
        medians = statistics.median(one), statistics.median(other)
        rows.append(Row(f"{what}: {label}", medians[0], GATLING, medians[1], "", show, pair))
    return rows
