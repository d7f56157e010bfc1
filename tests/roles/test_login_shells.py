"""Login shells that print: what a node answers is told from what its shell says."""

import subprocess

import pytest
from loading import load

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
    with pytest.raises(Exception, match="the node said 'no date here'"):
        silent._trip()
