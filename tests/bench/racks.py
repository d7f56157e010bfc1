"""Racks of any number of machines: only as an inventory, or as a virtual lab."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from bench_lab import ROOT

FILES, PACKAGES = 250, 200
# In the network that RFC 2544 reserves for measurements; nothing is ever sent there.
FAKE_PREFIX = "198.18"


@dataclass(frozen=True)
class Rack:
    """A number of machines: the first is the client, the second the broker, the others workers."""

    size: int

    @property
    def names(self) -> list[str]:
        """Return all names, the client's first and the broker's second."""
        return ["client1", "broker1", *(f"worker{k}" for k in range(1, self.size - 1))]

    def groups(self, about: dict[str, Any]) -> dict[str, Any]:
        """Return the inventory's groups, each machine with its variables."""
        client, broker, *workers = self.names
        return {
            "client": {"hosts": {client: about.get(client)}},
            "broker": {"hosts": {broker: about.get(broker)}},
            "workers": {"hosts": {name: about.get(name) for name in workers}},
        }


def inventory_alone(size: int, directory: Path) -> Path:
    """Return `inventory/example` with imaginary machines and explicit addresses.

    Each has a fingerprint of real size, so that they can be compared.
    """
    mine = directory / f"rack{size}"
    shutil.copytree(ROOT / "inventory/example", mine)
    hosts = yaml.safe_load((mine / "hosts.yml").read_text())
    nodes = hosts["all"]["children"]["nodes"]
    rack = Rack(size)
    about = {
        name: {"ansible_host": f"{FAKE_PREFIX}.{place // 200}.{place % 200 + 11}"}
        for place, name in enumerate(rack.names)
    }
    nodes["children"] = rack.groups(about)
    nodes["vars"] |= {"ansible_connection": "local", "fingerprint_taken": taken()}
    (mine / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False))
    return mine


def taken() -> dict[str, Any]:
    """Return a made-up result of the role `fingerprint`, of a machine like all others."""
    digests = {
        f"/opt/rackbench/part/{number}": hashlib.sha256(str(number).encode()).hexdigest()
        for number in range(FILES)
    }
    packages = {f"package{number}": f"1.{number}-1" for number in range(PACKAGES)}
    fingerprint = {
        "os": "Debian GNU/Linux 13 (trixie)",
        "kernel": "6.12.57+deb13-amd64",
        "kernel_command_line": "ro quiet",
        "cpu_model": "made up",
        "cores": 8,
        "memory_mb": 32000,
        "clock_offset_ms": 0.1,
        "clock_uncertainty_ms": 0.5,
        "link_rtt_ms": 0.2,
        "link_measured_mbit": 940.0,
        "link_speed_mbit": "1000",
        "link_driver": "igb",
        "files": digests,
        "packages": packages,
        "sysctls": {f"net.setting{number}": "1" for number in range(22)},
        "jvms": {},
    }
    return {"fingerprint": fingerprint}


def virtual_inventory(size: int, directory: Path) -> Path:
    """Return `inventory/virtual` with this number of machines."""
    mine = directory / f"virtual{size}"
    shutil.copytree(ROOT / "inventory/virtual", mine)
    hosts = yaml.safe_load((mine / "hosts.yml").read_text())
    rack = Rack(size)
    about = {name: {"node_number": 11 + place} for place, name in enumerate(rack.names)}
    hosts["all"]["children"]["nodes"]["children"] = rack.groups(about)
    (mine / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False))
    return mine
