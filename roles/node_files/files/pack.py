"""Packs files of a node into a zip: `pack.py ARCHIVE`, with a list of them as JSON at its input.

The same files always give the same archive, so a node that has them need not unpack it.
"""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import NotRequired, TypedDict
from zipfile import ZipFile, ZipInfo

UNIX = 3
DATE = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip


class File(TypedDict):
    """One file: its mode in octal digits, and its text or the path of a file with its bytes.

    A directory's path ends with a slash, and its text is empty.
    """

    path: str
    mode: str
    text: NotRequired[str]
    binary: NotRequired[str]


def main(archive: Path, files: list[File]) -> None:
    """Write the archive in one step, and remove earlier ones in the same directory."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    part = archive.with_suffix(".part")
    with ZipFile(part, "w") as packed:
        for file in files:
            packed.writestr(entry_of(file), content_of(file))
    part.replace(archive)
    for former in archive.parent.iterdir():
        if former != archive:
            former.unlink()


def entry_of(file: File) -> ZipInfo:
    """Return a file's entry in an archive that is unpacked in the root directory."""
    entry = ZipInfo(file["path"].lstrip("/"), DATE)
    kind = stat.S_IFDIR if entry.is_dir() else stat.S_IFREG
    entry.create_system = UNIX
    entry.external_attr = (kind | int(file["mode"], 8)) << 16
    return entry


def content_of(file: File) -> bytes:
    """Return the bytes of a file."""
    return Path(file["binary"]).read_bytes() if "binary" in file else file["text"].encode()


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.load(sys.stdin.buffer))
