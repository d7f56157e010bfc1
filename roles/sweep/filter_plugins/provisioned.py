"""What a sweep needs that the nodes were not provisioned for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

EXAMPLES = r"""
- name: Show what a run lacks
  ansible.builtin.debug:
    msg: "{{ lab | not_provisioned([lookup('ansible.builtin.file', 'plan.jsonl')], ['rack03']) }}"
"""

POOLED = "sort-jms"
"""The client program whose jobs go through the queue of a pool."""


def not_provisioned(
    lab: Mapping[str, Any], plans: Iterable[str], workers: Sequence[str]
) -> list[str]:
    """Return what is missing for some runs, one text each.

    `lab` is lab.json as it lies on the client node, empty where there is none; `plans` are the
    contents of the runs' plan.jsonl; `workers` are the inventory's.
    """
    known = [worker["name"] for worker in lab.get("workers", [])]
    if known != list(workers):
        return [
            f"it knows the workers {', '.join(known) or '(none)'}, and the inventory has "
            f"{', '.join(workers)}"
        ]
    trials = [json.loads(line) for plan in plans for line in plan.splitlines()]
    missing = sorted(_pools(trials) - set(lab.get("pools", [])))
    found = [f"there is no queue for a pool of {size} servers" for size in missing]
    restarts = any(t.get("restart") == "block" or t.get("profiled") for t in trials)
    if "restart_password_file" not in lab and restarts:
        found.append("it has no password to restart services by (restart: block, profile_forks)")
    return found


def _pools(trials: Sequence[Mapping[str, Any]]) -> set[int]:
    return {
        {**trial["constants"], **trial["factors"]}.get("servers", 1)
        for trial in trials
        if trial["client"] == POOLED
    }


class FilterModule:
    """Makes `not_provisioned` known to templates."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by the name that templates use."""
        return {"not_provisioned": not_provisioned}
