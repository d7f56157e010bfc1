"""Checks the inventory's description of machines to install over the network."""

import ipaddress
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible.module_utils.parsing.convert_bool import BOOLEANS, boolean

EXAMPLES = r"""
- name: Show what is wrong with the network and the machines
  ansible.builtin.debug:
    msg:
      - "{{ '192.168.1.0/24' | netboot_network_problems([], '', []) }}"
      - "{{ machines | netboot_machine_problems('192.168.1.0/24', '192.168.1.2') }}"
  vars:
    machines: "{{ groups['nodes'] | netboot_machines(hostvars) }}"
"""

Machine = Mapping[str, Any]

_MAC = re.compile(r"([0-9a-f]{2}:){5}[0-9a-f]{2}")
_DISK = re.compile(r"/dev/disk/by-(id|path)/[A-Za-z0-9._:+@-]+")
_PART = re.compile(r"-part\d+$")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_KEY = re.compile(r"(ssh|ecdsa|sk)-\S+ [A-Za-z0-9+/=]+( [^'\n]*)?")

_ACCOUNT = {"user": r"[^\r\n\0]+", "password": r"[^\r\n\0]+"}
_REDFISH = {"redfish": r"https?://[^\s/]\S*", **_ACCOUNT}
# The ways of netboot_power: what each has, and the form of it.
_POWER = (
    {"ipmi": r"[A-Za-z0-9][A-Za-z0-9.:-]*", **_ACCOUNT},
    _REDFISH,
    {"public_key": r"[^\r\n\0]+", **_REDFISH},
)


