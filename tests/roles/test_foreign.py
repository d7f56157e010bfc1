"""Accounts and directories that rackbench did not make: named at preflight, and never removed."""

from __future__ import annotations

import json
import os
import pwd
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from loading import ROOT

REMOVE = ROOT / "roles/baseline/files/remove_kit"
FACTS = {
    "distribution": "Debian",
    "distribution_major_version": "13",
    "distribution_version": "13.2",
    "service_mgr": "systemd",
    "virtualization_type": "container",
    "nodename": "{{ calls | default(inventory_hostname) }}",
}
THERE = pwd.getpwnam("bin")
ABSENT = "rackbench-of-no-node"
NODES = {
    "bare": {"directories": ["/no/such/place"]},
    "provisioned": {
        "baseline_account": THERE.pw_name,
        "own_home": THERE.pw_dir,
        "directories": ["/usr/share"],
    },
    "account": {"baseline_accounts": {THERE.pw_name: "/etc/rackbench/tomcat"}},
    "group": {"baseline_accounts": {"tty": "/etc/rackbench/tomcat"}},  # every Debian has that group
    "directory": {"directories": ["/usr/share"]},
    "with_domain": {"calls": "bare.lab.example.org"},
    "capitals": {"calls": "BARE"},
    "itself": {"calls": "Itself.lab"},
    "stranger": {"calls": "printer.lab"},
}
# What a role sets itself, facts override.
OWN = {
    "__baseline_directories": "{{ directories | default([]) }}",
    "__baseline_own_home": "{{ own_home | default('/var/lib/rackbench') }}",
}


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the preflight says to each of these nodes: nothing, or why it is refused."""
    place = tmp_path_factory.mktemp("foreign")
    common = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "baseline_account": ABSENT,
        "baseline_names": list(NODES),
    }
    hosts = {"all": {"hosts": NODES, "vars": common}}
    (place / "hosts.yml").write_text(yaml.safe_dump(hosts))
    said = "{{ ansible_failed_result.msg }}"
    tasks = [
        {"ansible.builtin.set_fact": {"cacheable": True, **FACTS}},
        {"ansible.builtin.set_fact": OWN},
        {"ansible.builtin.import_role": {"name": "baseline", "tasks_from": "preflight"}},
    ]
    write = {
        "ansible.builtin.copy": {"content": "{{ told | to_json }}", "dest": str(place / "told")},
        "vars": {"told": "{{ dict(ansible_play_hosts | zip(refusals)) }}"},
        "run_once": True,
    }
    told = "{{ ansible_play_hosts | map('extract', hostvars) | map(attribute='refusal',"
    block = {"block": tasks, "rescue": [{"ansible.builtin.set_fact": {"refusal": said}}]}
    play = {
        "hosts": "all",
        "gather_facts": False,
        "vars": {"refusals": told + " default='') | list }}"},
        "tasks": [block, write],
    }
    (place / "play.yml").write_text(yaml.safe_dump([play]))
    done = subprocess.run(
        [ROOT / ".venv/bin/ansible-playbook", "-i", place / "hosts.yml", place / "play.yml"],
        cwd=place,
        env={**os.environ, "ANSIBLE_ROLES_PATH": str(ROOT / "roles")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    answers: dict[str, str] = json.loads((place / "told").read_text())
    return answers


@pytest.mark.parametrize("node", ["with_domain", "capitals"])
def test_another_node_is_known_with_its_domain_and_in_capitals(
    refusals: dict[str, str], node: str
) -> None:
    calls = NODES[node]["calls"]
    assert refusals[node].startswith(f"{node} calls itself {calls}, which is another node of the")


@pytest.mark.parametrize("node", ["bare", "provisioned", "itself", "stranger"])
def test_nothing_there_or_all_by_the_kit_is_taken(refusals: dict[str, str], node: str) -> None:
    assert refusals[node] == ""


def test_an_account_of_somebody_else_is_named_with_the_next_step(refusals: dict[str, str]) -> None:
    named = f"account has an account {THERE.pw_name} with the home {THERE.pw_dir}, which rackbench"
    assert refusals["account"].startswith(named)
    assert "Remove it there (or the package that brought it)" in refusals["account"]


def test_a_group_of_somebody_else_is_named_with_the_next_step(refusals: dict[str, str]) -> None:
    assert refusals["group"].startswith("group has a group tty without an account tty, which")
    assert "groupdel tty" in refusals["group"]


def test_a_directory_of_somebody_else_is_named_with_the_next_step(
    refusals: dict[str, str],
) -> None:
    assert refusals["directory"].startswith("directory has a directory /usr/share, which rackbench")
    assert "Move it away" in refusals["directory"]


def reset(programs: Path) -> subprocess.CompletedProcess[str]:
    """Take rackbench off a node that has these programs alone."""
    return subprocess.run(
        ["/bin/bash", REMOVE, "rackbench"],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("home", ["", "/home/rackbench", "/var/lib/tomcat"])
def test_reset_leaves_alone_what_the_kit_did_not_make(tmp_path: Path, home: str) -> None:
    """Every program but the question for the account is a fake that notes its call."""
    for name in ("systemctl", "find", "sed", "rm", "userdel", "nft", "ls", "rmdir", "dirname"):
        fake(tmp_path / name, f'echo "$0 $*" >>{tmp_path}/calls')
    fake(tmp_path / "getent", f"[ -z '{home}' ] || echo 'x:x:1:1::{home}:/bin/sh'")
    (tmp_path / "cut").symlink_to("/usr/bin/cut")
    done = reset(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "calls").exists()


ACCOUNTS = """\
root:x:0:0::/root:/bin/bash
rackbench:x:999:999::/var/lib/rackbench:/usr/sbin/nologin
openmq:x:998:998::/var/lib/rackbench-broker:/usr/sbin/nologin
tomcat:x:997:997::/etc/rackbench/tomcat:/usr/sbin/nologin
parrot:x:996:996::/var/lib/rackbench-parrot:/usr/sbin/nologin
tomcat9:x:995:995::/var/lib/tomcat:/usr/sbin/nologin
museum:x:994:994::/srv/etc/rackbench/museum:/usr/sbin/nologin
high:x:9998:9998::/etc/rackbench/high:/usr/sbin/nologin
ana:x:1000:1000::/var/lib/rackbench-ana:/bin/bash
"""


def test_reset_removes_the_accounts_and_logs_of_all_services_and_no_others(tmp_path: Path) -> None:
    """Every program that changes something is a fake that notes its call."""
    changing = (
        "find",
        "sed",
        "sysctl",
        "rm",
        "userdel",
        "groupdel",
        "nft",
        "ls",
        "rmdir",
        "dirname",
    )
    for name in changing:
        fake(tmp_path / name, f'echo "${{0##*/}} $*" >>{tmp_path}/calls')
    fake(tmp_path / "systemctl", '[ "$1" != is-active ]')
    (tmp_path / "accounts").write_text(ACCOUNTS)
    listed = f'while read -r line; do echo "$line"; done <{tmp_path}/accounts'
    own = "echo rackbench:x:999:999::/var/lib/rackbench:/usr/sbin/nologin"
    group = '[ "$2" = tomcat ] || exit 2'  # the one that userdel left
    answer = f'if [ "$1" = group ]; then {group}; elif [ -n "$2" ]; then {own}; else {listed}; fi'
    fake(tmp_path / "getent", answer)
    for name in ("cut", "awk"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    done = reset(tmp_path)
    assert (done.returncode, done.stdout) == (0, "removed\n"), done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    removed = [call.split()[1] for call in calls if call.startswith("userdel ")]
    assert removed == ["openmq", "tomcat", "parrot", "high", "rackbench"]
    assert [call for call in calls if call.startswith("groupdel ")] == ["groupdel tomcat"]
    assert any(call.startswith("rm -rf ") and " /var/log/rackbench-" in call for call in calls)


def test_a_refusal_ends_the_reset_of_all_nodes_and_a_later_failure_that_of_one() -> None:
    plays = yaml.safe_load((ROOT / "playbooks/reset.yml").read_text())
    (play,) = [one for one in plays if one["name"] == "Put the node back as it was found"]
    tasks = yaml.safe_load((ROOT / "roles/baseline/tasks/reset.yml").read_text())
    assert play["any_errors_fatal"] is False
    fatal = [task["name"] for task in tasks if task.get("any_errors_fatal")]
    assert fatal == [task["name"] for task in tasks[1:3]]
    assert all(name.startswith("Reset | Refuse ") for name in fatal)


@pytest.mark.parametrize(
    ("silent", "refusing", "going_on", "told"),
    [
        (["one"], [], ["client", "two"], "run reset.yml -e node=one, or remove it"),
        (["one"], ["two"], [], "a sweep runs here"),
        (["client"], [], [], "client does not answer, so it is unknown whether it runs a sweep"),
    ],
)
def test_a_node_that_does_not_answer_is_left_out_unless_it_is_the_client(
    tmp_path: Path, silent: list[str], refusing: list[str], going_on: list[str], told: str
) -> None:
    """The reset asks a fake of remove_kit; a last task notes the nodes that continue."""
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    away = {"ansible_host": "127.0.0.1", "ansible_port": 1}
    hosts = {name: away if name in silent else here for name in ("client", "one", "two")}
    for name in refusing:
        hosts[name] = {**here, "baseline_account": "refusing"}
    is_client = "{{ inventory_hostname == 'client' }}"
    common = {"baseline_account": "rackbench", "baseline_is_client": is_client}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": common}}))
    (tmp_path / "files").mkdir()
    (tmp_path / "files/remove_kit").write_text(
        '[ "$1 $2" != "refusing ask" ] || { echo a sweep runs here >&2; exit 1; }'
    )
    tasks = yaml.safe_load((ROOT / "roles/baseline/tasks/reset.yml").read_text())
    first = next(i for i, task in enumerate(tasks) if "tuning" in task)
    note = {"ansible.builtin.debug": {"msg": "goes on: <{{ inventory_hostname }}>"}}
    play = {
        "hosts": "all",
        "gather_facts": False,
        "any_errors_fatal": False,
        "tasks": [*tasks[:first], note],
    }
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play], sort_keys=False))
    done = subprocess.run(
        [ROOT / ".venv/bin/ansible-playbook", "-i", tmp_path / "hosts.yml", tmp_path / "play.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert sorted(re.findall("goes on: <(.*)>", done.stdout)) == going_on, done.stdout
    assert told in " ".join(done.stdout.split())


@pytest.mark.parametrize("role", ["baseline", "openmq", "tomcat"])
def test_an_account_is_one_of_the_system_whatever_a_site_has_in_its_login_defs(role: str) -> None:
    """The packet filter lets only such accounts answer, and files belong to the group."""
    tasks = yaml.safe_load((ROOT / f"roles/{role}/tasks/main.yml").read_text())
    kinds = ("ansible.builtin.user", "ansible.builtin.group")
    made = [(kind, task[kind]) for task in tasks for kind in kinds if kind in task]
    # Killed between two of them, nothing is left that the preflight takes for somebody else's.
    assert [kind for kind, _ in made] == [kinds[0], kinds[1], kinds[0]]
    (_, account), (_, group), (_, both) = made
    assert (account["system"], account["uid_min"]) == (True, 1000)
    assert group == {"name": account["name"], "system": True}
    assert (both["name"], both["group"]) == (account["name"], account["name"])


def fake(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
