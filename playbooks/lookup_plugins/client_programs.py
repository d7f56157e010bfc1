"""The files of clients that are programs."""

from __future__ import annotations

DOCUMENTATION = r"""
name: client_programs
short_description: Returns the files of every client that is a program
description:
  - Looks below a directory for directories with a manifest, C(client.yml), and returns all files
    in each of them, in order.
  - A client's name is that of its directory. One that no study could name, or with a link that
    leads out of its directory, is refused.
options:
  _terms:
    description: Directories of such clients; by default C(playbooks/clients).
    type: list
    elements: path
"""

EXAMPLES = r"""
- name: Show the files of the clients that are programs
  ansible.builtin.debug:
    msg: "{{ query('client_programs') | map(attribute='path') }}"
"""

RETURN = r"""
_raw:
  description: >-
    A dictionary for each file: its C(path), beginning with the client's name, its C(source) on the
    control host, its C(sha256) and its C(mode).
  type: list
  elements: dict
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

CLIENTS = Path(__file__).resolve().parents[1] / "clients"
MANIFEST = "client.yml"
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_LEFT_OUT = {"__pycache__", ".git"}


def files_of_programs(clients: Path) -> Iterator[dict[str, str]]:
    """Yield each file of each client below a directory; raises AnsibleLookupError."""
    for manifest in sorted(clients.glob(f"*/{MANIFEST}")):
        client = manifest.parent
        if not _NAME.fullmatch(client.name):
            raise AnsibleLookupError(
                f"{client} is not the name of a client; use small letters, digits and hyphens"
            )
        for file in sorted(client.rglob("*")):
            if _LEFT_OUT.isdisjoint(file.relative_to(client).parts):
                yield from _file(clients, client, file)


def _file(clients: Path, client: Path, file: Path) -> Iterator[dict[str, str]]:
    if not file.resolve().is_relative_to(client.resolve()):
        raise AnsibleLookupError(
            f"{file} is a link out of the client's directory; put the file itself there"
        )
    if file.is_file():
        yield {
            "path": str(file.relative_to(clients)),
            "source": str(file),
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "mode": "0755" if file.stat().st_mode & 0o100 else "0644",
        }


class LookupModule(LookupBase):
    """The lookup `client_programs`."""

    def run(
        self, terms: list[str], variables: dict[str, Any] | None = None, **options: Any
    ) -> list[dict[str, str]]:
        """Return the files below all directories."""
        return [file for term in terms or [str(CLIENTS)] for file in files_of_programs(Path(term))]
