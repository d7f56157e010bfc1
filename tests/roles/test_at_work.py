"""Whatever changes nodes asks first who is at work on them, and says whose passwords they have."""

import os
import subprocess
import time

import pytest
import yaml
from loading import ROOT
from played_nodes import ADDRESSES, ME, Lab

RUNNER = "rackbench-runner.service"
HOLD = "rackbench_at_work.service"
HERE = f"{ME}:{ROOT}"
SWEEP = {"study": "sort", "run": "monday"}
MINE = f"the sweep of monday for {HERE}, process"


# Parts of the other playbooks, which change no node.
PARTS = {
    *("at_work.yml", "deployed.yml", "left_out.yml"),
    *("released.yml", "validate.yml", "whole.yml"),
}
PLAYBOOKS = sorted({path.name for path in ROOT.glob("playbooks/*.yml")} - PARTS)


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


def plays_of(name):
    """Yield the plays of a playbook and of those that it imports, each with its file."""
    for play in yaml.safe_load((ROOT / "playbooks" / name).read_text()):
        if imported := play.get("ansible.builtin.import_playbook"):
            yield from plays_of(imported)
        else:
            yield name, play


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_no_play_changes_nodes_before_it_has_asked_who_is_at_work(name):
    is_asked = False
    for file, play in plays_of(name):
        is_asked |= file == "at_work.yml"
        reaches_nodes = not set(play["hosts"].split(":")) <= {"control", "localhost"}
        changes = file not in PARTS and play["name"] != "Prove the bundle of packages"
        assert is_asked or not (reaches_nodes and changes), play["name"]


def ended():
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_free_lab_is_held_by_what_changes_it_and_not_by_what_looks(lab):
    assert lab.play("at_work.yml")[0] == 0
    assert lab.description("client1", HOLD) == ""
    code, said = lab.play("at_work.yml", at_work_holds=True)
    assert code == 0, said
    held = lab.description("client1", HOLD)
    assert held.startswith(f"site.yml for {HERE}, process ")
    assert int(held.rpartition(" ")[2]) != os.getpid()
    # That command has ended, so that the next one need not wait.
    code, said = lab.play("at_work.yml", **SWEEP)
    assert code == 0, said
    assert lab.description("client1", HOLD).startswith(MINE)


@pytest.mark.parametrize("options", [(), ("--limit=worker1",)])
def test_a_sweep_that_runs_is_named_with_the_next_step_whatever_the_limit(lab, options):
    lab.runs("client1", RUNNER, "rackbench run tuesday for ana@laptop:/home/ana/rackbench")
    code, said = lab.play("at_work.yml", *options)
    assert code == 2
    tuesday = "rackbench run tuesday for ana@laptop:/home/ana/rackbench"
    assert f"client1 is busy: {tuesday} since Thu" in said
    assert f"systemctl stop {RUNNER}" in said
    assert "-e despite_sweep=true" in said
    code, said = lab.play("at_work.yml", *options, despite_sweep=True)
    assert code == 0, said


def test_a_node_is_not_installed_again_while_a_sweep_runs(lab):
    lab.runs("client1", RUNNER, "rackbench run tuesday")
    code, said = lab.play("netboot.yml", again="worker1")
    assert code == 2
    assert "client1 is busy: rackbench run tuesday since" in said


def test_a_runner_on_a_node_that_is_no_client_any_more_is_found(lab):
    lab.runs("worker2", RUNNER, "rackbench run monday")
    for extra in {}, SWEEP:
        code, said = lab.play("at_work.yml", **extra)
        assert code == 2
        assert "worker2 is busy: rackbench run monday since" in said


@pytest.mark.parametrize(
    ("description", "state", "code"),
    [
        ("rackbench run monday", "active", 0),  # as an earlier version described it
        (f"rackbench run monday for {HERE}", "active", 0),
        (f"rackbench run monday for {HERE}", "deactivating", 2),
        ("rackbench run monday for ana@laptop:/home/ana/rackbench", "active", 2),
        (f"rackbench run tuesday for {HERE}", "active", 2),
    ],
)
def test_a_sweep_follows_its_own_runs_alone(lab, description, state, code):
    lab.runs("client1", RUNNER, description, ActiveState=state)
    assert lab.play("at_work.yml", **SWEEP)[0] == code


