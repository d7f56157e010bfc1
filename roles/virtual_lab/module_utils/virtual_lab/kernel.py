"""Settings of this machine's kernel that a lab changes, and restores when it is removed."""

import os
from dataclasses import replace
from pathlib import Path

from ansible.module_utils import host

from .lab import Lab

IP_FORWARD = Path("/proc/sys/net/ipv4/ip_forward")
WATCHES = Path("/proc/sys/fs/inotify/max_user_instances")
ENOUGH_WATCHES = 4096
"""The inotify instances that all programs of root share; a node needs about 8."""


def change(lab: Lab, setting: Path, value: str) -> None:
    """Change a setting, and record its value before this lab."""
    before, held = lab.root / "kernel" / setting.name, setting.read_text()
    if not before.exists():
        host.write(before, held)
    if held != value:
        put(setting, value)


def put(setting: Path, value: str) -> None:
    """Write a setting, or raise HostError."""
    try:
        setting.write_text(value)
    except OSError as error:
        raise host.HostError(
            f"{setting} cannot be set ({error.strerror}); make the lab on a machine where root may "
            "set the kernel, or in a privileged container"
        ) from error


def restore(lab: Lab, setting: Path) -> bool:
    """Restore the value before this lab; return whether that was done.

    While another lab needs the setting, its record becomes the value that the first lab found.
    """
    before = lab.root / "kernel" / setting.name
    if not before.exists():
        return False
    if heir := heir_of(lab, setting):
        at = before.stat().st_mtime_ns
        if not heir.exists() or at < heir.stat().st_mtime_ns:
            host.write(heir, before.read_text())
            os.utime(heir, ns=(at, at))
    elif setting.read_text() != before.read_text():
        put(setting, before.read_text())
    before.unlink()
    return not heir


def heir_of(lab: Lab, setting: Path) -> Path | None:
    """Return the record of another lab that needs a setting, or None; it may not exist yet."""
    roots = [one for one in sorted(lab.root.parent.iterdir()) if one != lab.root]
    labs = [one for one in roots if replace(lab, root=one).known_nodes()]
    heirs = [one / "kernel" / setting.name for one in labs]
    # A lab that found enough instances of inotify has no record, but needs them.
    spare = heirs if setting == WATCHES else []
    return next((one for one in heirs if one.exists()), spare[0] if spare else None)


def records(lab: Lab) -> list[Path]:
    """Return the lab's records, with those whose writing was interrupted."""
    names = {IP_FORWARD.name, WATCHES.name}
    files = (lab.root / "kernel").glob("*")
    return [one for one in files if one.name.removeprefix(".").removesuffix(".new") in names]


def widen_watches(lab: Lab) -> None:
    """Raise the limit of inotify instances, so that any number of nodes can boot."""
    if int(WATCHES.read_text()) < ENOUGH_WATCHES:
        change(lab, WATCHES, f"{ENOUGH_WATCHES}\n")
