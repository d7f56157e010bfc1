"""What else happened on the nodes during a trial, and from which limit on it is a disturbance."""

from collections.abc import Iterator
from dataclasses import dataclass

from collect.counts import show_number, show_percent
from collect.run.recorded import Readings
from collect.run.trials import Trial

LOAD_PER_CORE = 1.5
"""Runnable processes for each core, averaged over the minute before the trial.

Above one, processes wait for a processor; half a process more allows for the previous trial, which
that minute may include.
"""
STEAL_PERCENT = 2.0
"""Share of the processors' time that the host gave to other machines.

The kernel counts it in ticks of 10 ms: rounding alone gives 1 % on one core in a trial of a second.
"""
CLOCK_PERCENT = 5.0
"""Change of the processors' mean clock rate from the trial's start to its end.

Times follow the clock rate, and 5 % is the change of level that counts as drift: SHIFT in
collect.stats.course.
"""
TEMPERATURE_C = 90.0
"""Processors of servers slow down from 95 to 105 °C; this leaves a margin."""
RETRANSMITS = 20
"""TCP segments sent again during the trial.

Linux waits at least 200 ms before it does so. A few are normal when connections open; the limit is
our own choice.
"""
DISCARDED_GIB = 1.0
"""What the disks discarded during the trial.

A trim discards all that was freed since the last one. File systems that are mounted with `discard`
do so for each file that is removed; trials that are pulled leave far less.
"""
GC_PERCENT = 10.0
"""Share of the measured phase in collections of the trial's JVM.

The G1 collector aims at 8 % (GCTimeRatio=12): above 10 % it misses its aim, so the heap is small.
"""


@dataclass(frozen=True)
class Disturbance:
    """One disturbance of a trial: the `limit` that was passed, and by how much, in words."""

    limit: str
    text: str


def disturbances(trial: Trial) -> list[Disturbance]:
    """Return what disturbed a trial; empty when nothing did or the runner did not record it."""
    found = [
        Disturbance(limit, f"{text} on {node}")
        for node, readings in trial.readings.items()
        for limit, text in _of_node(readings)
    ]
    of_trial = [*_of_collections(trial), *_of_restarts(trial)]
    return [*found, *(Disturbance(limit, text) for limit, text in of_trial)]


def _of_node(seen: Readings) -> Iterator[tuple[str, str]]:
    load = seen.load1
    if load is not None and seen.cores and load > LOAD_PER_CORE * seen.cores:
        yield f"load before it over {LOAD_PER_CORE:g} a core", f"load {load:g}"
    steal = seen.steal_percent
    if steal is not None and steal > STEAL_PERCENT:
        stolen = show_percent(steal / 100, 1, lambda share: 100 * share > STEAL_PERCENT)
        yield f"stolen time over {STEAL_PERCENT:g} %", f"{stolen} stolen"
    before, after = seen.cpu_mhz_before, seen.cpu_mhz_after
    if before and after and abs(after - before) > before * CLOCK_PERCENT / 100:
        limit = f"clock rate changed by over {CLOCK_PERCENT:g} %"
        yield limit, f"clock rate from {before:g} to {after:g} MHz"
    heat = seen.temperature_c_after
    if heat is not None and heat > TEMPERATURE_C:
        yield f"over {TEMPERATURE_C:g} °C", f"{heat:g} °C"
    retransmits = seen.retransmits
    if retransmits is not None and retransmits > RETRANSMITS:
        limit = f"over {RETRANSMITS} retransmitted segments"
        yield limit, f"{retransmits:g} segments retransmitted"
    for work in seen.maintenance:
        yield "maintenance of disks or packages", work
    discarded_gib = (seen.discarded_bytes or 0) / 2**30
    if discarded_gib > DISCARDED_GIB:
        trimmed = show_number(discarded_gib, 1, lambda gib: gib > DISCARDED_GIB)
        yield f"over {DISCARDED_GIB:g} GiB trimmed", f"{trimmed} GiB trimmed"


def _of_collections(trial: Trial) -> Iterator[tuple[str, str]]:
    # Earlier runners did not record the measured phase; over the JVM's life the share is a lower
    # bound.
    over_ns = trial.gc_over_ns or trial.elapsed_ns
    if trial.gc_ms is not None and over_ns:
        share = 1e6 * trial.gc_ms / over_ns
        if 100 * share > GC_PERCENT:
            limit = f"over {GC_PERCENT:g} % of the time in garbage collection"
            spent = show_percent(share, 0, lambda share: 100 * share > GC_PERCENT)
            yield limit, f"{spent} in garbage collection"


def _of_restarts(trial: Trial) -> Iterator[tuple[str, str]]:
    for restart in trial.restarts:
        text = f"{restart.service} hung and was restarted before it, at {restart.at[:19]} UTC"
        yield "a service restarted before it", text
