#!/usr/bin/python
"""Boot and remove the nodes of a virtual lab: real systemd under systemd-nspawn on one bridge."""

from __future__ import annotations

DOCUMENTATION = r"""
module: virtual_lab
short_description: Boots and removes the nodes of a virtual lab
description:
  - One overlay on a shared image a node, one bridge for all, links shaped in both directions.
  - Works from what the kernel says (mounts, processes, links), never from a note of an earlier run,
    so it mends whatever a crash left behind.
options:
  state:
    description: C(checked) only looks whether the lab can be made, C(down) removes it.
    choices: [checked, up, down]
    type: str
    default: up
  authorized_key: {description: The public key that logs in; needed to go up, type: str}
  left_out: {description: Names of nodes that are let be, type: list, elements: str, default: []}
  lab:
    description: What the lab is.
    type: dict
    required: true
    suboptions:
      name: {description: Name of the lab, type: str, required: true}
      root: {description: Directory of the lab's node file systems, type: path, required: true}
      image: {description: Directory of the base image, type: path, required: true}
      bridge: {description: Name of the bridge, type: str, required: true}
      prefix: {description: First three numbers of the lab's /24 network, type: str, required: true}
      nodes: {description: Name and address of each node, type: dict, required: true}
      user: {description: The account in the image that may log in, type: str, required: true}
      link_mbit: {description: Rate of links in Mbit/s; 0 for no limit, type: int, required: true}
      link_burst_bytes: {description: Bytes that may pass at once, type: int, required: true}
      memory_mb: {description: Cap of each node in MiB, type: int, required: true}
      disk_mb: {description: Free space a new node needs in MiB, type: int, required: true}
      internet: {description: Whether nodes reach beyond the lab, type: bool, required: true}
      boot_timeout_s: {description: Seconds until a node must answer, type: int, required: true}
"""

EXAMPLES = r"""
- name: Remove a lab
  virtual_lab:
    state: down
    lab:
      name: two
      root: /var/lib/rackbench/labs/two
      image: /var/cache/rackbench/images/trixie
      bridge: two-0
      prefix: 10.99.0
      nodes: {one: 10.99.0.11, other: 10.99.0.12}
      user: rack
      link_mbit: 100
      link_burst_bytes: 3200
      memory_mb: 2048
      disk_mb: 500
      internet: false
      boot_timeout_s: 90
"""

RETURN = r"""
host_keys:
  description: The public SSH host key of each node.
  type: dict
  returned: when state is up
"""

import concurrent.futures
import contextlib
import ipaddress
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

NAMESPACES = Path("/run/netns")
IP_FORWARD = Path("/proc/sys/net/ipv4/ip_forward")
WATCHES = Path("/proc/sys/fs/inotify/max_user_instances")
WATCHES_A_NODE = 8
MIB = 1024 * 1024
# A node may write the settings of its own network; the rest of the kernel is the host's.
OWN_NETWORK = "SYSTEMD_NSPAWN_API_VFS_WRITABLE=network"
# The exit status by which systemd-nspawn says that the node wants to be started again.
REBOOT = 133
MEMORY_LIMITS = ("memory.limit_in_bytes", "memory.max")


class LabError(Exception):
    """The lab cannot be made as asked; the text names the thing, the reason and the next step."""


@dataclass(frozen=True)
class Lab:
    """One lab, as the role describes it."""

    name: str
    root: Path
    image: Path
    bridge: str
    prefix: str
    user: str
    authorized_key: str | None
    link_mbit: int
    link_burst_bytes: int
    memory_mb: int
    disk_mb: int
    internet: bool
    boot_timeout_s: int

    @property
    def gateway(self) -> str:
        """Return the control host's own address on the bridge."""
        return f"{self.prefix}.1"

    @property
    def network(self) -> ipaddress.IPv4Network:
        """Return the lab's network."""
        return ipaddress.IPv4Network(f"{self.prefix}.0/24")

    @property
    def mark(self) -> str:
        """Return the bridge's alias; a bridge without it is somebody else's."""
        return f"rackbench lab {self.name}"

    @property
    def table(self) -> str:
        """Return the name of the lab's nftables table."""
        return "rackbench_" + re.sub(r"[^a-z0-9]", "_", self.name)


