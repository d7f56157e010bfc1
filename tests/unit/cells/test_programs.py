"""Cells whose calls a program made: single calls, or a summary without any."""

import csv
import hashlib
import io
import json
import re
from dataclasses import replace

import pytest
import synthetic

from collect.cells.analysis import analyse
from collect.cells.cells import cells_csv
from collect.cli import main
from collect.costs.usage import Busy, Mean, Usage
from collect.run.directory import open_run
from collect.run.plan import write_plan
from collect.run.recorded import Machine
from collect.run.study import parse_study
from collect.run.trials import TrialError, verify_trial

STUDY = """
schema: 1
study: tools
title: One resource, several load generators
factors: {tool: [ours, wrk, script]}
clients: {factor: tool, ours: http, wrk: wrk, script: get-python}
needs: [tomcat]
constants: {}
replicates: 3
calls: 40
warmup: 0
threads: 2
timeout_s: 60
seed: 1
profiles:
  demo: {restart: none}
"""
WRK_MS = (0.5, 0.6, 0.7)
PROGRAM = {"command": ["python3", "get.py"], "reads": "csv", "summary": None}


def summary(directory, mean_ms):
    """What a trial says of whose calls wrk made the sum."""
    text = f"    Latency   {mean_ms}ms\n"
    (directory / "summary.txt").write_text(text)
    numbers = {"calls": 6300, "mean_ms": mean_ms, "p50_ms": 0.5, "p99_ms": 1.2, "max_ms": 2.5}
    times = {"calls_per_s": 2000 / mean_ms, "from_ns": 10**8, "to_ns": 11 * 10**8}
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return {
        "command": ["wrk", "--latency"],
        "reads": "wrk",
        "summary": {**numbers, **times, "file": "summary.txt", "sha256": sha256},
    }


@pytest.fixture
def run(tmp_path):
    """A run in which a Java client, wrk and a script made the calls."""
    plan = synthetic.make_run(tmp_path / "tools", lambda planned, rng: [1.0] * 80, study=STUDY)
    for planned in plan:
        directory = tmp_path / "tools/trials" / planned.id
        if planned.client == "wrk":
            synthetic.reseal(directory, lambda rows: rows.partition("\n")[0] + "\n")
            change(directory, program=summary(directory, WRK_MS[planned.block - 1]), jvm={})
        elif planned.client == "get-python":
            # As many calls as it liked, by threads that it does not name.
            synthetic.reseal(directory, threadless)
            change(directory, program=PROGRAM, jvm={})
    return open_run(str(tmp_path / "tools"))


def threadless(rows):
    """The log without the numbers of threads, and without its last calls."""
    lines = rows.splitlines()[:-7]
    return "\n".join(re.sub(r"^(\d+),\d+,", r"\1,,", line) for line in lines) + "\n"


def of_short_threads(rows):
    """A log of 73 calls of 1 ms, one every 10 ms, each by a thread of its own."""
    calls = [f"{n},{n},measure,,{n * 10**7},1000000,2000,1900,ok" for n in range(73)]
    return "\n".join([rows.partition("\n")[0], *calls]) + "\n"


def change(directory, **entries):
    """Change entries of trial.json; it stays in the layout."""
    path = directory / "trial.json"
    record = {**json.loads(path.read_text()), **entries}
    path.write_text(json.dumps(synthetic.in_layout(record)))


def cells_of(run):
    """The cells of a run by tool."""
    return {cell.cell["tool"]: cell for cell in analyse(run).cells}


def test_a_study_needs_no_heap():
    assert parse_study(STUDY, "studies/tools.yml").profile("demo", 1).constants == {}


def test_a_summary_makes_a_cell_with_an_interval_and_without_percentiles(run):
    cell = cells_of(run)["wrk"]
    assert (cell.outcome, cell.calls, cell.errors) == ("ok", 3 * 6300, 0)
    assert cell.mean.value == pytest.approx((0.5 * 0.6 * 0.7) ** (1 / 3))
    assert cell.mean.low < cell.mean.value < cell.mean.high
    assert cell.arithmetic_mean().value == pytest.approx(0.6)
    assert cell.throughput.value == pytest.approx(2000 / cell.mean.value)
    assert (cell.pooled, cell.typical, cell.variance, cell.calls_as_samples) == (None,) * 4
    assert cell.steadiness == "undecided"


