"""Reads netem's effect on a device's sent packets from `tc -json qdisc show`."""

from collections.abc import Iterable, Mapping
from typing import Any


def delay_and_loss(queues: Iterable[Mapping[str, Any]]) -> tuple[float, float]:
    """Return the delay of packets in ms and their loss in percent; 0 for none.

    tc prints seconds, and loss as a share of 1, with six digits.
    """
    for options in (row.get("options", {}) for row in queues if row["kind"] == "netem"):
        delay = float(options.get("delay", {}).get("delay", 0)) * 1e3
        loss = float(options.get("loss-random", {}).get("loss", 0)) * 1e2
        return float(f"{delay:.6g}"), float(f"{loss:.6g}")
    return 0.0, 0.0
