"""Compares the fingerprints of nodes that should be the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from statistics import median
from typing import Any

from ansible.errors import AnsibleFilterError

from collect.identity import OF_A_GROUP, READINGS, WHILE_RUNNING, kind_of

ABSENT = "(absent)"
# The packages themselves are compared.
DIGESTS = frozenset({"packages_sha256"})

Row = dict[str, str]


def items(fingerprint: Mapping[str, Any], kinds: Set[str]) -> Row:
    """Flatten one fingerprint: nested items become `item name`."""
    flat = {}
    for key, value in fingerprint.items():
        if key in kinds and isinstance(value, Mapping):
            flat.update({f"{key} {name}": str(inner) for name, inner in value.items()})
        elif key in kinds:
            flat[key] = str(value)
    return flat


def odd_ones(nodes: Mapping[str, Mapping[str, str]]) -> list[Row]:
    """Every item in which a node differs from what most of the others have."""
    rows = []
    for item in sorted({item for values in nodes.values() for item in values}):
        values = {name: flat.get(item, ABSENT) for name, flat in nodes.items()}
        if kind_of(item) in WHILE_RUNNING:
            values = {name: value for name, value in values.items() if value != ABSENT}
        usual, _ = Counter(values.values()).most_common(1)[0]
        rows += [
            {"item": item, "node": name, "value": value, "others": usual}
            for name, value in values.items()
            if value != usual
        ]
    return rows


def clocks_off(fingerprints: Mapping[str, Mapping[str, Any]], tolerance: float) -> Iterator[Row]:
    """Clocks whose offset exceeds the tolerance (ms) by more than the reading's uncertainty."""
    for name, taken in fingerprints.items():
        surely = abs(taken["clock_offset_ms"]) - taken["clock_uncertainty_ms"]
        if surely > tolerance:
            yield {
                "item": "clock_offset_ms",
                "node": name,
                "value": str(taken["clock_offset_ms"]),
                "others": f"within {tolerance:g}",
            }


def limit_of(taken: Mapping[str, Any]) -> float:
    """The rate that a node's shaper or else its hardware allows in Mbit/s; 0 where neither does."""
    speed = taken.get("link_speed_mbit") if taken.get("link_driver") else None
    return max(0.0, float(taken.get("link_shaped_mbit") or speed or 0))


def links_off(
    fingerprints: Mapping[str, Mapping[str, Any]], share: float, slower_ms: float
) -> Iterator[Row]:
    """Links far from the middle one: in rate by more than this share, in round trip by so many ms.

    Where the middle link is not as fast as hardware or shaper allow, or nothing limits it, the
    rates are the CPU's, and not compared.
    """
    limited = {name: taken for name, taken in fingerprints.items() if limit_of(taken)}
    rates = {name: taken.get("link_measured_mbit") for name, taken in limited.items()}
    reached = median([rate or 0 for rate in rates.values()] or [0])
    if reached < (1 - share) * median([limit_of(taken) for taken in limited.values()] or [0]):
        rates = {}
    trips = {name: taken.get("link_rtt_ms") for name, taken in fingerprints.items()}
    for item, readings, words in (
        ("link_measured_mbit", rates, f"within {share:.0%} of"),
        ("link_rtt_ms", trips, f"at most {slower_ms:g} above"),
    ):
        known = [value for value in readings.values() if value is not None]
        if not known:
            continue
        middle = median(known)
        for name, value in readings.items():
            if value is None:
                far = True
            elif item == "link_rtt_ms":
                far = value > middle + slower_ms
            else:
                far = abs(value - middle) > share * middle
            if far:
                shown = ABSENT if value is None else str(value)
                others = f"{words} {middle:g}"
                yield {"item": item, "node": name, "value": shown, "others": others}


def declared(exceptions: Any, nodes: Set[str]) -> dict[tuple[str, str], str]:
    """The reasons of the declared exceptions by node and item; refuse one that is not whole."""
    reasons = {}
    for exception in exceptions or []:
        parts = exception if isinstance(exception, Mapping) else {}
        node, item, reason = (str(parts.get(key) or "") for key in ("node", "item", "reason"))
        if not (node and item and reason.strip()):
            raise AnsibleFilterError(
                f"fingerprint_exceptions: {exception} lacks node, item or reason; say all three, "
                "the report shows the reason"
            )
        if node not in nodes:
            raise AnsibleFilterError(
                f"fingerprint_exceptions: there is no node {node}; correct or remove the exception"
            )
        reasons[node, item] = reason
    return reasons


def fingerprint_differences(
    fingerprints: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, list[str]],
    tolerances: Mapping[str, float],
    exceptions: Sequence[Mapping[str, str]] = (),
    but: Sequence[str] = (),
) -> list[Row]:
    """Rows of item, node, value and what the others have; none when the nodes are the same.

    `fingerprints` by node name, `groups` as name and nodes. `tolerances` holds `clock_ms`,
    `link_share` (a part of the middle node's rate) and `rtt_ms`. What `exceptions` declare and the
    items of `but` are left out. Raises AnsibleFilterError for an exception without a node of the
    lab, an item or a reason.
    """
    names = {key for fingerprint in fingerprints.values() for key in fingerprint}
    common = names - READINGS - OF_A_GROUP - DIGESTS
    rows = odd_ones({name: items(taken, common) for name, taken in fingerprints.items()})
    for members in groups.values():
        rows += odd_ones(
            {
                name: items(fingerprints[name], OF_A_GROUP)
                for name in members
                if name in fingerprints
            }
        )
    rows += clocks_off(fingerprints, float(tolerances["clock_ms"]))
    rows += links_off(fingerprints, float(tolerances["link_share"]), float(tolerances["rtt_ms"]))
    excused = declared(exceptions, set(fingerprints))
    rows = [row for row in rows if row["item"] not in but]
    # `packages` excuses every package, `packages zip` one.
    return [
        row
        for row in rows
        if not excused.keys() & {(row["node"], row["item"]), (row["node"], kind_of(row["item"]))}
    ]


def as_table(rows: list[Row], columns: list[str]) -> str:
    """Lay rows out in columns of equal width, for a terminal."""
    lines = [dict(zip(columns, columns, strict=True)), *rows]
    widths = {column: min(60, max(len(line[column]) for line in lines)) for column in columns}
    return "\n".join(
        "  ".join(line[column][:60].ljust(widths[column]) for column in columns).rstrip()
        for line in lines
    )


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """By the name templates use."""
        return {"fingerprint_differences": fingerprint_differences, "as_table": as_table}
