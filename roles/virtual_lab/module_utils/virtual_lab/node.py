"""Finds, starts, awaits and ends a node's processes, by the kernel's view of them."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ansible.module_utils import host

from . import bridge, tree
from .lab import MIB, Node

# A node may write the settings of its own network; the rest of the kernel belongs to the host.
OWN_NETWORK = {"SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network"}
# The exit status of systemd-nspawn for a node that wants to be restarted.
REBOOT = 133
# The end of a node's control group is that of a unit on a host with systemd.
UNIT_ENDS = ("", ".service")
RUNNER = "/payload/system.slice/rackbench-runner.service"
MEMORY_LIMITS = ("memory.limit_in_bytes", "memory.max")


def init_of(nodes: list[Node]) -> dict[str, int]:
    """Return the process id of the first process of each node that runs, by node name."""
    names = {f"container_uuid={node.uuid}": node.name for node in nodes}
    found: dict[str, int] = {}
    for process in Path("/proc").glob("[0-9]*"):
        if re.search(r"^NSpid:.*\s1$", host.read(f"{process}/status") or "", re.MULTILINE):
            variables = host.texts_of(process / "environ")
            found |= {names[one]: int(process.name) for one in variables if one in names}
    return found


def sweeping(nodes: list[Node], proc: Path = Path("/proc")) -> list[str]:
    """Return the names of the nodes on which a runner is at work, by control groups in `proc`."""
    groups = {one: host.read(str(one)) or "" for one in proc.glob("[0-9]*/cgroup")}
    return [
        node.name
        for node in nodes
        if any(f"/{node.key}{end}{RUNNER}" in text for text in groups.values() for end in UNIT_ENDS)
    ]


def supervisors_of(node: Node) -> list[int]:
    """Return the process ids of systemd-nspawn for this node, alive or half-started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        argv = host.texts_of(process / "cmdline")
        if argv[0].endswith("systemd-nspawn") and f"--uuid={node.uuid}" in argv:
            found.append(int(process.name))
    return found


def cgroups_of(node: Node) -> dict[str, Path]:
    """Return the node's own control groups on a host without systemd, by kind of hierarchy.

    Each node needs a group of its own in every hierarchy that its systemd manages: two nodes in one
    group would end each other's services.
    """
    groups = {}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, options, *_ = line.split()
        names = options.split(",")
        if kind == "cgroup2":
            groups["unified"] = Path(point) / node.key
        elif kind == "cgroup" and {"name=systemd", "memory"} & set(names):
            groups["memory" if "memory" in names else "systemd"] = Path(point) / node.key
    return groups


def make_cgroups(node: Node) -> list[str]:
    """Make the node's control groups with its memory cap; return the files for joining them."""
    groups = cgroups_of(node)
    if "memory" not in groups and "unified" in groups:
        root = groups["unified"].parent
        if "memory" in (root / "cgroup.controllers").read_text().split():
            (root / "cgroup.subtree_control").write_text("+memory")
    for group in groups.values():
        group.mkdir(exist_ok=True)
    files = [group / file for group in groups.values() for file in MEMORY_LIMITS]
    limits = [file for file in files if file.exists()]
    if not limits:
        raise host.HostError(
            "this kernel offers no memory control group, so nodes cannot be capped; "
            "enable the memory controller"
        )
    for file in limits:
        file.write_text(str(node.lab.memory_mb * MIB))
    return [str(group / "cgroup.procs") for group in groups.values()]


def drop_cgroups(node: Node) -> None:
    """Remove the node's control groups, which are empty once its processes have ended."""
    for group in cgroups_of(node).values():
        for directory, _, _ in os.walk(group, topdown=False):
            for _ in range(50):
                with suppress(OSError):
                    Path(directory).rmdir()
                    break
                time.sleep(0.1)


