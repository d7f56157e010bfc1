"""`collect check`: a whole run passes, and each way of being wrong is found and named."""

import csv
import hashlib
import json
import shutil

import pytest
from made_up_studies import changed
from open_loops import load_study, service_ms
from synthetic import add_resources, binding_times, edit_json, reseal, seal, sort_times

from collect.cells.analysis import analyse
from collect.cells.cells import write_cells
from collect.cli import main
from collect.costs.parts import read_parts
from collect.logs.columns import MISSING
from collect.proof.check import prove
from collect.run.directory import open_run
from collect.run.trials import read_trial


@pytest.fixture
def run(run_of):
    """A whole run that was reported: with cells.csv and what a report keeps."""
    return reported(run_of())


def reported(run):
    write_cells(run.directory / "cells.csv", run, analyse(run).cells)
    return run


def findings(run):
    return [(f.kind, f.subject, f.text) for f in prove(open_run(str(run.directory))).findings]


def only(run):
    ((kind, subject, text),) = findings(run)
    return kind, subject, text


def trial_json(run, number):
    return run.trials_directory / run.plan[number].id / "trial.json"


def look(run, at="2026-03-02T06:00:00Z", without=(), **changes):
    """Add a snapshot of the nodes with items of worker1 changed, and some nodes left out."""
    nodes = json.loads(json.dumps(run.provenance.recorded["nodes"]))
    next(node for node in nodes if node["name"] == "worker1").update(changes)
    used = [node for node in nodes if node["name"] not in without]
    with (run.directory / "nodes.jsonl").open("a") as stream:
        stream.write(json.dumps({"at": at, "nodes": used, "without": list(without)}) + "\n")


def test_a_whole_reported_run_has_no_findings_and_is_not_touched(run):
    look(run)
    before = {p: p.read_bytes() for p in run.directory.rglob("*") if p.is_file()}
    assert findings(run) == []
    assert {p: p.read_bytes() for p in run.directory.rglob("*") if p.is_file()} == before


def test_a_plan_whose_bytes_changed_is_found(run):
    plan = run.directory / "plan.jsonl"
    plan.write_bytes(plan.read_bytes().replace(b'"calls":', b'"calls": ', 1))
    kind, subject, text = only(run)
    assert (kind, subject) == ("plan", "plan.jsonl")
    assert "restore it" in text


def test_a_run_that_states_no_hash_of_its_plan_is_not_proven(run):
    record = dict(run.provenance.recorded)
    del record["plan_sha256"]
    (run.directory / "run.json").write_text(json.dumps(record))
    assert "states no hash of the plan" in only(run)[2]


def test_a_run_without_provenance_is_not_proven(run):
    (run.directory / "run.json").unlink()
    assert ("plan", "run.json") in [finding[:2] for finding in findings(run)]


def test_provenance_of_another_run_is_found(run):
    edit_json(run.directory / "run.json", profile="paper")
    kind, _, text = only(run)
    assert kind == "plan"
    assert 'the profile "paper", but the plan has "demo"' in text


def test_a_trial_that_is_not_there_is_missing(run):
    name = run.plan[3].id
    shutil.rmtree(run.trials_directory / name)
    kinds = {kind: subject for kind, subject, _ in findings(run)}
    assert kinds["missing"] == name
    # What an earlier report read of it must not be counted any more.
    assert kinds["counted"] == name


