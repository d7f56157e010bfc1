"""The timer of the nights, on a control host with systemd: a node with a stand-in for sweeps."""

from __future__ import annotations

import datetime
import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import machine
import pytest
from labs import Lab

NODE = "client1"
NIGHTS = "rackbench_overnight-mylab"
TIMER = f"{NIGHTS}.timer"
SOON = f"/etc/systemd/system/{TIMER}.d"
STATE = "/home/rack/nights"
BEGIN = "03:10"

# Says who swept where and how, as nodes have no way to get what Ansible needs.
STAND_IN = f"""#!/bin/sh
{{ id -un; pwd; printf '%s\\n' "$@"; }} >{STATE}/swept
[ ! -e {STATE}/bad ] || {{ echo 'fatal: [client1]: UNREACHABLE! => away'; exit 4; }}
for word; do case $word in
  run=*) mkdir -p "results/${{word#run=}}"; touch "results/${{word#run=}}/report.html";;
esac; done
"""
PROVES = f"""#!/bin/sh
env >{STATE}/environment
[ ! -e {STATE}/shut ] || {{ printf 'rack01 | UNREACHABLE! => {{"msg": "no key"}}\\n'; exit 4; }}
"""
TOLD = f"sh -c 'cat >{STATE}/told'"


@pytest.fixture
def control(lab: Lab, tmp_path: Path) -> Iterator[Path]:
    """An inventory whose control host is a node, which has a repository as far as needed."""
    ssh = lab.ssh_directory
    host = {
        "ansible_host": lab.nodes[NODE],
        "ansible_user": "rack",
        "ansible_ssh_private_key_file": str(ssh / "id_ed25519"),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={ssh / 'known_hosts'}",
        "ansible_python_interpreter": "/usr/bin/python3",
    }
    inventory = tmp_path / "mylab/hosts.json"
    inventory.parent.mkdir()
    inventory.write_text(json.dumps({"control": {"hosts": {NODE: host}}}))
    root = str(lab.player.project.root)
    lab.output(NODE, f"mkdir -p {root}/.venv/bin {STATE} && chown -R rack: {root} {STATE}")
    for program, text in (
        ("ansible-playbook", STAND_IN),
        ("ansible", PROVES),
        ("collect", "#!/bin/sh\n"),
    ):
        file = f"{root}/.venv/bin/{program}"
        lab.ssh(NODE, f"cat >{file} && chmod 755 {file}", given=text.encode())
    yield inventory
    units = f"{TIMER} {NIGHTS}.service"
    lab.output(
        NODE,
        f"systemctl stop {units}; rm -rf {SOON} {STATE} {shlex.quote(root)} "
        f"/etc/systemd/system/{NIGHTS}*; systemctl daemon-reload; "
        "systemctl reset-failed 'rackbench_overnight*' 2>/dev/null || :",
    )


def nights(**more: object) -> dict[str, object]:
    return {
        "rackbench_state_dir": STATE,
        "overnight_begin": BEGIN,
        "overnight_end": "03:09",
        "overnight_studies": ["sort"],
        "overnight_profile": "tiny",
        "overnight_variables": {"sweep_hook": TOLD},
        **more,
    }


@pytest.mark.journal(NIGHTS, NODE)
def test_the_timer_sweeps_as_the_account_that_installed_it(lab: Lab, control: Path) -> None:
    lab.player.run("overnight.yml", nights(), inventory=[control])
    due = lab.output(NODE, f"systemctl show -P NextElapseUSecRealtime {TIMER}")
    assert f" {BEGIN}:00 " in due
    assert lab.output(NODE, f"systemctl is-enabled {TIMER}") == "enabled"
    proved = lab.output(NODE, f"cat {STATE}/environment").splitlines()
    assert "HOME=/home/rack" in proved
    assert not [line for line in proved if line.startswith("SSH_")]

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
        lambda: lab.output(NODE, f"systemctl show -P ActiveState {NIGHTS}") == "inactive",
        "the night ends",
    )
    assert lab.output(NODE, f"systemctl show -P Result {NIGHTS}") == "success"
    account, directory, *words = lab.output(NODE, f"cat {STATE}/swept").splitlines()
    assert (account, directory) == ("rack", str(lab.player.project.root))
    assert words[:3] == ["-i", str(control), "playbooks/sweep.yml"]
    assert {"study=sort", "profile=tiny", "without=unreachable"} <= set(words)
    assert any(word.startswith("run=sort-tiny-20") for word in words)
    assert any(word.startswith("deadline=") and word.endswith(":00Z") for word in words)

    absent = nights(overnight_state="absent")
    lab.player.run("overnight.yml", absent, inventory=[control])
    left = "systemctl list-unit-files --no-legend 'rackbench_overnight*' || :"
    assert lab.output(NODE, left) == ""


