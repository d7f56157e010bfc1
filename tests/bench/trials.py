"""What a trial costs outside its own JVM."""

from __future__ import annotations

import json
import shutil
import statistics

from bench_lab import ROOT, BenchLab, clocked
from row import Row

RUN = "bench-sort"
SSH_CALLS = 50


def rows(lab: BenchLab) -> list[Row]:
    """Median of a trial's wall time outside its JVM, against a bare multiplexed ssh."""
    results = ROOT / "results" / RUN
    shutil.rmtree(results, ignore_errors=True)
    lab.play("sweep", "-e", "study=sort", "-e", f"run={RUN}")
    cost = json.loads((results / "state.json").read_text())["outside_jvm_ms_p50"] / 1e3
    ssh = [*lab.ssh("client1"), "true"]
    clocked(ssh)
    bare = statistics.median(clocked(ssh) for _ in range(SSH_CALLS))
    what = "a trial outside its JVM (median)"
    return [Row(what, cost, "multiplexed `ssh true`", bare, "< 50 ms")]
