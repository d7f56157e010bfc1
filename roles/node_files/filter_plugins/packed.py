"""Packs files of a node into a zip, for templates.

The same files always give the same archive, so a node that has them need not unpack it.
"""

import json
import stat
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from collect.files import beside

EXAMPLES = r"""
- name: Show the archive of one file
  ansible.builtin.debug:
    msg: "{{ files | to_json | node_files_packed('/tmp/parrot') }}"
  vars:
    files: [{path: /etc/parrot/words, mode: "0644", text: hello}]
"""

UNIX = 3
DATE = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip


def node_files_packed(files: str, directory: str) -> str:
    """Return the path of the only archive in a directory, which has these files, a list as JSON.

    Each file has a `path`, which ends with a slash for a directory, its `mode` in octal digits, and
    its `text` or a `binary`, the path of a file with its bytes. Earlier archives are removed.
    """
    packed = [(file, content_of(file)) for file in json.loads(files)]
    sums = [[file["path"], file["mode"], sha256(content).hexdigest()] for file, content in packed]
    archive = Path(directory) / f"{sha256(json.dumps(sums).encode()).hexdigest()}.zip"
    if not archive.exists():
        with beside(archive) as part, ZipFile(part, "w") as written:
            for file, content in packed:
                written.writestr(entry_of(file), content)
        for former in archive.parent.iterdir():
            if former != archive:
                former.unlink()
    return str(archive)


def entry_of(file: Mapping[str, str]) -> ZipInfo:
    """Return a file's entry in an archive that is unpacked in the root directory."""
    entry = ZipInfo(file["path"].lstrip("/"), DATE)
    kind = stat.S_IFDIR if entry.is_dir() else stat.S_IFREG
    entry.create_system = UNIX
    entry.external_attr = (kind | int(file["mode"], 8)) << 16
    return entry


def content_of(file: Mapping[str, str]) -> bytes:
    """Return the bytes of a file."""
    return Path(file["binary"]).read_bytes() if "binary" in file else file["text"].encode()


class FilterModule:
    """The filter of this role."""

    def filters(self) -> dict[str, Callable[[str, str], str]]:
        """Return it by the name that templates use."""
        return {"node_files_packed": node_files_packed}
