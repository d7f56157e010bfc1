"""The accept step of a sweep: what arrives from the client node counts only whole and planned."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from client_node import archive, planned_of
from synthetic import make_run, seal

from collect.cli import main
from collect.run.trials import TrialError
from collect.sweep.pull import INCOMING, RefusedTrialsError, accept_trials


@pytest.fixture
def node(tmp_path):
    """What the client node has sealed: every trial of a run."""
    make_run(tmp_path / "node", lambda planned, rng: [1.0] * planned.calls)
    return tmp_path / "node"


@pytest.fixture
def here(tmp_path, node):
    """The same run on the control host, before anything is pulled."""
    (tmp_path / "here").mkdir()
    for name in ("plan.jsonl", "run.json"):
        shutil.copy(node / name, tmp_path / "here")
    return tmp_path / "here"


def files_of(run):
    trials = run / "trials"
    return {p.relative_to(trials): p.read_bytes() for p in trials.rglob("*") if p.is_file()}


def test_whole_trials_are_accepted_as_they_are_oldest_first(node, here):
    names = list(planned_of(node))[:5]
    accepted = accept_trials(archive(node, names[::-1]), here, planned_of(here))
    assert [trial.id for trial in accepted] == names
    assert {path.parts[0] for path in files_of(here)} == set(names)
    assert all(content == files_of(node)[path] for path, content in files_of(here).items())
    assert not (here / INCOMING).exists()


def test_everything_pulled_is_a_whole_run(node, here, capsys):
    names = list(planned_of(node))
    for start in range(0, len(names), 10):
        accept_trials(archive(node, names[start : start + 10]), here, planned_of(here))
    assert main(["check", str(here)]) == 0
    assert "36 of 36" in capsys.readouterr().out


def change(path, old, new):
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("tear", "part"),
    [
        (lambda d: (d / "trial.json").unlink(), "has no trial.json"),
        (lambda d: (d / "calls.csv").unlink(), "has no calls.csv"),
        (lambda d: os.truncate(d / "calls.csv", 200), "calls.csv has"),
        (lambda d: os.truncate(d / "trial.json", 50), "trial.json cannot be used"),
        (lambda d: change(d / "calls.csv", "ok", "o"), "SHA-256"),
    ],
)
def test_a_torn_trial_is_refused(node, here, tear, part):
    whole, torn = list(planned_of(node))[:2]
    tear(node / "trials" / torn)
    with pytest.raises(TrialError, match=f"{torn}: .*{part}"):
        accept_trials(archive(node, [whole, torn]), here, planned_of(here))
    assert torn not in {path.parts[0] for path in files_of(here)}


def test_a_trial_that_was_never_planned_is_refused(node, here):
    name = next(iter(planned_of(node)))
    (node / "trials" / name).rename(node / "trials" / "b99-t999-foreign")
    with pytest.raises(TrialError, match="b99-t999-foreign: is not in the plan of here"):
        accept_trials(archive(node, ["b99-t999-foreign"]), here, planned_of(here))
    assert files_of(here) == {}


def test_a_trial_of_another_run_under_a_planned_name_is_refused(node, here):
    planned = next(iter(planned_of(node).values()))
    shutil.rmtree(node / "trials" / planned.id)
    seal(node / "trials", planned, [1.0] * planned.calls, seed=planned.seed + 1)
    with pytest.raises(TrialError, match=r"seed is .*belongs to another run"):
        accept_trials(archive(node, [planned.id]), here, planned_of(here))
    assert files_of(here) == {}


def test_a_trial_that_is_here_is_never_touched(node, here):
    first, second = list(planned_of(node).values())[:2]
    accept_trials(archive(node, [first.id]), here, planned_of(here))
    before = {path: (here / "trials" / path).stat() for path in files_of(here)}
    shutil.rmtree(node / "trials" / first.id)
    seal(node / "trials", first, [9.0] * first.calls, attempt=2)
    accepted = accept_trials(archive(node, [first.id, second.id]), here, planned_of(here))
    assert [trial.id for trial in accepted] == [second.id]
    for path, stat in before.items():
        now = (here / "trials" / path).stat()
        assert (now.st_ino, now.st_mtime_ns) == (stat.st_ino, stat.st_mtime_ns)


@pytest.mark.parametrize("path", ["../escaped", "a/../../escaped", "/escaped"])
def test_an_archive_that_reaches_outside_is_refused(node, here, tmp_path, path):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        entry = tarfile.TarInfo(path)
        tar.addfile(entry, io.BytesIO())
    with pytest.raises(TrialError, match="cannot be unpacked"):
        accept_trials(content.getvalue(), here, planned_of(here))
    assert not (tmp_path / "escaped").exists()
    assert not (here / "escaped").exists()
    assert not Path("/escaped").exists()


def test_an_older_python_unpacks_too(node, here, monkeypatch):
    """Python 3.11.2, which Debian 12 has, knows no filters of archives."""
    monkeypatch.delattr(tarfile, "data_filter", raising=False)
    monkeypatch.setattr(tarfile.TarFile, "extractall", None)
    names = list(planned_of(node))
    accept_trials(archive(node, names), here, planned_of(here))
    assert {path.parts[0] for path in files_of(here)} == set(names)


@pytest.mark.parametrize("name", ["calls.csv", "more"])
def test_a_trial_with_a_link_in_it_is_refused_and_the_others_are_taken(node, here, name):
    linked, whole = list(planned_of(node))[:2]
    (node / "trials" / linked / name).unlink(missing_ok=True)
    (node / "trials" / linked / name).symlink_to(f"../{whole}/calls.csv")
    with pytest.raises(RefusedTrialsError, match=f"{linked}/{name}: is neither") as refusal:
        accept_trials(archive(node, [linked, whole]), here, planned_of(here))
    assert refusal.value.ids == (linked,)
    assert {path.parts[0] for path in files_of(here)} == {whole}


def test_a_trial_that_is_itself_a_link_is_refused(node, here):
    linked, whole = list(planned_of(node))[:2]
    shutil.rmtree(node / "trials" / linked)
    (node / "trials" / linked).symlink_to(whole)
    with pytest.raises(RefusedTrialsError, match=f"{linked}: is neither"):
        accept_trials(archive(node, [linked, whole]), here, planned_of(here))
    assert {path.parts[0] for path in files_of(here)} == {whole}


def test_an_archive_that_broke_off_leaves_nothing_that_counts(node, here):
    names = list(planned_of(node))[:6]
    whole = archive(node, names)
    with pytest.raises(TrialError, match="cannot be unpacked"):
        accept_trials(whole[: len(whole) // 2], here, planned_of(here))
    assert files_of(here) == {}
    assert len(accept_trials(whole, here, planned_of(here))) == 6
    assert not (here / INCOMING).exists()


PULL = """
import sys
from pathlib import Path
from collect.run.plan import read_plan
from collect.sweep.pull import accept_trials
run = Path(sys.argv[2])
planned = {trial.id: trial for trial in read_plan(run / "plan.jsonl")}
content = Path(sys.argv[1]).read_bytes()
print("ready", flush=True)
accept_trials(content, run, planned)
"""


@pytest.mark.parametrize("delay_s", [0, 0.003, 0.01, 0.02, 0.04])
def test_a_killed_pull_leaves_only_whole_trials_and_can_be_done_again(
    node, here, tmp_path, delay_s
):
    names = list(planned_of(node))
    (tmp_path / "batch.tar.gz").write_bytes(archive(node, names))
    command = [sys.executable, "-c", PULL, str(tmp_path / "batch.tar.gz"), str(here)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as pull:
        pull.stdout.readline()
        time.sleep(delay_s)
        pull.kill()
    arrived = files_of(here) if (here / "trials").exists() else {}
    assert all(content == files_of(node)[path] for path, content in arrived.items())
    trials = [path.parts[0] for path in arrived]
    assert all(trials.count(name) == 2 for name in trials)
    accept_trials(archive(node, names), here, planned_of(here))
    assert files_of(here) == files_of(node)
    assert main(["check", str(here)]) == 0


def test_what_is_pulled_is_on_the_disk_before_its_name_says_so(node, here, monkeypatch):
    done = []

    def fsync(number):
        done.append(("flush", Path(f"/proc/self/fd/{number}").readlink()))

    def rename(source, target):
        done.append(("rename", Path(source)))
        return real_rename(source, target)

    real_rename = Path.rename
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "rename", rename)
    first = next(iter(planned_of(node)))
    accept_trials(archive(node, [first]), here, planned_of(here), compress=True)

    incoming, trials = here / INCOMING / first, here / "trials"
    moved = done.index(("rename", incoming))
    files = {("flush", incoming / path.name) for path in (trials / first).iterdir()}
    assert ("flush", incoming / "calls.csv.gz") in files
    assert files <= set(done[:moved])
    assert done[moved - 1] == ("flush", incoming), "the entries of the files come after their bytes"
    assert ("flush", trials) in done[moved:], "the sender deletes its copy when the pull returns"
