"""Measures the open loop: the sender's lateness, and its rate and times next to vegeta's.

Both are clients of rackbench that call the same one-byte resource at the same even rate, in
alternating rounds: ours over as many connections as it has threads, vegeta over as many as it
needs. The first seconds of vegeta's calls do not count, like our lead.
"""

from __future__ import annotations

import csv
import io
import os
import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import reference_tools
from bench_lab import BenchLab, said
from by_hand import CLIENT, HandRun, Trial, study
from row import Row, rate, seconds

THREADS = 8
ROUNDS = 5
SECONDS = 5
SHARES = (0.2, 0.5, 0.8)
NOOP_RATE = 1000
LEAD_S = 2
MBIT = 10
"""The rate of the links, which limits the service: client and server share their cores, and at 80 %
of what those can do vegeta answers a fifth of its own calls."""
OURS, VEGETA = "http", "vegeta"
CONSTANTS: Mapping[str, object] = {"client_heap_mb": 256, "path": "/byte"}
PINNED = Path(__file__).parent / "vegeta"


@dataclass(frozen=True)
class Sent:
    """The result of one tool: answers a second, and times in seconds."""

    calls_per_s: float
    p50: float
    p99: float


def install(lab: BenchLab) -> None:
    """Build vegeta, which Debian lacks, and put it on the client, which already has wrk."""
    program = lab.state / "vegeta"
    build = ["go", "build", "-C", str(PINNED), "-mod=readonly", "-o", str(program)]
    environment = {**os.environ, "CGO_ENABLED": "0"}
    said([*build, "github.com/tsenart/vegeta/v12"], environment=environment)
    place = "sudo install -m 0755 /dev/stdin /usr/local/bin/vegeta"
    said([*lab.ssh(CLIENT), place], program.read_bytes())


def closed(lab: BenchLab) -> float:
    """Return the calls a second of wrk with as many threads."""
    constants = {"path": "/byte", "seconds": SECONDS}
    plan = study("bench-closed", "wrk", constants=constants, factors={"concurrency": [THREADS]})
    (trial,) = ran(HandRun.planned(lab, "bench-closed", plan), range(1, 2))
    said_by_wrk: Mapping[str, float] = trial.record["program"]["summary"]
    return said_by_wrk["calls_per_s"]


def lateness(lab: BenchLab) -> list[Row]:
    """Measure a client that does nothing, at 1 000 calls a second."""
    run = planned(lab, "bench-late", "noop", [NOOP_RATE], CONSTANTS)
    late = [
        trial.record["arrival"]["late_p99_ns"] / 1e9 for trial in ran(run, range(1, ROUNDS + 1))
    ]
    what = f"open loop, `noop` at {NOOP_RATE} /s on {THREADS} threads: p99 of the lateness"
    return [Row(what, statistics.median(late), "what a trial may have", 1e-3, "< 1")]


def beside_vegeta(lab: BenchLab) -> list[Row]:
    """Measure rate, p50 and p99 of both tools, in pairs at each share of the service's capacity."""
    install(lab)
    with reference_tools.sending_at(lab, MBIT):
        rates = [round(share * closed(lab)) for share in SHARES]
        clients = {"factor": "tool", OURS: "http", VEGETA: "vegeta"}
        run = planned(lab, "bench-open", clients, rates, CONSTANTS)
        found: dict[tuple[str, int], list[tuple[Sent, Sent]]] = defaultdict(list)
        for block in range(1, ROUNDS + 1):
            for offered in rates:
                print(f"http at {offered} /s, round {block} of {ROUNDS} …", flush=True)
                for tool in (OURS, VEGETA) if block % 2 else (VEGETA, OURS):
                    found[tool, offered].append(sent(run, block, tool, offered))
    return [
        row
        for share, offered in zip(SHARES, rates, strict=True)
        for row in compared(share, offered, found[OURS, offered], found[VEGETA, offered])
    ]


def compared(
    share: float,
    offered: int,
    ours: list[tuple[Sent, Sent]],
    theirs: list[tuple[Sent, Sent]],
) -> list[Row]:
    """The rows of one rate, from the service and response times of each round."""
    what = f"open loop, `http`, {MBIT} Mbit/s, {100 * share:.0f} % of capacity ({offered} /s)"
    found = []
    for kind, name, label, show in (
        (0, "calls_per_s", "rate", rate),
        (0, "p50", "p50 of the service time", seconds),
        (0, "p99", "p99 of the service time", seconds),
        (1, "p99", "p99 of the response time", seconds),
    ):
        one, other = ([getattr(times[kind], name) for times in tool] for tool in (ours, theirs))
        found.append(Row.of_rounds(f"{what}: {label}", one, "vegeta", other, show=show))
    return found


def planned(
    lab: BenchLab,
    name: str,
    clients: str | Mapping[str, str],
    rates: list[int],
    constants: Mapping[str, object],
) -> HandRun:
    """Plan a trial a round, tool and rate, each of SECONDS; vegeta's lead is among its calls."""
    tools = [] if isinstance(clients, str) else [tool for tool in clients if tool != "factor"]
    cells: list[dict[str, object]] = [{"tool": tool} for tool in tools] or [{}]
    factors: dict[str, object] = {"tool": tools} if tools else {}
    where = [
        {"cells": {**cell, "rate": each}, "calls": max(1, each * long // THREADS)}
        for cell in cells
        for each in rates
        for long in [SECONDS + (LEAD_S if cell.get("tool") == VEGETA else 0)]
    ]
    plan = study(
        name,
        clients,
        factors={**factors, "rate": rates},
        domains={},
        constants=dict(constants),
        arrival={"rate": "rate", "spacing": "even", "lead_s": LEAD_S},
        threads=THREADS,
        warmup=500,
        replicates=ROUNDS,
        where=where,
    )
    return HandRun.planned(lab, name, plan)


def ran(run: HandRun, blocks: range) -> list[Trial]:
    """Run the trials of these blocks; late ones are sealed as failed, but count in the bench."""
    ids = [name for name in run.ids if int(name[1:].partition("-")[0]) in blocks]
    run.run(ids)
    return run.trials(ids)


def sent(run: HandRun, block: int, tool: str, offered: int) -> tuple[Sent, Sent]:
    """Run the trial of this block, tool and rate; its service and its response times."""
    calls = measured(run.trial(block, offered, tool))
    begin = min(due for due, _, _ in calls) + (LEAD_S * 10**9 if tool == VEGETA else 0)
    counted = [(due, start, took) for due, start, took in calls if due >= begin]
    span = max(start + took for _, start, took in counted) - begin
    service = sorted(took for _, _, took in counted)
    response = sorted(start + took - due for due, start, took in counted)
    answered = len(counted) / span * 1e9
    p50, p99 = len(counted) // 2, len(counted) * 99 // 100
    return (
        Sent(answered, service[p50] / 1e9, service[p99] / 1e9),
        Sent(answered, response[p50] / 1e9, response[p99] / 1e9),
    )


def measured(trial: Trial) -> list[tuple[int, int, int]]:
    """Return the due time, start and duration, in ns, of each counted call that was ok.

    A trial without such a call ends the bench.
    """
    calls = [
        (int(row["intended_ns"]), int(row["start_ns"]), int(row["elapsed_ns"]))
        for row in csv.DictReader(io.StringIO(trial.calls.decode()))
        if row["phase"] == "measure" and row["status"] == "ok"
    ]
    if not calls:
        raise SystemExit(trial.end)
    return calls
