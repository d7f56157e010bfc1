"""The lab's network: its bridge, its way out, and each node's link with its rate."""

import json
import shutil
from pathlib import Path
from typing import Any

from ansible.module_utils import host

from . import kernel
from .lab import Lab, Node

NAMESPACES = Path("/run/netns")
RULES = """
table ip {lab.table} {{
    chain postrouting {{
        type nat hook postrouting priority srcnat
        ip saddr {lab.network} oifname != "{lab.bridge}" masquerade
    }}
}}
"""


def link_of(name: str) -> dict[str, Any] | None:
    """Return a link of this machine with its addresses, or None."""
    links: list[dict[str, Any]] = json.loads(host.run("ip", "-json", "-details", "address", "show"))
    return next((link for link in links if link["ifname"] == name), None)


def bridge_of(lab: Lab) -> dict[str, Any] | None:
    """Return the lab's bridge, or None; refuse a link of that name which is not ours."""
    link = link_of(lab.bridge)
    if link and link.get("ifalias") != f"rackbench lab {lab.name}":
        raise host.HostError(
            f"a link named {lab.bridge} exists and is not a bridge of the lab {lab.name}; "
            "set virtual_lab_bridge to another name"
        )
    return link


def make_bridge(lab: Lab) -> bool:
    """Make the bridge and give the control host its address on it."""
    if bridge_of(lab):
        return False
    host.run("ip", "link", "add", "name", lab.bridge, "type", "bridge", "stp_state", "0")
    host.run("ip", "link", "set", "dev", lab.bridge, "alias", f"rackbench lab {lab.name}")
    host.run("ip", "address", "add", f"{lab.gateway}/24", "dev", lab.bridge)
    host.run("ip", "link", "set", "dev", lab.bridge, "up")
    return True


def drop_bridge(lab: Lab) -> bool:
    """Remove the bridge; whether there was one."""
    if not bridge_of(lab):
        return False
    host.run("ip", "link", "delete", "dev", lab.bridge)
    return True


def has_table(lab: Lab) -> bool:
    """Return whether this machine's packet filter has the lab's table."""
    listed = json.loads(host.run("nft", "--json", "list", "tables", "ip"))["nftables"]
    return any(row.get("table", {}).get("name") == lab.table for row in listed)


def set_internet(lab: Lab) -> bool:
    """Let nodes reach beyond the lab, or no longer; whether that changed anything."""
    if not lab.internet:
        return close_internet(lab)
    if has_table(lab):
        return False
    kernel.change(lab, kernel.IP_FORWARD, "1\n")
    host.run("nft", "-f", "-", stdin=RULES.format(lab=lab))
    return True


def close_internet(lab: Lab) -> bool:
    """Let nodes no longer reach beyond the lab; whether they could."""
    restored = kernel.restore(lab, kernel.IP_FORWARD)
    if not shutil.which("nft") or not has_table(lab):
        return restored
    host.run("nft", "delete", "table", "ip", lab.table)
    return True


def make_link(node: Node) -> bool:
    """Make the node's own network, linked to the bridge; both outlive its reboots."""
    here = link_of(node.link)
    if here and here.get("master") == node.lab.bridge and (NAMESPACES / node.key).exists():
        return False
    drop_link(node)
    host.run("ip", "netns", "add", node.key)
    veth = ("type", "veth", "peer", "name", "host0", "netns", node.key)
    host.run("ip", "link", "add", "name", node.link, *veth)
    host.run("ip", "link", "set", "dev", node.link, "master", node.lab.bridge, "up")
    return True


def drop_link(node: Node) -> None:
    """Remove the node's link and network."""
    if link_of(node.link):
        host.run("ip", "link", "delete", "dev", node.link)
    if (NAMESPACES / node.key).exists():
        host.run("ip", "netns", "delete", node.key)


def drop_namespaces() -> None:
    """Remove the mount that the first `ip netns add` made, once it is empty."""
    if NAMESPACES.is_mount() and not any(NAMESPACES.iterdir()):
        host.run("umount", str(NAMESPACES))


def shape(node: Node) -> bool:
    """Limit the node's link to the lab's rate, in both directions, as a switch port would."""
    lab, changed = node.lab, False
    # Without the option `-details` tc prints bytes a second.
    wanted = [lab.link_mbit * 125_000] if lab.link_mbit else []
    for tc, device in ((["tc", "-netns", node.key], "host0"), (["tc"], node.link)):
        queues = json.loads(host.run(*tc, "-json", "qdisc", "show", "dev", device) or "[]")
        if [row["options"]["rate"] for row in queues if row["kind"] == "tbf"] == wanted:
            continue
        changed = True
        if not lab.link_mbit:
            host.run(*tc, "qdisc", "del", "dev", device, "root")
            continue
        rate = ("rate", f"{lab.link_mbit}mbit", "burst", str(lab.link_burst_bytes))
        host.run(*tc, "qdisc", "replace", "dev", device, "root", "tbf", *rate, "latency", "100ms")
    return changed
