"""Recorded files: strict where a number rests on them, readable whatever else they hold."""

import json

import pytest
from synthetic import edit_json, seal

from collect.cli import main
from collect.errors import InputError
from collect.run.directory import open_run
from collect.run.nodes import Node, Snapshot, first_seen, not_seen_again, read_snapshots
from collect.run.trials import TrialError, read_trial, verify_trial


@pytest.fixture
def run(run_of):
    return run_of(until=1)


def rewrite(run, /, **changes):
    """Make a run.json of these keys alone."""
    (run.directory / "run.json").write_text(json.dumps(changes))
    return open_run(str(run.directory)).provenance


def test_a_run_json_of_an_early_version_is_read_without_its_later_keys(run):
    provenance = rewrite(run, schema=1, run="night", study="sort", seed=7)
    assert (provenance.study, provenance.seed) == ("sort", 7)
    assert (provenance.profile, provenance.plan_sha256, provenance.lab.name) == (None, None, None)
    assert (provenance.nodes, provenance.exceptions, provenance.is_dirty) == ((), (), False)
    assert provenance.memory_tolerance == 0.01


def test_a_run_without_run_json_records_nothing(run):
    (run.directory / "run.json").unlink()
    assert not open_run(str(run.directory)).provenance.recorded


@pytest.mark.parametrize("stated", [0.05, "0.05"])
def test_the_tolerance_is_that_of_the_sweep(run, stated):
    assert rewrite(run, tolerances={"memory": stated}).memory_tolerance == 0.05


def test_a_tolerance_that_is_no_number_is_one_message(run):
    with pytest.raises(InputError, match=r"run\.json: .*much.*; restore or remove it"):
        rewrite(run, tolerances={"memory": "much"})


def test_a_whole_number_that_is_too_long_for_one_is_as_good_as_absent(run):
    too_long = 10**400
    lab = {"link_mbit": too_long}
    provenance = rewrite(run, tolerances={"memory": too_long}, lab=lab)
    assert (provenance.memory_tolerance, provenance.lab.link_mbit) == (0.01, None)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"nodes": []}',
        '{"at": 7, "nodes": []}',
        '{"at": "2026-03-02T06:00:00Z"}',
        '{"at": "2026-03-02T06:00:00Z", "nodes": {}}',
        '{"at": "2026-03-02T06:00:00Z", "nodes": [], "clock": NaN}',
    ],
)
def test_a_line_that_is_no_snapshot_is_named(run, line, capsys):
    good = '{"at": "2026-03-02T06:00:00Z", "nodes": []}'
    (run.directory / "nodes.jsonl").write_text(f"{good}\n{line}\n")
    assert main(["check", str(run.directory)]) == 2
    message = capsys.readouterr().err
    assert "nodes.jsonl: line 2 is not a snapshot of the nodes" in message
    assert "restore the file" in message


def test_a_node_is_taken_from_the_first_snapshot_that_has_it(run):
    looks = [
        {"at": "2026-03-02T06:00:00Z", "nodes": [{"name": "late", "kernel": "1"}]},
        {"at": "2026-03-02T07:00:00Z", "nodes": [{"name": "late", "kernel": "2"}]},
    ]
    (run.directory / "nodes.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in looks))
    nodes = {n.name: n for n in first_seen(read_snapshots(run.directory, run.provenance.snapshot))}
    assert nodes["late"].items == {"name": "late", "kernel": "1"}
    assert {"client", "broker", "worker1"} < set(nodes)


@pytest.mark.parametrize(
    ("seen", "gone"),
    [
        (["", "x", ""], True),
        (["x", "", ""], True),
        (["", "x"], False),
        (["x", "", "x"], False),
        (["", ""], False),
        ([], False),
    ],
)
def test_a_node_is_not_seen_again_if_any_snapshot_but_the_last_has_it(seen, gone):
    snapshots = [
        Snapshot("", tuple(Node(n, (), {"name": n}) for n in there), frozenset("x") - set(there))
        for there in seen
    ]
    assert not_seen_again(snapshots) == ["x"] * gone


def test_a_node_that_only_the_last_snapshot_has_was_not_seen_before():
    alone = Snapshot("", (Node("x", (), {"name": "x"}),), frozenset("x"))
    assert not_seen_again([alone]) == []


@pytest.mark.parametrize("value", [-1, 2**63, 1.0, True, "1", None])
def test_a_number_that_counting_relies_on_is_whole_and_of_63_bits(run, value):
    path = run.directories()[0] / "trial.json"
    edit_json(path, attempt=value)
    with pytest.raises(TrialError, match="attempt is "):
        read_trial(path.parent)


@pytest.mark.parametrize("value", [0, 2**63 - 1])
def test_the_smallest_and_the_largest_number_are_read(run, value):
    path = run.directories()[0] / "trial.json"
    edit_json(path, attempt=value)
    assert read_trial(path.parent).attempt == value


@pytest.mark.parametrize("started", ["1970-12-31T00:00:00Z", "2262-01-01T00:00:00Z"])
def test_a_year_whose_nanoseconds_do_not_fit_is_refused(run, started):
    path = run.directories()[0] / "trial.json"
    edit_json(path, started_at=started)
    with pytest.raises(TrialError, match="started_at is of the year"):
        read_trial(path.parent)


def test_a_trial_with_calls_to_spare_is_refused_too(run_of):
    run = run_of(until=0)
    planned = run.plan[0]
    directory = seal(run.trials_directory, planned, [1.0] * (planned.calls + 1))
    with pytest.raises(TrialError, match="14 calls, but the plan says 13"):
        verify_trial(directory, planned)


def test_what_a_service_ran_with_is_read_item_by_item(run):
    path = run.directories()[0] / "trial.json"
    told = {"options": ["-Xmx8m", "-Xms8m"], "maxThreads": "128", "queues": {"Flow": {"Limit": 1}}}
    settings = {"tomcat on worker1": told, "broker on broker1": None}
    edit_json(path, settings=settings)
    assert read_trial(path.parent).ran_with == {
        "tomcat on worker1": {
            "options": "-Xmx8m -Xms8m",
            "maxThreads": "128",
            "queues Flow Limit": "1",
        }
    }


def test_what_a_runner_of_an_early_version_did_not_record_is_absent(run):
    path = run.directories()[0] / "trial.json"
    needed = {
        *("schema", "id", "study", "profile", "block", "position", "attempt", "client", "factors"),
        *("constants", "node", "seed", "outcome", "reason", "started_at", "ended_at"),
        *("calls_rows", "calls_sha256"),
    }
    record = {key: value for key, value in json.loads(path.read_text()).items() if key in needed}
    path.write_text(json.dumps({**record, "schema": 1}))
    trial = read_trial(path.parent)
    assert (trial.host, trial.jvm, trial.anchor, trial.errors) == (None, {}, None, ())
    assert trial.ran_with == {}
    assert (trial.readings, trial.restarts, trial.earlier, trial.gc_ms) == ({}, (), (), None)
