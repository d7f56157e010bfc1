"""Where the files of clients that are programs lie on a node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

EXAMPLES = r"""
- name: Show the directories that a client needs
  ansible.builtin.debug:
    msg: "{{ (files | program_tree('/opt/rackbench/clients')).directories }}"
  vars:
    files: [{path: wrk/client.yml, source: /kit/client.yml, sha256: '0a', mode: '0644'}]
"""

Files = Sequence[dict[str, str]]


def program_tree(files: Files, place: str) -> dict[str, list[dict[str, str]]]:
    """Return the directories, parents first, and the files as the module `tree` lays them down."""
    below = [PurePosixPath(place, file["path"]) for file in files]
    parents = {parent for path in below for parent in path.parents}
    directories = sorted(parent for parent in parents if PurePosixPath(place) in parent.parents)
    return {
        "directories": [{"path": str(directory)} for directory in directories],
        "files": [
            {"path": str(path), "source": file["source"], "mode": file["mode"]}
            for path, file in zip(below, files, strict=True)
        ],
    }


class FilterModule:
    """Makes `program_tree` known to templates."""

    def filters(self) -> dict[str, object]:
        """Return the filter by the name that templates use."""
        return {"program_tree": program_tree}
