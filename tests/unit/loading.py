"""Plug-ins of roles as modules."""

import sys
from importlib.util import module_from_spec, spec_from_file_location


def load(path):
    """The module in a file."""
    spec = spec_from_file_location(path.stem, path)
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
