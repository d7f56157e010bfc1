"""Filters and tests of templates, loaded once for all tasks of all nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
name: loaded_once
type: aggregate
short_description: Loads the filters and tests of templates before the nodes' tasks begin
description:
  - Ansible runs each task of each node in a process of its own, which inherits all that the first
    process has loaded. The first process loads no filter, so each of the others loads the files of
    all filters when its first template names one, which takes about 10 ms of a core.
  - Loads them in the first process, at the beginning of each play; by then Ansible knows the
    directories of all roles that are imported.
"""

EXAMPLES = r"""
# ansible.cfg
# [defaults]
# callback_plugins = playbooks/callback_plugins
- name: Use filters and a test on every node, and load none of them there
  ansible.builtin.debug:
    msg: "{{ groups['nodes'] | reject('eq', inventory_hostname) | length }}"
"""

from ansible.playbook.play import Play
from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import filter_loader, test_loader


class CallbackModule(CallbackBase):
    """Writes nothing."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "loaded_once"

    def v2_playbook_on_play_start(self, play: Play) -> None:
        """Load the filters and tests that templates may name."""
        for loader in (filter_loader, test_loader):
            list(loader.all())
