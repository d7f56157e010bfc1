"""Packs the clients that are programs for the client node."""

DOCUMENTATION = r"""
name: client_programs
short_description: Packs every client that is a program
description:
  - Packs all files of each directory in C(playbooks/clients) that has a manifest, C(client.yml).
    The same files give the same bytes.
  - A client has the name of its directory. One that no study could name, or with a link that
    leads out of its directory or to a directory, is refused.
options:
  _terms:
    description: The directory that the archive is written to, as C(programs.tar.gz).
    type: list
    elements: path
    required: true
"""

EXAMPLES = r"""
- name: Show the packed files
  ansible.builtin.debug:
    msg: "{{ lookup('client_programs', '/tmp').files }}"
"""

RETURN = r"""
_raw:
  description: >-
    For each directory a dictionary: the path of the C(archive), its C(sha256), and the SHA-256 of
    each of the C(files) by its name.
  type: list
  elements: dict
"""

import gzip
import hashlib
import io
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from collect.files import write_bytes

CLIENTS = Path(__file__).resolve().parents[1] / "clients"
MANIFEST = "client.yml"
ARCHIVE = "programs.tar.gz"
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_LEFT_OUT = {"__pycache__", ".git"}


def files_of_programs(clients: Path) -> Iterator[tuple[str, Path]]:
    """Yield each file of each client, with its name in the archive; raises AnsibleLookupError."""
    for manifest in sorted(clients.glob(f"*/{MANIFEST}")):
        client = manifest.parent
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
                yield str(file.relative_to(clients)), file


def packed(files: Mapping[str, Path]) -> bytes:
    """Return an archive whose bytes depend only on names, contents and permissions."""
    archive = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=archive, mode="wb", filename="", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name, file in files.items():
            content = file.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o755 if file.stat().st_mode & 0o100 else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


def pack(clients: Path, place: Path) -> dict[str, Any]:
    """Pack the clients below a directory into an archive in another."""
    files = dict(files_of_programs(clients))
    archive, content = place / ARCHIVE, packed(files)
    if not archive.is_file() or archive.read_bytes() != content:
        write_bytes(archive, content)
    return {
        "archive": str(archive),
        "sha256": hashlib.sha256(content).hexdigest(),
        "files": {
            f"clients/{name}": hashlib.sha256(file.read_bytes()).hexdigest()
            for name, file in files.items()
        },
    }


class LookupModule(LookupBase):
    """The lookup `client_programs`."""

    def run(
        self, terms: list[str], variables: dict[str, Any] | None = None, **options: Any
    ) -> list[dict[str, Any]]:
        """Return a description of the archive in each directory."""
        return [pack(CLIENTS, Path(term).expanduser()) for term in terms]
