"""The script that names a machine's one disk, on made-up machines: none or several stop it."""

import os
import subprocess
from pathlib import Path

import pytest
from jinja2 import Environment, StrictUndefined

TEMPLATE = Path(__file__).parents[2] / "roles/netboot/templates/choose_disk.j2"
GB = 10**9
SMALL, LARGE = 240 * GB, 1000 * GB

# An NVMe disk with two paths: the kernel hides those, and older ones say so by their names alone.
HIDDEN = {"nvme0n1": 0, "nvme0c0n1": 1, "vdz": 1}

# Each tool of the installer writes down what it was asked; to wait for ever is to end.
TOOLS = {
    "debconf-set": 'echo "$@" >>"$TOLD"',
    "wget": 'for word; do echo "$word"; cat "${word#--post-file=}" 2>/dev/null; done >>"$TOLD"',
    "logger": ":",
    "sleep": "kill $PPID",
}


@pytest.fixture
def choose(tmp_path):
    def run(rule, disks, named=None):
        blocks = tmp_path / "block"
        for name, (size, removable) in disks.items():
            (blocks / name).mkdir(parents=True)
            (blocks / name / "size").write_text(f"{size // 512}\n")
            (blocks / name / "removable").write_text(f"{removable}\n")
            if name in HIDDEN:
                (blocks / name / "hidden").write_text(f"{HIDDEN[name]}\n")
        link = tmp_path / "by-id"
        if named:
            link.symlink_to(f"/dev/{named}")
            rule = {**rule, "name": str(link)}
        filled = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701 - a script
        filled.filters["to_json"] = str
        script = filled.from_string(TEMPLATE.read_text()).render(
            machine={"name": "rack03", "disk": rule}, __netboot_own_url="http://control/token"
        )
        script = script.replace("/sys/block", str(blocks)).replace("/dev/console", "/dev/null")
        tools = tmp_path / "tools"
        tools.mkdir()
        for name, body in TOOLS.items():
            (tools / name).write_text(f"#!/bin/sh\n{body}\n")
            (tools / name).chmod(0o755)
        told = tmp_path / "told"
        told.touch()
        environment = {"PATH": f"{tools}:{os.environ['PATH']}", "TOLD": str(told)}
        subprocess.run(["sh"], input=script, text=True, env=environment, check=False, timeout=30)
        return told.read_text()

    return run


def chosen(disk):
    return f"partman-auto/disk /dev/{disk}\ngrub-installer/bootdev /dev/{disk}\n"


@pytest.mark.parametrize(
    ("rule", "named", "disk"),
    [
        ({"min_gb": 200, "max_gb": 300}, None, "sda"),
        ({"min_gb": 500, "max_gb": 2000}, None, "nvme0n1"),
        ({}, "nvme0n1", "nvme0n1"),
        ({"min_gb": 240, "max_gb": 240}, "sda", "sda"),
    ],
)
def test_the_one_that_fits_is_named(choose, rule, named, disk):
    disks = {"sda": (SMALL, 0), "nvme0n1": (LARGE, 0), "sdb": (SMALL, 1), "loop0": (SMALL, 0)}
    disks |= {"sr0": (SMALL, 0), "dm-0": (SMALL, 0), "md0": (SMALL, 0), "sdc": (0, 0)}
    disks |= {"nvme0c0n1": (LARGE, 0), "nvme0c1n1": (LARGE, 0), "vdz": (LARGE, 0)}
    assert choose(rule, disks, named) == chosen(disk)


@pytest.mark.parametrize(
    ("rule", "named", "disks", "says"),
    [
        ({"min_gb": 200, "max_gb": 300}, None, {}, "0 disks fit"),
        ({"min_gb": 200, "max_gb": 300}, None, {"sda": (LARGE, 0)}, "/dev/sda (1000 GB)"),
        ({"min_gb": 1, "max_gb": 2000}, None, {"sda": (SMALL, 0), "sdb": (LARGE, 0)}, "2 disks"),
        ({}, "sdb", {"sda": (SMALL, 0)}, "0 disks fit"),
        ({"min_gb": 500, "max_gb": 2000}, "sda", {"sda": (SMALL, 0)}, "0 disks fit"),
        ({}, "sdb", {"sdb": (SMALL, 1)}, "0 disks fit"),
    ],
)
def test_none_and_several_stop_it_and_say_so(choose, rule, named, disks, says):
    told = choose(rule, disks, named)
    assert "partman-auto/disk" not in told
    assert "grub-installer" not in told
    assert "http://control/token/refused" in told
    assert says in told
