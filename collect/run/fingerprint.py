"""Which items of a node's fingerprint nodes share, and which tell of a moment or of a role."""

from collections.abc import Mapping
from typing import Any

READINGS = frozenset(
    {
        *("clock_offset_ms", "clock_uncertainty_ms", "time_source"),
        *("link_measured_mbit", "link_rtt_ms"),
    }
)
"""Items of one reading, which no two looks share to the digit."""
OF_A_MACHINE = frozenset({"link_device"})
"""Items that equal machines may differ in, but that do not change on one machine."""
OF_A_ROLE = frozenset({"files", "jvms"})
"""Items that follow from the roles of a node, compared between nodes that share one."""
OF_ALL_ROLES = ("files /etc/rackbench/packet-filter",)
"""How items begin that are put together from all roles of a node."""
WHILE_RUNNING = frozenset({"jvms"})
"""Items of what runs: one that is not there says that a service is down, not that nodes differ."""
IN_PROPORTION = frozenset({"memory_mb", "swap_mb"})
"""Numbers of which the firmware takes its bite, compared within a part of them."""
MEMORY_TOLERANCE = 0.01
"""That part, where nothing else is declared."""
ABSENT = "(absent)"


def kind_of(item: str) -> str:
    """What kind of thing an item names: `packages zip` is one of the packages."""
    return item.partition(" ")[0]


def flat(fingerprint: Mapping[str, Any]) -> dict[str, str]:
    """Give what was recorded of a node, item by item; nested items become `item name`."""
    items: dict[str, str] = {}
    for key, value in fingerprint.items():
        if isinstance(value, Mapping):
            items |= {f"{key} {name}": str(inner) for name, inner in value.items()}
        elif value is not None:
            items[key] = str(value)
    return items


def are_close(item: str, one: str, other: str, tolerance: float) -> bool:
    """Whether two values of an item are the same, or numbers within this part of the second."""
    if one == other or item not in IN_PROPORTION:
        return one == other
    try:
        return abs(float(one) - float(other)) <= tolerance * float(other)
    except ValueError:
        return False
