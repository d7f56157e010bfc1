"""Symbolic links that the trials' account plants: they lead root nowhere on the client node."""

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from client_node import Client, archive, planned_of
from synthetic import make_run, sort_times

from collect.sweep.follow import Follower, NodeSilentError, Terms
from collect.sweep.pull import accept_trials

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be misled")

VARIABLES = Path(__file__).parents[2] / "roles/sweep/vars/main.yml"
ACCOUNT = "daemon"
GROUP = "daemon"


@pytest.fixture
def place(tmp_path_factory):
    """A directory of root's that everybody may enter."""
    place = tmp_path_factory.mktemp("place")
    for directory in (place, *place.parents):
        if directory == Path(tempfile.gettempdir()):
            break
        directory.chmod(0o755)
    return place


@pytest.fixture
def victim(place):
    """A directory that root alone may enter, with a file in it."""
    directory = place / "victim"
    directory.mkdir(mode=0o700)
    (directory / "file").write_text("root's\n")
    return directory


def give(directory):
    """Hand over a directory and all in it to the trials' account."""
    account = pwd.getpwnam(ACCOUNT)
    for path in [directory, *directory.rglob("*")]:
        os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)


# What is pulled and removed


@pytest.fixture
def client(place):
    make_run(place / "node", sort_times)
    give(place / "node")
    (place / "node").chmod(0o750)
    return Client(place / "node", place / "stubs")


@pytest.fixture
def follower(place, client):
    (place / "here").mkdir()
    for name in ("plan.jsonl", "run.json"):
        shutil.copy(client.directory / name, place / "here")
    terms = Terms(str(client.directory), "runner", ACCOUNT, reserve_mb=1)
    said = []
    follower = Follower(place / "here", client, terms, said.append)
    follower.said = said
    return follower


def test_without_links_all_is_pulled_and_removed(follower, client):
    client.end()
    assert not follower.step(), follower.said
    assert follower.pulled == 36
    assert client.trials == set()


def test_trials_behind_a_link_are_not_pulled_from_where_the_account_may_not_go(
    follower, client, victim
):
    shutil.move(client.directory / "trials", victim / "trials")
    (client.directory / "trials").symlink_to(victim / "trials")
    follower.step()
    assert follower.pulled == 0
    assert len(list((victim / "trials").iterdir())) == 36


def test_what_lies_behind_a_link_is_not_removed(follower, client, victim, place):
    names = list(planned_of(client.directory))
    accept_trials(archive(client.directory, names), place / "here", planned_of(client.directory))
    shutil.copytree(client.directory / "trials", victim / "trials")
    shutil.rmtree(client.directory / "trials")
    (client.directory / "trials").symlink_to(victim / "trials")
    follower.here = set(names)
    follower.step()
    assert len(list((victim / "trials").iterdir())) == 36


def test_a_state_that_is_a_link_is_not_read(follower, client, victim):
    (victim / "state.json").write_text('{"state": "root\'s"}')
    (client.directory / "state.json").unlink()
    (client.directory / "state.json").symlink_to(victim / "state.json")
    with suppress(NodeSilentError):
        follower.step()
    assert "root's" not in repr(follower.state)


# What is handed to the runner


def hand_over(run):
    """Hand a plan over as role sweep does; what came of it."""
    words = yaml.safe_load(VARIABLES.read_text())["__sweep_hand_over"]
    given = {"{{ sweep_user }}": ACCOUNT, "{{ __sweep_source }}": str(run)}
    for name, value in given.items():
        words = [word.replace(name, value) for word in words]
    command = [*words, "plan.jsonl"]
    return subprocess.run(command, input=b"plan\n", capture_output=True, check=False)


@pytest.fixture
def runs(place):
    (place / "runs").mkdir(mode=0o750)
    give(place / "runs")
    return place / "runs"


def test_without_links_the_plan_is_the_account_s(runs):
    done = hand_over(runs / "night")
    assert done.returncode == 0, done.stderr
    assert (runs / "night/plan.jsonl").read_bytes() == b"plan\n"
    for path, mode in ((runs / "night", 0o750), (runs / "night/plan.jsonl", 0o640)):
        assert (path.owner(), path.group(), path.stat().st_mode & 0o777) == (ACCOUNT, GROUP, mode)
    assert [path.name for path in (runs / "night").iterdir()] == ["plan.jsonl"]


def test_a_run_that_is_a_link_gives_nothing_away(runs, victim):
    (runs / "night").symlink_to(victim)
    assert hand_over(runs / "night").returncode
    assert (victim.owner(), victim.stat().st_mode & 0o777) == ("root", 0o700)
    assert [path.name for path in victim.iterdir()] == ["file"]


def test_runs_that_are_a_link_give_nothing_away(runs, victim, place):
    (runs / "all").symlink_to(victim)
    assert hand_over(runs / "all/night").returncode
    assert [path.name for path in victim.iterdir()] == ["file"]


def test_a_plan_that_is_a_link_leaves_its_target_alone(runs, victim):
    (runs / "night").mkdir(mode=0o750)
    (runs / "night/plan.jsonl").symlink_to(victim / "file")
    give(runs)
    done = hand_over(runs / "night")
    assert (victim / "file").read_text() == "root's\n"
    assert (victim / "file").owner() == "root"
    assert done.returncode or not (runs / "night/plan.jsonl").is_symlink()


def hand_next(run, given):
    """Hand the next group over as role sweep does, and start what stands for the runner."""
    variables = yaml.safe_load(VARIABLES.read_text())
    script = variables["__sweep_next"].replace("{{ sweep_user }}", ACCOUNT)
    command = ["sh", "-euc", script, "next", str(run), variables["__sweep_lay"]]
    start = ["sh", "-c", 'cat "$0/open"', str(run)]
    return subprocess.run([*command, *start], input=given, capture_output=True, check=False)


GIVEN = b'{"node on w1": {"link_mbit": 10}}\nb01-t001\nb01-t002'


def test_the_next_group_is_handed_over_before_the_runner_starts(runs):
    hand_over(runs / "night")
    done = hand_next(runs / "night", GIVEN)
    assert (done.returncode, done.stdout) == (0, b"b01-t001\nb01-t002"), done.stderr
    setting, _, names = GIVEN.partition(b"\n")
    assert (runs / "night/setting.json").read_bytes() == setting
    assert (runs / "night/open").read_bytes() == names
    assert {path.owner() for path in (runs / "night").iterdir()} == {ACCOUNT}


def test_a_group_is_not_laid_behind_a_link_and_its_runner_does_not_start(runs, victim):
    (runs / "night").symlink_to(victim)
    done = hand_next(runs / "night", GIVEN)
    assert (done.returncode != 0, done.stdout) == (True, b"")
    assert [path.name for path in victim.iterdir()] == ["file"]
