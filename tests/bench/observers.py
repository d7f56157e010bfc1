"""Measures the cost of a trial's observers to its calls: node samples, MXBeans and settings.

In pairs of trials, one is as in a study and one has the constant `observe: none`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_lab import BenchLab
from by_hand import HandRun, study
from costs import HTTP_CALLS, set_health
from pairs import SAME, Times, alternate, compared
from row import Row

ROUNDS = 60
"""The medians of single trials vary by a tenth; with 20 rounds intervals were twice the aim."""
OBSERVED, ALONE = "with observers", "`observe: none`"
TCP = {"needs": ["tcp-server"], "client": "overhead-tcp"}
HTTP = {"needs": ["tomcat"], "client": "http"}
CALLS = {
    "TCP, 1 byte, 1 thread": (TCP, {"reply_bytes": 1, "elements": 1, "request_bytes": 1}),
    "`http`, 1 thread": (HTTP, {}),
}


def rows(lab: BenchLab) -> list[Row]:
    """Return every row of this subject."""
    return [row for what in CALLS for row in of_calls(lab, what)]


def of_calls(lab: BenchLab, what: str) -> list[Row]:
    """Return the rows of one kind of call."""
    kind, constants = CALLS[what]
    name = f"bench-observers-{kind['client']}"
    runs = {
        OBSERVED: planned(lab, name, kind, constants),
        ALONE: planned(lab, f"{name}-none", kind, {**constants, "observe": "none"}),
    }

    def measured(variant: str, number: int) -> Times:
        print(f"{what}, {variant}, round {number + 1} of {ROUNDS} …", flush=True)
        # The sampling for the trial before would continue for 90 s.
        set_health(lab, "restart")
        run = runs[variant]
        trial = run.ids[number]
        run.run([trial])
        (sealed,) = run.trials([trial])
        return Times.of(sealed)

    found = alternate({v: lambda number, v=v: measured(v, number) for v in runs}, ROUNDS)
    return compared(what, found, OBSERVED, ALONE, SAME)


def planned(
    lab: BenchLab, name: str, kind: Mapping[str, Any], constants: Mapping[str, Any]
) -> HandRun:
    """Plan a run of one client at one thread, with a trial for each round."""
    plan = study(
        name,
        kind["client"],
        needs=kind["needs"],
        constants={"client_heap_mb": 256, **constants},
        servers=1,
        restart="none",
        replicates=ROUNDS,
        calls=HTTP_CALLS,
        warmup=HTTP_CALLS // 2,
    )
    return HandRun.planned(lab, name, plan)
