"""The side that follows a run, against a client that is a directory and a few stubs of commands."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import threading

import pytest
from client_node import Client, archive, planned_of
from made_up_studies import changed
from synthetic import make_run, sort_times

from collect.cli import main
from collect.files import NoRoomError, ask_for
from collect.sweep.follow import Follower, SweepStoppedError, Terms, _batches
from collect.sweep.hook import Hook
from collect.sweep.interim import open_trials
from collect.sweep.pull import INCOMING, accept_trials


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def client(tmp_path):
    make_run(tmp_path / "node", sort_times)
    return Client(tmp_path / "node", tmp_path / "stubs")


@pytest.fixture
def here(tmp_path, client):
    (tmp_path / "here").mkdir()
    for name in ("plan.jsonl", "run.json"):
        shutil.copy(client.directory / name, tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def follower_of(here, client):
    said = []

    def make(hook=None, **terms):
        clock = Clock()
        given = Terms(source=str(client.directory), unit="runner", **{"reserve_mb": 1, **terms})
        follower = Follower(here, client, given, said.append, hook, clock)
        follower.said, follower.clock = said, clock
        return follower

    return make


def sealed(run):
    return {path.name for path in (run / "trials").iterdir()}


def follow(follower):
    """Follow as the sweep does, a second on the clock for each look."""

    def sleep(seconds):
        follower.clock.now += seconds

    follower.follow(sleep=sleep)


def test_what_is_proven_here_is_removed_there(follower_of, here, client, capsys):
    client.end()
    follower = follower_of()
    follow(follower)
    assert follower.pulled == 36
    assert client.trials == set()
    assert not (here / INCOMING).exists()
    assert main(["check", str(here)]) == 0
    assert "36 of 36" in capsys.readouterr().out
    assert "36 of 36 trials sealed" in (here / "status.html").read_text()


def test_the_line_of_progress_has_the_time_left(follower_of, client):
    for name in sorted(client.trials)[6:]:
        shutil.rmtree(client.directory / "trials" / name)
    follower = follower_of()
    follower.step()
    assert re.fullmatch(r"\[6/36  16 %\] about \d+ (s|min) to go", follower.said[-1])


def test_a_trial_stays_there_until_it_is_here(follower_of, client, here):
    follower = follower_of(reserve_mb=10**9)
    follower.step()
    assert len(client.trials) == 36
    assert not (here / "trials").exists()
    assert "make room there; pulling waits" in follower.said[-1]


def test_pulling_goes_on_when_there_is_room_again(follower_of, client, here, monkeypatch):
    client.end()
    follower = follower_of()
    with monkeypatch.context() as patch:
        patch.setattr("collect.files.free_mb", lambda path: 0)
        assert follower.step()
        assert follower.step()
    assert len(client.trials) == 36
    follow(follower)
    assert len(sealed(here)) == 36


def test_a_disk_that_stays_full_ends_the_sweep_with_everything_sealed_kept(
    follower_of, client, monkeypatch
):
    monkeypatch.setattr("collect.files.free_mb", lambda path: 0)
    with pytest.raises(SweepStoppedError, match=r"has 0 MiB free.*run the same command again"):
        follow(follower_of(silence_s=60))
    assert len(client.trials) == 36


def test_a_log_that_does_not_fit_leaves_nothing_that_counts(tmp_path, client, here):
    """The limit of a file's size stands for a full disk: the write fails in the middle."""
    names = list(planned_of(here))[:3]
    (tmp_path / "batch.tar.gz").write_bytes(archive(client.directory, names))
    program = """
import resource, sys
from pathlib import Path
from collect.run.plan import read_plan
from collect.sweep.pull import accept_trials
from collect.files import NoRoomError
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
run = Path(sys.argv[2])
try:
    planned = {trial.id: trial for trial in read_plan(run / "plan.jsonl")}
    accept_trials(Path(sys.argv[1]).read_bytes(), run, planned)
except NoRoomError as error:
    print(error)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "batch.tar.gz"), str(here)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "the disk is full" in done.stdout
    assert not (here / INCOMING).exists()
    assert sealed(here) == set()
    accept_trials((tmp_path / "batch.tar.gz").read_bytes(), here, planned_of(here))
    assert sealed(here) == set(names)


def test_room_is_asked_for_what_comes_and_what_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("collect.files.free_mb", lambda path: 300)
    ask_for(tmp_path, 100 << 20, 200)
    with pytest.raises(NoRoomError, match="300 MiB free, but 101 MiB are needed and 200 MiB"):
        ask_for(tmp_path, (100 << 20) + 1, 200)


def test_the_room_of_the_client_is_known_here(follower_of, client, here):
    client.put(free=150)
    follower_of().step()
    assert "150 MiB on the client" in (here / "status.html").read_text()


def test_an_earlier_pull_is_verified_before_the_node_lets_go(follower_of, client, here):
    first, second = sorted(client.trials)[:2]
    packed = archive(client.directory, [first, second])
    accept_trials(packed, here, planned_of(here))
    log = here / "trials" / first / "calls.csv"
    log.write_bytes(log.read_bytes()[:-7])
    client.end()
    follower = follower_of()
    follow(follower)
    assert client.trials == {first}
    assert [text for text in follower.said if "the client still has it" in text]


def test_an_earlier_pull_is_on_disk_before_the_node_lets_go(follower_of, client, here, monkeypatch):
    """It may have been killed between the arrival of its trials and their way to the disk."""
    accept_trials(archive(client.directory, client.trials), here, planned_of(here))
    client.end()
    flushed, at_removals = [], []
    monkeypatch.setattr("collect.sweep.follow.flush", flushed.append)
    follower = follower_of()

    def node(command):
        if "rm -rf" in command:
            at_removals.append(list(flushed))
        return client(command)

    follower.node = node
    follow(follower)
    assert at_removals == [[here / "trials"]]
    assert client.trials == set()


def test_a_pull_is_of_bounded_number_and_size():
    mib = 1 << 20
    assert [len(batch) for batch in _batches({f"t{n:03}": 1 for n in range(201)})] == [100, 100, 1]
    sizes = {"t1": 20 * mib, "t2": 12 * mib, "t3": 1, "t4": 50 * mib, "t5": 1}
    assert list(_batches(sizes)) == [["t1", "t2"], ["t3"], ["t4"], ["t5"]]


def test_why_the_runner_ended_is_kept_beside_what_earlier_groups_deferred(follower_of):
    follower = follower_of()
    name = next(iter(follower.planned))
    follower._earlier = {name: "worker2 is away"}
    said = {"state": "finished", "reason": "stopped before trial 2", "put_off": []}
    kept = json.loads(follower._with_earlier(json.dumps(said)))
    assert kept["reason"] == "stopped before trial 2"
    assert kept["put_off"] == [{"id": name, "reason": "worker2 is away"}]
    kept = json.loads(follower._with_earlier(json.dumps({**said, "reason": ""})))
    assert kept["reason"].startswith("1 trials are deferred, the first, ")


def test_a_torn_trial_is_set_aside_there_and_open_again(follower_of, client, here):
    torn = sorted(client.trials)[4]
    log = client.directory / "trials" / torn / "calls.csv"
    log.write_bytes(log.read_bytes()[:-7])
    client.end()
    follower = follower_of()
    asked = []
    follower.node = lambda command: asked.append(command) or client(command)
    with pytest.raises(SweepStoppedError, match="1 arrived torn and are open again"):
        follow(follower)
    assert len([command for command in asked if "tar -czf" in command and torn in command]) == 2
    assert len(sealed(here)) == 35
    assert client.trials == set()
    assert (client.directory / "refused" / torn / "trial.json").exists()
    assert [text for text in follower.said if f"{torn}: calls.csv has" in text]


def test_a_trial_that_arrived_torn_once_is_pulled_again(follower_of, client, here):
    torn = sorted(client.trials)[4]
    log = client.directory / "trials" / torn / "calls.csv"
    whole = log.read_bytes()
    log.write_bytes(whole[:-7])
    follower = follower_of()
    assert follower.step()
    assert client.trials == {torn}
    log.write_bytes(whole)
    client.end()
    follow(follower)
    assert len(sealed(here)) == 36
    assert not (client.directory / "refused").exists()


def test_a_node_that_is_silent_for_a_while_is_asked_again(follower_of, client, here):
    follower = follower_of(silence_s=60)
    client.silent = True
    assert follower.step()
    assert "does not answer" in follower.said[-1]
    follower.clock.now = 59
    assert follower.step()
    client.silent = False
    client.end()
    follow(follower)
    assert len(sealed(here)) == 36


@pytest.mark.parametrize("torn", [{"state.json": "{"}, {"free": "no such file"}])
def test_an_answer_that_is_none_is_asked_for_again(follower_of, client, torn):
    client.put(**torn)
    follower = follower_of()
    assert follower.step()
    assert "does not answer" in follower.said[-1]


def test_a_file_with_any_name_is_pulled(follower_of, client, here):
    name = sorted(client.trials)[0]
    odd = [b"a\n7 b", b"\xff", "\u2028".encode(), b" c"]
    for one in odd:
        (client.directory / "trials" / name / os.fsdecode(one)).write_text("x")
    client.end()
    follow(follower_of())
    assert client.trials == set()
    assert set(odd) < {os.fsencode(path.name) for path in (here / "trials" / name).iterdir()}


def test_a_reason_with_a_separator_of_lines_is_read(follower_of, client):
    client.put(**{"state.json": '{"state": "paused", "reason": "one\u2028two\x85three"}'})
    follower = follower_of()
    follower.step()
    assert follower.state.reason == "one\u2028two\x85three"


def test_a_node_that_stays_silent_is_given_up(follower_of, client):
    client.silent = True
    with pytest.raises(SweepStoppedError, match="gave up after 60 s: run the same command again"):
        follow(follower_of(silence_s=60))


def test_a_runner_that_failed_is_quoted(follower_of, client):
    shutil.rmtree(client.directory / "trials" / sorted(client.trials)[0])
    client.end("failed", "worker2 does not answer")
    with pytest.raises(SweepStoppedError, match=r"1 of 36 .*worker2 does not answer"):
        follow(follower_of())


def test_a_runner_that_left_no_reason_is_quoted_from_its_journal(follower_of, client):
    shutil.rmtree(client.directory / "trials" / sorted(client.trials)[0])
    client.end("running")
    with pytest.raises(SweepStoppedError, match="the runner ended: last words; run the same"):
        follow(follower_of())


def test_a_runner_that_was_stopped_is_not_said_to_have_finished(follower_of, client):
    shutil.rmtree(client.directory / "trials" / sorted(client.trials)[0])
    client.end("finished", "stopped before trial 5")
    with pytest.raises(SweepStoppedError, match=r"the runner was stopped before trial 5, by syst"):
        follow(follower_of())


def test_a_second_follower_counts_what_the_first_pulled_meanwhile(follower_of, client, here):
    last = client.directory / "trials" / sorted(client.trials)[-1]
    last.rename(client.directory / "later")
    second = follower_of(stall_s=600)
    second.step()
    (client.directory / "later").rename(last)
    client.end()
    first = follower_of()
    follow(first)
    assert first.pulled == 1
    second.clock.now = 599
    follow(second)
    assert second.pulled == 35
    assert sealed(here) == set(planned_of(here))


def test_the_deadline_is_no_failure(follower_of, client):
    shutil.rmtree(client.directory / "trials" / sorted(client.trials)[0])
    client.end("deadline", "no trial starts after 07:00")
    follower = follower_of()
    follow(follower)
    assert follower.said[-1] == "the deadline came, 1 trials are open"


def test_trials_that_are_put_off_are_accounted_for(follower_of, client):
    last = sorted(client.trials)[-1]
    shutil.rmtree(client.directory / "trials" / last)
    client.end()
    client.state(state="finished", reason="", put_off=[{"id": last, "reason": "worker5 is away"}])
    follower = follower_of()
    follow(follower)
    assert follower.said[-1] == "some are deferred, 1 trials are open"


def test_a_runner_that_was_stopped_is_not_started_for_the_next_group(follower_of, client):
    group = frozenset(client.trials)
    last = max(group)
    shutil.rmtree(client.directory / "trials" / last)
    client.end()
    deferred = [{"id": last, "reason": "worker5 is away"}]
    client.state(state="finished", reason=f"stopped before {last}", put_off=deferred)
    follower = follower_of(group=group, goes_on=True)
    with pytest.raises(SweepStoppedError, match="the runner was stopped before"):
        follow(follower)


def test_trials_of_later_groups_stay_there_until_their_group_is_due(follower_of, client, here):
    every = sorted(client.trials)
    group, later = frozenset(every[:10]), frozenset(every[10:])
    client.end()
    follow(follower_of(group=group, goes_on=True))
    assert (sealed(here), client.trials) == (group, later)
    follow(follower_of(group=later))
    assert sealed(here) == group | later
    assert client.trials == set()


def test_a_follower_without_its_playbook_ends(follower_of, monkeypatch):
    follower = follower_of()
    monkeypatch.setattr(os, "getppid", lambda: 1)
    with pytest.raises(SweepStoppedError, match="run its command again"):
        follower.step()


def test_a_follower_that_waits_for_ever_ends_with_its_playbook():
    child = (
        "import threading; from collect.sweep.follow import end_with_parent; "
        "end_with_parent(0.1, 0.05); print('ready', flush=True); threading.Event().wait()"
    )
    parent = subprocess.Popen(
        ["sh", "-c", f'"$0" -c "{child}"; :', sys.executable], stdout=subprocess.PIPE
    )
    assert parent.stdout.readline() == b"ready\n"
    parent.kill()
    parent.wait()
    # The pipe closes when its last writer, the orphan, has ended.
    assert parent.stdout.read() == b""
    parent.stdout.close()


def test_logs_are_compressed_when_asked(follower_of, client, here):
    client.end()
    follow(follower_of(compress=True))
    for directory in (here / "trials").iterdir():
        assert {p.name for p in directory.iterdir()} == {"calls.csv.gz", "trial.json"}
    assert main(["check", str(here)]) == 0


# The hook


@pytest.fixture
def told(tmp_path):
    """A hook that keeps what it is told, and a function that gives it."""
    script = tmp_path / "hook"
    script.write_text('#!/bin/sh\n{ cat; env | sort; echo; } >>"$1"\n')
    script.chmod(0o755)
    log = tmp_path / "told log"

    def read():
        lines = log.read_text().splitlines() if log.exists() else []
        return [json.loads(line) for line in lines if line.startswith("{")], lines

    return Hook(f"{script} '{log}'", tmp_path), read


def test_the_hook_is_told_of_the_end(follower_of, client, told, monkeypatch):
    hook, read = told
    monkeypatch.setenv("AWS_SECRET", "private")
    monkeypatch.setenv("RACKBENCH_MAIL_TO", "me")
    client.end()
    follow(follower_of(hook))
    (summary,), lines = read()
    assert summary["event"] == "ended"
    assert (summary["sealed"], summary["total"], summary["run"]) == (36, 36, "here")
    assert "RACKBENCH_TEXT=here ended: 36 of 36 trials sealed" in lines
    assert "RACKBENCH_MAIL_TO=me" in lines
    assert not [line for line in lines if "private" in line]


def test_the_hook_is_told_of_a_stop(follower_of, client, told):
    hook, read = told
    client.silent = True
    with pytest.raises(SweepStoppedError):
        follow(follower_of(hook, silence_s=60))
    ((summary,), _) = read()
    assert summary["event"] == "stopped"
    assert "does not answer" in summary["reason"]


def test_the_hook_is_told_of_results_that_cannot_be_written(
    follower_of, client, here, told, monkeypatch
):
    """As where the disk fails, and its file system becomes read-only."""
    hook, read = told
    client.end()

    def refuse(path, content):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr("collect.sweep.follow.write_bytes", refuse)
    with pytest.raises(SweepStoppedError, match=r"cannot be written.*run the same command again"):
        follow(follower_of(hook))
    ((summary,), _) = read()
    assert summary["event"] == "stopped"
    assert f"{here}: cannot be written" in summary["reason"]
    assert len(client.trials) == 36


def test_the_hook_is_told_of_a_stall_once_each_time(follower_of, client, told):
    hook, read = told
    last = client.directory / "trials" / sorted(client.trials)[-1]
    last.rename(client.directory / "later")
    follower = follower_of(hook, stall_s=600)
    for now in (0, 590, 601, 700, 1190):
        follower.clock.now = now
        assert follower.step()
    assert [summary["event"] for summary in read()[0]] == ["stalled"]
    assert "no trial was sealed for 600 s" in read()[0][0]["text"]
    (client.directory / "later").rename(last)
    follower.step()
    follower.clock.now = 1700
    follower.step()
    assert len(read()[0]) == 1
    client.end()
    follow(follower)
    assert [summary["event"] for summary in read()[0]] == ["stalled", "ended"]


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("sh -c 'echo no relay; exit 3'", "ended with exit code 3: no relay"),
        ("/nowhere/hook", "cannot be run (No such file or directory); no message was sent"),
        ("sleep 30", "was killed after 0 s; its message may not have been sent"),
    ],
)
def test_a_hook_that_fails_does_not_fail_the_sweep(follower_of, client, tmp_path, command, part):
    client.end()
    follower = follower_of(Hook(command, tmp_path, timeout_s=0.2))
    follow(follower)
    assert part in follower.said[-1]


STOPS = changed(
    factors={"transport": ["soap", "jms"], "servers": [1], "integers": [500]},
    stop={"half_width": 0.05, "looks": [2, 4]},
    replicates=4,
)


@pytest.mark.parametrize(("varies", "event"), [(False, "ended"), (True, None)])
def test_the_hook_hears_of_the_end_of_a_run_that_stops_and_not_of_a_look(tmp_path, varies, event):
    def times(planned, rng):
        return [10.0 * (planned.block if varies else 1 + planned.block / 1e6)] * planned.calls

    make_run(tmp_path / "node", times, profile="paper", study=STOPS, until=4)
    client = Client(tmp_path / "node", tmp_path / "stubs")
    client.end()
    here, said = tmp_path / "here", []
    here.mkdir()
    shutil.copy(client.directory / "plan.jsonl", here)
    told = tmp_path / "told"
    hook = Hook(f"cp /dev/stdin {told}", tmp_path)
    terms = Terms(source=str(client.directory), unit="runner", reserve_mb=1, look=2)
    Follower(here, client, terms, said.append, hook).follow(sleep=lambda seconds: None)
    assert any("analysed after 2 blocks" in line for line in said)
    assert (json.loads(told.read_text())["event"] if told.exists() else None) == event
    assert len(open_trials(here, 4)) == (4 if varies else 0)
    assert len(sealed(here)) == 4


def test_the_hook_hears_of_the_end_of_groups_whose_interim_analysis_waits_for_deferred_trials(
    tmp_path,
):
    factors = {"transport": ["soap"], "servers": [1], "integers": [500], "rate": [10, 100]}
    stop = {"half_width": 0.05, "looks": [2, 4]}
    study = changed(factors=factors, node={"link_mbit": "rate"}, stop=stop, replicates=4)
    make_run(tmp_path / "node", sort_times, profile="paper", study=study, until=4)
    client = Client(tmp_path / "node", tmp_path / "stubs")
    group = frozenset(client.trials)
    deferred = min(group)
    shutil.rmtree(client.directory / "trials" / deferred)
    client.end()
    put_off = [{"id": deferred, "reason": "worker3 is skipped"}]
    client.state(state="finished", reason="1 trial is deferred", put_off=put_off)
    here, told = tmp_path / "here", tmp_path / "told"
    here.mkdir()
    shutil.copy(client.directory / "plan.jsonl", here)
    hook = Hook(f"cp /dev/stdin {told}", tmp_path)
    terms = Terms(str(client.directory), "runner", reserve_mb=1, look=2, group=group, goes_on=True)
    Follower(here, client, terms, print, hook).follow(sleep=lambda seconds: None)
    summary = json.loads(told.read_text())
    assert summary["event"] == "ended"
    assert summary["reason"] == "some are deferred, 5 trials are open"


def test_the_end_of_a_groups_runner_is_awaited_on_the_node(follower_of, client):
    """Else the nodes are set for the next group a second later, in the mean half of one."""
    client.end()
    runner = subprocess.Popen(["sleep", "0.5"])
    threading.Thread(target=runner.wait).start()
    asked = f'case "$*" in *MainPID*) echo {runner.pid} ;; *)'
    (client.stubs / "systemctl").write_text(
        f"#!/bin/sh\n{asked} kill -0 {runner.pid} && echo active || echo inactive ;; esac\n"
    )
    follower = follower_of(group=frozenset(client.trials), goes_on=True)
    assert not follower.step()
    assert follower.pulled == 36
