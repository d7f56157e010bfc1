"""How far a run is: on the terminal, as JSON and as a page."""

import io
import json
import re
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from made_up_studies import changed, study_of
from synthetic import sort_times

from collect.cli import main
from collect.progress import progress
from collect.run.directory import open_run
from collect.run.plan import make_plan, write_plan
from collect.run.study import parse_study
from collect.sweep.status import Watch, read_status
from collect.sweep.status_lines import as_text, show_status
from collect.sweep.status_page import page_of, write_page


@pytest.fixture(autouse=True)
def zone(monkeypatch):
    """The reader's time zone, which a test may change."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def state_of(run, **state):
    (run.directory / "state.json").write_text(json.dumps(state))
    return read_status(run)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_status_counts_and_expects(run_of, capsys):
    def times(planned, rng):
        return "timeout" if planned.position == 3 else sort_times(planned, rng)

    run = run_of(times, until=10)
    state = {
        "state": "running",
        "running": run.plan[10].id,
        "attempt": 2,
        "since": "2026-03-01T22:05:00.000000Z",
        "reason": "",
    }
    (run.directory / "state.json").write_text(json.dumps(state))
    status = read_status(open_run(str(run.directory)))
    assert (status.sealed, status.remaining) == (10, 26)
    assert status.outcomes == {"ok": 9, "timeout": 1}
    # Each made-up trial takes 1.5 s, and half a second passes before the next.
    assert status.eta.total_seconds() == pytest.approx(26 * 2.0)
    assert main(["status", str(run.directory)]) == 0
    printed = capsys.readouterr().out
    assert "sealed: 10 of 36 (9 ok, 1 timeout)" in printed
    assert f"running: {run.plan[10].id}" in printed
    assert "attempt 2" in printed


def test_the_time_left_has_the_changes_of_setting_that_are_to_come(run_of):
    study = study_of(
        {"link_mbit": [10, 100], "size": [1, 2, 3]},
        node={"link_mbit": "link_mbit"},
        constants={},
        restart="none",
        profiles={"demo": {"replicates": 6, "calls": 4, "warmup": 1}},
    )
    run = run_of(lambda planned, rng: [1.0] * 4, study=study, until=18)
    changes = [one.node != other.node for one, other in pairwise(run.plan)]
    for place, planned in enumerate(run.plan[:18]):
        # Half a second passes between two trials, and 20 s more where the nodes are set.
        path = run.trials_directory / planned.id / "trial.json"
        record = json.loads(path.read_text())
        for name in ("started_at", "ended_at"):
            moment = datetime.fromisoformat(record[name])
            record[name] = (moment + timedelta(seconds=20 * sum(changes[:place]))).isoformat()
        path.write_text(json.dumps(record))
    expected = 18 * (1.5 + 0.5) + 20 * sum(changes[17:])
    assert read_status(run).eta.total_seconds() == pytest.approx(expected)


def test_a_captured_trial_is_expected_to_take_as_long_as_the_shortest(run_of):
    run = run_of(capture=True, until=36)
    path = run.trials_directory / run.plan[0].id / "trial.json"
    record = json.loads(path.read_text())
    later = datetime.fromisoformat(record["started_at"]) + timedelta(seconds=1)
    path.write_text(json.dumps({**record, "started_at": later.isoformat()}))
    assert read_status(run).eta.total_seconds() == pytest.approx(12 * (0.5 + 0.5))


def test_status_watch_ends_when_the_run_has_ended(run_of, capsys):
    run = run_of()
    assert main(["status", str(run.directory), "--watch", "--every", "1"]) == 0
    assert "remaining: 0" in capsys.readouterr().out


def test_status_is_plain_lines_on_a_dumb_terminal(run_of, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("TERM", "dumb")
    show_status(str(run_of(sort_times).directory))
    assert screen.getvalue().startswith("run: ")


def test_progress_is_plain_lines_on_a_dumb_terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("collect.progress._QUIET_S", 0.0)
    with progress() as task:
        task("calls")(1, 2)
    assert screen.getvalue().startswith("calls: 1 of 2, ")


@pytest.mark.parametrize("state", ["{", "[]", "null", '{"state": 7, "running": 3, "since": []}'])
def test_status_copes_with_any_state_file(run_of, state):
    run = run_of(until=1)
    (run.directory / "state.json").write_text(state)
    assert "sealed: 1 of 36" in as_text(read_status(run))


def test_status_of_a_run_that_has_not_begun(run_of):
    text = as_text(read_status(run_of(until=0)))
    assert "state: not started" in text
    assert "unknown until a trial is sealed" in text


def test_a_rest_over_the_day_is_not_expected_before_every_trial(run_of):
    run = run_of(until=10)
    for planned in run.plan[5:10]:
        path = run.trials_directory / planned.id / "trial.json"
        record = json.loads(path.read_text())
        for key in ("started_at", "ended_at"):
            later = datetime.fromisoformat(record[key]) + timedelta(hours=8)
            record[key] = later.isoformat()
        path.write_text(json.dumps(record))
    assert read_status(run).eta.total_seconds() == pytest.approx(26 * 2.0)


def test_status_names_what_it_cannot_read(run_of):
    run = run_of(until=2)
    (run.trials_directory / run.plan[1].id / "trial.json").write_text("{")
    status = read_status(run)
    assert (status.sealed, status.unusable) == (1, 1)
    assert f"see `collect check {run.directory}`" in as_text(status)


def test_a_deadline_ends_a_run_that_is_not_finished(run_of):
    run = run_of(until=10)
    status = state_of(run, state="deadline", reason="no trial starts after 07:00", running=None)
    assert status.has_ended
    assert "state: deadline (no trial starts after 07:00)" in as_text(status)


def test_what_waits_for_a_node_is_told_with_its_reason(run_of):
    run = run_of(until=10)
    waiting = [{"id": t.id, "reason": "worker3 does not answer"} for t in run.plan[9:12]]
    status = state_of(run, state="paused", reason="worker3", put_off=waiting, thrown_away=2)
    # The first of them was sealed in the meantime.
    assert "deferred: 2 trials: worker3 does not answer" in as_text(status)
    assert "repeated: 2 attempts" in as_text(status)


def test_one_of_a_thing_is_told_in_the_singular(run_of):
    run = run_of(until=9)
    waiting = [{"id": run.plan[9].id, "reason": "worker3 does not answer"}]
    status = state_of(run, state="paused", reason="worker3", put_off=waiting, thrown_away=1)
    assert "deferred: 1 trial: worker3 does not answer" in as_text(status)
    assert "repeated: 1 attempt, after" in as_text(status)


def test_disk_space_of_both_sides_is_told(run_of):
    run = run_of(until=10)
    (run.directory / "follow.json").write_text(
        json.dumps({"schema": 1, "at": "2026-03-01T22:05:00+00:00", "client_free_mb": 4321})
    )
    status = state_of(run, state="running")
    assert re.search(r"disk free: \d+ MiB here, 4321 MiB on the client", as_text(status))
    assert status.is_unheard
    assert "followed: not since 22:05:00 UTC" in as_text(status)


def test_times_are_those_of_the_readers_zone(run_of, monkeypatch):
    run = run_of(until=10)
    (run.directory / "follow.json").write_text(
        json.dumps({"schema": 1, "at": "2026-03-01T22:05:00+00:00", "client_free_mb": 4321})
    )
    monkeypatch.setenv("TZ", "XST-3")
    time.tzset()
    status = state_of(run, state="running")
    assert "followed: not since 01:05:00 XST" in as_text(status)
    told = status.as_json()
    assert (told["seen"], told["is_unheard"]) == ("2026-03-01T22:05:00Z", True)


def test_a_run_that_has_ended_need_not_be_followed(run_of):
    run = run_of(until=10)
    (run.directory / "follow.json").write_text(
        json.dumps({"schema": 1, "at": "2026-03-01T22:05:00+00:00", "client_free_mb": 4321})
    )
    status = state_of(run, state="finished")
    assert status.has_ended
    assert not status.is_unheard
    assert "followed" not in as_text(status)


def test_the_nodes_are_told_with_what_does_not_answer_and_since_when(run_of, capsys):
    run = run_of(until=10)
    since = "2026-03-01T22:05:00.000000Z"
    up, down = {"state": "up", "since": since}, {"state": "down", "since": since}
    nodes = {
        "worker2": {"state": "away", "since": since, "disk_free_mb": None, "services": {}},
        "worker1": {
            **up,
            "seen": since,
            "disk_free_mb": 5000,
            "services": {"tomcat": up, "sort-worker": down},
        },
        "worker3": "no node",
    }
    lines = as_text(state_of(run, state="running", nodes=nodes)).splitlines()
    assert lines[-2:] == [
        "worker1: sort-worker is down since 2026-03-01 22:05:00 UTC; tomcat answers; 5000 MiB free",
        "worker2: away since 2026-03-01 22:05:00 UTC",
    ]
    page = page_of(read_status(run))
    assert "<dt>worker2</dt><dd>away since 2026-03-01 22:05:00 UTC</dd>" in page
    assert main(["status", str(run.directory), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["nodes"]
    assert told["worker2"]["state"] == "away"
    assert told["worker1"]["disk_free_mb"] == 5000
    assert told["worker1"]["services"]["sort-worker"] == {
        "state": "down",
        "since": "2026-03-01T22:05:00Z",
    }


def test_a_run_that_is_followed_is_not_called_unheard(run_of):
    run = run_of(until=10)
    now = datetime.now(UTC).isoformat()
    (run.directory / "follow.json").write_text(json.dumps({"at": now, "client_free_mb": 1}))
    assert "followed" not in as_text(state_of(run, state="running"))


def test_json_says_what_the_lines_say(run_of, capsys):
    run = run_of(until=10)
    state_of(run, state="running", running=run.plan[10].id, attempt=1, since="2026-03-01T22:05:00Z")
    assert main(["status", str(run.directory), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["sealed"], told["remaining"], told["total"]) == (1, 10, 26, 36)
    assert told["running"]["id"] == run.plan[10].id
    assert told["running"]["factors"] == run.plan[10].factors
    assert told["eta_s"] == 52
    assert told["has_ended"] is False
    assert (told["is_unheard"], told["stop"]) == (False, None)


def test_watching_as_json_ends_with_the_run(run_of, capsys):
    run = run_of()
    assert main(["status", str(run.directory), "--json", "--watch"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_sealed_trial_is_read_once_and_a_torn_one_again(run_of):
    run = run_of(until=2)
    watch = Watch(run)
    torn = run.trials_directory / run.plan[1].id / "trial.json"
    whole = torn.read_text()
    torn.write_text("{")
    assert (watch.status().sealed, watch.status().unusable) == (1, 1)
    (run.trials_directory / run.plan[0].id / "trial.json").unlink()
    torn.write_text(whole)
    assert (watch.status().sealed, watch.status().unusable) == (2, 0)


# The page


def test_the_page_says_what_the_terminal_says(run_of):
    run = run_of(until=10)
    status = state_of(run, state="running", running=run.plan[10].id)
    page = page_of(status)
    for line in as_text(status).splitlines():
        name, _, text = line.partition(": ")
        assert f"<dt>{name}</dt><dd>{text}</dd>" in page
    assert '<progress id="bar" max="36" value="10">' in page
    assert '<label for="bar">' in page
    assert '<html lang="en">' in page
    assert not re.findall(r"(?:src|href)=", page)


def test_a_page_reads_itself_again_only_while_the_run_goes(run_of):
    run = run_of(until=10)
    assert "location.reload" in page_of(state_of(run, state="running"))
    ended = page_of(state_of(run, state="failed"))
    assert "location.reload" not in ended
    assert "http-equiv" not in ended


def test_a_reason_is_text_and_no_markup(run_of):
    page = page_of(state_of(run_of(until=1), state="failed", reason="<script>alert(1)</script>"))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_a_page_is_replaced_whole(run_of):
    run = run_of(until=1)
    status = read_status(run)
    write_page(run.directory, status)
    before = (run.directory / "status.html").stat().st_ino
    write_page(run.directory, status)
    assert (run.directory / "status.html").stat().st_ino != before
    assert not list(run.directory.glob(".status.html*"))
    assert status.at - datetime.now(UTC) < timedelta(minutes=1)


def test_a_run_between_two_groups_waits_for_the_control_host(tmp_path):
    factors = {"transport": ["soap"], "servers": [1], "integers": [500], "rate": [10, 100]}
    study = parse_study(changed(factors=factors, node={"link_mbit": "rate"}), "x")
    plan = make_plan(study.profile("paper", 5))
    write_plan(tmp_path / "run" / "plan.jsonl", plan)
    run = open_run(str(tmp_path / "run"))
    status = state_of(run, state="finished", reason="")
    assert status.state == "waiting"
    rate = plan[0].node["link_mbit"]
    wanted = f"waits for the control host to set the nodes for link_mbit {rate}"
    assert status.reason == wanted
    assert not status.has_ended
    # A run that was stopped, or whose other trials are deferred, has ended.
    assert state_of(run, state="finished", reason="stopped before trial 2").has_ended
    put_off = [{"id": trial.id, "reason": "worker1 is away"} for trial in plan]
    assert state_of(run, state="finished", reason="deferred", put_off=put_off).has_ended


def test_a_run_whose_interim_analysis_waits_for_deferred_trials_has_ended(tmp_path):
    factors = {"transport": ["soap"], "servers": [1, 3], "integers": [500], "rate": [10, 100]}
    stop = {"half_width": 0.1, "looks": [2, 3]}
    text = changed(factors=factors, node={"link_mbit": "rate"}, stop=stop, replicates=3)
    plan = make_plan(parse_study(text, "x").profile("paper", 5))
    write_plan(tmp_path / "run" / "plan.jsonl", plan)
    run = open_run(str(tmp_path / "run"))
    put_off = [{"id": one.id, "reason": "worker3 is skipped"} for one in plan if one.block <= 2]
    # While another trial before the analysis is open, the run goes on.
    assert state_of(run, state="finished", reason="x", put_off=put_off[1:]).state == "waiting"
    status = state_of(run, state="finished", reason="x", put_off=put_off)
    assert (status.state, status.reason, status.has_ended) == ("finished", "x", True)
    last = [{"id": one.id, "reason": "worker3 is skipped"} for one in plan if one.block == 3]
    assert state_of(run, state="finished", reason="x", put_off=last).state == "waiting"
