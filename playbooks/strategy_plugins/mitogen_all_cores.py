"""Runs mitogen's linear strategy on any free core, and ends its processes with the playbook."""

DOCUMENTATION = r"""
name: mitogen_all_cores
short_description: Runs tasks in order by mitogen, on any free core
description:
  - Works like C(mitogen_linear), but binds no process to a core. Mitogen was tuned on a machine
    of 16 threads and keeps a core to itself; on two cores, only one is left for the templates of
    all hosts and for the programs that the control host runs.
  - Its processes end with the playbook, even if that is killed.
"""

EXAMPLES = r"""
# ANSIBLE_STRATEGY=mitogen_all_cores ansible-playbook playbooks/site.yml
- name: Provision the nodes by mitogen
  hosts: nodes
  strategy: mitogen_all_cores
"""

import ctypes
import signal

from ansible_mitogen import affinity
from ansible_mitogen.plugins.strategy.mitogen_linear import StrategyModule

__all__ = ["StrategyModule"]

PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Make the kernel end this process when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Unbound(affinity.Policy):
    """Binds nothing; mitogen calls it in each process that the playbook forks."""

    def assign_muxprocess(self, index: int) -> None:
        """Make the process with the connections end with the playbook."""
        end_with_parent()

    def assign_worker(self) -> None:
        """Make the process of a task end with the playbook, even while it waits."""
        end_with_parent()


affinity.policy = Unbound()
