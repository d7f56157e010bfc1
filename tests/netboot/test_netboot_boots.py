"""Firmware to installer: who gets one, who does not, and that a second boot goes to the disk.

The short form ends where the firmware has loaded kernel and initrd. In the long form the installer
itself runs, as far as its components, in emulation.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from boots import MACS, Boots
from machine import wait_for
from metal import SAID_BY_DISK

LOADED_S = 600
INITRD_LOADED = re.compile(r"initrd\.gz\.\.\.[^a-z]* ok")
KEY = "ssh-ed25519 " + "A" * 68


def answer(boots: Boots, path: str, *options: str, by: Sequence[str] = ()) -> int:
    """What the server answers someone, as an installer would ask."""
    url = f"http://{boots.address}:8087/{path}"
    shown = [*by, *("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *options, url)]
    return int(subprocess.run(shown, capture_output=True, text=True, check=True).stdout)


def test_a_machine_that_nobody_named_boots_from_its_disk(boots: Boots) -> None:
    stranger = boots.machines["stranger"]
    wait_for(lambda: SAID_BY_DISK in stranger.console, "the stranger's disk", LOADED_S)
    assert f"{MACS['stranger']} is not to be installed" in stranger.console
    assert "initrd.gz" not in stranger.console
    stranger.remove()


@pytest.mark.parametrize("name", ["bios1", "uefi1"])
def test_a_chosen_machines_firmware_loads_kernel_and_initrd(boots: Boots, name: str) -> None:
    boots.await_state(name, "loading", LOADED_S)
    assert boots.states(name)[:2] == ["asked", "loading"]
    machine = boots.machines[name]
    wait_for(lambda: INITRD_LOADED.search(machine.console), f"the initrd of {name}", LOADED_S)


@pytest.mark.long
@pytest.mark.parametrize("name", ["bios1", "uefi1"])
def test_the_installer_takes_its_preseed(boots: Boots, name: str) -> None:
    boots.await_state(name, "installing, preseed", LOADED_S)
    # It asks no question, by what the preseed says.
    boots.await_state(name, "installing, installer components", LOADED_S)


@pytest.mark.parametrize(
    ("name", "architecture", "offered"),
    [
        ("bios1", 0, "undionly.kpxe"),
        ("bios1", 7, "snponly.efi"),
        ("kept1", 0, ""),
        ("stranger", 0, ""),
        ("stranger", 7, ""),
    ],
)
def test_only_a_chosen_machines_firmware_is_offered_a_loader(
    boots: Boots, name: str, architecture: int, offered: str
) -> None:
    asks = Path(__file__).with_name("firmware.py").read_bytes()
    command = f"sudo python3 - host0 {MACS[name]} {architecture}"
    assert boots.lab.ssh("client1", command, given=asks).stdout.decode() == f"{offered}\n"


@pytest.mark.long
def test_a_clock_that_stood_for_years_is_set(boots: Boots) -> None:
    log = boots.state / "machines/bios1/installer.log"
    line = r">(\w+ +\d+ [\d:]+) rackbench: the clock was set by (\d+) s"
    ((at, set_by),) = re.findall(line, log.read_text())
    year = datetime.now(tz=UTC).year
    then = datetime.strptime(f"{year} {at} +0000", "%Y %b %d %H:%M:%S %z")
    behind = then - datetime(2020, 2, 29, tzinfo=UTC)
    # It had been on for as long as that is more.
    assert 0 <= behind.total_seconds() - int(set_by) < LOADED_S
    assert ">Feb 29 " in log.read_text()
    assert ">Feb 29 " not in log.read_text().splitlines()[-1]


def test_another_machine_gets_no_script_and_cannot_speak_for_it(boots: Boots) -> None:
    path = f"http://{boots.address}:8087/boot/{MACS['uefi1'].replace(':', '-')}"
    for _ in range(5):
        script = boots.lab.output("client1", f"curl -s {path}")
        assert f"{boots.lab.nodes['client1']} is not the address of uefi1" in script
        assert boots.planned("uefi1")["token"] not in script
    assert "sent a request under its name and was refused" in boots.said
    token = boots.planned("bios1")["token"]
    for what in ("installed", "failed"):
        assert answer(boots, f"{token}/{what}", "--data-binary", KEY) == 403


def test_a_token_is_its_own_machines_and_for_once(boots: Boots) -> None:
    boots.machines["bios1"].stop()
    token = boots.planned("bios1")["token"]
    with boots.in_place_of("bios1") as machine:

        def report(token: str, text: str) -> int:
            return answer(boots, f"{token}/installed", "--data-binary", text, by=machine)

        assert answer(boots, f"{token}/preseed.cfg", by=machine) == 200
        boots.await_state("bios1", "installing, preseed", 10)
        assert report(token, KEY) == 403, "before it asked for the last script"
        assert answer(boots, f"{token}/finish", by=machine) == 200
        assert report("0" * 40, KEY) == 403
        assert report(token, "no key at all") == 403
        assert report(token, KEY) == 200
        assert report(token, KEY) == 403
    assert boots.states("bios1")[-1].startswith("rebooting")


def test_the_second_boot_goes_to_the_disk(boots: Boots) -> None:
    machine = boots.machines["bios1"]
    assert SAID_BY_DISK not in machine.console
    machine.stop()
    (machine.directory / "console").unlink()
    machine.start()
    wait_for(lambda: SAID_BY_DISK in machine.console, "the disk of bios1", LOADED_S)
    assert "bios1 is rebooting, so this machine boots from its own disk" in machine.console
    machine.remove()


@pytest.mark.long
def test_a_disk_that_does_not_fit_its_rule_stops_the_installer(boots: Boots) -> None:
    boots.await_state("uefi1", "refused", LOADED_S)
    assert boots.states("uefi1")[-1].startswith("refused, 0 disks fit the rule")
    assert "/dev/vda (8 GB)" in boots.states("uefi1")[-1]
    machine = boots.machines["uefi1"]
    wait_for(lambda: "correct netboot_disk of uefi1" in machine.console, "the console", 30)
    assert machine.written_bytes() == 0


def test_nothing_is_served_when_the_playbook_has_gone(boots: Boots) -> None:
    assert boots.process is not None
    boots.process.kill()
    boots.process.wait()
    boots.machines["uefi1"].stop()
    wait_for(lambda: boots.listening() == [], "all of it is gone", 20)


def test_what_was_installed_is_left_alone(boots: Boots) -> None:
    outcome = boots.lab.player.attempt(
        "netboot.yml", None, "--check", inventory=boots.inventory, stock=True, timeout_s=120
    )
    assert outcome.code == 0, outcome.excerpt
    assert f"bios1 leave alone {MACS['bios1']}" in outcome.flat
    assert f"uefi1 ERASE AND INSTALL {MACS['uefi1']}" in outcome.flat