def test_a_trial_that_was_put_off_is_accounted_for(run_of):
    run = run_of(until=35)
    last = run.plan[-1].id
    put_off = [{"id": last, "reason": "worker5 does not answer"}]
    (run.directory / "state.json").write_text(json.dumps({"state": "failed", "put_off": put_off}))
    kind, subject, text = only(run)
    assert (kind, subject) == ("missing", last)
    assert text.endswith("sweep again to run it (deferred: worker5 does not answer)")


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        (lambda d: (d / "trial.json").unlink(), "has no trial.json, so it is not sealed"),
        (lambda d: edit_json(d / "trial.json", schema=3), "this version reads schema 1 to 2"),
        (lambda d: edit_json(d / "trial.json", calls_rows=7), "with 7 calls, but the plan says"),
        (lambda d: edit_json(d / "trial.json", calls_sha256="0" * 64), "changed after sealing"),
        (lambda d: edit_json(d / "trial.json", position=99), "position is 99 in trial.json"),
        (lambda d: reseal(d, lambda text: text.replace("\n3,", "\n4,", 1)), "in seq"),
        (lambda d: reseal(d, lambda text: text.replace("\n3,", "\n93,", 1)), "in seq"),
        (lambda d: reseal(d, lambda text: text.replace("elapsed_ns", "ns", 1)), "header of schema"),
        (lambda d: reseal(d, lambda text: text.replace("measure", "run", 1)), "unknown phase"),
        (lambda d: reseal(d, lambda text: text.replace(",ok\n", ",fine\n", 1)), "unknown status"),
    ],
)
def test_a_trial_that_is_not_whole_is_refused(run, damage, part):
    name = run.plan[0].id
    damage(run.trials_directory / name)
    refused = [(s, text) for kind, s, text in findings(run) if kind == "refused"]
    assert [subject for subject, _ in refused] == [name]
    assert part in refused[0][1]
    assert "again" in refused[0][1]


def test_what_was_never_planned_is_stray(run):
    shutil.copytree(run.trials_directory / run.plan[0].id, run.trials_directory / "b99-copy")
    assert only(run)[:2] == ("stray", "b99-copy")


def test_a_copy_under_the_name_of_another_trial_is_found(run_of):
    run = run_of(lambda planned, rng: [1.0] * planned.calls)
    first, other = (json.loads(trial_json(run, n).read_text()) for n in (0, 1))
    edit_json(trial_json(run, 1), started_at=first["started_at"])
    kind, subject, text = only(run)
    assert (kind, subject) == ("duplicate", other["id"])
    assert f"the same calls as {first['id']}" in text


def test_trials_without_a_call_are_no_copies_of_each_other(run_of):
    run = run_of(
        lambda planned, rng: "failed" if planned.position < 4 else sort_times(planned, rng)
    )
    for planned in run.plan[:3]:
        reseal(run.trials_directory / planned.id, lambda text: text.splitlines()[0] + "\n")
    assert findings(run) == []


def test_a_node_that_changed_is_found_once(run):
    look(run)
    look(run, at="2026-03-02T07:00:00Z", kernel="6.12.9")
    look(run, at="2026-03-02T08:00:00Z", kernel="6.12.9")
    kind, subject, text = only(run)
    assert (kind, subject) == ("nodes", "worker1")
    assert "kernel was 6.12.0, and at 2026-03-02T07:00:00Z it was 6.12.9" in text


def test_a_node_that_was_replaced_is_found(run):
    look(run, name="worker9")
    texts = sorted(text for _, _, text in findings(run))
    assert "worker1: the node was there, and at 2026-03-02T06:00:00Z it was (absent)" in texts[0]
    assert "worker9: the node was (absent), and at 2026-03-02T06:00:00Z it was there" in texts[1]


def test_readings_of_the_moment_are_no_change(run):
    look(run, clock_offset_ms=3.5, failed_units="apt-daily.service")
    assert findings(run) == []


def test_a_changed_node_stands_at_the_head_of_the_report(run):
    from collect.report.warnings import find_warnings  # noqa: PLC0415 - slow to import

    look(run, jdk="22")
    warnings = find_warnings(analyse(open_run(str(run.directory))))
    assert "The nodes changed during the run." in [warning.text for warning in warnings]


def test_a_declared_difference_is_told_with_its_reason_and_is_no_alarm(run):
    from collect.report.warnings import find_warnings  # noqa: PLC0415 - slow to import

    record = json.loads((run.directory / "run.json").read_text())
    record["nodes"][2]["jdk"] = "21.0.9"
    (run.directory / "run.json").write_text(json.dumps(record))
    grave = "The nodes were not identical."
    assert grave in [t.text for t in find_warnings(analyse(open_run(str(run.directory))))]
    exception = {"node": "worker1", "item": "jdk", "reason": "waits for its rebuild"}
    edit_json(run.directory / "run.json", exceptions=[exception])
    warnings = find_warnings(analyse(open_run(str(run.directory))))
    assert grave not in [t.text for t in warnings]
    told = next(t for t in warnings if "declared" in t.text)
    assert told.details == ("worker1: jdk (waits for its rebuild)",)
    assert not told.is_grave


