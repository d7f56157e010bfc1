"""What the processes of tasks inherit from the first process, so that none does it again."""

DOCUMENTATION = r"""
name: loaded_once
type: aggregate
short_description: Loads filters and compiles templates once, and keeps memory shared
description:
  - Ansible runs each task of each node in a process of its own, which inherits all that the first
    process has loaded. The first process loads no filter, so each of the others loads the files of
    all filters when its first template names one, which takes about 10 ms of a core.
  - Loads them in the first process, at the beginning of each play; by then Ansible knows the
    directories of all roles that are imported.
  - Compiles each template once, and keeps it in Ansible's temporary directory of this playbook. All
    nodes have the same templates, and a task compiles most variables that it names; that took
    about 25 % of the processor time of a second C(site.yml).
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
import marshal
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812
from ansible._internal._templating._jinja_bits import (
    _TEMPLATE_OVERRIDE_FIELD_NAMES,
    AnsibleEnvironment,
    _TemplateCompileContext,
)
from ansible.playbook.play import Play
from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import filter_loader, test_loader


def compile_once(directory: Path) -> None:
    """Make this process and its forks keep compiled templates in a directory, for each other.

    A compiled template depends on its text, its delimiters and the meaning of its backslashes.
    """
    compiled = AnsibleEnvironment.compile

    def kept(self: AnsibleEnvironment, source: Any, *names: Any, **options: Any) -> Any:
        if names or options or not isinstance(source, str):  # an include has a name
            return compiled(self, source, *names, **options)
        context = _TemplateCompileContext.current(optional=True)
        marks = [getattr(self, name) for name in _TEMPLATE_OVERRIDE_FIELD_NAMES]
        key = repr((str(source), marks, bool(context and context.escape_backslashes)))
        file = directory / sha256(key.encode()).hexdigest()
        with suppress(OSError):
            return marshal.loads(file.read_bytes())  # noqa: S302 - a file of this playbook
        code = compiled(self, source)
        part = file.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            part.write_bytes(marshal.dumps(code))
            part.replace(file)
        return code

    AnsibleEnvironment.compile = kept


class CallbackModule(CallbackBase):
    """Writes nothing."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "loaded_once"

    def __init__(self) -> None:
        """Begin to keep compiled templates, before the first of them."""
        super().__init__()
        compile_once(Path(C.DEFAULT_LOCAL_TMP))  # which Ansible removes when the playbook ends

    def v2_playbook_on_play_start(self, play: Play) -> None:
        """Load the filters and tests that templates may name, and hide what there is."""
        for loader in (filter_loader, test_loader):
            list(loader.all())
        gc.collect()  # what is hidden stays to the end
        gc.freeze()