def polled(lab, node, address, minutes=0):
    """Let a runner at this address have polled a node, some minutes ago."""
    mark = lab.node(node) / "polls" / f"polled-by-{address}"
    mark.parent.mkdir(exist_ok=True)
    mark.touch()
    os.utime(mark, times=(time.time() - 60 * minutes,) * 2)


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param({}, id="site.yml"),
        pytest.param(SWEEP, id="a sweep", marks=pytest.mark.long),
    ],
)
def test_a_sweep_of_a_client_outside_this_inventory_is_named_by_the_nodes_that_serve_it(lab, extra):
    for node in "worker1", "worker2":
        polled(lab, node, "192.0.2.99")
    code, said = lab.play("at_work.yml", at_work_holds=True, **extra)
    assert code == 2
    assert (
        "worker1, worker2 serve a sweep of 192.0.2.99, which is not in this inventory. If client1 "
        "has that address too, write it into at_work_more_clients. Otherwise wait" in said
    )
    assert f"systemctl stop {RUNNER}" in said
    assert lab.description("client1", HOLD) == ""
    code, said = lab.play("at_work.yml", despite_sweep=True, **extra)
    assert code == 0, said


def test_a_client_that_nodes_see_by_another_address_is_not_a_foreign_one(lab):
    polled(lab, "worker1", "192.0.2.99")
    assert lab.play("at_work.yml", **SWEEP)[0] == 2
    assert lab.play("at_work.yml", at_work_more_clients=["192.0.2.99"], **SWEEP)[0] == 0
    lab.runs("client1", RUNNER, f"rackbench run monday for {HERE}")
    assert lab.play("at_work.yml", **SWEEP)[0] == 0


def test_polls_of_this_inventorys_client_and_of_sweeps_that_have_ended_pass(lab):
    polled(lab, "worker1", ADDRESSES["client1"])
    polled(lab, "worker1", "192.0.2.99", minutes=4)
    for extra in {}, SWEEP:
        code, said = lab.play("at_work.yml", **extra)
        assert code == 0, said
    polled(lab, "worker1", "192.0.2.99", minutes=1)
    code, said = lab.play("at_work.yml")
    assert code == 2
    assert "worker1 serves a sweep of 192.0.2.99, which is not" in said


def test_who_holds_the_lab_is_named_and_for_how_long_at_most(lab):
    lab.runs("client1", HOLD, "site.yml for ana@laptop:/home/ana/rackbench, process 7")
    for extra in {}, SWEEP:
        code, said = lab.play("at_work.yml", **extra)
        assert code == 2
        assert (
            "client1 is held by site.yml for ana@laptop:/home/ana/rackbench, process 7, since Thu"
            in said
        )
        assert f"systemctl stop {HOLD}" in said
        assert "after 60 minutes" in said


def test_a_hold_whose_process_has_ended_is_replaced_and_one_that_is_at_work_is_not(lab):
    lab.runs("client1", HOLD, f"site.yml for {ME}:/elsewhere, process {ended()}")
    assert lab.play("at_work.yml", **SWEEP)[0] == 0
    assert lab.description("client1", HOLD).startswith(MINE)
    (lab.node("client1") / HOLD / "Description").write_text(
        f"site.yml for {ME}:/elsewhere, process {os.getpid()}\n"
    )
    assert lab.play("at_work.yml", **SWEEP)[0] == 2


def test_the_same_sweep_twice_at_once_is_one_sweep_and_the_first_goes_on_holding_the_lab(lab):
    lab.runs("client1", HOLD, f"{MINE} {os.getpid()}")
    code, said = lab.play("at_work.yml", **SWEEP)
    assert code == 0, said
    assert lab.description("client1", HOLD) == f"{MINE} {os.getpid()}"
    assert lab.play("at_work.yml", at_work_holds=True)[0] == 2


