"""Login shells that print: what a node answers is told from what its shell says."""

import subprocess

import pytest
import yaml
from loading import ROOT, load
from played_nodes import Lab
from rendering import Role

from collect.sweep.follow import NodeSilentError

follow_run = load("roles/sweep/action_plugins/follow_run.py")
fingerprint = load("roles/fingerprint/action_plugins/fingerprint.py", "fingerprint_action")


def on_a_node(plugin, before="", after=""):
    """An action plug-in whose node's login shell prints these texts around each answer."""

    class Node(plugin.ActionModule):
        def __init__(self):
            pass

        def _low_level_execute_command(self, command, sudoable=True):
            done = subprocess.run(
                ["sh", "-c", command], capture_output=True, text=True, check=False
            )
            return {"stdout": before + done.stdout + after, "stderr": done.stderr}

    return Node()


@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("hello\n", ""), ("hello", ""), ("12\nactive\n", "bye\n")]
)
def test_the_follower_reads_the_answer_alone(before, after):
    node = on_a_node(follow_run, before, after)
    assert node._node("printf 'active\\n17\\n'") == b"active\n17\n"
    assert node._node("printf %s YWJj") == b"YWJj"
    assert node._node("cat /nowhere") == b""


def test_an_answer_that_is_cut_short_is_none():
    cut = on_a_node(follow_run)
    cut._low_level_execute_command = lambda command: {"stdout": "hello\nact", "stderr": ""}
    with pytest.raises(NodeSilentError, match=r"it answered 'hello\\nact'"):
        cut._node("true")


@pytest.mark.parametrize("before", ["", "hello\n", "99.5 hello"])
def test_the_clock_is_read_beside_what_a_shell_prints(before):
    half, offset = on_a_node(fingerprint, before)._trip()
    assert abs(offset) <= half + 1


def test_a_node_that_tells_no_time_is_asked_about_in_words():
    silent = on_a_node(fingerprint)
    silent._low_level_execute_command = lambda command, sudoable: {"stdout": "no date here"}
    with pytest.raises(Exception, match="the node answered 'no date here' instead of its time"):
        silent._trip()


def raw_tasks(tasks):
    for task in tasks:
        for word in ("block", "rescue", "always", "tasks", "pre_tasks", "post_tasks"):
            yield from raw_tasks(task.get(word) or [])
        if "ansible.builtin.raw" in task or "raw" in task:
            yield task


def files_of_tasks():
    """Every playbook, and every file of tasks of playbooks and roles."""
    for place in ("playbooks/*.yml", "playbooks/tasks/*.yml", "roles/*/tasks/*.yml"):
        yield from ROOT.glob(place)
    yield from ROOT.glob("roles/*/handlers/*.yml")


def test_no_command_is_left_to_the_accounts_login_shell():
    found = [
        (f"{file.relative_to(ROOT)}: {task['name']}", task.get("args"))
        for file in files_of_tasks()
        for task in raw_tasks(yaml.safe_load(file.read_text()) or [])
    ]
    assert len(found) >= 7
    assert [name for name, args in found if args != {"executable": "/bin/sh"}] == []


def test_no_command_has_an_end_of_a_line_which_csh_takes_within_no_quotes():
    filled_in = Role("packet_filter")
    (asked, _) = yaml.safe_load((ROOT / "roles/packet_filter/tasks/preflight.yml").read_text())
    commands = [filled_in.render(asked["ansible.builtin.raw"])]
    for file in files_of_tasks():
        tasks = raw_tasks(yaml.safe_load(file.read_text()) or [])
        commands += [task["ansible.builtin.raw"] for task in tasks]
    assert [command for command in commands if "\n" in command] == []


FISH = """#!/bin/sh
# Knows commands with their words, and nothing of the language of sh.
for command; do :; done
case $command in "/bin/sh -c "*) exec {ssh} "$@" ;; esac
echo 'fish: Unsupported use of =' >&2
exit 127
"""


def test_a_login_shell_of_another_language_answers_who_is_at_work(tmp_path):
    lab = Lab(tmp_path)
    for name in ("client1", "broker1", "worker1", "worker2"):
        ssh = lab.node(name) / "ssh"
        inner = ssh.rename(ssh.with_name("sh"))
        ssh.write_text(FISH.format(ssh=inner))
        ssh.chmod(0o755)
    lab.runs("client1", "rackbench-runner.service", "rackbench run monday")
    code, said = lab.play("at_work.yml")
    assert code == 2
    assert "client1 is busy: rackbench run monday since" in said
    assert "no answer" not in said
    code, said = lab.play("at_work.yml", at_work_holds=True, despite_sweep=True)
    assert code == 0, said
    hold = lab.description("client1", "rackbench_at_work.service")
    assert hold.startswith("site.yml for ")
