"""From a blank disk to a node beside the others: the whole way, in emulation."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from archive import usable_archive
from labs import Lab, standing
from machine import wait_for
from metal import Metal
from playbook import Player

NAME, PREFIX = "rbmetal", "10.82.0"
NODES = {
    "client1": f"{PREFIX}.11",
    "broker1": f"{PREFIX}.12",
    "worker1": f"{PREFIX}.21",
    "worker2": f"{PREFIX}.22",
}
MAC = "52:54:00:7c:00:01"
METAL: dict[str, Any] = {
    "ansible_host": f"{PREFIX}.41",
    "netboot_mac": MAC,
    "netboot_install": True,
    "netboot_disk": {"name": "/dev/disk/by-id/virtio-metal1", "min_gb": 4, "max_gb": 20},
}
INSTALL_S = 3 * 3600

# What an emulated machine is and a container is not; each is declared, nothing else may differ.
DIFFERENT = {
    "clock_offset_ms": "no time server is within reach",
    "cores": "it has one processor",
    "cpu_model": "it is emulated",
    "disk_file_system": "it has a disk",
    "disk_type": "it has a disk",
    "files /etc/tmpfiles.d/rackbench-tuning.conf": "its huge pages can be set",
    "kernel": "it has a kernel of its own",
    "kernel_command_line": "it has a kernel of its own",
    "link_device": "it has a network card",
    "link_driver": "it has a network card",
    "link_duplex": "it has a network card",
    "link_measured_mbit": "its link is not shaped",
    "link_rtt_ms": "it is emulated",
    "link_shaped_mbit": "its link is not shaped",
    "link_speed_mbit": "it has a network card",
    "memory_mb": "it has memory of its own",
    "packages": "it has a kernel, a boot loader and what Debian's installer adds",
    "sysctls": "it has a kernel of its own",
}
# The node that measures its link to that machine may wait in vain while it works.
MEASURED = {"link_measured_mbit": "its peer is emulated", "link_rtt_ms": "its peer is emulated"}
DECLARED = [
    {"node": node, "item": item, "reason": reason}
    for node, differences in (("metal1", DIFFERENT), ("client1", MEASURED))
    for item, reason in differences.items()
]

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def rack(no_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Four virtual nodes, and a machine with a blank disk in the inventory as a worker."""
    directory = tmp_path_factory.mktemp("metal")
    inventory = directory / "inventory"
    shutil.copytree(no_lab.player.project.root / "inventory/virtual", inventory)
    hosts = yaml.safe_load((inventory / "hosts.yml").read_text())
    workers = hosts["all"]["children"]["nodes"]["children"]["workers"]
    workers["hosts"] = {"worker1": None, "worker2": None, "metal1": METAL}
    (inventory / "hosts.yml").write_text(yaml.safe_dump(hosts))
    settings = {
        "netboot_interface": f"{NAME}-0",
        "fingerprint_exceptions": DECLARED,
        **usable_archive(directory),
    }
    (inventory / "group_vars/all/netboot.yml").write_text(yaml.safe_dump(settings))
    variables = {"rackbench_lab": NAME, "virtual_lab_prefix": PREFIX, "virtual_lab_nodes": NODES}
    player = Player(no_lab.player.project, no_lab.player.home, [json.dumps(variables)], [inventory])
    with standing(Lab(NAME, NODES, player, no_lab.say)) as lab:
        yield lab


@pytest.fixture(scope="module")
def metal(rack: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metal]:
    machine = Metal("metal1", MAC, f"{NAME}-0", tmp_path_factory.mktemp("disk") / "metal1")
    try:
        machine.make()
        yield machine
    finally:
        machine.remove()


def test_a_blank_machine_installs_itself(rack: Lab, metal: Metal) -> None:
    process, log = rack.player.start("netboot.yml", {"confirm": "metal1"}, stock=True)
    try:
        wait_for(lambda: "from the network now" in log.read_text(), "the installer is served", 120)
        metal.start()
        deadline, told = time.monotonic() + INSTALL_S, 0
        while process.poll() is None and time.monotonic() < deadline:
            lines = re.findall(r"^\d\d:\d\d:\d\d metal1: .*", log.read_text(), re.MULTILINE)
            for line in lines[told:]:
                rack.say(line)
            told = len(lines)
            time.sleep(2)
    finally:
        process.kill()
    text = log.read_text()
    assert process.wait() == 0, text[-3000:]
    steps = ("asked", "loading", "installing, partitions", "installing, base system", "ready")
    assert all(f"metal1: {step}" in text for step in steps)
    state = rack.player.home / "rackbench" / NAME / "netboot/machines/metal1"
    reported = json.loads((state / "installed.json").read_text())["host_key"]
    assert (state / "known").exists()
    assert f"{PREFIX}.41 {reported}" in (rack.ssh_directory / "known_hosts").read_text()


def test_an_installed_machine_is_left_alone_from_then_on(rack: Lab) -> None:
    outcome = rack.play("netboot.yml", None, "--check")
    assert f"metal1 leave alone {MAC}" in outcome.flat


def test_the_installed_machine_has_what_was_asked_for_and_no_more(rack: Lab) -> None:
    disk = "lsblk -rno NAME,FSTYPE,MOUNTPOINT,PTTYPE /dev/vda; swapon"
    shown = rack.output(METAL["ansible_host"], disk)
    assert [line.split() for line in shown.splitlines()] == [
        ["vda", "gpt"],
        ["vda1", "gpt"],
        ["vda2", "vfat", "/boot/efi", "gpt"],
        ["vda3", "ext4", "/", "gpt"],
    ]
    assert rack.output(METAL["ansible_host"], "getent shadow rack root").count(":!:") == 2
    assert rack.output(METAL["ansible_host"], "grep -c nameserver /etc/resolv.conf || true") == "0"
    assert "passwordauthentication no" in rack.output(METAL["ansible_host"], "sshd -T")


def test_site_makes_it_a_node_and_verify_finds_only_what_was_declared(rack: Lab) -> None:
    rack.play("site.yml")
    assert rack.play("site.yml").changed == {}
    outcome = rack.play("verify.yml")
    assert f"5 nodes are the same, except for {len(DECLARED)} declared differences" in outcome.flat
