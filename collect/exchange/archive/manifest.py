"""The list of everything in an archive, which is what a signature signs."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import PurePosixPath
from typing import Self

from collect.run.fields import Fields
from collect.strict_json import parse_json

SCHEMA = 2
"""1: everything is packed with deflate; 2: the data of trials with bzip2."""
MANIFEST = "manifest.json"
SIGNATURE = "manifest.json.sig"
RUNS = "runs"
"""The directory that holds each run under its name."""
LONGEST_MANIFEST = 64 << 20
_NAME_BYTES = 255
_SHA256 = re.compile(r"[0-9a-f]{64}")


class NewerArchiveError(ValueError):
    """An archive of a schema that this version does not know; `kit` is the version that made it."""

    def __init__(self, kit: str, schema: int) -> None:
        """Say which version made it."""
        super().__init__(
            f"was made by a newer version of rackbench ({kit}, archives of schema {schema}), but "
            f"this one is {kit_version()} and reads schema {SCHEMA}; update it and try again"
        )


def kit_version() -> str:
    """Return the version of this package."""
    return metadata.version("rackbench")


def kit_licence() -> str:
    """Return the text of the licence of this package."""
    return metadata.distribution("rackbench").read_text("licenses/LICENSE") or ""


def is_safe(path: str) -> bool:
    """Return whether a path of an archive stays inside, as every system would read it."""
    parts = path.split("/")
    return (
        path.isprintable()
        and not set(path) & set('\\:"<>|?*')
        and all(part not in {"", ".", ".."} and len(part.encode()) <= _NAME_BYTES for part in parts)
    )


@dataclass(frozen=True)
class Member:
    """A file of an archive: its size and its SHA-256 in small letters, both unpacked."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """All files of an archive by path, but for the manifest and its signature; `kit` made it."""

    kit: str
    runs: tuple[str, ...]
    members: Mapping[str, Member]

    @property
    def size(self) -> int:
        """The bytes of all members, unpacked."""
        return sum(member.bytes for member in self.members.values())

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories that the zip names, since the crate describes them."""
        return tuple(f"{RUNS}/{run}/trials/" for run in self.runs)

    def content(self) -> bytes:
        """Return the bytes of manifest.json: the same for the same members."""
        record = {
            "schema": SCHEMA,
            "rackbench": self.kit,
            "runs": list(self.runs),
            "files": [
                {"path": path, "bytes": member.bytes, "sha256": member.sha256}
                for path, member in sorted(self.members.items())
            ],
        }
        return json.dumps(record, ensure_ascii=False, indent=1).encode() + b"\n"

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Read a manifest.json; raises ValueError that says what is wrong with it."""
        record = Fields(parse_json(content))
        schema = record.required("schema", int)
        kit = record.required("rackbench", str)
        if schema > SCHEMA:
            raise NewerArchiveError(kit, schema)
        listed = record.required("files", list)
        members = {
            one.required("path", str): Member(
                one.required("bytes", int), one.required("sha256", str)
            )
            for one in record.each("files")
        }
        if len(members) != len(listed):
            raise ValueError("lists a file twice, or an entry that is not a file")
        for path, member in members.items():
            if not is_safe(path) or path in {MANIFEST, SIGNATURE}:
                raise ValueError(f"lists {path!r}, which is not a path inside an archive")
            if not _SHA256.fullmatch(member.sha256):
                raise ValueError(f"has no SHA-256 of {path}")
            if any(str(parent) in members for parent in PurePosixPath(path).parents):
                raise ValueError(f"lists {path} below a file")
        runs = record.texts("runs")
        for run in runs:
            if "/" in run or f"{RUNS}/{run}/plan.jsonl" not in members:
                raise ValueError(f"names the run {run!r}, but lists no plan of it")
        if not runs or len(set(runs)) != len(runs):
            raise ValueError("names no run, or one twice")
        return cls(kit, runs, members)