def inventory_machines(nodes: Sequence[str], hostvars: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the nodes with a `netboot_mac`, in the form that the role needs.

    Each file with a public key is read once. Raises AnsibleFilterError, which names machine, reason
    and next step, for values of a wrong type.
    """
    problems: list[str] = []
    keys: dict[str, str] = {}
    machines = []
    for name in nodes:
        of = hostvars[name]
        if "netboot_mac" not in of:
            continue
        problems += [f"{name}: {problem}" for problem in _of_types(of)]
        file = of.get("netboot_key_file") or f"{of.get('ansible_ssh_private_key_file') or ''}.pub"
        if file not in keys:
            keys[file] = _first_line(Path(str(file)).expanduser())
        machines.append(
            {
                "name": name,
                "mac": str(of["netboot_mac"]).lower(),
                "disk": of.get("netboot_disk") or {},
                "install": boolean(of.get("netboot_install", False), strict=False),
                "uefi": boolean(of.get("netboot_uefi", False), strict=False),
                "address": str(of.get("netboot_address") or of.get("ansible_host") or ""),
                "port": of.get("ansible_port", 22),
                "ssh_args": of.get("ansible_ssh_common_args") or "",
                "user": str(of.get("ansible_user") or ""),
                "key": keys[file],
                "power": of.get("netboot_power") or "",
            }
        )
    if problems:
        raise AnsibleFilterError("\n".join(problems))
    return machines


def _of_types(of: Mapping[str, Any]) -> Iterable[str]:
    for name in ("netboot_install", "netboot_uefi"):
        if str(of.get(name, False)).lower() not in BOOLEANS:
            yield f"{name} is {of[name]!r}; write true or false"
    if not isinstance(of.get("netboot_disk") or {}, Mapping):
        yield (
            f"netboot_disk is {of['netboot_disk']!r}; write a rule, "
            "{name: /dev/disk/by-id/…} or {min_gb: 200, max_gb: 600}"
        )
    try:
        shlex.split(str(of.get("ansible_ssh_common_args") or ""))
    except ValueError as error:
        yield f"ansible_ssh_common_args cannot be split into words: {error}; close its quotes"
    port = str(of.get("ansible_port", 22))
    if not port.isdigit() or not 0 < int(port) < 65_536:
        yield f"ansible_port is {port!r}; write a number from 1 to 65535"


def _first_line(file: Path) -> str:
    """Return the content of a file of one line; nothing if it is missing."""
    try:
        return file.read_text().strip()
    except (OSError, ValueError):
        return ""


def network_problems(
    network: str, addresses: Sequence[Any], gateway: Any, nameservers: Sequence[Any]
) -> list[str]:
    """Return the faults of netboot_range, netboot_gateway and netboot_nameservers."""
    problems = []
    inside = [found for address in addresses if (found := _address(address, network))]
    if addresses and not (len(addresses) == len(inside) == 2 and inside[0] <= inside[1]):
        problems.append(
            f"netboot_range is {list(addresses)}; write the first and the last address of a range "
            f"in {network}, the network of netboot_interface, or []"
        )
    if gateway and not _address(gateway, network):
        problems.append(
            f"netboot_gateway is {gateway}, which is not an address of {network}; write the "
            'router\'s address there, or "" for machines without one'
        )
    problems += [
        f"netboot_nameservers names {server}; write IPv4 addresses"
        for server in nameservers
        if not _address(server, "0.0.0.0/0")
    ]
    return problems


def _address(text: Any, network: str) -> ipaddress.IPv4Address | None:
    """Return an address of a network; None for anything else."""
    try:
        address = ipaddress.IPv4Address(str(text))
    except ValueError:
        return None
    return address if address in ipaddress.IPv4Network(network) else None


def machine_problems(
    machines: Sequence[Machine], network: str, own: str, again: Sequence[str] = ()
) -> list[str]:
    """Return the faults of machines, each with the machine's name, the reason and the next step.

    `network` is the interface's network (`192.168.1.0/24`), `own` the control host's address there,
    `again` the names of machines to install again. The description of machines that are not
    installed may be incomplete.
    """
    if not any(machine["install"] for machine in machines):
        return [
            "no machine of the inventory is to be installed; write netboot_install: true and the "
            "netboot_mac of each into hosts.yml (playbooks/discover.yml shows the addresses)"
        ]
    meant = [machine for machine in machines if machine["install"]]
    names = {machine["name"] for machine in meant}
    problems = [
        f"{name}: again names it, but no such machine has netboot_install: true; correct either"
        for name in again
        if name not in names
    ]
    for machine in meant:
        problems += [f"{machine['name']}: {problem}" for problem in _of(machine, network, own)]
    for item in ("mac", "address"):
        seen: dict[str, str] = {}
        for machine in machines:
            if not machine[item]:
                continue
            other = seen.setdefault(machine[item], machine["name"])
            if other != machine["name"]:
                problems.append(
                    f"{machine['name']} and {other} have the same {item} {machine[item]}; "
                    "correct the inventory"
                )
    return problems


def _of(machine: Machine, network: str, own: str) -> Iterable[str]:
    if not _NAME.fullmatch(machine["name"]):
        yield "is not a host name; use small letters, digits and dashes"
    if not _MAC.fullmatch(machine["mac"]):
        yield (
            f"netboot_mac is {machine['mac']!r}; write six pairs of hexadecimal digits with "
            "colons, as playbooks/discover.yml shows them"
        )
    if not re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", machine["user"]) or machine["user"] == "root":
        yield f"ansible_user is {machine['user']!r}; name an account that may use sudo, not root"
    if not _KEY.fullmatch(machine["key"]):
        yield (
            "netboot_key_file names no public SSH key; name the file of one there "
            "(ssh-keygen -t ed25519 makes one)"
        )
    if not _address(machine["address"], network) or machine["address"] == own:
        yield (
            f"its address {machine['address']} cannot be that of a machine on {network}, the "
            "network of netboot_interface; correct ansible_host or netboot_address"
        )
    yield from _of_disk(machine["disk"])
    if not _starts_by(machine["power"]):
        # Without its value, which may be a password.
        yield (
            "netboot_power must be wake, {ipmi: ADDRESS, user: …, password: …} or "
            "{redfish: https://…/redfish/v1/Systems/…, user: …, password: …}, the latter also with "
            "public_key: sha256//…; correct the inventory"
        )


def _starts_by(power: Any) -> bool:
    """Return whether a machine can be started in this way; nothing means by hand."""
    if not isinstance(power, Mapping):
        return power in ("", "wake")
    texts = {key: str(value) for key, value in power.items() if isinstance(value, str | int)}
    return len(texts) == len(power) and any(
        texts.keys() == way.keys() and all(re.fullmatch(way[key], texts[key]) for key in way)
        for way in _POWER
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
        yield "netboot_disk has only one bound of the size; give min_gb and max_gb"
    elif low is not None and high is not None and low > high:
        yield f"netboot_disk wants at least {low} and at most {high} GB; correct one of them"


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {
            "netboot_machines": inventory_machines,
            "netboot_network_problems": network_problems,
            "netboot_machine_problems": machine_problems,
        }