def test_how_single_calls_vary_is_unknown_of_a_summary(run, capsys):
    assert main(["power", str(run.directory), "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]  # the times of the others do not vary
    assert (cell["factors"]["tool"], cell["deviation"]["calls"]) == ("wrk", None)
    assert main(["power", str(run.directory)]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "wrk" in line)
    assert " - " in line


def test_single_calls_of_a_program_count_like_any(run):
    cell = cells_of(run)["script"]
    assert (cell.outcome, cell.calls) == ("ok", 3 * 73)
    assert cell.mean.value == pytest.approx(1.0)
    assert cell.pooled.p50_ms == pytest.approx(1.0)
    assert cell.throughput.value > 0


def test_the_throughput_of_a_program_is_over_its_whole_phase_whatever_its_threads(run):
    for planned in run.plan:
        if planned.client == "get-python":
            directory = run.directory / "trials" / planned.id
            synthetic.reseal(directory, of_short_threads)
    cell = cells_of(run)["script"]
    assert cell.throughput.value == pytest.approx(73 / 0.721)


def test_a_program_that_calls_its_servers_in_turn_uses_one_direction_of_its_link_at_a_time(run):
    none, link = Mean(0.0), Mean(46e6 / 8)
    usage = Usage(
        {"client": Machine(cores=2, link_mbit=100)},
        {
            ("client", ""): Busy(none, link, link, none, none, none),
            ("client", "runner"): Busy(none, none, none, none, none, none),
        },
    )
    limits = {}
    for tool, cell in cells_of(run).items():
        of_two = replace(cell, threads=1, servers=2)
        vars(of_two)["usage"] = usage
        limits[tool] = of_two.limit.by
    assert limits == {"ours": "waiting", "wrk": "network", "script": "network"}


def test_cells_csv_has_empty_percentiles_of_a_summary(run):
    rows = csv.DictReader(io.StringIO(cells_csv(run, analyse(run).cells)))
    row = next(row for row in rows if row["tool"] == "wrk")
    assert row["mean_ms"] == "0.594392"
    assert row["ci95_low_ms"] and row["calls_per_s"] and row["arithmetic_mean_ms"] == "0.6"
    assert [row[name] for name in ("p50_ms", "p99_ms", "typical_ms", "request_bytes")] == [""] * 4


def test_a_run_of_programs_is_proven_and_reported(run, capsys):
    directory = str(run.directory)
    assert main(["report", directory]) == 0
    assert main(["check", directory]) == 0, capsys.readouterr().out
    page = (run.directory / "report.html").read_text()
    assert "2 cells called by programs: rackbench does not control their warm-up" in page
    assert "corrected for coordinated omission, without percentiles" in page
    assert "for get-python, wrk one run of a program" in page
    assert main(["report", directory]) == 0, "a second time, from the cache"
    for form in ("jtl", "parquet", "csv"):
        output = str(run.directory / f"calls.{form}")
        assert main(["export", directory, "--format", form, "-o", output]) == 0


def test_a_summary_that_was_changed_after_sealing_does_not_count(run, capsys):
    planned = next(planned for planned in run.plan if planned.client == "wrk")
    directory = run.directory / "trials" / planned.id
    (directory / "summary.txt").write_text("    Latency   0.1ms\n")
    with pytest.raises(TrialError, match=r"summary\.txt has the SHA-256"):
        verify_trial(directory, planned)
    assert len(cells_of(run)["wrk"].counted) == 2
    assert main(["check", str(run.directory)]) == 1
    assert "changed after sealing" in capsys.readouterr().out


@pytest.mark.parametrize("mean", [0, -1, "0.5", None])
def test_a_summary_without_a_mean_is_no_number(run, mean):
    planned = next(planned for planned in run.plan if planned.client == "wrk")
    path = run.directory / "trials" / planned.id / "trial.json"
    record = json.loads(path.read_text())
    record["program"]["summary"]["mean_ms"] = mean
    path.write_text(json.dumps(record))
    assert len(cells_of(run)["wrk"].counted) == 2


def test_a_java_client_must_have_made_all_its_calls(run):
    planned = next(planned for planned in run.plan if planned.client == "http")
    directory = run.directory / "trials" / planned.id
    synthetic.reseal(directory, lambda rows: "\n".join(rows.splitlines()[:-1]) + "\n")
    with pytest.raises(TrialError, match="calls are lost"):
        verify_trial(directory, planned)


def test_calls_of_some_threads_alone_are_refused(run):
    planned = next(planned for planned in run.plan if planned.client == "get-python")
    directory = run.directory / "trials" / planned.id
    synthetic.reseal(directory, lambda rows: rows.replace("3,,measure", "3,1,measure"))
    assert len(cells_of(run)["script"].counted) == 2


def open_loop(directory, client):
    """Make a run whose calls come at a rate; return the trials of a client with their places."""
    text = STUDY.replace("calls: 40", "calls: 40\narrival: {rate: 100, spacing: even}")
    plan = synthetic.make_run(directory, lambda planned, rng: [3.0] * 80, study=text)
    return [(one, directory / "trials" / one.id) for one in plan if one.client == client]


def test_an_open_loop_of_a_program_has_response_times_and_no_share_that_waited(tmp_path):
    for _, directory in open_loop(tmp_path / "open", "get-python"):
        synthetic.reseal(directory, threadless)
        change(directory, program=PROGRAM)
    run = open_run(str(tmp_path / "open"))
    cell = cells_of(run)["script"]
    assert cell.response.mean.value == pytest.approx(3.0)
    assert cell.waited_share is None
    assert cells_of(run)["ours"].waited_share == 0
    assert main(["report", str(run.directory)]) == 0


def test_an_open_loop_of_which_a_program_says_a_mean_alone_is_reported(tmp_path):
    for planned, directory in open_loop(tmp_path / "open", "wrk"):
        synthetic.reseal(directory, lambda rows: rows.partition("\n")[0] + "\n")
        change(directory, program=summary(directory, WRK_MS[planned.block - 1]), jvm={})
    run = open_run(str(tmp_path / "open"))
    response = cells_of(run)["wrk"].response
    assert (response.outcome, response.pooled) == ("ok", None)
    rows = csv.DictReader(io.StringIO(cells_csv(run, analyse(run).cells)))
    row = next(row for row in rows if row["tool"] == "wrk")
    assert (row["response_mean_ms"], row["response_p50_ms"]) == ("0.594392", "")
    assert float(row["response_low_ms"]) < 0.594392 < float(row["response_high_ms"])
    assert main(["report", str(run.directory)]) == 0


def test_a_plan_may_mix_programs_and_java_clients(tmp_path):
    profile = parse_study(STUDY, "studies/tools.yml").profile("demo", 1)
    plan = synthetic.make_plan(profile)
    assert write_plan(tmp_path / "plan.jsonl", plan)
    assert {trial.client for trial in plan} == {"http", "wrk", "get-python"}
    assert not write_plan(tmp_path / "plan.jsonl", [replace(trial) for trial in plan])
