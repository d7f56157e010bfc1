"""Refuses a lab that this machine cannot hold, before any long step."""

import ipaddress
import json
import re
import shutil
from pathlib import Path

from ansible.module_utils import host

from . import kernel
from .bridge import bridge_of
from .lab import MIB, Lab, Node


def check(lab: Lab, nodes: list[Node], running: dict[str, int]) -> None:
    """Refuse addresses in use, another image, and too little space."""
    check_nodes(lab, nodes)
    bridge_of(lab)
    check_network(lab)
    check_root(lab)
    check_room(lab, [node for node in nodes if node.name not in running])


def check_nodes(lab: Lab, nodes: list[Node]) -> None:
    """Refuse addresses outside the lab or of two nodes, and nodes of another image."""
    seen: dict[str, str] = {}
    for node in nodes:
        if ipaddress.IPv4Address(node.address) not in lab.network or node.address == lab.gateway:
            raise host.HostError(
                f"node {node.name} has address {node.address}, which is not a node's address in "
                f"{lab.network}; correct the inventory"
            )
        if (other := seen.setdefault(node.address, node.name)) != node.name:
            raise host.HostError(
                f"nodes {other} and {node.name} share the address {node.address}; "
                "correct the inventory"
            )
        built_on = node.directory / "image"
        if built_on.exists() and built_on.read_text() != str(lab.image):
            raise host.HostError(
                f"node {node.name} was made from {built_on.read_text()}, the lab's image is now "
                f"{lab.image}; run make lab-down first (results already pulled stay)"
            )


def check_network(lab: Lab) -> None:
    """Refuse a network that this machine reaches over another link."""
    for route in json.loads(host.run("ip", "-json", "-4", "route", "show", "table", "all")):
        target = route["dst"] if route["dst"] != "default" else "0.0.0.0/32"
        taken = ipaddress.IPv4Network(target, strict=False).overlaps(lab.network)
        if taken and route.get("dev") != lab.bridge:
            raise host.HostError(
                f"the lab's network {lab.network} is taken on this machine by {route['dst']} on "
                f"{route.get('dev')}; set virtual_lab_prefix to a free range"
            )


def check_root(lab: Lab) -> None:
    """Refuse a directory with files of others, unless a lab already uses it."""
    if lab.known_nodes():
        return
    own = {lab.root / "nodes", lab.root / "kernel", *kernel.records(lab)}
    files = [path for part in ("*", "nodes/*", "kernel/*") for path in lab.root.glob(part)]
    if others := sorted(str(path.relative_to(lab.root)) for path in files if path not in own):
        raise host.HostError(
            f"virtual_lab_root {lab.root} contains {others[0]}, which no lab made; set it to a "
            f"directory for this lab alone, such as {lab.root}/{lab.name}"
        )


def check_key(running: list[Node]) -> None:
    """Refuse running nodes of another account, which do not accept this one's SSH key."""
    for node in running:
        keys = node.tree / "home" / node.lab.user / ".ssh/authorized_keys"
        if str(node.lab.authorized_key).strip() not in host.text_of(keys).splitlines():
            raise host.HostError(
                f"the lab {node.lab.name} on this machine belongs to another account: {node.name} "
                "does not have this account's SSH key. Set rackbench_lab to another name and "
                "virtual_lab_prefix to a free range. If that lab is yours, run make lab-down"
            )


def check_room(lab: Lab, missing: list[Node]) -> None:
    """Refuse nodes for which memory or disk space is missing."""
    # The cap allows for studies with large heaps; all nodes at once need half of it.
    need = len(missing) * lab.memory_mb // 2
    shown = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
    available = int(shown[1]) // 1024  # type: ignore[index]
    if need > available:
        raise host.HostError(
            f"the lab needs {need} MiB of memory (half of {lab.memory_mb} for each of "
            f"{len(missing)} nodes), {available} MiB are available; use fewer workers or lower "
            "virtual_lab_memory_mb"
        )
    place = next(path for path in (lab.root, *lab.root.parents) if path.exists())
    fresh = [node for node in missing if not node.directory.exists()]
    need, free = len(fresh) * lab.disk_mb, shutil.disk_usage(place).free // MIB
    if need > free:
        raise host.HostError(
            f"the lab needs {need} MiB of disk below {lab.root}, {free} MiB are free; make room "
            "or set virtual_lab_root to a larger file system"
        )
