"""The runs that a sweep's command line names, what they need of nodes, and the record of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from collect.sweep.names import runs_of
from collect.sweep.order import jvms_of, sysctls_of

EXAMPLES = r"""
- name: Show the runs that `-e study=sort,overhead -e run=monday` names
  ansible.builtin.debug:
    msg: "{{ 'sort,overhead' | sweep_runs('demo', 'monday') }}"  # monday-sort and monday-overhead

- name: Show the JVMs with options and the kernel's parameters that the runs need
  ansible.builtin.debug:
    msg: "{{ [sweep_settings | sweep_jvms(bench_collector), sweep_settings | sweep_sysctls] }}"

- name: Show the record of the nodes that could be read
  ansible.builtin.debug:
    msg: "{{ hostvars | sweep_nodes(groups['nodes']) }}"
"""

OF_EVERY_NODE = ("nodes", "sweep_uses")
"""Groups that do not define a node's part in the bench."""

Values = Mapping[str, Any]


def nodes_of(hostvars: Mapping[str, Values], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a run's record of these nodes: name, address, groups and fingerprint.

    The list of packages is too long for that; `packages_sha256` stands for it.
    """
    return [
        {
            "name": name,
            "address": hostvars[name]["node_address"],
            "groups": sorted(set(hostvars[name]["group_names"]) - set(OF_EVERY_NODE)),
            **{
                item: value
                for item, value in hostvars[name]["fingerprint_taken"]["fingerprint"].items()
                if item != "packages"
            },
        }
        for name in names
    ]


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {
            "sweep_jvms": jvms_of,
            "sweep_nodes": nodes_of,
            "sweep_runs": runs_of,
            "sweep_sysctls": sysctls_of,
        }