BEGIN_GROUP = f"""
- hosts: control
  gather_facts: false
  tasks:
    - ansible.builtin.import_tasks: {ROOT}/playbooks/tasks/hold.yml
"""


def test_between_groups_only_the_command_that_holds_the_lab_sets_the_nodes(lab):
    fake = ["/an/ansible-playbook", "-c", "read line"]
    with subprocess.Popen(fake, executable="/bin/sh", stdin=subprocess.PIPE) as first:
        lab.runs("client1", HOLD, f"{MINE} {first.pid}")
        assert lab.play(BEGIN_GROUP, **SWEEP)[0] == 0
        code, said = lab.play(BEGIN_GROUP, at_work_sets=True, **SWEEP)
        assert code == 2
        assert f"another command may hold it: {MINE} {first.pid}. Run the same" in said
        assert lab.description("client1", HOLD) == f"{MINE} {first.pid}"
    # The first one was killed, so the second one goes on.
    code, said = lab.play(BEGIN_GROUP, at_work_sets=True, **SWEEP)
    assert code == 0, said
    held = lab.description("client1", HOLD)
    assert held.startswith(MINE)
    assert held != f"{MINE} {first.pid}"


def test_no_command_sets_nodes_for_a_group_while_a_runner_is_at_work(lab):
    lab.runs("client1", RUNNER, f"rackbench run monday for {HERE}")
    code, said = lab.play(BEGIN_GROUP, at_work_sets=True, **SWEEP)
    assert code == 2
    assert f"another command may hold it: rackbench run monday for {HERE}. Run the same" in said
    assert lab.description("client1", HOLD) == ""
    assert lab.play(BEGIN_GROUP, **SWEEP)[0] == 0  # it follows that runner


