"""What went on beside a trial, as its runner recorded it, and from where on it is a disturbance."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from collect.run.trials import Trial

LOAD_PER_CORE = 1.5
"""Runnable processes for each core, averaged over the minute before the trial."""
STEAL_PERCENT = 2.0
"""Share of the processors' time that the host gave to others."""
CLOCK_PERCENT = 5.0
"""Change of the processors' mean clock rate from the trial's start to its end."""
TEMPERATURE_C = 90.0
"""Where processors may begin to slow down."""
RETRANSMITS = 20
"""TCP segments sent again during the trial."""
GC_PERCENT = 10.0
"""Share of the trial's time in collections of its JVM."""


@dataclass(frozen=True)
class Disturbance:
    """One thing that went on beside a trial: the `limit` that it passed, and how, in words."""

    limit: str
    text: str


def disturbances(trial: Trial) -> list[Disturbance]:
    """Name what disturbed a trial; empty when nothing did or the runner did not record it."""
    nodes = trial.record.get("interference")
    found = [
        Disturbance(limit, f"{text} on {node}")
        for node, seen in (nodes.items() if isinstance(nodes, dict) else ())
        if isinstance(seen, dict)
        for limit, text in _of_node(seen)
    ]
    of_trial = [*_of_collections(trial.record), *_of_restarts(trial.record)]
    return [*found, *(Disturbance(limit, text) for limit, text in of_trial)]


def _of_node(seen: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    load, cores = _first(seen.get("load1")), _number(seen.get("cores"))
    if load is not None and cores and load > LOAD_PER_CORE * cores:
        yield f"load before it over {LOAD_PER_CORE:g} a core", f"load {load:g}"
    steal = _number(seen.get("steal_percent"))
    if steal is not None and steal > STEAL_PERCENT:
        yield f"stolen time over {STEAL_PERCENT:g} %", f"{steal:.1f} % stolen"
    before, after = _first(seen.get("cpu_mhz")), _last(seen.get("cpu_mhz"))
    if before and after and abs(after - before) > before * CLOCK_PERCENT / 100:
        limit = f"clock rate changed by over {CLOCK_PERCENT:g} %"
        yield limit, f"clock rate from {before:g} to {after:g} MHz"
    heat = _last(seen.get("temperature_c"))
    if heat is not None and heat > TEMPERATURE_C:
        yield f"over {TEMPERATURE_C:g} °C", f"{heat:g} °C"
    retransmits = _number(seen.get("retransmits"))
    if retransmits is not None and retransmits > RETRANSMITS:
        limit = f"over {RETRANSMITS} retransmitted segments"
        yield limit, f"{retransmits:g} segments retransmitted"


def _of_collections(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    gc, clock = record.get("gc"), record.get("clock")
    if isinstance(gc, dict) and isinstance(clock, dict):
        millis, elapsed = _number(gc.get("millis")), _number(clock.get("elapsed_ns"))
        if millis is not None and elapsed and 1e8 * millis / elapsed > GC_PERCENT:
            limit = f"over {GC_PERCENT:g} % of the time in garbage collection"
            yield limit, f"{1e8 * millis / elapsed:.0f} % in garbage collection"


def _of_restarts(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    restarts = record.get("restarts")
    for restart in restarts if isinstance(restarts, list) else []:
        if isinstance(restart, dict):
            at = str(restart.get("at"))[:19]
            text = f"{restart.get('service')} hung and was restarted before it, at {at} UTC"
            yield "a service restarted before it", text


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _first(pair: Any) -> float | None:
    return _number(pair[0]) if isinstance(pair, list) and pair else None


def _last(pair: Any) -> float | None:
    return _number(pair[-1]) if isinstance(pair, list) and pair else None
