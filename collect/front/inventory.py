"""The machines of an inventory as Ansible reads it, and what is wrong with it."""

import argparse
import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from collect.counts import show_count
from collect.errors import InputError
from collect.front.bench import BECOME_METHOD, GROUPS, becomes, ill_written
from collect.front.kit import Kit
from collect.printable import printable
from collect.strict_json import parse_json

UNFILLED = "FILL-IN"
"""What stands in a new hosts.yml where an address belongs."""

_OF_ANSIBLE = {"all", "ungrouped", "localhost"}
_PATTERN = re.compile(r"[*?\[~@]")
_NOT_IN_BRACKETS = re.compile(r":(?![^\[]*\])")


@dataclass(frozen=True)
class Node:
    """One machine, and how SSH reaches it; `arguments` are further ones for ssh.

    The port 0 is that of ssh's own configuration. With `becomes`, Ansible uses sudo there.
    """

    name: str
    address: str
    port: int
    user: str
    key: str
    arguments: str
    groups: tuple[str, ...]
    becomes: bool = True


@dataclass(frozen=True)
class Inventory:
    """What Ansible knows of the machines before it asks any of them."""

    kit: Kit
    groups: Mapping[str, Sequence[str]]
    hostvars: Mapping[str, Mapping[str, Any]]

    @property
    def nodes(self) -> list[Node]:
        """The machines of the bench, in the inventory's order."""
        return [self._node(name) for name in self.groups.get("nodes", ())]

    @property
    def is_virtual(self) -> bool:
        """Whether `rackbench lab up` makes its machines."""
        return any(one.get("rackbench_lab_kind") == "virtual" for one in self.hostvars.values())

    @property
    def name(self) -> str:
        """Where it is, for people."""
        return ", ".join(self.kit.inventories)

    def problems(self) -> list[str]:
        """Return why this cannot be a bench, by the rules of playbooks/validate.yml."""
        if unfilled := self._unfilled():
            return [unfilled]
        found = ill_written(self.hostvars, self.groups, _become_method(self.kit))
        return [f"{self.name}: {problem}" for problem in found]

    def demand_bench(self) -> None:
        """Raise InputError unless this can be a bench."""
        if found := self.problems():
            raise InputError("\n".join(found))

    def demand_addresses(self) -> None:
        """Raise InputError where a machine has no address yet; other faults may be there."""
        if unfilled := self._unfilled():
            raise InputError(unfilled)

    def demand_names(self, limit: str) -> None:
        """Raise InputError where `--limit` names what the inventory lacks; patterns may match."""
        hosts = {host for members in self.groups.values() for host in members}
        known = {*self.groups, *hosts, *_OF_ANSIBLE}
        for part in limit.split(","):
            whole = part.strip()
            words = [whole] if whole in known else _NOT_IN_BRACKETS.split(whole)
            for name in (word.strip().lstrip("!&") for word in words):
                if name not in {*known, ""} and not _PATTERN.search(name):
                    raise InputError(
                        f"{self.name}: has no machine {name!r}; name some of "
                        f"{', '.join(node.name for node in self.nodes)}, or a group, to --limit"
                    )

    def machines(self) -> str:
        """Return the machines with their groups as one line."""
        named = [f"{node.name} ({', '.join(node.groups)})" for node in self.nodes]
        return f"{show_count(len(named), 'machine')}: {', '.join(named)}"

    def _unfilled(self) -> str:
        names = [node.name for node in self.nodes if node.address in {"", UNFILLED}]
        if not names:
            return ""
        return (
            f"{self.name}: {', '.join(names)} {'has' if len(names) == 1 else 'have'} no address "
            "yet; write ansible_host into hosts.yml"
        )

    def _node(self, name: str) -> Node:
        values = self.hostvars.get(name, {})
        return Node(
            name=name,
            address=str(values.get("ansible_host", name) or ""),
            port=_port(name, values.get("ansible_port")),
            user=str(values.get("ansible_user") or ""),
            key=str(values.get("ansible_ssh_private_key_file") or ""),
            arguments=_arguments(name, values.get("ansible_ssh_common_args")),
            groups=tuple(group for group in GROUPS if name in self.groups.get(group, ())),
            becomes=becomes(values, os.environ.get("ANSIBLE_BECOME")),
        )


def _become_method(kit: Kit) -> str | None:
    """Return how Ansible becomes root where the inventory does not say so."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--become-method", default=os.environ.get(BECOME_METHOD))
    method: str | None = parser.parse_known_args(kit.more)[0].become_method
    return method


def _port(name: str, value: Any) -> int:
    text = str(value or 0)
    if not (text.isascii() and text.isdecimal()):
        raise InputError(f"{name}: ansible_port is {text!r}; write a number into hosts.yml")
    return int(text)


def _arguments(name: str, value: Any) -> str:
    text = str(value or "")
    try:
        shlex.split(text)
    except ValueError as error:
        raise InputError(
            f"{name}: ansible_ssh_common_args is {text!r} ({error}); correct hosts.yml"
        ) from error
    return text


def read_inventory(kit: Kit) -> Inventory:
    """Read the inventory of a kit; no machine is asked. Raises InputError."""
    done = subprocess.run(
        kit.command("ansible-inventory", "--list"),
        cwd=kit.checkout,
        env=kit.environment(),
        capture_output=True,
        check=False,
    )
    try:
        content = parse_json(done.stdout)
    except ValueError:
        content = {}
    where = ", ".join(kit.inventories)
    if done.returncode or not isinstance(content, dict) or "_meta" not in content:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        # After its reason Ansible shows the lines of the file.
        told = [line for line in said if line.startswith(("[ERROR]", "Origin:"))] or said[-1:]
        raise InputError(
            f"{where}: cannot be read as an inventory "
            f"({printable(' '.join(told)) or 'Ansible gave no reason'}); correct it"
        )
    groups = {name: _hosts(content, name) for name in content if name != "_meta"}
    if not groups.get("nodes"):
        _demand_yaml(kit)
        raise InputError(
            f"{where}: has no machine in the group nodes; write client, broker and workers into "
            "hosts.yml, as in inventory/example"
        )
    return Inventory(kit, groups, _bare(content["_meta"].get("hostvars", {})))


def _demand_yaml(kit: Kit) -> None:
    """Raise InputError for a hosts.yml that is no text or not YAML; Ansible only warns of it."""
    for place in map(Path, kit.inventories):
        path = place / "hosts.yml" if place.is_dir() else place
        if path.suffix in {".yml", ".yaml"} and path.is_file():
            try:
                yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader)
            except (UnicodeDecodeError, yaml.reader.ReaderError) as error:
                reason = " ".join(str(error).split())
                raise InputError(
                    f"{path}: is not plain UTF-8 text ({reason}); save it as UTF-8"
                ) from error
            except yaml.MarkedYAMLError as error:
                line = error.problem_mark.line + 1 if error.problem_mark else 1
                raise InputError(
                    f"{path}: line {line} is not valid YAML ({error.problem}); correct it"
                ) from error


def _hosts(content: Mapping[str, Any], name: str) -> list[str]:
    """Return the hosts of a group and of those below it, in order."""
    group = content.get(name, {})
    below = [host for child in group.get("children", ()) for host in _hosts(content, child)]
    return list(dict.fromkeys([*group.get("hosts", ()), *below]))


def _bare(value: Any) -> Any:
    """Return values without the marks that ansible-inventory puts on what a lookup gave."""
    if isinstance(value, dict):
        if set(value) == {"__ansible_unsafe"}:
            return value["__ansible_unsafe"]
        return {key: _bare(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_bare(one) for one in value]
    return value
