"""Compares nodes by their fingerprints as just taken: their items, their clocks and their links."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from statistics import median
from typing import Any

from collect.run.differences import Roles, Row, find_odd
from collect.run.fingerprint import OF_A_MACHINE, READINGS, flat, kind_of

Fingerprints = Mapping[str, Mapping[str, Any]]
"""The fingerprint of each node by its name."""

# The packages themselves are compared.
_NOT_COMPARED = READINGS | OF_A_MACHINE | {"packages_sha256"}


@dataclass(frozen=True)
class Tolerances:
    """How far nodes may differ.

    `clock_ms` is the offset of a clock in milliseconds, `rtt_ms` what a round trip may exceed that
    of the median node by. `memory` and `link_share` are parts of the median node's memory and rate.
    """

    clock_ms: float
    memory: float
    link_share: float
    rtt_ms: float


def compare(
    fingerprints: Fingerprints, roles: Roles, tolerances: Tolerances, excused: Set[tuple[str, str]]
) -> list[Row]:
    """Return in which items nodes differ from those like them; none if they are the same.

    `excused` are pairs of node and item, or node and kind of item.
    """
    compared = {
        name: {item: v for item, v in flat(taken).items() if item not in _NOT_COMPARED}
        for name, taken in fingerprints.items()
    }
    rows = find_odd(compared, roles, excused, tolerances.memory)
    rows += _clocks_off(fingerprints, tolerances.clock_ms)
    rows += _links_off(fingerprints, tolerances.link_share, tolerances.rtt_ms)
    return [
        row
        for row in rows
        # `packages` excuses every package, `packages zip` one.
        if not excused & {(row.node, row.item), (row.node, kind_of(row.item))}
    ]


def _clocks_off(fingerprints: Fingerprints, tolerance: float) -> Iterator[Row]:
    """Yield clocks whose offset exceeds the tolerance (ms) by more than its own uncertainty."""
    for name, taken in fingerprints.items():
        surely = abs(taken["clock_offset_ms"]) - taken["clock_uncertainty_ms"]
        if surely > tolerance:
            offset = str(taken["clock_offset_ms"])
            yield Row("clock_offset_ms", name, offset, f"within {tolerance:g}")


def _links_off(fingerprints: Fingerprints, share: float, slower_ms: float) -> Iterator[Row]:
    """Yield links far from the median one: in rate by this share, in round trip by this many ms.

    If the median link is slower than hardware or shaper allow, or nothing limits it, the CPU limits
    the rates, and they are not compared.
    """
    limited = {name: taken for name, taken in fingerprints.items() if _limit_of(taken)}
    rates = {name: taken.get("link_measured_mbit") for name, taken in limited.items()}
    reached = median([rate or 0 for rate in rates.values()] or [0])
    if reached < (1 - share) * median([_limit_of(taken) for taken in limited.values()] or [0]):
        rates = {}
    trips = {name: taken.get("link_rtt_ms") for name, taken in fingerprints.items()}
    for item, readings, words in (
        ("link_measured_mbit", rates, f"within {share:.0%} of"),
        ("link_rtt_ms", trips, f"at most {slower_ms:g} above"),
    ):
        known = [value for value in readings.values() if value is not None]
        middle = median(known or [0])
        low, high = (1 - share) * middle, (1 + share) * middle
        if item == "link_rtt_ms":
            low, high = 0.0, middle + slower_ms
        for name, value in readings.items() if known else ():
            if value is None or not low <= value <= high:
                shown = "no answer from its peer" if value is None else str(value)
                yield Row(item, name, shown, f"{words} {middle:g}")


def _limit_of(taken: Mapping[str, Any]) -> float:
    """Return the Mbit/s that a node's shaper or else its hardware allows; 0 for no limit."""
    speed = taken.get("link_speed_mbit") if taken.get("link_driver") else None
    return max(0.0, float(taken.get("link_shaped_mbit") or speed or 0))
