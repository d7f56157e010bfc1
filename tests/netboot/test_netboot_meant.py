"""What is refused before anything is served, and where it is served then."""

from __future__ import annotations

import json
import subprocess

import pytest
from boots import MACS, Boots
from labs import Lab
from machine import wait_for
from playbook import Outcome


def netboot(boots: Boots, *options: str, playbook: str = "netboot.yml", **extra: object) -> Outcome:
    return boots.lab.player.attempt(
        playbook, extra, *options, inventory=boots.inventory, stock=True, timeout_s=120
    )


def test_check_mode_shows_what_would_be_installed_where(boots: Boots) -> None:
    outcome = netboot(boots, "--check")
    assert outcome.code == 0, outcome.excerpt
    assert f"bios1 ERASE AND INSTALL {MACS['bios1']}" in outcome.flat
    assert f"kept1 leave alone {MACS['kept1']}" in outcome.flat
    assert "/dev/disk/by-id/virtio-bios1 from 4 GB to 20 GB" in outcome.flat
    assert not boots.state.exists()


@pytest.mark.parametrize(
    "confirm",
    [
        pytest.param("", marks=pytest.mark.long),
        "bios1",
        pytest.param("bios1,uefi1,kept1", marks=pytest.mark.long),
    ],
)
def test_nothing_begins_before_all_machines_are_confirmed(boots: Boots, confirm: str) -> None:
    outcome = netboot(boots, confirm=confirm)
    assert outcome.code == 2
    assert "add -e confirm=bios1,uefi1" in outcome.flat
    assert not boots.state.exists()


def test_the_interface_of_the_default_route_is_refused(boots: Boots) -> None:
    route = json.loads(_output("ip", "-json", "-4", "route", "show", "default"))[0]["dev"]
    for playbook in ("netboot.yml", "discover.yml"):
        outcome = netboot(boots, playbook=playbook, netboot_interface=route)
        assert outcome.code == 2
        assert f"{route} carries this machine's default route" in outcome.flat
        assert f"set netboot_despite_default_route: {route} as well" in outcome.flat
    assert not boots.state.exists()


@pytest.mark.long
def test_machines_that_ask_are_listed_and_not_answered(boots: Boots) -> None:
    process, log = boots.lab.player.start(
        "discover.yml", {"seconds": 45}, inventory=boots.inventory, stock=True
    )
    wait_for(lambda: "Listening" in log.read_text(), "the listener")
    for name in ("stranger", "uefi1"):
        boots.machines[name].start()
    assert process.wait(90) == 0, log.read_text()
    text = " ".join(log.read_text().split())
    assert f'netboot_mac: "{MACS["stranger"]}"' in text
    assert "no vendor: an address made by software, BIOS x86, asked at" in text
    assert f"uefi1 is in the inventory already: {MACS['uefi1']}, UEFI x86-64" in text
    assert MACS["kept1"] not in text
    assert "Configuring" in boots.machines["stranger"].console
    assert "Next server" not in boots.machines["stranger"].console


def test_only_the_named_interface_is_served(boots: Boots, lab: Lab) -> None:
    boots.begin()
    script = lab.output("client1", f"curl -s -m 5 http://{boots.address}:8087/boot.ipxe")
    assert script.startswith("#!ipxe")
    assert {place.rpartition(":")[2] for place in boots.listening()} == {"67", "69", "5514", "8087"}
    everywhere = _output("ss", "-H", "-lntu", "sport = :67 or sport = :69 or sport = :8087")
    bound = {line.split()[4].rpartition(":")[0] for line in everywhere.splitlines()}
    assert not {"*", "0.0.0.0", "[::]"} & bound  # noqa: S104 - must not be


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
