"""How fast a node's link really is, by a short bounded transfer in each direction."""

from __future__ import annotations

import time

from labs import Lab

LINK_MBIT = 100
BYTES = 5_000_000


def ratios(lab: Lab, node: str) -> tuple[float, float]:
    """Measured over shaped rate, from the node and to the node."""
    lab.ssh(node, "true")
    began = time.monotonic()
    received = lab.ssh(node, f"head -c {BYTES} /dev/zero").stdout
    sent = time.monotonic()
    lab.ssh(node, "cat >/dev/null", given=received)
    ended = time.monotonic()
    assert len(received) == BYTES
    shaped = BYTES * 8 / (LINK_MBIT * 1e6)
    return shaped / (sent - began), shaped / (ended - sent)


def assert_shaped(lab: Lab, node: str) -> None:
    """Neither faster than shaped nor far below; an unshaped link is ten times as fast."""
    up, down = ratios(lab, node)
    assert 0.2 < up < 1.15, "from the node"
    assert 0.2 < down < 1.15, "to the node"
