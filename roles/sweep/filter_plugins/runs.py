"""The runs of a sweep: what they ask of the nodes, and what of them is deferred."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

from collect.errors import InputError
from collect.run.plan import read_plan
from collect.run.setting import setting_key, setting_of, worker_heaps
from collect.sweep.interim import analyses_of, open_trials

EXAMPLES = r"""
- name: Show how often the nodes are set
  ansible.builtin.debug:
    msg: "{{ runs | sweep_settings('/home/me/rackbench') | length }}"
  vars:
    runs: [{study: sort, run: monday-sort}, {study: mtom, run: monday-mtom}]

- name: Show the heaps of single worker programs
  ansible.builtin.debug:
    msg: "{{ {'tomcat_heap_mb': 512, 'matrix_worker_heap_mb': 512} | sweep_worker_heaps }}"

- name: Show what is to be run of a run that may stop after 10 blocks
  ansible.builtin.debug:
    msg: "{{ 'results/monday' | sweep_open(10) }}"
  when: 10 in 'results/monday' | sweep_looks

- name: Stop if trials are deferred
  ansible.builtin.fail:
    msg: "{{ runs | sweep_put_off('/home/me/rackbench') }}"
  when: runs | sweep_put_off('/home/me/rackbench') | length > 0
"""

# What restarts services, then a link, which is one command.
_DEAREST_FIRST = ("collector", "synced", "tomcat_heap_mb", "broker_heap_mb", "link_mbit")


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
        setting = found.setdefault(
            setting_key(node), {"node": node, "runs": [], "is_attached": False}
        )
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
        nodes = {setting_key(setting_of(trial)) for trial in read_plan(plan)}
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
    """Return why trials are deferred, a text for each run with such; named if there are several."""
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


def looks(results: str) -> list[int]:
    """Return the numbers of blocks of the interim analyses of a run; 0 alone without any."""
    try:
        return analyses_of(Path(results))
    except InputError as error:
        raise AnsibleFilterError(str(error)) from None


def open_ones(results: str, look: int = 0) -> list[str]:
    """Return the trials to run now, up to a look; takes the decision of a look that is due."""
    try:
        return open_trials(Path(results), int(look))
    except InputError as error:
        raise AnsibleFilterError(str(error)) from None


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {
            "sweep_looks": looks,
            "sweep_open": open_ones,
            "sweep_settings": settings,
            "sweep_put_off": put_off,
            "sweep_worker_heaps": worker_heaps,
        }
