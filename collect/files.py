"""Writes files so that each is whole or absent, and checks the disk space they need.

A file is written under a temporary name in the same directory, flushed to disk and renamed.
"""

import errno
import os
import shutil
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from collect.errors import InputError

MIB = 1 << 20
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_OF_SYSTEMS = {".DS_Store", "Thumbs.db", "desktop.ini", ".directory"}
_OF_FINDER = "__MACOSX"


class NoRoomError(InputError):
    """A file could not be written because the disk is full; an earlier version of it is intact."""


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`, which is renamed to `path` when the block succeeds.

    When the block raises, `path` stays as it was and the temporary file is removed; an OSError
    about the temporary file names `path`. Raises InputError for a device or a pipe: root would put
    a file in its place, even of /dev/null.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a regular file; name a file")
    make_directory(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        flush(temporary)
        temporary.replace(path)
        flush(path.parent)
    except OSError as error:
        if str(error.filename) == str(temporary):
            error.filename = str(path)
        raise
    finally:
        with suppress(OSError):  # what went wrong before counts
            temporary.unlink()


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path`; a reader sees the old file or the new one, never a part of it."""
    with beside(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, content: str) -> None:
    """Write `content` to `path` as write_bytes does: in UTF-8, with its line ends unchanged."""
    write_bytes(path, content.encode())


def check_output(path: Path, *, replace: bool) -> None:
    """Raise InputError for a directory, and for a file that exists unless it is to be replaced."""
    if path.is_dir():
        raise InputError(f"{path}: is a directory; name a file")
    if path.exists() and not replace:
        raise InputError(f"{path}: exists already; add --force to replace it, or name another file")


def expanded(path: str) -> Path:
    """Return a path with the home directory that a leading ~ means; as it is if there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # this machine has no such account
        return Path(path)


def make_directory(path: Path) -> None:
    """Make a directory and those above it that are missing; they are on disk when this returns."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(exist_ok=True)
    flush(path.parent)


def is_of_system(path: str) -> bool:
    """Return whether a path is what file managers add to folders: nobody's data."""
    *folders, name = path.split("/")
    return name in _OF_SYSTEMS or name.startswith("._") or _OF_FINDER in folders


def listed(directory: Path) -> list[Path]:
    """Return what is in a directory, sorted, without hidden names and what file managers add."""
    names = sorted(path.name for path in directory.iterdir())
    return [directory / n for n in names if not (n.startswith(".") or is_of_system(n))]


def flush(path: Path) -> None:
    """Wait until a file or a directory is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_full(error: OSError) -> bool:
    """Return whether a write failed for lack of space: disk, quota or file size."""
    return error.errno in _FULL


def free_mb(path: Path) -> int:
    """Return the MiB free for this account on the file system of `path`, which need not exist."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free // MIB


def ask_for(path: Path, wanted_bytes: int, reserve_mb: int) -> None:
    """Raise NoRoomError unless `wanted_bytes` fit at `path` and leave `reserve_mb` MiB free."""
    wanted_mb = -(-wanted_bytes // MIB)
    free = free_mb(path)
    if free < wanted_mb + reserve_mb:
        raise NoRoomError(
            f"{path}: has {free} MiB free, but {wanted_mb} MiB are needed and {reserve_mb} MiB "
            "must stay free; make room there"
        )


def unpack(tar: tarfile.TarFile, members: Iterable[tarfile.TarInfo], place: Path) -> None:
    """Write the files and directories among `members` below `place`, as files of this account.

    Raises tarfile.TarError for anything else, and for a path that leads elsewhere. The filters of
    `tarfile`, which do the same, are missing in Python 3.11.2, which Debian 12 has.
    """
    for member in members:
        name = PurePosixPath(member.name)
        if name.is_absolute() or ".." in name.parts:
            raise tarfile.TarError(f"{member.name!r} is a path outside of the archive")
        target = place / name
        if member.isdir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        source = tar.extractfile(member) if member.isreg() else None
        if source is None:
            raise tarfile.TarError(f"{member.name!r} is neither a file nor a directory")
        target.parent.mkdir(parents=True, exist_ok=True)
        with source, target.open("wb") as written:
            shutil.copyfileobj(source, written)
        if member.mode & 0o100:
            readable = target.stat().st_mode
            target.chmod(readable | (readable & 0o444) >> 2)
