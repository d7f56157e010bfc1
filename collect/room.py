"""Free disk space, and what an operating system says when there is none."""

import errno
import shutil
from pathlib import Path

from collect.errors import InputError

MIB = 1 << 20
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class NoRoomError(InputError):
    """Something could not be written for want of disk space; what was there before is whole."""


def is_full(error: OSError) -> bool:
    """Tell whether a write failed for want of space: disk, quota or file size."""
    return error.errno in _FULL


def free_mb(path: Path) -> int:
    """Give the free space for this account where `path` is, or will be, in MiB."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free // MIB


def ask_for(path: Path, wanted_bytes: int, reserve_mb: int) -> None:
    """Raise NoRoomError unless `wanted_bytes` fit at `path` and leave `reserve_mb` MiB free."""
    wanted_mb = -(-wanted_bytes // MIB)
    free = free_mb(path)
    if free < wanted_mb + reserve_mb:
        raise NoRoomError(
            f"{path} has {free} MiB free, {wanted_mb} MiB are to come and {reserve_mb} MiB stay "
            "free; make room there"
        )
