"""What went on beside a trial, as its runner recorded it, and from where on it is a disturbance."""

from collections.abc import Iterator, Mapping
from typing import Any

from collect.trials import Trial

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

LIMITS = (
    f"load before it over {LOAD_PER_CORE:g} a core, stolen time over {STEAL_PERCENT:g} %, clock "
    f"rate changed by over {CLOCK_PERCENT:g} %, over {TEMPERATURE_C:g} °C, over {RETRANSMITS} "
    f"retransmitted segments, over {GC_PERCENT:g} % of the time in garbage collection, or a "
    "service that had to be restarted before it"
)


def disturbances(trial: Trial) -> list[str]:
    """Name what disturbed a trial; empty when nothing did or the runner did not record it."""
    nodes = trial.record.get("interference")
    found = [
        f"{text} on {node}"
        for node, seen in (nodes.items() if isinstance(nodes, dict) else ())
        if isinstance(seen, dict)
        for text in _of_node(seen)
    ]
    return [*found, *_of_collections(trial.record), *_of_restarts(trial.record)]


def _of_node(seen: Mapping[str, Any]) -> Iterator[str]:
    load, cores = _first(seen.get("load1")), _number(seen.get("cores"))
    if load is not None and cores and load > LOAD_PER_CORE * cores:
        yield f"load {load:g}"
    steal = _number(seen.get("steal_percent"))
    if steal is not None and steal > STEAL_PERCENT:
        yield f"{steal:.1f} % stolen"
    before, after = _first(seen.get("cpu_mhz")), _last(seen.get("cpu_mhz"))
    if before and after and abs(after - before) > before * CLOCK_PERCENT / 100:
        yield f"clock rate from {before:g} to {after:g} MHz"
    heat = _last(seen.get("temperature_c"))
    if heat is not None and heat > TEMPERATURE_C:
        yield f"{heat:g} °C"
    retransmits = _number(seen.get("retransmits"))
    if retransmits is not None and retransmits > RETRANSMITS:
        yield f"{retransmits:g} segments retransmitted"


def _of_collections(record: Mapping[str, Any]) -> Iterator[str]:
    gc, clock = record.get("gc"), record.get("clock")
    if isinstance(gc, dict) and isinstance(clock, dict):
        millis, elapsed = _number(gc.get("millis")), _number(clock.get("elapsed_ns"))
        if millis is not None and elapsed and 1e8 * millis / elapsed > GC_PERCENT:
            yield f"{1e8 * millis / elapsed:.0f} % in garbage collection"


def _of_restarts(record: Mapping[str, Any]) -> Iterator[str]:
    restarts = record.get("restarts")
    for restart in restarts if isinstance(restarts, list) else []:
        if isinstance(restart, dict):
            at = str(restart.get("at"))[:19]
            yield f"{restart.get('service')} hung and was restarted before it, at {at} UTC"


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _first(pair: Any) -> float | None:
    return _number(pair[0]) if isinstance(pair, list) and pair else None


def _last(pair: Any) -> float | None:
    return _number(pair[-1]) if isinstance(pair, list) and pair else None
