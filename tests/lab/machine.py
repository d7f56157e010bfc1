"""What a virtual lab leaves on this machine, as the kernel tells it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

LABS = Path("/var/lib/rackbench/labs")
_SETTINGS = ("net/core", "net/ipv4", "net/bridge", "vm", "fs/inotify", "user")
_VOLATILE = ("/neigh/", "/conf/", "vm/stat_refresh", "vm/drop_caches", "vm/compact_memory")

T = TypeVar("T")


def wait_for(condition: Callable[[], T], what: str, timeout_s: float = 60) -> T:
    """Wait until the condition gives something true, and give that."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {timeout_s:.0f} s")
        time.sleep(0.2)
    return value


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""


def processes(lab: str) -> dict[int, str]:
    """Every process inside the nodes of a lab, and what supervises them, with its command line.

    Ended ones that this machine's first process has not reaped yet are left out.
    """
    found = {}
    for entry in Path("/proc").iterdir():
        inside = entry.name.isdigit() and f"rackbench-{lab}-" in _read(entry / "cgroup")
        if inside and "\nState:\tZ" not in _read(entry / "status"):
            found[int(entry.name)] = _read(entry / "cmdline").replace("\0", " ").strip()
    return found


def first_process(lab: str, node: str) -> int:
    """The process id of a node's systemd, seen from this machine."""
    mark = f"container_uuid={_identity(lab, node)}"
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and mark in _read(entry / "environ").split("\0"):
            status = _read(entry / "status").splitlines()
            if any(line.startswith("NSpid:") and line.split()[-1] == "1" for line in status):
                return int(entry.name)
    raise ProcessLookupError(f"node {node} of lab {lab} does not run")


def _identity(lab: str, node: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_DNS, f"{node}.{lab}.rackbench")


def at_console(lab: str, node: str, script: str) -> None:
    """Run a script as root on a node, where SSH is of no use or would be in the way."""
    within = ["nsenter", f"--target={first_process(lab, node)}"]
    parts = ["--mount", "--uts", "--ipc", "--net", "--pid"]
    done = subprocess.run(
        [*within, *parts, "sh", "-eu"], input=script.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, f"{node}: {done.stderr.decode()}"


def link(lab: str, node: str) -> str:
    """The name of this machine's end of a node's link."""
    return f"rb{str(_identity(lab, node))[:8]}"


def kill_nodes(lab: str) -> int:
    """Kill -9 everything that belongs to the nodes of a lab; how many processes that were."""
    killed = 0
    while running := processes(lab):
        for pid in running:
            try:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                continue
        time.sleep(0.05)
    return killed


def kill_node(lab: str, node: str) -> None:
    """Kill -9 one node: its first process, and with it all inside."""
    pid = first_process(lab, node)
    os.kill(pid, signal.SIGKILL)

    def ended() -> bool:
        status = _read(Path(f"/proc/{pid}/status"))
        return not status or "\nState:\tZ" in status

    wait_for(ended, f"{node} ends")


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill -9 a command with all its children, as when its terminal's machine dies."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def traces(lab: str, nodes: Iterable[str]) -> list[str]:
    """Everything on this machine that belongs to a lab with these nodes."""
    found = [f"process {pid}: {command}" for pid, command in processes(lab).items()]
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    found += [f"mount {line.split()[1]}" for line in mounts if f"{LABS / lab}/" in line]
    ends = {link(lab, node) for node in nodes}
    found += [
        f"link {device['ifname']}"
        for device in json.loads(_output("ip", "-json", "-details", "link", "show"))
        if device.get("ifalias") == f"rackbench lab {lab}"
        or device.get("master") == f"{lab[:13]}-0"
        or device["ifname"] in ends
    ]
    found += [f"network {path}" for path in Path("/run/netns").glob(f"rackbench-{lab}-*")]
    if shutil.which("nft"):
        table = "rackbench_" + lab.replace("-", "_")
        rules = _output("nft", "list", "tables").splitlines()
        found += [rule for rule in rules if rule == f"table ip {table}"]
    groups = Path("/sys/fs/cgroup")
    for pattern in ("*", "*/*"):
        found += [f"group {path}" for path in groups.glob(f"{pattern}/rackbench-{lab}-*")]
    found += [f"group {path}" for path in groups.glob(f"rackbench-{lab}-*")]
    if (LABS / lab).exists():
        found.append(f"directory {LABS / lab}")
    return found


def kernel_settings() -> dict[str, str]:
    """The sysctls that a lab could touch; those of single links come and go with the links."""
    values = {}
    for part in _SETTINGS:
        for path in Path("/proc/sys", part).rglob("*"):
            if path.is_file() and not any(word in str(path) for word in _VOLATILE):
                values[str(path)] = _read(path)
    for every in ("all", "default"):
        for path in Path("/proc/sys/net/ipv4/conf", every).iterdir():
            values[str(path)] = _read(path)
    return values


def changed_settings(before: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Which of these sysctls have another value now."""
    now = kernel_settings()
    return {
        name: (value, now[name])
        for name, value in before.items()
        if name in now and now[name] != value
    }


def _output(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
