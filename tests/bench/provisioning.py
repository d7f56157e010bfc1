"""Measures the time to provision seven nodes, and to find that nothing is to be done."""

from __future__ import annotations

import statistics

from bench_lab import BenchLab
from row import Row

REPEATS = 3


def rows(lab: BenchLab) -> list[Row]:
    """Time site.yml cold and again, and verify.yml, each against a ping of all nodes."""
    cold = lab.play("site")
    again, verified, pings = [], [], []
    for _ in range(REPEATS):
        again.append(lab.play("site"))
        verified.append(lab.play("verify"))
        pings.append(lab.ping())
    reached = statistics.median(pings)
    yardstick = "`ansible -m ping`"
    return [
        Row("site.yml, 7 fresh nodes", cold, yardstick, reached),
        Row("site.yml again, 7 nodes", statistics.median(again), yardstick, reached, "< 20 s"),
        Row("verify.yml, 7 nodes", statistics.median(verified), yardstick, reached),
    ]
