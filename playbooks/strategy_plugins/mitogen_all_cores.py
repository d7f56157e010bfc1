"""Mitogen's linear strategy, on whichever cores are free."""

from __future__ import annotations

DOCUMENTATION = r"""
name: mitogen_all_cores
short_description: Runs tasks in order by mitogen, on whichever cores are free
description:
  - Does what C(mitogen_linear) does, but binds no process to a core. Mitogen was tuned on a machine
    of 16 threads and keeps a core to itself; of two cores, one is left to fill the templates of all
    hosts, and to the programs that the control host runs.
"""

EXAMPLES = r"""
# ANSIBLE_STRATEGY=mitogen_all_cores ansible-playbook playbooks/site.yml
- name: Provision the nodes by mitogen
  hosts: nodes
  strategy: mitogen_all_cores
"""

from ansible_mitogen import affinity
from ansible_mitogen.plugins.strategy.mitogen_linear import StrategyModule

__all__ = ["StrategyModule"]

affinity.policy = affinity.Policy()
