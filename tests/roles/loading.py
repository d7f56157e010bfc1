"""Plug-ins and modules of roles and playbooks, which lie in no package, as Python modules."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).parents[2]


def load(path, name=None):
    """Return the module in this file below the root, under its own name or under another."""
    spec = spec_from_file_location(name or Path(path).stem, ROOT / path)
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
