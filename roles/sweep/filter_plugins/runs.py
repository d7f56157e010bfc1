"""The runs of a sweep: what they ask of the nodes, and what of them is put off."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

from collect.errors import InputError
from collect.run.plan import read_plan

EXAMPLES = r"""
- name: Show how often the nodes are set
  ansible.builtin.debug:
    msg: "{{ runs | sweep_settings('/home/me/rackbench') | length }}"
  vars:
    runs: [{study: sort, run: monday-sort}, {study: mtom, run: monday-mtom}]

- name: Stop if trials are put off
  ansible.builtin.fail:
    msg: "{{ runs | sweep_put_off('/home/me/rackbench') }}"
  when: runs | sweep_put_off('/home/me/rackbench') | length > 0
"""

_DEAREST_FIRST = ("tomcat_heap_mb", "link_mbit")  # a heap costs a restart, a link one command


def settings(
    runs: Sequence[Mapping[str, str]], root: str, attached: str = ""
) -> list[dict[str, Any]]:
    """Return each setting of the nodes once, with the runs that ask for it.

    `attached` is the run that the runner is at now: its setting comes first, and its
    `is_attached` is true. Else runs keep their order, so far as nodes are set as seldom as can be.
    Raises AnsibleFilterError for a run whose trials ask for several settings.
    """
    found: dict[str, dict[str, Any]] = {}
    for run in sorted(runs, key=lambda run: run["run"] != attached):
        node = _setting(Path(root) / "results" / run["run"] / "plan.jsonl")
        key = json.dumps(node, sort_keys=True)
        setting = found.setdefault(key, {"node": node, "runs": [], "is_attached": False})
        setting["runs"].append(dict(run))
        setting["is_attached"] |= run["run"] == attached
    ordered = list(found.values())
    seen = {name: [setting["node"].get(name) for setting in ordered] for name in _DEAREST_FIRST}

    def rank(setting: Mapping[str, Any]) -> list[int]:
        return [seen[name].index(setting["node"].get(name)) for name in _DEAREST_FIRST]

    return sorted(ordered, key=rank)


def _setting(plan: Path) -> dict[str, Any]:
    """Return what all trials of a plan ask of the nodes."""
    try:
        nodes = {json.dumps(dict(trial.node), sort_keys=True) for trial in read_plan(plan)}
    except InputError as error:
        raise AnsibleFilterError(str(error)) from None
    if len(nodes) > 1:
        raise AnsibleFilterError(
            f"The trials of {plan.parent.name} ask for different node settings; sweep a profile "
            "for each setting, they make one report together."
        )
    found: dict[str, Any] = json.loads(nodes.pop())
    return found


def put_off(runs: Sequence[Mapping[str, str]], root: str) -> list[str]:
    """Return why trials are put off, a text for each run with such; named if there are several."""
    reasons = {}
    for run in runs:
        try:
            text = (Path(root) / "results" / run["run"] / "state.json").read_text(encoding="utf-8")
            state = json.loads(text)
        except (OSError, ValueError):
            continue
        if state.get("put_off"):
            reasons[run["run"]] = str(state.get("reason"))
    if len(runs) == 1:
        return list(reasons.values())
    return [f"{run}: {reason}" for run, reason in reasons.items()]


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {"sweep_settings": settings, "sweep_put_off": put_off}
