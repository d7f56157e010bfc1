"""What a sweep needs that the nodes were not provisioned for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

POOLED = "sort-jms"
"""The client program whose jobs go through the queue of a pool."""


def not_provisioned(
    lab: Mapping[str, Any], plan: Iterable[str], workers: Sequence[str]
) -> list[str]:
    """What is missing for a run, one text each.

    `lab` is lab.json as it lies on the client node, empty where there is none; `plan` are the lines
    of plan.jsonl; `workers` are the inventory's.
    """
    known = [worker["name"] for worker in lab.get("workers", [])]
    if known != list(workers):
        return [
            f"it knows the workers {', '.join(known) or '(none)'}, and the inventory has "
            f"{', '.join(workers)}"
        ]
    missing = sorted(_pools(plan) - set(lab.get("pools", [])))
    return [f"there is no queue for a pool of {size} servers" for size in missing]


def _pools(plan: Iterable[str]) -> set[int]:
    trials = (trial for trial in map(json.loads, plan) if trial["client"] == POOLED)
    return {{**trial["constants"], **trial["factors"]}.get("servers", 1) for trial in trials}


class FilterModule:
    """Makes `not_provisioned` known to templates."""

    def filters(self) -> dict[str, Any]:
        """Name the filter."""
        return {"not_provisioned": not_provisioned}
