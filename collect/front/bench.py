"""Faults of an inventory that keep it from being a bench, found without asking any machine."""

import ipaddress
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Literal

GROUPS = ("client", "broker", "workers")
BECOME_METHOD = "ANSIBLE_BECOME_METHOD"
"""The environment variable that sets the become method of nodes whose inventory names none."""
_SUDO = {"sudo", "ansible.builtin.sudo"}

Lack = Literal["root", "sudo", "terminal", "rule"]
"""What an account lacks to act as root: it is not root and nothing asks for sudo; it is root and
sudo is not installed; sudo works at a terminal only; or sudo asks for a password."""


def ill_written(
    hostvars: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, Sequence[str]],
    method: str | None = None,
) -> list[str]:
    """Return what is wrong with an inventory itself, as playbooks and `rackbench` refuse it.

    `hostvars` have the `node_address` of each node by its name, `groups` the names of the members.
    `method` is the become method of nodes whose inventory names none.
    """
    names = groups.get("nodes", [])
    return [
        *_empty_groups(groups),
        *_double_groups(groups),
        *_methods({name: hostvars[name] for name in names}, method),
        *(text for name in names for text in _address(name, hostvars[name], len(names))),
        *_shared_addresses({name: str(hostvars[name]["node_address"]) for name in names}),
    ]


def becomes(node: Mapping[str, Any], default: object = False) -> bool:
    """Return whether Ansible uses sudo on a node; `default` is for nodes whose inventory lacks it.

    As Ansible reads the variable: every word that it does not take for true is false.
    """
    word = str(node.get("ansible_become", default)).lower()
    return word in {"true", "yes", "y", "on", "t", "1", "1.0"}


def lack_of_root(facts: Container[str], *, becomes: bool) -> Lack | None:
    """Return what keeps playbooks from acting as root on a node, by the words of its answer.

    These are `is-root`, `can-sudo` and `sudo-wants-tty`; `becomes` is whether Ansible uses sudo.
    """
    if not becomes:
        return None if "is-root" in facts else "root"
    if "can-sudo" in facts:
        return None
    if "sudo-wants-tty" in facts:
        return "terminal"
    return "sudo" if "is-root" in facts else "rule"


def _empty_groups(groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for group in GROUPS:
        if not groups.get(group):
            yield f"the group {group} has no node; write one into it in hosts.yml"
    strangers = {name for group in GROUPS for name in groups.get(group, [])}
    for name in sorted(strangers - set(groups.get("nodes", []))):
        yield f"{name} is not in the group nodes; make client, broker and workers its children"


def _double_groups(groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for group in ("client", "broker"):
        if len(members := groups.get(group, [])) > 1:
            yield (
                f"the group {group} has {' and '.join(members)}, and no study uses more than one "
                f"{group}: two clients would run the same trials on the same workers, and a second "
                "broker would be idle. Keep one of them in hosts.yml"
            )


def _methods(nodes: Mapping[str, Mapping[str, Any]], default: str | None) -> Iterator[str]:
    own = {
        name: str(node.get("ansible_become_method") or "")
        for name, node in nodes.items()
        if becomes(node, default=True)
    }
    for name, method in own.items():
        if method and method not in _SUDO:
            yield (
                f"{name}: ansible_become_method is {method}, but rackbench becomes root by sudo "
                "only. Install sudo there, give the account a NOPASSWD rule, and remove that line "
                "from hosts.yml; or log in as root: ansible_user: root, ansible_become: false"
            )
    if default and default not in _SUDO and not all(own.values()):
        yield (
            f"{BECOME_METHOD} or --become-method is {default}, but rackbench becomes root by sudo "
            "only. Unset it, and give the account on each node a NOPASSWD rule of sudo; or log in "
            "as root: ansible_user: root, ansible_become: false"
        )


def _address(name: str, node: Mapping[str, Any], nodes: int) -> Iterator[str]:
    address = str(node["node_address"])
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        yield (
            f"{name}: no name server here knows the name {address}. Correct it, or write the "
            "node's own address on the bench's network next to it: node_address: 192.168.1.11"
        )
        return
    if parsed.version == 6:
        yield (
            f"{name}: the services need an IPv4 address, but {address} is not one. SSH may use "
            "IPv6; write next to it node_address: 192.168.1.11, the node's IPv4 address"
        )
    elif parsed.is_unspecified or parsed.is_multicast or (parsed.is_loopback and nodes > 1):
        yield (
            f"{name}: other nodes cannot reach it at {address}; write node_address: with the "
            "node's address on the bench's network into hosts.yml"
        )


def _shared_addresses(addresses: Mapping[str, str]) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for name, address in addresses.items():
        names.setdefault(address, []).append(name)
    for address, sharing in names.items():
        if len(sharing) > 1:
            yield (
                f"{' and '.join(sharing)} have the same address {address}. One machine has one "
                "name, which may stand in several groups; correct hosts.yml"
            )