def test_a_declared_kind_covers_each_of_its_items(run):
    from collect.report.warnings import find_warnings  # noqa: PLC0415 - slow to import

    record = json.loads((run.directory / "run.json").read_text())
    for node in record["nodes"]:
        node["packages_sha256"] = "ab"
    record["nodes"][2] |= {"packages_sha256": "ff", "jdk": "21.0.9"}
    record["exceptions"] = [{"node": "worker1", "item": "packages", "reason": "an older release"}]
    (run.directory / "run.json").write_text(json.dumps(record))
    (alarm,) = [
        t
        for t in find_warnings(analyse(open_run(str(run.directory))))
        if t.text == "The nodes were not identical."
    ]
    assert all(detail.startswith("jdk: ") for detail in alarm.details)


def test_a_node_that_was_left_out_is_not_missed(run):
    look(run, without=["worker1"])
    look(run)
    assert findings(run) == []
    look(run, jdk="22")
    assert only(run)[:2] == ("nodes", "worker1")


def test_a_node_that_went_away_is_found_until_it_is_seen_again(run):
    from collect.report.warnings import find_warnings  # noqa: PLC0415 - slow to import

    look(run, without=["worker1"])
    kind, subject, text = only(run)
    assert (kind, subject) == ("nodes", "worker1")
    assert (
        "did not answer when the nodes were compared again at 2026-03-02T06:00:00Z; run the same"
        in text
    )
    warnings = find_warnings(analyse(open_run(str(run.directory))))
    assert [t.text for t in warnings if "worker1" in t.text and t.is_grave]
    look(run, at="2026-03-03T06:00:00Z")
    assert findings(run) == []


def test_a_node_that_came_later_is_compared_from_its_first_look_on(run):
    nodes = run.provenance.recorded["nodes"]
    others = [node for node in nodes if node["name"] != "worker1"]
    edit_json(run.directory / "run.json", nodes=others, without=["worker1"])
    look(run)
    assert findings(run) == []
    look(run, at="2026-03-03T06:00:00Z", jdk="22")
    kind, subject, text = only(run)
    assert (kind, subject) == ("nodes", "worker1")
    assert "at 2026-03-03T06:00:00Z it was 22" in text


def test_a_torn_list_of_looks_is_one_message(run, capsys):
    (run.directory / "nodes.jsonl").write_text('{"at": "2026')
    assert main(["check", str(run.directory)]) == 2
    assert "nodes.jsonl: line 1 is not a snapshot" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"host": "client2"}, "the client is client2 in 1 trials and client in the others"),
        ({"jvm": {"version": "25", "vendor": "Debian"}}, "is Debian 25 in 1 trials"),
    ],
)
def test_a_trial_of_another_client_or_jdk_is_found(run, changes, part):
    edit_json(run.trials_directory / run.plan[2].id / "trial.json", **changes)
    kind, subject, text = only(run)
    assert (kind, subject) == ("nodes", run.plan[2].id)
    assert part in text


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        (",ok,0,", ",failed,0,", "outcome failed, but the trials give ok"),
        (",3,", ",2,", "trials 2, but the trials give 3"),
        ("outcome,", "result,", "other columns"),
    ],
)
def test_cells_that_the_trials_do_not_give_are_found(run, old, new, part):
    path = run.directory / "cells.csv"
    path.write_text(path.read_text().replace(old, new, 1))
    kind, _, text = only(run)
    assert kind == "cells"
    assert part in text
    assert f"collect report {run.directory}" in text


def test_a_time_changed_in_cells_is_found_even_where_the_cache_agrees(run):
    path = run.directory / "cells.csv"
    lines = path.read_text().splitlines()
    cells = lines[1].split(",")
    cells[6] = str(float(cells[6]) + 0.001)
    path.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n")
    assert "cells.csv: line 2 has mean_ms" in only(run)[2]


