"""Plug-ins and modules of roles and playbooks, which lie in no package, as Python modules."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import ansible.module_utils

ROOT = Path(__file__).parents[2]
SHARED = [ROOT / "playbooks/module_utils", *ROOT.glob("roles/*/module_utils")]
# Modules import what they share as on a node, where Ansible lays all of it into one package.
ansible.module_utils.__path__ += map(str, SHARED)


def load(path, name=None):
    """Return the module in this file below the root, under its own name or under another."""
    spec = spec_from_file_location(name or Path(path).stem, ROOT / path)
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