@pytest.mark.journal(NIGHTS, NODE)
def test_the_hook_learns_of_a_night_that_fails_and_of_one_that_cannot_start(
    lab: Lab, control: Path
) -> None:
    lab.player.run("overnight.yml", nights(), inventory=[control])
    lab.output(NODE, f"touch {STATE}/bad; ! systemctl start {NIGHTS}")
    told = machine.wait_for(
        lambda: lab.output(NODE, f"cat {STATE}/told 2>/dev/null || :"), "the hook is called"
    )
    assert "fatal: [client1]: UNREACHABLE! => away" in json.loads(told)["reason"]

    settings = f"{STATE}/overnight/mylab/night.json"
    lab.output(NODE, f"rm {STATE}/told; rm -r {STATE}/overnight/mylab/lock")
    lab.output(NODE, f"mkdir {STATE}/overnight/mylab/lock; ! systemctl start {NIGHTS}")
    told = machine.wait_for(
        lambda: lab.output(NODE, f"cat {STATE}/told 2>/dev/null || :"), "the hook is called again"
    )
    assert json.loads(told)["reason"] == "it ended with exit-code 1"
    assert lab.output(NODE, f"stat -c %a {settings}") == "600"


# In the short form tests/roles/test_overnight.py refuses the same without a timer.
@pytest.mark.long
def test_a_night_that_could_not_log_in_gets_no_timer(lab: Lab, control: Path) -> None:
    lab.output(NODE, f"touch {STATE}/shut")
    done = lab.player.attempt("overnight.yml", nights(), inventory=[control])
    assert done.code == 2
    assert "rack01, with a default key of SSH: no key" in done.flat
    left = "systemctl list-unit-files --no-legend 'rackbench_overnight*' || :"
    assert lab.output(NODE, left) == ""


def test_a_key_that_an_agent_alone_holds_is_refused_for_each_node(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long_form: bool
) -> None:
    """On this machine, against the nodes of the lab."""
    key, socket = tmp_path / "with a passphrase", tmp_path / "agent"
    usable = lab.ssh_directory / "id_ed25519"
    key.write_bytes(usable.read_bytes())
    key.chmod(0o600)
    change = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "a passphrase", "-f", str(key)]
    subprocess.run(change, check=True)
    prefix = lab.nodes[NODE].rpartition(".")[0]
    mine = {"rackbench_lab": lab.name, "virtual_lab_prefix": prefix}
    given = {
        "overnight_scheduler": "cron",
        "overnight_directory": str(tmp_path / "nights"),
        "overnight_studies": ["sort"],
        "overnight_profile": "tiny",
    }
    with subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL) as agent:
        try:
            monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
            machine.wait_for(socket.exists, "the agent")
            subprocess.run(["ssh-add", "-q", str(usable)], check=True)
            own = {**mine, "ansible_ssh_private_key_file": str(key)}
            done = lab.player.attempt("overnight.yml", {**given, "overnight_variables": own})
        finally:
            agent.kill()
    assert done.code == 2
    for node in lab.nodes:
        assert f"{node}, with {key}: " in done.flat
    assert "needs a key without a passphrase" in done.flat

    if long_form:
        done = lab.player.attempt("overnight.yml", {**given, "overnight_variables": mine})
        assert done.code == 0, done.excerpt
        assert "add the line" in done.flat
