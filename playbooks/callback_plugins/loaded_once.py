"""What the processes of tasks inherit from the first process, so that none does it again."""

from __future__ import annotations

DOCUMENTATION = r"""
name: loaded_once
type: aggregate
short_description: Loads filters and tests before the nodes' tasks begin, and keeps memory shared
description:
  - Ansible runs each task of each node in a process of its own, which inherits all that the first
    process has loaded. The first process loads no filter, so each of the others loads the files of
    all filters when its first template names one, which takes about 10 ms of a core.
  - Loads them in the first process, at the beginning of each play; by then Ansible knows the
    directories of all roles that are imported.
  - Hides the objects of the first process from the garbage collectors of the others. A collection
    writes into every object that it looks at, so each process would copy what it inherited; that
    took about 8 % of the processor time of a second C(site.yml).
"""

EXAMPLES = r"""
# ansible.cfg
# [defaults]
# callback_plugins = playbooks/callback_plugins
- name: Use filters and a test on every node, and load none of them there
  ansible.builtin.debug:
    msg: "{{ groups['nodes'] | reject('eq', inventory_hostname) | length }}"
"""

import gc

from ansible.playbook.play import Play
from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import filter_loader, test_loader


class CallbackModule(CallbackBase):
    """Writes nothing."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "loaded_once"

    def v2_playbook_on_play_start(self, play: Play) -> None:
        """Load the filters and tests that templates may name, and hide what there is."""
        for loader in (filter_loader, test_loader):
            list(loader.all())
        gc.collect()  # what is hidden stays to the end
        gc.freeze()
