"""The units of the worker programs as the module tree lays them down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

EXAMPLES = r"""
- name: Write a unit for each program
  tree:
    files: "{{ [{'name': 'tcp-server', 'heap_mb': 48}] | worker_programs_units }}"
"""


def units(programs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one file for each program, from the role's template of a unit."""
    return [
        {
            "path": f"/etc/systemd/system/rackbench-{program['name']}.service",
            "template": "worker.service.j2",
            "vars": {"program": program},
        }
        for program in programs
    ]


class FilterModule:
    """The filter of the role."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {"worker_programs_units": units}
