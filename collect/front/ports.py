"""Ports that rackbench's services need on a machine, and what else holds them there."""

import json
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from collect.front import ssh
from collect.front.inventory import Inventory, Node
from collect.front.kit import Kit

Sockets = Mapping[str, str]
"""ADDRESS:PORT of each service of a machine, by the variable that sets the port."""

_HOLDERS = "roles/baseline/files/port_holders"
_WORDS = 5


@dataclass(frozen=True)
class Holder:
    """What listens on a port that rackbench needs; `variable` sets rackbench's port."""

    port: str
    process: str
    unit: str
    account: str
    variable: str


def wanted(inventory: Inventory) -> Mapping[str, Sockets]:
    """Return the sockets of each machine's services; only Ansible fills in their templates."""
    kit = inventory.kit
    with TemporaryDirectory(prefix="rackbench-") as tree:
        shown = ("-m", "ansible.builtin.debug", "-a", "var=baseline_sockets", "--tree", tree)
        subprocess.run(
            kit.command("ansible", "nodes", *shown),
            cwd=kit.checkout,
            env=kit.environment(),
            capture_output=True,
            check=False,
        )
        return {file.name: _sockets(file) for file in Path(tree).iterdir()}


def holders(kit: Kit, node: Node, sockets: Sockets) -> list[Holder]:
    """Return what holds the ports of a machine's services; the services themselves do not count."""
    script = (kit.checkout / _HOLDERS).read_text(encoding="utf-8")
    asked = shlex.join(["sh", "-c", script, "port_holders", *sockets.values()])
    as_root = f'if [ "$(id -u)" = 0 ]; then exec {asked}; else exec sudo -n {asked}; fi'
    said = ssh.answer(node, shlex.join(["sh", "-c", as_root])).stdout
    variables = {place.rpartition(":")[2]: name for name, place in sockets.items()}
    held = dict.fromkeys(line for line in said.splitlines() if line.startswith("held "))
    found = [words for line in held if len(words := line.split()) == _WORDS]
    return [
        Holder(port, process, unit, account, variables.get(port, ""))
        for _, port, process, unit, account in found
    ]


def _sockets(file: Path) -> Sockets:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))["baseline_sockets"]
        return {str(name): str(place) for name, place in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
