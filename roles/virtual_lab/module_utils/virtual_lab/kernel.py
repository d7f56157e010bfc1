"""Settings of this machine's kernel that a lab changes, and restores when it goes."""

import contextlib
from pathlib import Path

from ansible.module_utils import host

from .lab import Lab

IP_FORWARD = Path("/proc/sys/net/ipv4/ip_forward")
WATCHES = Path("/proc/sys/fs/inotify/max_user_instances")
WATCHES_A_NODE = 8


def change(lab: Lab, setting: Path, value: str) -> None:
    """Change a setting, and remember its value before this lab."""
    before = lab.root / "kernel" / setting.name
    if not before.exists():
        host.write(before, setting.read_text())
    setting.write_text(value)


def restore(lab: Lab, setting: Path) -> bool:
    """Restore the value before this lab; whether the lab had changed it."""
    before = lab.root / "kernel" / setting.name
    if not before.exists():
        return False
    setting.write_text(before.read_text())
    before.unlink()
    return True


def widen_watches(lab: Lab, missing: int) -> None:
    """Let the missing nodes boot: all nodes share one count of inotify instances."""
    in_use = 0
    for entry in Path("/proc").glob("[0-9]*/fd"):
        with contextlib.suppress(OSError):
            in_use += sum(str(file.readlink()) == "anon_inode:inotify" for file in entry.iterdir())
    need = in_use + missing * WATCHES_A_NODE
    if need > int(WATCHES.read_text()):
        change(lab, WATCHES, f"{2 * need}\n")
