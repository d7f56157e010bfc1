"""Lists the files of the clients that are programs."""

DOCUMENTATION = r"""
name: client_programs
short_description: Lists the files of every client that is a program
description:
  - Lists all files of each client, which is a directory with a manifest, C(client.yml), in the form
    in which the filter C(node_files_packed) takes them.
  - A client has the name of its directory, and of several with one name the first counts. One that
    no study could name, or with a link that leads out of its directory or to a directory, is
    refused.
options:
  _terms: {description: Directories of clients, type: list, elements: path, required: true}
"""

EXAMPLES = r"""
- name: Show the files
  ansible.builtin.debug:
    msg: "{{ query('client_programs', 'playbooks/clients') }}"
"""

RETURN = r"""
_raw:
  description: >-
    For each file its C(path) in the directory of clients, its C(mode), its C(sha256), and the path
    of the file itself, C(binary).
  type: list
  elements: dict
"""

import re
from collections.abc import Collection, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

MANIFEST = "client.yml"
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_LEFT_OUT = {"__pycache__", ".git"}


def files_of_programs(clients: Path, known: Collection[str]) -> Iterator[dict[str, str]]:
    """Yield each file of each client in a directory, except those whose names are `known`.

    Raises AnsibleLookupError.
    """
    for manifest in sorted(clients.glob(f"*/{MANIFEST}")):
        client = manifest.parent
        if client.name in known:
            continue
        if not _NAME.fullmatch(client.name):
            raise AnsibleLookupError(
                f"{client} is not the name of a client; use small letters, digits and hyphens"
            )
        for file in sorted(client.rglob("*")):
            if not file.resolve().is_relative_to(client.resolve()):
                raise AnsibleLookupError(
                    f"{file} is a link out of the client's directory; put the file itself there"
                )
            if file.is_symlink() and file.is_dir():
                raise AnsibleLookupError(
                    f"{file} is a link to a directory, which is not packed; put the directory "
                    "itself there"
                )
            if file.is_file() and _LEFT_OUT.isdisjoint(file.relative_to(client).parts):
                yield {
                    "path": str(file.relative_to(clients)),
                    "mode": "0755" if file.stat().st_mode & 0o100 else "0644",
                    "sha256": sha256(file.read_bytes()).hexdigest(),
                    "binary": str(file),
                }


def name_of(file: dict[str, str]) -> str:
    """Return the name of the client that a file belongs to."""
    return file["path"].partition("/")[0]


class LookupModule(LookupBase):
    """The lookup `client_programs`."""

    def run(
        self, terms: list[str], variables: dict[str, Any] | None = None, **options: Any
    ) -> list[dict[str, str]]:
        """Return the files of the clients in each directory, which may not be there."""
        files: list[dict[str, str]] = []
        for term in terms:
            files += files_of_programs(Path(term), {name_of(file) for file in files})
        return files
