"""Compares the fingerprints of nodes that should be the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from typing import Any

from collect.identity import OF_A_GROUP, READINGS

ABSENT = "(absent)"


def items(fingerprint: Mapping[str, Any], kinds: Set[str]) -> dict[str, str]:
    """Flatten one fingerprint: nested items become `item name`."""
    flat = {}
    for key, value in fingerprint.items():
        if key in kinds and isinstance(value, Mapping):
            flat.update({f"{key} {name}": str(inner) for name, inner in value.items()})
        elif key in kinds:
            flat[key] = str(value)
    return flat


def odd_ones(nodes: Mapping[str, Mapping[str, str]]) -> list[dict[str, str]]:
    """Every item in which a node differs from what most of the others have."""
    rows = []
    for item in sorted({item for values in nodes.values() for item in values}):
        values = {name: flat.get(item, ABSENT) for name, flat in nodes.items()}
        usual, _ = Counter(values.values()).most_common(1)[0]
        rows += [
            {"item": item, "node": name, "value": value, "others": usual}
            for name, value in values.items()
            if value != usual
        ]
    return rows


def fingerprint_differences(
    fingerprints: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, list[str]],
    clock_tolerance_ms: float = 50.0,
) -> list[dict[str, str]]:
    """Rows of item, node, value and what the others have; none when the nodes are the same.

    `fingerprints` by node name, `groups` as name and nodes. A clock is off when its offset from the
    control host's exceeds the tolerance by more than the reading's own uncertainty.
    """
    names = {key for fingerprint in fingerprints.values() for key in fingerprint}
    common = names - READINGS - OF_A_GROUP
    rows = odd_ones({name: items(taken, common) for name, taken in fingerprints.items()})
    for members in groups.values():
        rows += odd_ones(
            {
                name: items(fingerprints[name], OF_A_GROUP)
                for name in members
                if name in fingerprints
            }
        )
    for name, taken in fingerprints.items():
        surely = abs(taken["clock_offset_ms"]) - taken["clock_uncertainty_ms"]
        if surely > clock_tolerance_ms:
            rows.append(
                {
                    "item": "clock_offset_ms",
                    "node": name,
                    "value": str(taken["clock_offset_ms"]),
                    "others": f"within {clock_tolerance_ms:g}",
                }
            )
    return rows


def as_table(rows: list[dict[str, str]], columns: list[str]) -> str:
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
