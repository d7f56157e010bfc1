"""Machines that MAAS or bifrost installed, as an inventory: from answers in their format."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from loading import ROOT

RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture
def inventory(tmp_path):
    """The inventory that docs/guides/scale.md has people copy together."""
    shutil.copytree(ROOT / "inventory/example", tmp_path / "mylab")
    for file in (ROOT / "inventory/maas").glob("*.*"):
        shutil.copy(file, tmp_path / "mylab")
    return tmp_path / "mylab"


def program(path, answer, asked=""):
    """Write a program that gives this answer to who asks like this."""
    path.write_text(f'#!/bin/sh\n[ "$*" = "{asked}" ] && exec cat {RECORDED / answer}\nexit 2\n')
    path.chmod(0o755)


def read(inventory, *options):
    """Return what Ansible and rackbench's own variables make of an inventory."""
    done = subprocess.run(
        [ROOT / ".venv/bin/ansible-inventory", "-i", inventory, *options],
        cwd=inventory,
        env={
            **{name: value for name, value in os.environ.items() if name != "ANSIBLE_INVENTORY"},
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "PATH": f"{inventory.parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def members(found):
    groups = ("client", "broker", "workers")
    return {group: found.get(group, {}).get("hosts", []) for group in groups}


def test_machines_of_maas_join_groups_by_their_tags_once_they_are_deployed(inventory):
    program(inventory.parent / "maas", "maas-machines.json", "admin machines read")
    found = read(inventory, "--list")
    assert members(found) == {
        "client": ["rack01"],
        "broker": ["rack02"],
        "workers": ["rack03", "rack04"],
    }
    assert sorted(found["nodes"]["children"]) == ["broker", "client", "workers"]
    of = found["_meta"]["hostvars"]
    assert (of["rack01"]["ansible_host"], of["rack01"]["node_address"]) == ("10.20.0.11",) * 2
    assert of["rack01"]["node_addresses"] == {
        "rack01": "10.20.0.11",
        "rack02": "10.20.0.12",
        "rack03": "10.20.0.13",
        "rack04": "10.20.0.14",
    }
    assert of["rack04"]["ansible_user"] == "debian"
    assert "ansible_user" not in of["mail"]


def test_machines_of_bifrost_come_in_their_groups(inventory):
    program(inventory / "machines.py", "bifrost-inventory.json", "--list")
    found = read(inventory, "--list")
    assert members(found) == {"client": ["rack01"], "broker": ["rack02"], "workers": ["rack03"]}
    of = found["_meta"]["hostvars"]
    assert of["rack03"]["node_addresses"] == {
        "rack01": "10.20.0.11",
        "rack02": "10.20.0.12",
        "rack03": "10.20.0.13",
    }
    assert "ansible_user" not in of["mail"]
