"""The sizes of pools that studies ask for."""

from __future__ import annotations

DOCUMENTATION = r"""
name: study_servers
short_description: Returns every number of servers that studies name
description:
  - Reads the study files of a directory and returns, in order, every number that they give
    C(servers) as a level or a constant in any of their profiles.
  - A file that cannot be read counts as one that names no number; whoever sweeps it is told why.
options:
  _terms:
    description: Directories with study files; by default C(playbooks/studies).
    type: list
    elements: path
"""

EXAMPLES = r"""
- name: Show the sizes of the pools that need a queue
  ansible.builtin.debug:
    msg: "{{ lookup('study_servers') }}"
"""

RETURN = r"""
_raw:
  description: One list of numbers for each directory.
  type: list
  elements: list
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from ansible.plugins.lookup import LookupBase

STUDIES = Path(__file__).resolve().parents[1] / "studies"
YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def numbers_of_servers(studies: Path) -> list[int]:
    """Return every number that the studies of a directory give `servers`, in order."""
    found: set[int] = set()
    for file in studies.glob("*.y*ml"):
        with contextlib.suppress(OSError, ValueError, yaml.YAMLError):
            found.update(_servers_in(yaml.load(file.read_bytes(), Loader=YAML)))  # noqa: S506 - a safe one
    return sorted(found)


def _servers_in(node: Any) -> Iterator[int]:
    if isinstance(node, list):
        yield from (n for item in node for n in _servers_in(item))
    elif isinstance(node, dict):
        levels = node.get("servers")
        for level in levels if isinstance(levels, list) else [levels]:
            if type(level) is int and level > 0:
                yield level
        yield from _servers_in(list(node.values()))


class LookupModule(LookupBase):
    """The lookup `study_servers`."""

    def run(
        self, terms: list[str], variables: dict[str, Any] | None = None, **options: Any
    ) -> list[list[int]]:
        """Return the numbers for each directory."""
        return [numbers_of_servers(Path(term)) for term in terms or [str(STUDIES)]]