def test_cells_from_before_throughput_are_proven(run):
    path = run.directory / "cells.csv"
    lines = path.read_text().splitlines()
    known = lines[0].split(",").index("calls_per_s")
    rows = [line.split(",")[:known] for line in lines]
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    assert not findings(run)
    path.write_text(path.read_text().replace(",ok,0\n", ",ok,1\n", 1))
    assert "failed_trials 1, but the trials give 0" in only(run)[2]


def test_cells_of_an_earlier_version_are_proven_but_for_their_means(run):
    path = run.directory / "cells.csv"
    rows = [line.split(",") for line in path.read_text().splitlines()]
    known = rows[0].index("failed_trials")
    earlier = [
        [*row[:6], "arithmetic" if at else row[6], *row[7:known]] for at, row in enumerate(rows)
    ]
    path.write_text("".join(",".join(row) + "\n" for row in earlier))
    assert not findings(run)
    path.write_text(path.read_text().replace(",3,", ",2,", 1))
    assert "trials 2, but the trials give 3" in only(run)[2]


def test_intervals_of_no_length_that_an_earlier_version_wrote_for_equal_times_are_proven(run_of):
    run = reported(run_of(service_ms, study=load_study(rates=[50])))
    path = run.directory / "cells.csv"
    header, *rows = csv.reader(path.read_text().splitlines())
    for end, mean in {
        **dict.fromkeys(("ci95_low_ms", "ci95_high_ms"), "mean_ms"),
        **dict.fromkeys(("typical_low_ms", "typical_high_ms"), "typical_ms"),
        **dict.fromkeys(("calls_per_s_low", "calls_per_s_high"), "calls_per_s"),
        **dict.fromkeys(("response_low_ms", "response_high_ms"), "response_mean_ms"),
    }.items():
        for row in rows:
            assert row[header.index(end)] == ""
            row[header.index(end)] = row[header.index(mean)]
    path.write_text("".join(",".join(row) + "\n" for row in [header, *rows]))
    assert not findings(run)
    path.write_text(path.read_text().replace(",5,5,5,", ",5,5,6,", 1))
    assert "ci95_high_ms 6, but the trials give (empty)" in only(run)[2]


@pytest.mark.parametrize(
    ("threads", "times", "is_found"), [(30, 0.5, False), (30, 2, True), (1, 0.5, True)]
)
def test_rates_that_an_earlier_version_may_have_written_are_proven(
    run_of, threads, times, is_found
):
    """It timed all threads from the first call of any, which lowered the rate of several."""
    run = reported(run_of(binding_times, study="binding"))
    path = run.directory / "cells.csv"
    rows = [line.split(",") for line in path.read_text().splitlines()]
    number = next(
        at for at, cell in enumerate(analyse(run).cells, start=1) if cell.threads == threads
    )
    place = rows[0].index("calls_per_s")
    rows[number][place] = str(float(rows[number][place]) * times)
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    assert any("calls_per_s" in text for _, _, text in findings(run)) is is_found


@pytest.mark.parametrize("content", ["", "x" * 200_000, '"' + "x,\n" * 100_000])
def test_what_is_no_table_of_cells_is_found(run, content):
    (run.directory / "cells.csv").write_text(content)
    kind, _, text = only(run)
    assert (kind, "-1 rows" in text) == ("cells", False)


def test_a_cell_left_out_is_found(run):
    path = run.directory / "cells.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert "has 11 rows or other columns, but the trials give 12 rows" in only(run)[2]


