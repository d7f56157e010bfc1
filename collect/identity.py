"""Which items of a node's fingerprint nodes share, and which tell of a moment or of a role."""

READINGS = frozenset(
    {"clock_offset_ms", "clock_uncertainty_ms", "link_measured_mbit", "link_rtt_ms"}
)
"""Items of one reading, which no two looks share to the digit."""
OF_A_GROUP = frozenset({"files", "jvms"})
"""Items that follow from the role of a node, compared between nodes of the same groups alone."""
WHILE_RUNNING = frozenset({"jvms"})
"""Items of what runs: one that is not there says that a service is down, not that nodes differ."""


def kind_of(item: str) -> str:
    """What kind of thing an item names: `packages zip` is one of the packages."""
    return item.partition(" ")[0]
