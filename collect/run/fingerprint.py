"""A node's fingerprint as items, and which of them nodes must share."""

from collections.abc import Mapping
from typing import Any

from collect.run.fields import leaves

READINGS = frozenset(
    {
        *("clock_offset_ms", "clock_uncertainty_ms", "time_source"),
        *("link_measured_mbit", "link_rtt_ms"),
    }
)
"""Items that are measured again in each snapshot, so no two agree to the last digit."""
OF_A_MACHINE = frozenset({"link_device"})
"""Items in which equal machines may differ, but which do not change on one machine."""
OF_A_ROLE = frozenset({"files", "jvms"})
"""Items that follow from the roles of a node, compared between nodes that share one."""
OF_ALL_ROLES = ("files /etc/rackbench/packet-filter", "files /etc/rackbench/probes.json")
"""The beginnings of items that depend on all roles of a node together."""
WHILE_RUNNING = frozenset({"jvms"})
"""Items of running services: an absent one means that a service is down, not that nodes differ."""
IN_PROPORTION = frozenset({"memory_mb", "swap_mb"})
"""Numbers that are compared with a tolerance, since firmware reserves some of the memory."""
MEMORY_TOLERANCE = 0.01
"""The tolerance as a part of the number, where the inventory declares no other.

The kernel reports a few pages more or less after each start; a memory module is far more than 1 %.
"""
ABSENT = "(absent)"


def kind_of(item: str) -> str:
    """Return the kind of an item: that of `packages zip` is `packages`."""
    return item.partition(" ")[0]


def flat(fingerprint: Mapping[str, Any]) -> dict[str, str]:
    """Return what was recorded of a node, item by item; nested items become `item name`."""
    recorded = {name: value for name, value in fingerprint.items() if value is not None}
    return {item: str(value) for item, value in leaves(recorded)}


def are_close(item: str, one: str, other: str, tolerance: float) -> bool:
    """Return whether two values of an item are equal, or close within a part of the second."""
    if one == other or item not in IN_PROPORTION:
        return one == other
    try:
        return abs(float(one) - float(other)) <= tolerance * float(other)
    except ValueError:
        return False