def boot(node: Node) -> None:
    """Start the node's systemd as a process that outlives this one."""
    lab = node.lab
    nspawn = [
        *("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--boot"),
        f"--directory={node.tree}",
        f"--machine={node.name}-{node.uuid[:8]}",
        f"--uuid={node.uuid}",
        f"--network-namespace-path={bridge.NAMESPACES}/{node.key}",
        "--capability=CAP_NET_ADMIN",
        f"--resolv-conf={'copy-host' if lab.internet else 'off'}",
        *("--timezone=off", "--link-journal=no"),
    ]
    if Path("/run/systemd/system").is_dir():
        # The failed unit of an earlier boot would block a new one.
        if host.succeeds("systemctl", "is-failed", "--quiet", f"{node.key}.service"):
            host.run("systemctl", "reset-failed", f"{node.key}.service")
        properties = {
            "Delegate": "yes",
            "KillMode": "mixed",
            "RestartForceExitStatus": REBOOT,
            "SuccessExitStatus": REBOOT,
            "MemoryMax": f"{lab.memory_mb}M",
            "MemorySwapMax": 0,
            "StandardOutput": f"append:{node.directory}/console.log",
        }
        host.run(
            "systemd-run",
            f"--unit={node.key}.service",
            f"--description=rackbench node {node.name} of lab {lab.name}",
            *(f"--property={name}={value}" for name, value in properties.items()),
            *(f"--setenv={name}={value}" for name, value in OWN_NETWORK.items()),
            *nspawn,
        )
        return
    # The shell joins the groups before it starts systemd-nspawn, so that all processes are inside,
    # and restarts it when the node wants to reboot.
    join = 'while [ "$1" != -- ]; do echo 0 >"$1"; shift; done; shift'
    loop = f'until "$@"; [ $? -ne {REBOOT} ]; do :; done'
    with (node.directory / "console.log").open("ab") as console:
        subprocess.Popen(
            ["sh", "-c", f"{join}; {loop}", node.key, *make_cgroups(node), "--", *nspawn],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            env={**os.environ, **OWN_NETWORK},
            start_new_session=True,
        )


def answers(address: str) -> bool:
    """Return whether an SSH server answers with its greeting."""
    with suppress(OSError), socket.create_connection((address, 22), timeout=1) as connection:
        connection.settimeout(2)
        return connection.recv(4) == b"SSH-"
    return False


def await_boot(node: Node) -> None:
    """Wait until the node's sshd answers."""
    started, limit_s = time.monotonic(), node.lab.boot_timeout_s
    while not answers(node.address):
        waited_s = time.monotonic() - started
        why = f"did not answer on {node.address}:22 within {limit_s} s"
        if waited_s > 3 and not supervisors_of(node):
            why = "ended while booting"
        elif waited_s < limit_s:
            time.sleep(0.2)
            continue
        log = node.directory / "console.log"
        text = log.read_text(errors="replace") if log.exists() else "(no console output)"
        tail = "\n".join(re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()[-8:])
        raise host.HostError(f"node {node.name} {why}; its console says:\n{tail}")


def stop(node: Node) -> None:
    """End the node's processes at once; its file system is discarded or already unclean."""
    for _ in range(100):
        left = [*supervisors_of(node), *init_of([node]).values()]
        if not left:
            return
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
    raise host.HostError(f"node {node.name} does not stop; check its processes with ps")


def remove(node: Node) -> None:
    """Remove a whole node: processes, mounts, control group and file system."""
    stop(node)
    for point in tree.mounts_under(node.directory):
        host.run("umount", "--lazy", point)
    bridge.drop_link(node)
    drop_cgroups(node)
    shutil.rmtree(node.directory)


def runs(node: Node, booted: Mapping[str, int]) -> bool:
    """Return whether a node runs and answers; `booted` has the nodes' first processes by name."""
    return node.name in booted and bool(supervisors_of(node)) and answers(node.address)


def bring_up(node: Node, *, runs: bool) -> bool:
    """Make and boot one node unless it `runs`; return whether anything changed."""
    node.directory.mkdir(parents=True, exist_ok=True)
    if not runs:
        stop(node)
        drop_cgroups(node)
    changed = bridge.make_link(node)
    changed |= bridge.shape(node)
    if runs:
        return changed
    tree.mount(node)
    tree.configure(node)
    boot(node)
    return True
