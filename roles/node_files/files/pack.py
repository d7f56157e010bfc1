"""Packs files of a node into a zip: `pack.py ARCHIVE`, with a list of them as JSON at its input.

The same files always give the same archive, so that a node on which they lie has nothing to unpack.
"""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import TypedDict
from zipfile import ZipFile, ZipInfo

UNIX = 3
DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can hold


class File(TypedDict):
    """One file, with its mode in octal digits; a directory's path ends with a slash."""

    path: str
    mode: str
    text: str


def main(archive: Path, files: list[File]) -> None:
    """Write the archive whole, and remove those before it, which lie in the same directory."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    part = archive.with_suffix(".part")
    with ZipFile(part, "w") as packed:
        for file in files:
            packed.writestr(entry_of(file), file["text"])
    part.replace(archive)
    for former in archive.parent.iterdir():
        if former != archive:
            former.unlink()


def entry_of(file: File) -> ZipInfo:
    """Return how a file stands in an archive that is unpacked in the root directory."""
    entry = ZipInfo(file["path"].lstrip("/"), DATE)
    kind = stat.S_IFDIR if entry.is_dir() else stat.S_IFREG
    entry.create_system = UNIX
    entry.external_attr = (kind | int(file["mode"], 8)) << 16
    return entry


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.load(sys.stdin.buffer))
