"""The timer of the nights, on a control machine with systemd: a node with a stand-in for sweeps."""

from __future__ import annotations

import datetime
import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import machine
import pytest
from labs import Lab

NODE = "client1"
TIMER = "rackbench_overnight.timer"
SOON = f"/etc/systemd/system/{TIMER}.d"
STATE = "/home/rack/nights"
BEGIN = "03:10"

# Says who swept where and how, as nodes have no way to get what Ansible needs.
STAND_IN = f"""#!/bin/sh
{{ id -un; pwd; printf '%s\\n' "$@"; }} > {STATE}/swept
"""


@pytest.fixture
def control(lab: Lab, tmp_path: Path) -> Iterator[Path]:
    """An inventory whose control machine is a node, which has a repository as far as needed."""
    ssh = lab.ssh_directory
    host = {
        "ansible_host": lab.nodes[NODE],
        "ansible_user": "rack",
        "ansible_ssh_private_key_file": str(ssh / "id_ed25519"),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={ssh / 'known_hosts'}",
        "ansible_python_interpreter": "/usr/bin/python3",
    }
    inventory = tmp_path / "hosts.json"
    inventory.write_text(json.dumps({"control": {"hosts": {NODE: host}}}))
    programs = f"{lab.player.project.root}/.venv/bin"
    lab.ssh(
        NODE,
        f"sudo mkdir -p {programs} && sudo tee {programs}/ansible-playbook >/dev/null && "
        f"sudo chmod 755 {programs}/ansible-playbook && mkdir -p {STATE}",
        given=STAND_IN.encode(),
    )
    yield inventory
    copy = shlex.quote(str(lab.player.project.root))
    forget = "systemctl daemon-reload; systemctl reset-failed 'rackbench_overnight*' 2>/dev/null"
    lab.output(NODE, f"systemctl stop {TIMER}; rm -rf {SOON} {STATE} {copy}; {forget} || :")


@pytest.mark.journal("rackbench_overnight", NODE)
def test_the_timer_sweeps_as_the_account_that_installed_it(lab: Lab, control: Path) -> None:
    nights = {
        "rackbench_state_dir": STATE,
        "overnight_begin": BEGIN,
        "overnight_end": "05:00",
        "overnight_studies": ["sort"],
        "overnight_profile": "tiny",
    }
    lab.player.run("overnight.yml", nights, inventory=[control])
    due = lab.output(NODE, f"systemctl show -P NextElapseUSecRealtime {TIMER}")
    assert f" {BEGIN}:00 " in due
    assert lab.output(NODE, f"systemctl is-enabled {TIMER}") == "enabled"

    now = int(lab.output(NODE, "date +%s"))
    soon = datetime.datetime.fromtimestamp(now + 4, datetime.UTC)
    lab.output(
        NODE,
        f"mkdir -p {SOON} && printf '[Timer]\\nOnCalendar={soon:%Y-%m-%d %H:%M:%S} UTC\\n' "
        f">{SOON}/soon.conf && systemctl daemon-reload && systemctl restart {TIMER}",
    )
    machine.wait_for(
        lambda: lab.output(NODE, f"cat {STATE}/swept 2>/dev/null || :"), "the night begins", 60
    )
    machine.wait_for(
        lambda: lab.output(NODE, "systemctl show -P ActiveState rackbench_overnight") == "inactive",
        "the night ends",
    )
    assert lab.output(NODE, "systemctl show -P Result rackbench_overnight") == "success"
    account, directory, *words = lab.output(NODE, f"cat {STATE}/swept").splitlines()
    assert (account, directory) == ("rack", str(lab.player.project.root))
    assert words[:3] == ["-i", str(control), "playbooks/sweep.yml"]
    assert {"study=sort", "profile=tiny", "without=unreachable"} <= set(words)
    assert any(word.startswith("deadline=") and word.endswith(":00Z") for word in words)

    lab.player.run("overnight.yml", {**nights, "overnight_state": "absent"}, inventory=[control])
    left = "systemctl list-unit-files --no-legend 'rackbench_overnight*' || :"
    assert lab.output(NODE, left) == ""
