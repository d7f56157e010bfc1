"""The lab's network: its bridge, its route to the outside, and each node's link with its rate."""

import json
import math
from pathlib import Path
from typing import Any

from ansible.module_utils import host
from ansible.module_utils.netem import delay_and_loss

from . import kernel
from .lab import Lab, Node

NAMESPACES = Path("/run/netns")
OWN_END = "host0"
LATENCY_MS = 100
"""Longest wait of data for the rate of a link."""
PACKET_BYTES = 1514
LEAST_PACKETS, UNSHAPED_PACKETS = 100, 100_000
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
    """Return the lab's bridge, or None; refuse a foreign link of that name."""
    link = link_of(lab.bridge)
    if link and link.get("ifalias") != f"rackbench lab {lab.name}":
        raise host.HostError(
            f"a link named {lab.bridge} exists and is not a bridge of the lab {lab.name}; "
            "set virtual_lab_bridge to another name"
        )
    return link


def delete(name: str) -> bool:
    """Remove a link; return whether there was one."""
    if not link_of(name):
        return False
    host.run("ip", "link", "delete", "dev", name)
    return True


def make_bridge(lab: Lab) -> bool:
    """Make the bridge and give the control host its address on it."""
    if bridge_of(lab):
        return False
    delete(lab.new_bridge)
    host.run("ip", "link", "add", "name", lab.new_bridge, "type", "bridge", "stp_state", "0")
    host.run("ip", "address", "add", f"{lab.gateway}/24", "dev", lab.new_bridge)
    # The kernel does all of it or nothing: no kill leaves a bridge of that name without the mark.
    named = ("name", lab.bridge, "alias", f"rackbench lab {lab.name}")
    host.run("ip", "link", "set", "dev", lab.new_bridge, *named, "up")
    return True


def drop_bridge(lab: Lab) -> bool:
    """Remove the bridge; return whether there was one."""
    is_new = delete(lab.new_bridge)
    return delete(lab.bridge) if bridge_of(lab) else is_new


def has_table(lab: Lab) -> bool:
    """Return whether this machine's packet filter has the lab's table."""
    return bool(host.succeeds("nft", "list", "table", "ip", lab.table))


def set_internet(lab: Lab) -> bool:
    """Let nodes reach beyond the lab, or no longer; return whether that changed anything."""
    if not lab.internet:
        return close_internet(lab)
    is_open = has_table(lab)
    if is_open and kernel.IP_FORWARD.read_text().strip() == "1":
        return False
    kernel.change(lab, kernel.IP_FORWARD, "1\n")
    if not is_open:
        host.run("nft", "-f", "-", stdin=RULES.format(lab=lab))
    return True


def close_internet(lab: Lab) -> bool:
    """Stop nodes from reaching beyond the lab; return whether they could."""
    restored = kernel.restore(lab, kernel.IP_FORWARD)
    if not has_table(lab):
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
    veth = ("type", "veth", "peer", "name", OWN_END, "netns", node.key)
    host.run("ip", "link", "add", "name", node.link, *veth)
    host.run("ip", "link", "set", "dev", node.link, "master", node.lab.bridge, "up")
    return True


def drop_link(node: Node) -> None:
    """Remove the node's link and network."""
    delete(node.link)
    if (NAMESPACES / node.key).exists():
        host.run("ip", "netns", "delete", node.key)


def drop_namespaces() -> None:
    """Remove the mount that the first `ip netns add` made, once it is empty."""
    if NAMESPACES.is_mount() and not any(NAMESPACES.iterdir()):
        host.run("umount", str(NAMESPACES))


def ends_to_shape(node: Node) -> list[tuple[list[str], str, list[str], list[dict[str, Any]]]]:
    """Return the ends of a node's link without the lab's rate, delay or loss.

    Of each: tc's command there, the device, netem's arguments, and its queueing disciplines. Delay
    and loss apply only to packets that the node sends, so each packet has them once.
    """
    found = []
    own = (["tc", "-netns", node.key], OWN_END, netem_of(node.lab))
    for tc, device, netem in (own, (["tc"], node.link, [])):
        queues = json.loads(host.run(*tc, "-json", "qdisc", "show", "dev", device) or "[]")
        if not is_shaped(queues, node.lab, is_impaired=bool(netem)):
            found.append((tc, device, netem, queues))
    return found


def shape(node: Node) -> bool:
    """Limit the node's link to the lab's rate, in both directions, as a switch port would."""
    lab, ends = node.lab, ends_to_shape(node)
    for tc, device, netem, queues in ends:
        # A shaper that loses only its netem would send nothing.
        kinds = {row["kind"] for row in queues} & {"tbf", "netem"}
        if kinds and (netem or "netem" in kinds or not lab.link_mbit):
            host.run(*tc, "qdisc", "del", "dev", device, "root")
        place = ["root"]
        if lab.link_mbit:
            place += ["handle", "1:"] if netem else []
            rate = ("rate", f"{lab.link_mbit}mbit", "burst", str(lab.link_burst_bytes))
            shaper = ("tbf", *rate, "latency", f"{LATENCY_MS}ms")
            host.run(*tc, "qdisc", "replace", "dev", device, *place, *shaper)
            place = ["parent", "1:1"]
        if netem:
            host.run(*tc, "qdisc", "replace", "dev", device, *place, "netem", *netem)
    return bool(ends)


def netem_of(lab: Lab) -> list[str]:
    """Return tc's arguments for the lab's delay and loss; nothing if it has neither.

    Its queue replaces the shaper's own and is as deep, because it also holds the packets that wait
    for the rate.
    """
    if not (lab.link_delay_ms or lab.link_loss):
        return []
    bits = lab.link_mbit * 1e3 * (LATENCY_MS + lab.link_delay_ms)
    packets = math.ceil(bits / 8 / PACKET_BYTES) if lab.link_mbit else UNSHAPED_PACKETS
    delay = ["delay", f"{lab.link_delay_ms:g}ms"] if lab.link_delay_ms else []
    loss = ["loss", f"{lab.link_loss:g}%"] if lab.link_loss else []
    return ["limit", str(max(LEAST_PACKETS, packets)), *delay, *loss]


def is_shaped(queues: list[dict[str, Any]], lab: Lab, *, is_impaired: bool) -> bool:
    """Return whether queueing disciplines already have the lab's rate, delay and loss."""
    rates = [row["options"]["rate"] for row in queues if row["kind"] == "tbf"]
    # Without `-details` tc prints bytes a second.
    if rates != ([lab.link_mbit * 125_000] if lab.link_mbit else []):
        return False
    wanted = (lab.link_delay_ms, lab.link_loss) if is_impaired else (0.0, 0.0)
    pairs = zip(delay_and_loss(queues), wanted, strict=True)
    return all(math.isclose(held, asked, rel_tol=1e-4) for held, asked in pairs)
