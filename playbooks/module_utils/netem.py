"""What netem does to the packets that a device sends, as `tc -json qdisc show` tells it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def delay_and_loss(queues: Iterable[Mapping[str, Any]]) -> tuple[float, float]:
    """Return how long packets are delayed, in ms, and how many are lost, in percent; 0 for none.

    tc prints seconds and parts of one, with six digits.
    """
    for options in (row.get("options", {}) for row in queues if row["kind"] == "netem"):
        delay = float(options.get("delay", {}).get("delay", 0)) * 1e3
        loss = float(options.get("loss-random", {}).get("loss", 0)) * 1e2
        return float(f"{delay:.6g}"), float(f"{loss:.6g}")
    return 0.0, 0.0
