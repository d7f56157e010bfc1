"""Settings of this machine's kernel that a lab changes, and restores when it is removed."""

from pathlib import Path

from ansible.module_utils import host

from .lab import Lab

IP_FORWARD = Path("/proc/sys/net/ipv4/ip_forward")
WATCHES = Path("/proc/sys/fs/inotify/max_user_instances")
ENOUGH_WATCHES = 4096
"""The inotify instances that all programs of root share; a node needs about 8."""


def change(lab: Lab, setting: Path, value: str) -> None:
    """Change a setting, and record its value before this lab."""
    before = lab.root / "kernel" / setting.name
    if not before.exists():
        host.write(before, setting.read_text())
    setting.write_text(value)


def restore(lab: Lab, setting: Path) -> bool:
    """Restore the value before this lab; return whether the lab had changed it."""
    before = lab.root / "kernel" / setting.name
    if not before.exists():
        return False
    setting.write_text(before.read_text())
    before.unlink()
    return True


def records(lab: Lab) -> list[Path]:
    """Return the lab's records, with those whose writing was interrupted."""
    names = {IP_FORWARD.name, WATCHES.name}
    files = (lab.root / "kernel").glob("*")
    return [one for one in files if one.name.removeprefix(".").removesuffix(".new") in names]


def widen_watches(lab: Lab) -> None:
    """Raise the limit of inotify instances, so that any number of nodes can boot."""
    if int(WATCHES.read_text()) < ENOUGH_WATCHES:
        change(lab, WATCHES, f"{ENOUGH_WATCHES}\n")
