#!/usr/bin/python
"""Installs packages once apt is free, and says why when it cannot."""

from __future__ import annotations

DOCUMENTATION = r"""
module: packages
short_description: Installs packages once apt is free
description:
  - Waits for whatever else uses apt, for I(wait_s) at most; then says what holds the lock.
  - The node's own lists are tried first, and refreshed only where that fails.
  - A held package changes its version only where an installation needs it, and that is told.
    Nothing is ever removed.
options:
  names: {description: What is installed; with none it only waits, type: list, default: []}
  wait_s: {description: How long others may use apt, type: int, default: 600}
  sources: {description: The one file of sources to use; empty for the node's own, default: ""}
"""

EXAMPLES = r"""
- name: Install curl once apt is free
  packages:
    names: [curl]
    wait_s: 300
"""

RETURN = r"""
raised:
  description: Held packages that an installation needed in another version.
  type: list
  returned: always
"""

import fcntl
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

LOCKS = (
    "var/lib/dpkg/lock-frontend",
    "var/lib/dpkg/lock",
    "var/lib/apt/lists/lock",
    "var/cache/apt/archives/lock",
)
UPKEEP = ("apt-daily.service", "apt-daily-upgrade.service")
LISTS_ARE_OLD = re.compile(
    r"(?i)unable to (locate|fetch|download)|failed to fetch|no installation candidate|404"
)
HELD = re.compile(r"(?i)held (broken )?packages")
RAISED = re.compile(r"^Inst (\S+) \[([^\]]+)\] \((\S+)", re.M)
LOOK_EVERY_S = 0.3


def holder(path: Path) -> str:
    """Return the process that holds a lock of apt's, empty where none does.

    apt takes POSIX locks; those of flock(1) do not keep it from anything.
    """
    if not path.exists():
        return ""
    with path.open("r+b") as stream:
        try:
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return owner(os.fstat(stream.fileno()).st_ino)
    return ""


def owner(inode: int) -> str:
    """Return the name and number of the process that locks a file, as far as the kernel tells."""
    for line in Path("/proc/locks").read_text().splitlines():
        _, _, _, _, pid, file, *_ = line.replace("-> ", "").split()
        if file.endswith(f":{inode}"):
            command = Path(f"/proc/{pid}/comm")
            return f"{command.read_text().strip() if command.exists() else 'process'} ({pid})"
    return "an unknown process"


def in_use(root: Path) -> Iterator[str]:
    """Yield what uses apt now."""
    shown = subprocess.run(
        ["systemctl", "show", "--property=Id,ActiveState", *UPKEEP],
        capture_output=True,
        text=True,
        check=False,
    )
    for block in shown.stdout.strip().split("\n\n"):
        state = dict(line.partition("=")[::2] for line in block.splitlines())
        if state.get("ActiveState") in ("active", "activating"):
            yield f"{state['Id']} runs"
    for lock in LOCKS:
        if held_by := holder(root / lock):
            yield f"{held_by} holds /{lock}"


def settle(wait_s: int, users: Callable[[], Iterator[str]]) -> str:
    """Wait until nobody uses apt; who still does when time is up, or nothing."""
    end = time.monotonic() + wait_s
    while user := next(users(), ""):
        if time.monotonic() >= end:
            return user
        time.sleep(LOOK_EVERY_S)
    return ""


class Apt:
    """apt-get with what the task asked for."""

    def __init__(self, wait_s: int, sources: str) -> None:
        """Use the one file of sources if there is one."""
        self._options = [
            *("--quiet", "-o", f"DPkg::Lock::Timeout={wait_s}"),
            *("-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20"),
        ]
        if sources:
            own = [f"Dir::Etc::SourceList={sources}", "Dir::Etc::SourceParts=/dev/null"]
            own.append("APT::Get::List-Cleanup=false")
            self._options += [word for option in own for word in ("-o", option)]

    def run(self, *words: str) -> str:
        """Return what apt-get prints; raises OSError with its own words when it fails."""
        done = subprocess.run(
            ["apt-get", *self._options, *words],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"},
        )
        if done.returncode:
            raise OSError(complaint(done.stdout + done.stderr))
        return done.stdout

    def refresh(self) -> None:
        """Read the package lists anew."""
        self.run("-o", "APT::Update::Error-Mode=any", "update")

    def install(self, names: list[str], *more: str) -> str:
        """Install and remove nothing; what apt-get prints."""
        keep = ["Dpkg::Options::=--force-confdef", "Dpkg::Options::=--force-confold"]
        options = [word for option in keep for word in ("-o", option)]
        return self.run(
            *(*options, "--yes", "--no-install-recommends", "--no-remove", *more),
            *("install", *names),
        )


def complaint(text: str) -> str:
    """Return the lines that say what went wrong."""
    lines = text.splitlines()
    bad = [line for line in lines if line.startswith(("E:", "W: Failed", "dpkg: error"))]
    unmet = [line.strip() for line in lines if "Depends:" in line]
    words = "; ".join([*unmet[:5], *bad[:5]]) or text.strip()[-400:]
    return words.rstrip(".")


def install(apt: Apt, names: list[str], *, simulate: bool) -> list[str]:
    """Install, with fresh lists if need be; the held packages that this raised: NAME OLD -> NEW."""
    more = ["--simulate"] if simulate else []
    for is_last in (False, True):
        try:
            apt.install(names, *more)
        except OSError as error:
            if HELD.search(str(error)):
                break
            if is_last or simulate or not LISTS_ARE_OLD.search(str(error)):
                raise
            apt.refresh()
        else:
            return []
    change = "--allow-change-held-packages"
    foreseen = apt.install(names, change, "--simulate")
    if not simulate:
        apt.install(names, change)
    return [f"{name} {old} -> {new}" for name, old, new in RAISED.findall(foreseen)]


def main() -> None:
    """Wait, and install."""
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "default": []},
            "wait_s": {"type": "int", "default": 600},
            "sources": {"default": ""},
        },
        supports_check_mode=True,
    )
    names, wait_s = module.params["names"], module.params["wait_s"]
    if user := settle(wait_s, lambda: in_use(Path("/"))):
        module.fail_json(
            msg=f"apt is in use for more than {wait_s} s: {user}. Wait for its end or stop it"
            " there, then run the same again; baseline_apt_wait_s is how long to wait"
        )
    try:
        apt = Apt(wait_s, module.params["sources"])
        raised = install(apt, names, simulate=module.check_mode) if names else []
    except OSError as error:
        module.fail_json(
            msg=f"apt cannot install {' '.join(names)}: {error}. Mend it there (apt-get update"
            " shows the same), or name sources that the node reaches in baseline_apt_sources,"
            " a proxy in baseline_apt_proxy, or a baseline_bundle"
        )
    for package in raised:
        module.warn(f"this needed a held package in another version: {package}")
    module.exit_json(changed=bool(names), raised=raised)


if __name__ == "__main__":
    main()