@pytest.mark.parametrize(
    ("taken", "is_found"),
    [
        ({"fork_ms": {"jvm": 40_000.0}}, True),
        ({"fork_ms": {"jvm": 53_000.0}}, True),
        ({"fork_ms": {"jvm": 55_000.0}}, False),  # it kept 5 s for writing its log
        ({"fork_ms": {"jvm": 60_040.0}}, False),
        ({"ended_at": "2026-03-01T22:59:59.000000Z"}, False),  # an old one without fork_ms
        ({}, True),
    ],
)
def test_a_timeout_whose_bound_never_came_is_refused(run, taken, is_found):
    planned = run.plan[3]
    shutil.rmtree(run.trials_directory / planned.id)
    reason = f"not done within timeout_s = {planned.timeout_s} s; the JVM was killed"
    seal(run.trials_directory, planned, [], outcome="timeout", reason=reason, **taken)
    refused = [(s, text) for kind, s, text in findings(run) if kind == "refused"]
    assert planned.timeout_s == 60
    assert [subject for subject, _ in refused] == [planned.id] * is_found
    assert not is_found or "as a timeout at 60 s, but its JVM ended after " in refused[0][1]


def test_what_is_set_aside_is_kept_and_open_again(run, capsys):
    torn, copy = run.plan[0].id, "b99-copy"
    shutil.copytree(run.trials_directory / torn, run.trials_directory / copy)
    (run.trials_directory / torn / "trial.json").unlink()
    assert main(["check", str(run.directory), "--set-aside"]) == 1
    assert f"set aside: {torn} is now " in capsys.readouterr().out
    assert sorted(p.name for p in (run.directory / "refused").iterdir()) == sorted([torn, copy])
    assert ("missing", torn) in [finding[:2] for finding in findings(run)]
    seal(run.trials_directory, run.plan[0], [1.0] * run.plan[0].calls)
    (run.trials_directory / torn / "trial.json").unlink()
    assert main(["check", str(run.directory), "--set-aside"]) == 1
    assert (run.directory / "refused" / f"{torn}.2").is_dir()


def test_a_next_step_names_the_run_as_a_shell_takes_it_here(run_of, tmp_path, monkeypatch, capsys):
    run = run_of(name="my night")
    (run.trials_directory / run.plan[0].id / "trial.json").unlink()
    assert main(["check", str(run.directory)]) == 1
    assert f"collect check '{run.directory}' --set-aside\n" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    assert main(["check", str(run.directory)]) == 1
    assert "collect check 'my night' --set-aside\n" in capsys.readouterr().out


