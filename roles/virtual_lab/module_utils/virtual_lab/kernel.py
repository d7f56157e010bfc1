"""Settings of this machine's kernel that a lab changes, and restores when it is removed."""

from pathlib import Path

from ansible.module_utils import host

from .lab import Lab

IP_FORWARD = Path("/proc/sys/net/ipv4/ip_forward")
WATCHES = Path("/proc/sys/fs/inotify/max_user_instances")
ENOUGH_WATCHES = 4096
"""The inotify instances that all programs of root share; a node needs about 8."""


def change(lab: Lab, setting: Path, value: str) -> None:
    """Change a setting, and record its value before the first lab that needs it."""
    before, held = lab.root / "kernel" / setting.name, setting.read_text()
    if not before.exists():
        former = next(iter(of_others(lab, setting)), None)
        host.write(before, former.read_text() if former else held)
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
    """Restore the value before the first lab unless another lab needs it; return whether it did."""
    before = lab.root / "kernel" / setting.name
    if not before.exists():
        return False
    is_needed = bool(of_others(lab, setting))
    if not is_needed and setting.read_text() != before.read_text():
        put(setting, before.read_text())
    before.unlink()
    return not is_needed


def of_others(lab: Lab, setting: Path) -> list[Path]:
    """Return the records of the other labs that need a setting."""
    records = lab.root.parent.glob(f"*/kernel/{setting.name}")
    return [one for one in records if not one.is_relative_to(lab.root)]


def records(lab: Lab) -> list[Path]:
    """Return the lab's records, with those whose writing was interrupted."""
    names = {IP_FORWARD.name, WATCHES.name}
    files = (lab.root / "kernel").glob("*")
    return [one for one in files if one.name.removeprefix(".").removesuffix(".new") in names]


def widen_watches(lab: Lab) -> None:
    """Raise the limit of inotify instances, so that any number of nodes can boot."""
    held = int(WATCHES.read_text())
    if held < ENOUGH_WATCHES or of_others(lab, WATCHES):
        change(lab, WATCHES, f"{max(held, ENOUGH_WATCHES)}\n")
