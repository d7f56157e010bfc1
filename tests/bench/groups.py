"""Measures the time to set the nodes for the next group of a run's trials."""

from __future__ import annotations

import json
import math
import shutil
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from aims import Aim
from bench_lab import ROOT, BenchLab, said
from row import Ratio, Row, interval, seconds

ROUNDS = 3
BY_HAND = 3
"""Repetitions by hand in a round; the median counts."""
BEYOND = Aim("< 3 s beyond it", -math.inf, 3, digits=1)
WORKERS = tuple(f"worker{number}" for number in range(1, 6))
NODES = ("client1", "broker1", *WORKERS)
LINKS = "sudo tc qdisc replace dev host0 root tbf rate 100mbit burst 3200 latency 100ms"
TOMCAT = (
    "sudo systemctl restart rackbench-tomcat.service; until curl --silent --fail --fail-early "
    '--noproxy "*" --output /dev/null "http://$(uname -n):8080/axis/services/Sort?wsdl" '
    '--output /dev/null "http://$(uname -n):8080/mtom/mtom?wsdl"; do sleep 0.1; done'
)


@dataclass(frozen=True)
class Kind:
    """A study whose groups differ in one setting, and the same change by hand on all nodes."""

    study: str
    what: str
    by_hand: str
    nodes: Sequence[str]
    script: str


KINDS = (
    Kind("link", "a change of `link_mbit` between groups", "7 links set by hand", NODES, LINKS),
    Kind(
        "threads",
        "a change of Tomcat's threads between groups",
        "5 Tomcats restarted by hand, at once",
        WORKERS,
        TOMCAT,
    ),
)


def rows(lab: BenchLab) -> list[Row]:
    """Return every row; each round begins with the last kind of the round before."""
    found: dict[str, list[tuple[float, float]]] = {kind.study: [] for kind in KINDS}
    for number in range(ROUNDS):
        for kind in KINDS if number % 2 == 0 else reversed(KINDS):
            print(f"changes of {kind.study}, round {number + 1} of {ROUNDS} …", flush=True)
            gap = statistics.median(changes(sweep(lab, kind.study)))
            by_hand = statistics.median(at_once(lab, kind) for _ in range(BY_HAND))
            found[kind.study].append((gap, by_hand))
    return [row(kind, found[kind.study]) for kind in KINDS]


def row(kind: Kind, rounds: Sequence[tuple[float, float]]) -> Row:
    """Return the row of one kind; `rounds` have the seconds of a change, and by hand."""
    gaps, by_hand = zip(*rounds, strict=True)
    beyond = Ratio(*interval([gap - itself for gap, itself in rounds]))
    low, high = (seconds(max(0.0, one)) for one in (beyond.low, beyond.high))
    what = f"{kind.what} ({low} to {high} beyond it)"
    return Row.of_rounds(what, gaps, kind.by_hand, by_hand, BEYOND.of(beyond))


def changes(records: Iterable[Mapping[str, Any]]) -> list[float]:
    """Return the seconds from the last trial of each group to the first of the next.

    A trial that is not ok ends the bench, because its nodes may have been repaired meanwhile.
    """
    ordered = sorted(records, key=lambda record: datetime.fromisoformat(record["started_at"]))
    for record in ordered:
        if record["outcome"] != "ok":
            raise SystemExit(f"{record['id']} ended as {record['outcome']}; repeat the bench")
    return [
        (moment(after, "started_at") - moment(before, "ended_at")).total_seconds()
        for before, after in pairwise(ordered)
        if before["node"] != after["node"]
    ]


def moment(record: Mapping[str, Any], name: str) -> datetime:
    """Return the time when a trial began or ended."""
    return datetime.fromisoformat(record[name])


def sweep(lab: BenchLab, study: str) -> list[dict[str, Any]]:
    """Sweep the demo of a study; return the records of its trials, and remove its results."""
    name = f"bench-groups-{study}"
    results = ROOT / "results" / name
    shutil.rmtree(results, ignore_errors=True)
    said([*lab.ssh("client1"), f"sudo rm -rf /var/lib/rackbench/runs/{name}"])
    lab.play("sweep", "-e", f"study={study}", "-e", f"run={name}")
    records = [json.loads(path.read_text()) for path in results.glob("trials/*/trial.json")]
    shutil.rmtree(results)
    return records


def at_once(lab: BenchLab, kind: Kind) -> float:
    """Return the seconds for the change by hand, on all nodes in parallel."""
    for node in kind.nodes:
        said([*lab.ssh(node), "true"])  # opens the connections
    began = time.monotonic()
    with ThreadPoolExecutor(len(kind.nodes)) as pool:
        list(pool.map(lambda node: said([*lab.ssh(node), kind.script]), kind.nodes))
    return time.monotonic() - began
