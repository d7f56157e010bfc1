"""The open loop: how late the sender is, and its rate and times beside vegeta's.

Both send to the same one-byte resource over as many connections at the same even rate, in
alternating rounds. vegeta's latency begins when a request is sent; so it is compared with our
service time, and our response time stands beside it.
"""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections import defaultdict
from dataclasses import dataclass

from bench_lab import PREFIX, BenchLab, said
from by_hand import CLIENT, HandRun, Trial, study
from row import Ratio, Row, rate, seconds

THREADS = 8
ROUNDS = 5
SECONDS = 5
SHARES = (0.2, 0.5, 0.8)
NOOP_RATE = 1000
RESOURCE = f"http://{PREFIX}.21:8080/axis/byte"  # of worker1


@dataclass(frozen=True)
class Sent:
    """What one tool measured: answers a second, and times in seconds."""

    calls_per_s: float
    p50: float
    p99: float


def rows(lab: BenchLab) -> list[Row]:
    """The sender's lateness, then pairs at each share of what the service can do."""
    apt = ["-m", "ansible.builtin.apt", "-a", "name=wrk,vegeta install_recommends=false"]
    lab.clocked([".venv/bin/ansible", CLIENT, "--become", *apt])
    capacity = closed(lab)
    return [*lateness(lab), *beside_vegeta(lab, [round(share * capacity) for share in SHARES])]


def closed(lab: BenchLab) -> float:
    """How many calls a second wrk makes with as many threads."""
    command = f"wrk --threads {THREADS} --connections {THREADS} --duration {SECONDS}s {RESOURCE}"
    lines = said([*lab.ssh(CLIENT), command]).decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("Requests/sec:"))


def lateness(lab: BenchLab) -> list[Row]:
    """A client that does nothing, at 1 000 calls a second."""
    run = planned(lab, "bench-late", "noop", [NOOP_RATE])
    late = [
        trial.record["arrival"]["late_p99_ns"] / 1e9 for trial in ran(run, range(1, ROUNDS + 1))
    ]
    what = f"open loop, `noop` at {NOOP_RATE} /s on {THREADS} threads: p99 of the lateness"
    return [Row(what, statistics.median(late), "what a trial may have", 1e-3, "< 1")]


def beside_vegeta(lab: BenchLab, rates: list[int]) -> list[Row]:
    """Rate, p50 and p99 of both tools, in pairs."""
    run = planned(lab, "bench-open", "http", rates)
    ours: dict[int, list[Sent]] = defaultdict(list)
    waited: dict[int, list[Sent]] = defaultdict(list)
    theirs: dict[int, list[Sent]] = defaultdict(list)
    for block in range(1, ROUNDS + 1):
        for offered in rates:
            print(f"http at {offered} /s, round {block} of {ROUNDS} …", flush=True)
            first, second = (own, vegeta) if block % 2 else (vegeta, own)
            for tool in (first, second):
                if tool is vegeta:
                    theirs[offered].append(vegeta(lab, offered))
                else:
                    service, response = own(run, block, offered)
                    ours[offered].append(service)
                    waited[offered].append(response)
    return [
        row
        for share, offered in zip(SHARES, rates, strict=True)
        for row in compared(share, offered, ours[offered], waited[offered], theirs[offered])
    ]


def compared(
    share: float, offered: int, ours: list[Sent], waited: list[Sent], theirs: list[Sent]
) -> list[Row]:
    """The rows of one rate."""
    what = f"open loop, `http` at {100 * share:.0f} % of capacity ({offered} /s)"
    found = []
    for name, label, show in (
        ("calls_per_s", "rate", rate),
        ("p50", "p50 of the service time", seconds),
        ("p99", "p99 of the service time", seconds),
    ):
        one, other = ([getattr(sent, name) for sent in tool] for tool in (ours, theirs))
        pair = Ratio.of_pairs(one, other)
        medians = statistics.median(one), statistics.median(other)
        found.append(Row(f"{what}: {label}", medians[0], "vegeta", medians[1], "", show, pair))
    response = statistics.median(sent.p99 for sent in waited)
    service = statistics.median(sent.p99 for sent in ours)
    return [*found, Row(f"{what}: p99 of the response time", response, "service time", service)]


def planned(lab: BenchLab, name: str, client: str, rates: list[int]) -> HandRun:
    """A trial a round and rate, each of SECONDS."""
    where = [
        {"cells": {"rate": each}, "calls": max(1, each * SECONDS // THREADS)} for each in rates
    ]
    plan = study(
        name,
        client,
        factors={"rate": rates},
        domains={},
        arrival={"rate": "rate", "spacing": "even"},
        threads=THREADS,
        warmup=500,
        replicates=ROUNDS,
        where=where,
    )
    return HandRun.planned(lab, name, plan)


def ran(run: HandRun, blocks: range) -> list[Trial]:
    """Run the trials of these blocks; those that were late are sealed as failed, and count here."""
    ids = [name for name in run.ids if int(name[1:].partition("-")[0]) in blocks]
    run.run(ids)
    return run.trials(ids)


def own(run: HandRun, block: int, offered: int) -> tuple[Sent, Sent]:
    """Run our trial of this block and rate; its service and its response times."""
    (name,) = (i for i in run.ids if i.startswith(f"b{block:02d}-") and i.endswith(f"-{offered}"))
    run.run([name])
    (sealed,) = run.trials([name])
    calls = [
        (int(row["intended_ns"]), int(row["start_ns"]), int(row["elapsed_ns"]))
        for row in csv.DictReader(io.StringIO(sealed.calls.decode()))
        if row["phase"] == "measure" and row["status"] == "ok"
    ]
    span = max(start + took for _, start, took in calls) - min(due for due, _, _ in calls)
    answered = len(calls) / span * 1e9
    return tuple(  # type: ignore[return-value]
        Sent(answered, times[len(times) // 2] / 1e9, times[len(times) * 99 // 100] / 1e9)
        for times in (
            sorted(took for _, _, took in calls),
            sorted(start + took - due for due, start, took in calls),
        )
    )


def vegeta(lab: BenchLab, offered: int) -> Sent:
    """Run vegeta for as long as our trial lasts, with as many connections and its lead before."""
    attack = (
        f"vegeta attack -rate {offered} -workers {THREADS} -max-workers {THREADS} "
        f"-connections {THREADS} -duration"
    )
    script = (
        f"echo GET {RESOURCE} > target; {attack} 2s < target > lead; "
        f"{attack} {SECONDS}s < target | vegeta report -type json"
    )
    said_json = json.loads(said([*lab.ssh(CLIENT), script]))
    times = said_json["latencies"]
    return Sent(said_json["throughput"], times["50th"] / 1e9, times["99th"] / 1e9)
