"""The plug-in that follows a run: what it makes of the arguments of its task."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from ansible.errors import AnsibleActionFail
from loading import load

from collect.sweep.follow import Terms

follow_run = load("roles/sweep/action_plugins/follow_run.py")
TASK = yaml.safe_load(follow_run.EXAMPLES)[0]["follow_run"]


@pytest.fixture
def followed(monkeypatch):
    """Returns how to follow a run by a task with these arguments: what is followed, and how."""

    def follow(**arguments):
        calls = []

        class Follower:
            pulled, state = 0, SimpleNamespace(state="ended")

            def __init__(self, results, node, terms, say, hook):
                calls.append((results, terms, hook))

            def follow(self):
                pass

        monkeypatch.setattr(follow_run, "Follower", Follower)
        monkeypatch.setattr(follow_run, "end_with_parent", lambda: None)
        action = follow_run.ActionModule.__new__(follow_run.ActionModule)
        action._task = SimpleNamespace(args=TASK | arguments, async_val=0, check_mode=False)
        action._connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir="/tmp"))  # noqa: S108
        action._load_name = "follow_run"
        assert action.run() == {"changed": False, "late": False}
        (call,) = calls
        return call

    return follow


def test_a_run_is_followed_by_the_terms_of_its_task(followed):
    terms = Terms(
        source="/var/lib/rackbench/runs/sort-demo",
        unit="rackbench-runner.service",
        account="rackbench",
        silence_s=900.0,
        stall_s=3600.0,
        reserve_mb=200,
    )
    assert followed() == (Path("results/sort-demo"), terms, None)


def test_what_the_command_line_gives_as_text_has_its_type(followed):
    given = {"silence_s": "1.5", "stall_s": "60", "reserve_mb": "300", "look": "10"}
    _, terms, _ = followed(**given, compress="yes", goes_on="no", group=["one", "two"])
    assert (terms.silence_s, terms.stall_s, terms.reserve_mb, terms.look) == (1.5, 60.0, 300, 10)
    assert (terms.compress, terms.goes_on, terms.group) == (True, False, {"one", "two"})


@pytest.mark.parametrize(
    ("wrong", "said"), [({"look": "some"}, "look"), ({"reserved_mb": 1}, "reserved_mb")]
)
def test_an_argument_of_no_use_is_named(followed, wrong, said):
    with pytest.raises(AnsibleActionFail, match=said):
        followed(**wrong)


def test_a_hook_gets_its_directory_and_variables(followed):
    environment = {"RACKBENCH_TOKEN": "x"}
    _, _, hook = followed(hook="notify me", hook_directory="/srv", hook_environment=environment)
    assert (hook.command, hook.directory, hook.environment) == (
        "notify me",
        Path("/srv"),
        environment,
    )
