"""Checks what the inventory says of machines that are to be installed over the network."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Machine = Mapping[str, Any]

_MAC = re.compile(r"([0-9a-f]{2}:){5}[0-9a-f]{2}")
_DISK = re.compile(r"/dev/disk/by-(id|path)/[A-Za-z0-9._:+@-]+")
_PART = re.compile(r"-part\d+$")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_KEY = re.compile(r"(ssh|ecdsa|sk)-\S+ [A-Za-z0-9+/=]+( [^'\n]*)?")


def interface_problems(
    interface: str, network: Mapping[str, Any], despite: str, routes: str, interfaces: Sequence[str]
) -> list[str]:
    """Why DHCP must not be served on an interface.

    `network` is Ansible's fact of its IPv4 address, `despite` the interface that may carry the
    default route, `routes` what `ip -json route show default` printed, a line for each family.
    """
    if not interface:
        named = ", ".join(sorted(interfaces))
        return [f"no interface is named; set netboot_interface to the machines' ({named})"]
    if not network:
        return [
            f"the interface {interface} is not there or has no IPv4 address; give it one, or "
            "correct netboot_interface"
        ]
    carry = {route.get("dev") for line in routes.splitlines() for route in json.loads(line or "[]")}
    if interface in carry and despite != interface:
        return [
            f"{interface} carries this machine's default route, so other people's machines may be "
            "on it; use another interface, or, if all machines there are yours, set "
            f"netboot_despite_default_route: {interface} as well"
        ]
    return []


def machine_problems(machines: Sequence[Machine], network: str, own: str) -> list[str]:
    """What is wrong with machines; each line names the machine, the reason and the next step.

    `network` is the interface's network (`192.168.1.0/24`), `own` the control host's address there.
    """
    problems = []
    for machine in machines:
        problems += [f"{machine['name']}: {problem}" for problem in _of(machine, network, own)]
    for item in ("mac", "address"):
        seen: dict[str, str] = {}
        for machine in machines:
            other = seen.setdefault(machine[item], machine["name"])
            if other != machine["name"]:
                problems.append(
                    f"{machine['name']} and {other} have the same {item} {machine[item]}; "
                    "correct the inventory"
                )
    return problems


def _of(machine: Machine, network: str, own: str) -> Iterable[str]:
    if not _NAME.fullmatch(machine["name"]):
        yield "is no host name; use small letters, digits and dashes"
    if not _MAC.fullmatch(machine["mac"]):
        yield (
            f"netboot_mac is {machine['mac']!r}; write six pairs of hexadecimal digits with "
            "colons, as playbooks/discover.yml shows them"
        )
    if not re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", machine["user"]) or machine["user"] == "root":
        yield f"ansible_user is {machine['user']!r}; name an account that may use sudo, not root"
    if not _KEY.fullmatch(machine["key"]):
        yield (
            "netboot_key is no public SSH key; name the file of one in netboot_key_file "
            "(ssh-keygen -t ed25519 makes one)"
        )
    yield from _of_address(machine["address"], network, own)
    yield from _of_disk(machine["disk"])


def _of_address(address: str, network: str, own: str) -> Iterable[str]:
    try:
        inside = ipaddress.ip_address(address) in ipaddress.ip_network(network)
    except ValueError:
        inside = False
    if not inside or address == own:
        yield (
            f"its address {address} is none for a machine on {network}, the network of "
            "netboot_interface; correct ansible_host or netboot_address"
        )


def _of_disk(disk: Any) -> Iterable[str]:
    known = {"name", "min_gb", "max_gb"}
    if not isinstance(disk, Mapping) or not disk or not set(disk) <= known:
        yield (
            "netboot_disk names no disk; give its name (/dev/disk/by-id/…), or min_gb and max_gb, "
            "or all three"
        )
        return
    name = disk.get("name")
    if name is not None and (not _DISK.fullmatch(str(name)) or _PART.search(str(name))):
        yield (
            f"netboot_disk.name is {name}; write a name of a whole disk that stays the same, "
            "/dev/disk/by-id/… or /dev/disk/by-path/…"
        )
    low, high = disk.get("min_gb"), disk.get("max_gb")
    for key, size in (("min_gb", low), ("max_gb", high)):
        if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 0):
            yield f"netboot_disk.{key} is {size}; write a whole number of GB (10^9 bytes)"
            return
    if name is None and (low is None or high is None):
        yield "netboot_disk has one bound of the size alone; give min_gb and max_gb"
    elif low is not None and high is not None and low > high:
        yield f"netboot_disk wants at least {low} and at most {high} GB; correct one of them"


def machine_table(machines: Sequence[Machine], chosen: Sequence[str]) -> str:
    """What would be installed where, for a terminal."""
    rows = [("machine", "", "MAC address", "address", "disk")]
    for machine in machines:
        what = "ERASE AND INSTALL" if machine["name"] in chosen else "leave alone"
        rows.append(
            (machine["name"], what, machine["mac"], machine["address"], _rule(machine["disk"]))
        )
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _rule(disk: Mapping[str, Any]) -> str:
    """A disk's rule in words."""
    low, high = disk.get("min_gb"), disk.get("max_gb")
    bounds = [f"from {low} GB"] * (low is not None) + [f"to {high} GB"] * (high is not None)
    return " ".join([str(disk.get("name") or "the only one"), *bounds]) if disk else "(none named)"


def installed_machines(directory: str, *, known: bool = True) -> list[str]:
    """The names of machines that reported success, by what was kept below the state's directory.

    Without those whose host keys are `known`, if so asked.
    """
    reported = [file.parent for file in Path(directory).glob("machines/*/installed.json")]
    return sorted(of.name for of in reported if known or not (of / "known").exists())


def ssh_fingerprint(key: str) -> str:
    """The SHA256 fingerprint of a public SSH key, as ssh-keygen prints it."""
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """By the name templates use."""
        return {
            "netboot_interface_problems": interface_problems,
            "netboot_machine_problems": machine_problems,
            "netboot_installed": installed_machines,
            "netboot_table": machine_table,
            "ssh_fingerprint": ssh_fingerprint,
        }