@dataclass(frozen=True)
class Node:
    """One node of a lab."""

    lab: Lab
    name: str
    address: str

    @property
    def directory(self) -> Path:
        """Return the directory of the node's file system layer, its console log and its keys."""
        return self.lab.root / "nodes" / self.name

    @property
    def tree(self) -> Path:
        """Return where the node's file system is mounted."""
        return self.directory / "tree"

    @property
    def uuid(self) -> str:
        """Return the identity by which the node's first process is found again."""
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{self.name}.{self.lab.name}.rackbench"))

    @property
    def unit(self) -> str:
        """Return the unit's name on hosts that run systemd."""
        return f"rackbench-{self.lab.name}-{self.name}.service"

    @property
    def key(self) -> str:
        """Return the name of the node's network and, without systemd, of its control groups."""
        return f"rackbench-{self.lab.name}-{self.name}"

    @property
    def link(self) -> str:
        """Return the name of this host's end of the node's link; the node's own end is host0."""
        return f"rb{self.uuid[:8]}"


def run(*argv: str, stdin: str | None = None) -> str:
    """Run a command; its standard output, or a LabError with what it said."""
    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise LabError(f"{argv[0]} is not installed; run make lab-up, which installs it") from error
    if done.returncode:
        raise LabError(f"{' '.join(argv)} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def links() -> list[dict[str, Any]]:
    """Return all links of this machine with their addresses."""
    found: list[dict[str, Any]] = json.loads(run("ip", "-json", "-details", "address", "show"))
    return found


def bridge_of(lab: Lab) -> dict[str, Any] | None:
    """Return the lab's bridge, or None; refuse a link of that name which is not ours."""
    for link in links():
        if link["ifname"] == lab.bridge:
            if link.get("ifalias") != lab.mark:
                raise LabError(
                    f"a link named {lab.bridge} exists and is not a bridge of the lab {lab.name}; "
                    "set virtual_lab_bridge to another name"
                )
            return link
    return None


def init_of(nodes: list[Node]) -> dict[str, int]:
    """Return the process id of the first process of each node that runs, by node name."""
    names = {f"container_uuid={node.uuid}".encode(): node.name for node in nodes}
    found: dict[str, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
            inner = re.search(r"^NSpid:.*\s(\d+)$", (entry / "status").read_text(), re.MULTILINE)
        except OSError:
            continue
        if inner and inner.group(1) == "1":
            for variable in variables:
                if variable in names:
                    found[names[variable]] = int(entry.name)
    return found


def supervisors_of(node: Node) -> list[int]:
    """Return the process ids of systemd-nspawn for this node, alive or half-started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                argv = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if argv[0].endswith(b"systemd-nspawn") and f"--uuid={node.uuid}".encode() in argv:
                found.append(int(entry.name))
    return found


def mounts_under(path: Path) -> list[str]:
    """Return the mount points at or below a path, innermost first."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    points = [line.split()[1].encode().decode("unicode_escape") for line in lines]
    inside = [point for point in points if point == str(path) or point.startswith(f"{path}/")]
    return sorted(inside, key=len, reverse=True)


def check(lab: Lab, nodes: list[Node]) -> None:
    """Refuse, before anything long starts, a lab that this machine cannot hold."""
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,23}", lab.name):
        raise LabError(
            f"virtual_lab_name is {lab.name!r}; use at most 24 small letters, digits and dashes"
        )
    if len(lab.bridge) > 15:
        raise LabError(
            f"virtual_lab_bridge {lab.bridge} has {len(lab.bridge)} letters, a link's name at most "
            "15; choose a shorter one"
        )
    seen: dict[str, str] = {}
    for node in nodes:
        if ipaddress.IPv4Address(node.address) not in lab.network or node.address == lab.gateway:
            raise LabError(
                f"node {node.name} has address {node.address}, which is not a node's address in "
                f"{lab.network}; correct the inventory"
            )
        if node.address in seen:
            raise LabError(
                f"nodes {seen[node.address]} and {node.name} share the address {node.address}; "
                "correct the inventory"
            )
        seen[node.address] = node.name
    for node in nodes:
        built_on = node.directory / "image"
        if built_on.exists() and built_on.read_text() != str(lab.image):
            raise LabError(
                f"node {node.name} was made from {built_on.read_text()}, the lab's image is now "
                f"{lab.image}; run make lab-down first (results already pulled stay)"
            )
    bridge_of(lab)
    for route in json.loads(run("ip", "-json", "-4", "route", "show", "table", "all")):
        target = route["dst"] if route["dst"] != "default" else "0.0.0.0/32"
        taken = ipaddress.IPv4Network(target, strict=False).overlaps(lab.network)
        if taken and route.get("dev") != lab.bridge:
            raise LabError(
                f"the lab's network {lab.network} is taken on this machine by {route['dst']} on "
                f"{route.get('dev')}; set virtual_lab_prefix to a free range"
            )
    running = init_of(nodes)
    missing = [node for node in nodes if node.name not in running]
    # The cap is for a study that asks for large heaps; half of it is what all nodes need at once.
    need = len(missing) * lab.memory_mb // 2
    meminfo = Path("/proc/meminfo").read_text()
    available = int(re.search(r"MemAvailable:\s+(\d+)", meminfo).group(1)) // 1024  # type: ignore[union-attr]
    if need > available:
        raise LabError(
            f"the lab needs {need} MiB of memory (half of {lab.memory_mb} for each of "
            f"{len(missing)} nodes), {available} MiB are available; use fewer workers or lower "
            "virtual_lab_memory_mb"
        )
    fresh = [node for node in missing if not node.directory.exists()]
    place = next(path for path in (lab.root, *lab.root.parents) if path.exists())
    need, free = len(fresh) * lab.disk_mb, shutil.disk_usage(place).free // MIB
    if need > free:
        raise LabError(
            f"the lab needs {need} MiB of disk below {lab.root}, {free} MiB are free; make room "
            "or set virtual_lab_root to a larger file system"
        )


def set_kernel(lab: Lab, setting: Path, value: str) -> None:
    """Change a kernel setting, remembering how it was before this lab."""
    before = lab.root / "kernel" / setting.name
    if not before.exists():
        write(before, setting.read_text(), 0o644)
    setting.write_text(value)


def reset_kernel(lab: Lab, setting: Path) -> bool:
    """Take back what set_kernel did; whether there was anything to take back."""
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
        set_kernel(lab, WATCHES, f"{2 * need}\n")


def make_bridge(lab: Lab) -> bool:
    """Make the bridge and give the control host its address on it."""
    if bridge_of(lab):
        return False
    run("ip", "link", "add", "name", lab.bridge, "type", "bridge", "stp_state", "0")
    run("ip", "link", "set", "dev", lab.bridge, "alias", lab.mark)
    run("ip", "address", "add", f"{lab.gateway}/24", "dev", lab.bridge)
    run("ip", "link", "set", "dev", lab.bridge, "up")
    return True


def firewall_tables() -> set[str]:
    """Return the names of this machine's nftables tables of family ip."""
    listed = json.loads(run("nft", "--json", "list", "tables"))["nftables"]
    return {row["table"]["name"] for row in listed if row.get("table", {}).get("family") == "ip"}


def open_internet(lab: Lab) -> bool:
    """Let nodes reach beyond the lab, remembering how forwarding was set before."""
    if lab.table in firewall_tables():
        return False
    set_kernel(lab, IP_FORWARD, "1\n")
    rules = f"""
        table ip {lab.table} {{
            chain postrouting {{
                type nat hook postrouting priority srcnat
                ip saddr {lab.network} oifname != "{lab.bridge}" masquerade
            }}
        }}
    """
    run("nft", "-f", "-", stdin=rules)
    return True


def close_internet(lab: Lab) -> bool:
    """Take back what open_internet did."""
    restored = reset_kernel(lab, IP_FORWARD)
    if not shutil.which("nft") or lab.table not in firewall_tables():
        return restored
    run("nft", "delete", "table", "ip", lab.table)
    return True


def write(path: Path, text: str, mode: int, owner: int = 0) -> None:
    """Write a small file whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.write_text(text)
    beside.chmod(mode)
    os.chown(beside, owner, owner)
    beside.rename(path)


def host_key(node: Node) -> Path:
    """Return the node's private SSH host key, made before its first boot and so known then."""
    key = node.directory / "ssh_host_ed25519_key"
    if not key.exists() or not key.with_suffix(".pub").exists():
        key.unlink(missing_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", node.name, "-f", str(key))
    return key


def mount_tree(node: Node) -> None:
    """Mount the node's file system: its own layer over the image."""
    lab = node.lab
    for part in ("upper", "work", "tree"):
        (node.directory / part).mkdir(parents=True, exist_ok=True)
    if mounts_under(node.tree):
        return
    options = f"lowerdir={lab.image},upperdir={node.directory}/upper,workdir={node.directory}/work"
    run("mount", "-t", "overlay", "overlay", "-o", options, str(node.tree))
    write(node.directory / "image", str(lab.image), 0o644)


def configure_tree(node: Node) -> None:
    """Set the node's name, address, keys and the one account that may log in."""
    lab, etc = node.lab, node.tree / "etc"
    key = host_key(node)
    account = (node.tree / "etc/passwd").read_text()
    owner = int(re.search(rf"^{lab.user}:x:(\d+):", account, re.MULTILINE).group(1))  # type: ignore[union-attr]
    gateway = f"Gateway={lab.gateway}\n" if lab.internet else ""
    write(etc / "hostname", f"{node.name}\n", 0o644)
    if not (node.directory / "booted").exists():
        write(etc / "hosts", f"127.0.0.1 localhost\n{node.address} {node.name}\n", 0o644)
    write(
        etc / "systemd/network/10-host0.network",
        f"[Match]\nName=host0\n[Network]\nAddress={node.address}/24\n{gateway}"
        "LinkLocalAddressing=no\nIPv6AcceptRA=no\n",
        0o644,
    )
    write(etc / "ssh/ssh_host_ed25519_key", key.read_text(), 0o600)
    write(etc / "ssh/ssh_host_ed25519_key.pub", key.with_suffix(".pub").read_text(), 0o644)
    home = node.tree / "home" / lab.user
    write(home / ".ssh/authorized_keys", f"{lab.authorized_key}\n", 0o600, owner)
    os.chown(home / ".ssh", owner, owner)
    (home / ".ssh").chmod(0o700)
    write(node.directory / "booted", "", 0o644)


def cgroups_of(node: Node) -> dict[str, Path]:
    """Return the node's own control groups on a host without systemd, by kind of hierarchy.

    Each node needs a group of its own in every hierarchy its systemd manages: two that shared one
    would end each other's services.
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


def make_cgroups(node: Node) -> list[Path]:
    """Make the node's control groups with its memory cap; the files by which a process joins."""
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
        raise LabError(
            "this kernel offers no memory control group, so nodes cannot be capped; "
            "enable the memory controller"
        )
    for file in limits:
        file.write_text(str(node.lab.memory_mb * MIB))
    return [group / "cgroup.procs" for group in groups.values()]


def drop_cgroups(node: Node) -> None:
    """Remove the node's control groups, which are empty once its processes have ended."""
    for group in cgroups_of(node).values():
        for directory, _, _ in os.walk(group, topdown=False):
            for _ in range(50):
                try:
                    Path(directory).rmdir()
                    break
                except OSError:
                    time.sleep(0.1)


def boot(node: Node) -> None:
    """Start the node's systemd as a process that outlives this one."""
    lab = node.lab
    nspawn = [
        "systemd-nspawn",
        "--quiet",
        "--register=no",
        "--keep-unit",
        "--boot",
        f"--directory={node.tree}",
        f"--machine={node.name}-{node.uuid[:8]}",
        f"--uuid={node.uuid}",
        f"--network-namespace-path={NAMESPACES}/{node.key}",
        "--capability=CAP_NET_ADMIN",
        f"--resolv-conf={'copy-host' if lab.internet else 'off'}",
        "--timezone=off",
        "--link-journal=no",
    ]
    if Path("/run/systemd/system").is_dir():
        if unit_failed(node):
            run("systemctl", "reset-failed", node.unit)
        run(
            "systemd-run",
            f"--unit={node.unit}",
            f"--description=rackbench node {node.name} of lab {lab.name}",
            "--property=Delegate=yes",
            "--property=KillMode=mixed",
            f"--property=RestartForceExitStatus={REBOOT}",
            f"--property=SuccessExitStatus={REBOOT}",
            f"--property=MemoryMax={lab.memory_mb}M",
            "--property=MemorySwapMax=0",
            f"--property=StandardOutput=append:{node.directory}/console.log",
            f"--setenv={OWN_NETWORK}",
            *nspawn,
        )
        return
    # The shell joins the groups before systemd-nspawn starts, so that all of it is inside, and
    # starts it again when the node asks to be rebooted.
    join = 'while [ "$1" != -- ]; do echo 0 >"$1"; shift; done; shift'
    loop = f'until "$@"; [ $? -ne {REBOOT} ]; do :; done'
    groups = [str(file) for file in make_cgroups(node)]
    name, _, value = OWN_NETWORK.partition("=")
    with (node.directory / "console.log").open("ab") as console:
        subprocess.Popen(
            ["sh", "-c", f"{join}; {loop}", node.key, *groups, "--", *nspawn],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            env={**os.environ, name: value},
            start_new_session=True,
        )


def unit_failed(node: Node) -> bool:
    """Return whether systemd still lists the unit of an earlier boot, which would bar a new one."""
    asked = subprocess.run(["systemctl", "is-failed", "--quiet", node.unit], check=False)
    return asked.returncode == 0


def console_tail(node: Node) -> str:
    """Return the last lines of the node's console, for an error's text."""
    try:
        text = (node.directory / "console.log").read_text(errors="replace")
    except OSError:
        return "(no console output)"
    return "\n".join(re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()[-8:])


def answers(address: str) -> bool:
    """Return whether an SSH server greets us there."""
    try:
        with socket.create_connection((address, 22), timeout=1) as connection:
            connection.settimeout(2)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def await_boot(node: Node) -> None:
    """Wait until the node's sshd answers."""
    deadline = time.monotonic() + node.lab.boot_timeout_s
    started = time.monotonic()
    while time.monotonic() < deadline:
        if answers(node.address):
            return
        if time.monotonic() - started > 3 and not supervisors_of(node):
            raise LabError(
                f"node {node.name} ended while booting; its console says:\n{console_tail(node)}"
            )
        time.sleep(0.2)
    raise LabError(
        f"node {node.name} did not answer on {node.address}:22 within {node.lab.boot_timeout_s} s; "
        f"its console says:\n{console_tail(node)}"
    )


def shaped(listing: str, lab: Lab) -> bool:
    """Return whether a qdisc listing already has the lab's rate."""
    rates = [row for row in json.loads(listing or "[]") if row["kind"] == "tbf"]
    if not lab.link_mbit:
        return not rates
    options = rates[0]["options"] if rates else {}
    return bool(rates) and options.get("rate") == lab.link_mbit * 125_000


def make_link(node: Node) -> bool:
    """Make the node's own network, linked to the bridge; both outlive its reboots."""
    here = [link for link in links() if link["ifname"] == node.link]
    whole = here and here[0].get("master") == node.lab.bridge
    if whole and Path(NAMESPACES, node.key).exists():
        return False
    drop_link(node)
    run("ip", "netns", "add", node.key)
    # fmt: off
    run("ip", "link", "add", "name", node.link, "type", "veth",
        "peer", "name", "host0", "netns", node.key)
    # fmt: on
    run("ip", "link", "set", "dev", node.link, "master", node.lab.bridge, "up")
    return True


def drop_link(node: Node) -> None:
    """Remove the node's link and network."""
    if node.link in (link["ifname"] for link in links()):
        run("ip", "link", "delete", "dev", node.link)
    if Path(NAMESPACES, node.key).exists():
        run("ip", "netns", "delete", node.key)


def shape(node: Node) -> bool:
    """Limit the node's link to the lab's rate, in both directions, as a switch port would."""
    changed = False
    for tc, device in ((["tc", "-netns", node.key], "host0"), (["tc"], node.link)):
        listing = run(*tc, "-json", "qdisc", "show", "dev", device)
        if shaped(listing, node.lab):
            continue
        changed = True
        if not node.lab.link_mbit:
            run(*tc, "qdisc", "del", "dev", device, "root")
            continue
        # fmt: off
        run(*tc, "qdisc", "replace", "dev", device, "root", "tbf",
            "rate", f"{node.lab.link_mbit}mbit",
            "burst", str(node.lab.link_burst_bytes), "latency", "100ms")
        # fmt: on
    return changed


def stop(node: Node) -> None:
    """End the node's processes at once; its file system is thrown away or was not clean already."""
    for pid in [*supervisors_of(node), *init_of([node]).values()]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    for _ in range(100):
        if not supervisors_of(node) and not init_of([node]):
            return
        time.sleep(0.1)
    raise LabError(f"node {node.name} does not end; look at its processes with ps")


def remove(node: Node) -> None:
    """Remove a node whole: processes, mounts, control group and file system."""
    stop(node)
    for point in mounts_under(node.directory):
        run("umount", "--lazy", point)
    drop_link(node)
    drop_cgroups(node)
    shutil.rmtree(node.directory)


def bring_up(node: Node) -> bool:
    """Make and boot one node unless it runs; whether anything changed."""
    node.directory.mkdir(parents=True, exist_ok=True)
    runs = node.name in init_of([node]) and supervisors_of(node) and answers(node.address)
    if not runs:
        stop(node)
        drop_cgroups(node)
    changed = make_link(node)
    changed |= shape(node)
    if runs:
        return changed
    mount_tree(node)
    configure_tree(node)
    boot(node)
    return True


def up(lab: Lab, nodes: list[Node], left_out: list[str]) -> tuple[bool, dict[str, str]]:
    """Bring the lab up, all nodes at once; what changed and the public host keys."""
    wanted = {node.name for node in nodes}
    changed = False
    for node in known_nodes(lab):
        if node.name not in wanted:
            remove(node)
            changed = True
    used = [node for node in nodes if node.name not in left_out]
    widen_watches(lab, len(used) - len(init_of(used)))
    changed |= make_bridge(lab)
    changed |= open_internet(lab) if lab.internet else close_internet(lab)
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        changed |= any(list(pool.map(bring_up, used)))
        list(pool.map(await_boot, used))
    keys = {node.name: host_key(node).with_suffix(".pub").read_text() for node in nodes}
    return changed, {name: " ".join(key.split()[:2]) for name, key in keys.items()}


def known_nodes(lab: Lab) -> list[Node]:
    """Return the nodes that have a directory, whatever the inventory says now."""
    directory = lab.root / "nodes"
    return [Node(lab, path.name, "") for path in sorted(directory.glob("*"))]


def down(lab: Lab) -> bool:
    """Remove the lab whole; whether there was anything to remove."""
    nodes = known_nodes(lab)
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(remove, nodes))
    changed = bool(nodes)
    if NAMESPACES.is_mount() and not any(NAMESPACES.iterdir()):
        # The first `ip netns add` mounted this directory onto itself.
        run("umount", str(NAMESPACES))
    changed |= close_internet(lab)
    changed |= reset_kernel(lab, WATCHES)
    if bridge_of(lab):
        run("ip", "link", "delete", "dev", lab.bridge)
        changed = True
    if lab.root.exists():
        shutil.rmtree(lab.root)
    return changed


def main() -> None:
    """Do what the task asks."""
    text = {"type": "str", "required": True}
    number = {"type": "int", "required": True}
    module = AnsibleModule(
        argument_spec={
            "state": {"choices": ["checked", "up", "down"], "default": "up"},
            "authorized_key": {"no_log": False},
            "left_out": {"type": "list", "elements": "str", "default": []},
            "lab": {
                "type": "dict",
                "required": True,
                "options": {
                    "name": text,
                    "root": {"type": "path", "required": True},
                    "image": {"type": "path", "required": True},
                    "bridge": text,
                    "prefix": text,
                    "nodes": {"type": "dict", "required": True},
                    "user": text,
                    "link_mbit": number,
                    "link_burst_bytes": number,
                    "memory_mb": number,
                    "disk_mb": number,
                    "internet": {"type": "bool", "required": True},
                    "boot_timeout_s": number,
                },
            },
        },
        required_if=[("state", "up", ["authorized_key"])],
        supports_check_mode=True,
    )
    state = module.params["state"]
    wanted = dict(module.params["lab"], authorized_key=module.params["authorized_key"])
    members = wanted.pop("nodes")
    wanted.update(root=Path(wanted["root"]), image=Path(wanted["image"]))
    lab = Lab(**wanted)
    nodes = [Node(lab, name, address) for name, address in members.items()]
    try:
        if state == "down":
            left = bool(known_nodes(lab) or bridge_of(lab))
            module.exit_json(changed=left if module.check_mode else down(lab))
        check(lab, nodes)
        running = init_of(nodes)
        if state == "checked":
            module.exit_json(changed=False, running=sorted(running))
        if module.check_mode:
            module.exit_json(changed=len(running) < len(nodes), host_keys={})
        changed, keys = up(lab, nodes, module.params["left_out"])
    except LabError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, host_keys=keys)


if __name__ == "__main__":
    main()