def with_parts(run, number, change=lambda rows: rows):
    """Seal the parts of a trial's calls, changed or as a client marks them: half of each waits."""
    directory = trial_json(run, number).parent
    calls = [line.split(",") for line in (directory / "calls.csv").read_text().split()]
    good = [call for call in calls if call[2] == "measure" and call[8] == "ok"]
    rows = change([[call[0], "10", "", str(int(call[5]) // 2), "20"] for call in good])
    lines = ["seq,serialise_ns,send_ns,wait_ns,parse_ns", *map(",".join, rows)]
    content = "".join(f"{line}\n" for line in lines)
    (directory / "parts.csv").write_text(content)
    digest = hashlib.sha256(content.encode()).hexdigest()
    seal = {"file": "parts.csv", "rows": len(rows), "sha256": digest}
    edit_json(directory / "trial.json", parts=seal)
    return directory


def test_parts_that_agree_with_their_calls_are_no_finding(run):
    directory = with_parts(run, 0)
    assert findings(run) == []
    parts = read_parts(read_trial(directory))
    assert len(parts.seq) == read_trial(directory).parts.rows > 1
    assert set(parts.ns["send"]) == {MISSING}, "unknown is not zero"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda rows: rows[1:], "one row for each measured call"),
        (lambda rows: [*rows[:-1], ["0", *rows[-1][1:]]], "one row for each measured call"),
        (lambda rows: [[*rows[0][:3], "9" * 15, "20"], *rows[1:]], "longer than the call"),
        (lambda rows: [[*rows[0][:3], "-1", "20"], *rows[1:]], "below zero"),
        (lambda rows: [[*rows[0][:3], "soon", "20"], *rows[1:]], "cannot be read"),
    ],
)
def test_parts_that_contradict_their_calls_are_found(run, change, text):
    with_parts(run, 0, change)
    kind, subject, said = only(run)
    assert (kind, subject) == ("parts", run.plan[0].id)
    assert text in said


SAMPLES = [
    (0.3, "client", "", {"rss_bytes": 1}),
    (1.3, "client", "", {"rss_bytes": 1, "cpu_cores": 0.5}),
]


def with_resources(run, number, nodes):
    """Seal samples of a trial: two of its client."""
    directory = run.trials_directory / run.plan[number].id
    add_resources(directory, nodes, SAMPLES)
    return directory / "resources.csv"


def test_samples_as_they_were_sealed_are_no_finding(run):
    with_resources(run, 0, {"client": {}, "worker1": {"missing": "it does not answer"}})
    assert findings(run) == []


@pytest.mark.parametrize(
    ("nodes", "change", "part"),
    [
        ({"client": {}}, lambda text: text.replace("0.5", "0.6"), "is not the file that was"),
        ({"client": {}}, None, "cannot be read"),
        ({"worker1": {}}, str, "has rows of client, which trial.json does not name"),
        (
            {"client": {}, "worker1": {}},
            str,
            "has no rows of worker1, but trial.json says: nothing",
        ),
        (
            {"client": {"missing": "it broke off"}},
            str,
            "has rows of client, but trial.json says: it",
        ),
    ],
)
def test_samples_that_contradict_their_seal_are_found(run, nodes, change, part):
    path = with_resources(run, 0, nodes)
    if change is None:
        path.unlink()
    else:
        path.write_text(change(path.read_text()))
    kind, subject, text = only(run)
    assert (kind, subject) == ("resources", run.plan[0].id)
    assert part in text


def test_samples_without_a_seal_are_found(run):
    (run.trials_directory / run.plan[0].id / "resources.csv").write_text("t_ns\n")
    assert "has no seal of it" in only(run)[2]


def test_parts_that_changed_after_sealing_are_found(run):
    path = with_parts(run, 0) / "parts.csv"
    path.write_text(path.read_text().replace(",10,", ",11,"))
    assert "changed after sealing" in only(run)[2]
    path.unlink()
    assert "cannot be read" in only(run)[2]


@pytest.fixture
def two_jdks(run_of):
    """A run whose clients are of two JDKs, as its study asks."""
    text = changed(
        factors={"transport": ["soap"], "servers": [1], "integers": [500], "jdk": [21, 25]},
        constants={"client_heap_mb": 64, "jdk": "jdk"},
        **{"restart": "none", "replicates": 3, "calls": 8, "warmup": 5},
    )
    run = run_of(lambda planned, rng: [5.0] * planned.calls, study=text, profile="paper")
    for planned in run.plan:
        jvm = {"version": f"{planned.factors['jdk']}.0.1+7-Debian", "vendor": "Debian"}
        edit_json(run.trials_directory / planned.id / "trial.json", jvm=jvm)
    return reported(open_run(str(run.directory)))


def test_clients_of_the_jdks_that_a_study_asks_for_are_no_finding(two_jdks):
    assert findings(two_jdks) == []


def test_a_client_of_another_jdk_than_planned_is_found(two_jdks):
    (planned, *_) = (trial for trial in two_jdks.plan if trial.factors["jdk"] == 25)
    path = two_jdks.trials_directory / planned.id / "trial.json"
    edit_json(path, jvm={"version": "21.0.1+7-Debian", "vendor": "Debian"})
    found = {kind: text for kind, _, text in findings(two_jdks)}
    assert "the client had JDK 21.0.1+7-Debian, not 25" in found["settings"]
    assert "the JDK of the client is Debian 21.0.1+7-Debian in 1 trials" in found["nodes"]


def test_a_further_server_that_ran_otherwise_than_planned_is_found(run):
    told = {"parrot on worker1": {"options": ["-Xmx64m", "-XX:+UseG1GC"]}}
    edit_json(trial_json(run, 0), settings=told)
    assert findings(run) == []
    edit_json(run.directory / "run.json", served={"parrot": ["collector"]})
    kind, subject, text = only(run)
    assert (kind, subject) == ("settings", run.plan[0].id)
    assert "parrot on worker1 had -Xmx64m -XX:+UseG1GC, without -XX:+UseParallelGC" in text
