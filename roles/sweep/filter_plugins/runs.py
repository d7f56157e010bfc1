"""The runs of a sweep for templates: their names, order, settings and end, and their nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from collect.run.setting import asked, heaps_of_programs
from collect.sweep.deadline import instant
from collect.sweep.in_force import in_force
from collect.sweep.interim import analyses_of, open_trials
from collect.sweep.names import runs_of
from collect.sweep.order import (
    jvms_of,
    netem_of,
    settings_of,
    steps_of,
    sysctls_of,
    understood,
)
from collect.sweep.state import put_off

EXAMPLES = r"""
- name: Show what `-e study=sort,overhead -e run=monday` needs of the nodes, and its end
  ansible.builtin.debug:
    msg:
      - "{{ runs | sweep_settings('/home/me/rackbench') | sweep_understood(runner_lab) }}"
      - "{{ settings | sweep_steps | map(attribute='tasks') }}"
      - "{{ [settings | sweep_jvms(collector), settings | sweep_sysctls, settings | sweep_netem] }}"
      - "{{ runs | sweep_put_off('/home/me/rackbench') }}"
  vars:
    runs: "{{ 'sort,overhead' | sweep_runs('demo', 'monday') }}"  # monday-sort, monday-overhead

- name: Show the trials that a run has open before its interim analysis after 10 blocks
  ansible.builtin.debug:
    msg: "{{ 'results/monday' | sweep_open(10) }}"
  when: 10 in 'results/monday' | sweep_looks

- name: Show the settings that a group of trials needs, those in force, and the nodes' record
  ansible.builtin.debug:
    msg:
      - "{{ {'sysctl.vm.swappiness': 10} | sweep_asked('sysctl.') }}"
      - "{{ {'tomcat_heap_mb': 512, 'matrix_worker_heap_mb': 512} | sweep_worker_heaps }}"
      - "{{ {'rack03': fingerprint_taken} | sweep_in_force({'link_mbit': 100}) }}"
      - "{{ hostvars | sweep_nodes(groups['nodes']) }}"

- name: Show when six o'clock is next, in UTC
  ansible.builtin.debug:
    msg: "{{ '06:00' | sweep_instant }}"
"""

OF_EVERY_NODE = {"nodes", "sweep_uses"}
"""Groups that do not define a node's part in the bench."""


def nodes_of(
    hostvars: Mapping[str, Mapping[str, Any]], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return a run's record of these nodes: name, address, groups and fingerprint.

    The list of packages is too long for that; `packages_sha256` stands for it.
    """
    record = []
    for name in names:
        known = hostvars[name]
        groups = sorted(set(known["group_names"]) - OF_EVERY_NODE)
        taken = {**known["fingerprint_taken"]["fingerprint"]}
        taken.pop("packages", None)
        record.append({"name": name, "address": known["node_address"], "groups": groups, **taken})
    return record


class FilterModule:
    """The filters of this role, which playbooks use as well."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {
            "sweep_asked": asked,
            "sweep_in_force": in_force,
            "sweep_instant": instant,
            "sweep_jvms": jvms_of,
            "sweep_looks": analyses_of,
            "sweep_netem": netem_of,
            "sweep_nodes": nodes_of,
            "sweep_open": open_trials,
            "sweep_put_off": put_off,
            "sweep_runs": runs_of,
            "sweep_settings": settings_of,
            "sweep_steps": steps_of,
            "sweep_sysctls": sysctls_of,
            "sweep_understood": understood,
            "sweep_worker_heaps": heaps_of_programs,
        }
