"""Three machines without a system that boot from the network."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from labs import Lab
from machine import wait_for
from metal import Metal

MACS = {
    "bios1": "52:54:00:7b:00:01",
    "uefi1": "52:54:00:7b:00:02",
    "kept1": "52:54:00:7b:00:03",
    "stranger": "52:54:00:7b:00:04",
}
FIRMWARE = {"bios1": "bios", "uefi1": "uefi", "stranger": "bios"}
# What stands for a system on the disk.
SYSTEMS = ("bios1", "stranger")
CLOCKS = {"bios1": "2020-02-29"}
PORTS = (67, 69, 5514, 8087)
CHOSEN = ("bios1", "uefi1")
# uefi1 has no disk of that size.
RULES = {
    "bios1": {"name": "/dev/disk/by-id/virtio-bios1", "min_gb": 4, "max_gb": 20},
    "uefi1": {"min_gb": 100, "max_gb": 200},
    "kept1": {"min_gb": 4, "max_gb": 20},
}

Archive = Future[dict[str, object]]
"""The inventory's settings for an archive that can be installed from, once it is found."""


@dataclass
class Boots:
    """The machines, the inventory that names them, and the playbook that serves them."""

    lab: Lab
    directory: Path
    archive: Archive
    machines: dict[str, Metal] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    log: Path | None = None

    @property
    def interface(self) -> str:
        """The lab's bridge."""
        return f"{self.lab.name}-0"

    @property
    def address(self) -> str:
        """This host's address there."""
        return self.lab.nodes["client1"].rpartition(".")[0] + ".1"

    @property
    def state(self) -> Path:
        """Where the playbook keeps what it serves."""
        return self.lab.player.home / "rackbench" / self.lab.name / "netboot"

    @property
    def inventory(self) -> list[Path]:
        """The lab's own inventory, and the machines."""
        return [*self.lab.player.inventory, self.directory / "machines.yml"]

    @property
    def said(self) -> str:
        """What the playbook that serves has printed."""
        return self.log.read_text(errors="replace") if self.log else ""

    def make(self) -> None:
        """Make the machines, and write them into an inventory."""
        for name, firmware in FIRMWARE.items():
            place = self.directory / name
            clock = CLOCKS.get(name, "utc")
            machine = Metal(name, MACS[name], self.interface, place, firmware, clock)
            machine.make(system=name in SYSTEMS)
            self.machines[name] = machine
        self.describe({})

    def describe(self, more: Mapping[str, object]) -> None:
        """Write the machines and these settings into an inventory."""
        hosts = {
            name: {
                "node_number": number,
                "netboot_mac": MACS[name],
                "netboot_install": name in CHOSEN,
                "netboot_disk": rule,
            }
            for number, (name, rule) in enumerate(RULES.items(), 41)
        }
        prefix = self.address.rpartition(".")[0]
        settings = {
            "netboot_interface": self.interface,
            "netboot_range": [f"{prefix}.200", f"{prefix}.210"],
            "netboot_wait_s": 900,
            **more,
        }
        workers = {"workers": {"hosts": hosts}}
        inventory = {"all": {"vars": settings, "children": {"nodes": {"children": workers}}}}
        (self.directory / "machines.yml").write_text(yaml.safe_dump(inventory))

    def begin(self) -> None:
        """Serve, and switch the machines on, or off and on."""
        self.describe(self.archive.result())
        self.process, self.log = self.lab.player.start(
            "netboot.yml", {"confirm": ",".join(CHOSEN)}, inventory=self.inventory, stock=True
        )
        wait_for(lambda: "boot from the network now" in self.said or self.ended, "serving", 120)
        for machine in self.machines.values():
            machine.stop()
            machine.start()

    @property
    def ended(self) -> bool:
        """Whether the playbook has come to an end."""
        return self.process is not None and self.process.poll() is not None

    def states(self, name: str) -> list[str]:
        """The states of a machine, as the playbook told them."""
        return re.findall(rf"^\d\d:\d\d:\d\d {name}: (.*)$", self.said, re.MULTILINE)

    def await_state(self, name: str, state: str, timeout_s: float) -> None:
        """Wait until the playbook has told that a machine is so far."""
        wait_for(
            lambda: any(told.startswith(state) for told in self.states(name)) or self.ended,
            f"{name} is {state}",
            timeout_s,
        )
        assert any(told.startswith(state) for told in self.states(name)), self.said

    def planned(self, name: str) -> dict[str, Any]:
        """What is served to a machine: its `address`, its `token` and more."""
        plan = json.loads((self.state / "plan.json").read_text())
        machine: dict[str, Any] = plan["machines"][MACS[name]]
        return machine

    @contextmanager
    def in_place_of(self, name: str) -> Iterator[list[str]]:
        """What runs a command with the address and the card of a machine that is off."""
        place = f"{self.lab.name}-metal"
        steps = (
            f"ip netns add {place}",
            f"ip link add rbmetal0 type veth peer name rbmetal1 netns {place} address {MACS[name]}",
            f"ip link set rbmetal0 master {self.interface} up",
            f"ip -n {place} addr add {self.planned(name)['address']}/24 dev rbmetal1",
            f"ip -n {place} link set rbmetal1 up",
        )
        try:
            for step in steps:
                subprocess.run(step.split(), check=True, capture_output=True)
            yield ["ip", "netns", "exec", place]
        finally:
            subprocess.run(["ip", "netns", "del", place], capture_output=True, check=False)

    def listening(self) -> list[str]:
        """Where on the lab's interface what the playbook serves can be reached."""
        asked = ["ss", "-H", "-lntu", " or ".join(f"sport = :{port}" for port in PORTS)]
        shown = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        places = [line.split()[4] for line in shown.splitlines()]
        ours = (f"{self.address}:", f"%{self.interface}:")
        return [place for place in places if any(own in place for own in ours)]

    def end(self) -> None:
        """Stop serving as a user does, and remove the machines."""
        if self.process is not None and not self.ended:
            self.process.terminate()
            self.process.wait(30)
        for machine in self.machines.values():
            machine.remove()


@contextmanager
def booting(lab: Lab, directory: Path, archive: Archive) -> Iterator[Boots]:
    """The machines; gone afterwards, whatever happens."""
    boots = Boots(lab, directory, archive)
    try:
        boots.make()
        yield boots
    finally:
        boots.end()