@pytest.mark.parametrize(("node", "limit"), [("worker2", "nodes"), ("broker1", "worker1")])
def test_a_node_that_does_not_answer_is_named_and_not_waited_for(lab, node, limit):
    dead = {"ansible_ssh_executable": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    lab.write(**{node: dead})
    code, said = lab.play("at_work.yml", "--limit", limit)
    assert code == 0, said
    assert f"It is unknown whether a sweep runs on {node}: no answer." in said


def test_what_was_held_is_released_by_who_held_it(lab):
    text = f"""
- ansible.builtin.import_playbook: {ROOT}/playbooks/at_work.yml
- hosts: control
  gather_facts: false
  tasks:
    - ansible.builtin.import_tasks: {ROOT}/playbooks/tasks/hold.yml
    - ansible.builtin.import_tasks: {ROOT}/playbooks/tasks/release.yml
"""
    code, said = lab.play(text, at_work_holds=True)
    assert code == 0, said
    assert lab.description("client1", HOLD) == ""
    assert (lab.node("client1") / "stopped").read_text().split() == [HOLD, HOLD]


# Passwords


def test_new_passwords_hold_the_lab_also_where_others_made_the_old_ones(lab):
    ask, *_, release = yaml.safe_load((ROOT / "playbooks/rotate_secrets.yml").read_text())
    mark = lab.node("broker1") / "passwords-of"
    mark.write_text("theirs of ana@laptop:/home/ana/.local/state/rackbench/played/secrets\n")
    check_hold(lab, "rotate_secrets.yml", ask, release)


def check_hold(lab, name, ask, release):
    """Play what a playbook begins and ends with; it holds the lab in between, and only then."""
    # As validate.yml ends.
    ask["ansible.builtin.import_playbook"] = str(ROOT / "playbooks/at_work.yml")
    release["ansible.builtin.import_playbook"] = str(ROOT / "playbooks/released.yml")
    told, seen = lab.node("client1") / HOLD / "Description", lab.directory / "seen"
    copy = {"ansible.builtin.copy": {"src": str(told), "dest": str(seen)}}
    meanwhile = {"hosts": "control", "gather_facts": False, "tasks": [copy]}
    code, said = lab.play(yaml.safe_dump([ask, meanwhile, release]))
    assert code == 0, said
    assert seen.read_text().startswith(f"{name} for {HERE}, process ")
    assert lab.description("client1", HOLD) == ""


@pytest.mark.parametrize(
    "name",
    [
        "verify.yml",
        pytest.param("describe.yml", marks=pytest.mark.long),
        "reset.yml",
    ],
)
def test_what_loads_or_resets_nodes_holds_the_lab_until_it_has_done_so(lab, name):
    plays = yaml.safe_load((ROOT / "playbooks" / name).read_text())
    (ask,) = [play for play in plays if "at_work_holds" in play.get("vars", {})]
    (release,) = [play for play in plays if play["name"] == "Release the lab"]
    check_hold(lab, name, ask, release)


def test_workers_of_another_administrator_are_not_taken_over(lab):
    secrets_of(lab, **WHOLE)
    mark = lab.node("worker1") / "passwords-of"
    mark.write_text("theirs of ana@laptop:/home/ana/secrets\n")
    code, said = lab.play("at_work.yml", at_work_holds=True)
    assert code == 2
    assert "The passwords on worker1 differ from those in" in said
    assert "If it belongs to another bench, remove it from this inventory." in said
    mark.write_text("mine of me@here:/secrets\n")
    assert lab.play("at_work.yml", at_work_holds=True)[0] == 0


def secrets_of(lab, **contents):
    secrets = lab.directory / "rackbench/played/secrets"
    secrets.mkdir(parents=True)
    for name, text in contents.items():
        (secrets / name).write_text(f"{text}\n")
    return secrets


WHOLE = {"broker_user": "a", "broker_admin": "b", "restart": "c", "id": "mine"}


def test_passwords_of_another_control_host_are_not_replaced_and_it_is_said_how_to_have_them(lab):
    mark = lab.node("broker1") / "passwords-of"
    mark.write_text("theirs of ana@laptop:/home/ana/.local/state/rackbench/played/secrets\n")
    for secrets in {}, WHOLE:
        if secrets:
            secrets_of(lab, **secrets)
        code, said = lab.play("at_work.yml", "--limit=worker1", at_work_holds=True)
        assert code == 2
        (lab.node("worker2") / "passwords-of").write_text(mark.read_text())
        assert "The passwords on broker1 differ from those in" in said
        assert "ana@laptop:/home/ana/.local/state/rackbench/played/secrets" in said
        assert "mode 0600" in said
        assert "playbooks/rotate_secrets.yml" in said
        assert lab.description("client1", HOLD) == ""
    assert lab.play("at_work.yml")[0] == 0, "what only looks needs no password"


def test_a_control_host_of_the_same_name_without_passwords_is_no_interrupted_rotation(lab):
    place = lab.directory / "rackbench/played/secrets"
    (lab.node("broker1") / "passwords-of").write_text(f"theirs of {ME}:{place}\n")
    code, said = lab.play("at_work.yml", **SWEEP)
    assert code == 2
    assert "where broker_user, broker_admin, restart is missing" in said
    assert "was interrupted" not in said


def test_passwords_of_an_interrupted_rotation_are_named_with_the_playbook_to_run_again(lab):
    secrets = secrets_of(lab, **WHOLE)
    (lab.node("broker1") / "passwords-of").write_text(f"mine of {ME}:{secrets}\n")
    (lab.node("client1") / "passwords-of").write_text(f"earlier of {ME}:{secrets}\n")
    code, said = lab.play("at_work.yml", **SWEEP)
    assert code == 2
    assert f"client1 has earlier passwords of {secrets}" in said
    assert "rotate_secrets.yml was interrupted. Run that playbook again. Nothing was" in said
    assert "Copy that directory" not in said


def test_passwords_that_are_here_are_taken_and_a_part_of_them_is_not(lab):
    secrets = secrets_of(lab, **WHOLE)
    mark = lab.node("broker1") / "passwords-of"
    mark.write_text("mine of ana@laptop:/home/ana/secrets\n")
    assert lab.play("at_work.yml", at_work_holds=True)[0] == 0
    (secrets / "broker_admin").unlink()
    code, said = lab.play("at_work.yml", at_work_holds=True)
    assert code == 2
    assert "where broker_admin is missing" in said
    assert not (secrets / "broker_admin").exists()
