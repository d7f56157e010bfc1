"""A trial of which too few calls were ok is excluded from all results; its rows are kept."""

import csv
import json

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from made_up_studies import with_demo
from synthetic import edit_json, make_run, seal, sort_times

from collect.cells.analysis import analyse
from collect.cells.cells import cells_csv
from collect.cells.notation import name_of
from collect.cli import main
from collect.planning.pilot import read_pilot
from collect.replication.claims import Verdict
from collect.replication.evidence import Untested, quotient
from collect.replication.replicate import replicate
from collect.report.warnings import find_warnings
from collect.run.directory import open_run

REASON = "6 of 8 measured calls were ok, fewer than the share 0.9 (least_ok)"
DEMO = {
    **{"restart": "none", "replicates": 4, "calls": 8, "warmup": 2, "timeout_s": 60},
    "where": [],
}

GRID = {"integers": 5000}


def study_of(integers):
    """A study of four cells."""
    grid = {"transport": ["soap", "jms"], "servers": [1, 5], "integers": [integers]}
    return with_demo(factors=grid, **DEMO)


def make(directory, is_bad, integers=5000, **seal_as):
    """A run in which the trials that `is_bad` picks have slow survivors and two errors."""
    plan = make_run(directory, sort_times, study=study_of(integers), until=0)

    rng = np.random.default_rng(3)
    for planned in plan:
        times = sort_times(planned, rng)
        if is_bad(planned):
            as_failed = {"outcome": "failed", "reason": REASON, **seal_as}
            slow = [time * 50 for time in times]
            statuses = {0: "timeout", 3: "error"}
            seal(directory / "trials", planned, slow, statuses=statuses, **as_failed)
        else:
            seal(directory / "trials", planned, times)
    return open_run(str(directory))


def soap_at_one(planned):
    return planned.factors["transport"] == "soap" and planned.factors["servers"] == 1


@pytest.fixture
def survived(tmp_path):
    """One bad trial in a cell of four."""
    return make(tmp_path / "night", lambda p: soap_at_one(p) and p.block == 2)


@pytest.fixture
def lost(tmp_path):
    """Every trial of a cell is bad."""
    return make(tmp_path / "lost", soap_at_one, integers=100_000)


def cell_of(run, **levels):
    cells = analyse(run).cells
    return next(c for c in cells if all(c.cell[name] == v for name, v in levels.items()))


def test_a_cell_leaves_the_trial_out_and_says_so(survived):
    cell = cell_of(survived, transport="soap", servers=1)
    assert sorted(cell.samples) == [1, 3, 4]
    assert (cell.calls, cell.failed_trials, cell.errors) == (24, 1, 2)
    assert max(cell.samples.values()) < 40
    assert cell.pooled.spread_ms.max() < 40
    assert [len(trial.spread_ms) for trial in cell.counted] == [
        trial.calls.calls for trial in cell.counted
    ]
    assert (cell.mean.samples, cell.mean.lost) == (3, 1)


def test_a_failed_trial_is_whole_for_collect_check(survived, capsys):
    assert main(["check", str(survived.directory)]) == 0
    assert "16" in capsys.readouterr().out


def test_a_cell_without_a_trial_left_is_not_tested_and_says_why(lost):
    analysis = analyse(lost)
    cell = cell_of(lost, transport="soap", servers=1)
    assert (cell.outcome, cell.mean, cell.pooled, cell.calls) == ("failed", None, None, 0)
    replication = replicate(analysis)
    jms = cell.cell.at(transport="jms")
    found = replication.measured.statistic([cell.cell, jms], quotient)
    assert found == Untested(f"soap, 1, 100\u202f000: failed ({REASON})")
    untested = [
        one.measured
        for one in replication.claims
        if any(
            isinstance(r.estimate, Untested) and REASON in r.estimate.reason
            for r in one.measured.results
        )
    ]
    assert {one.verdict for one in untested if not one.tested} == {Verdict.NOT_TESTED}
    (row,) = [
        row
        for row in csv.DictReader(cells_csv(lost, analysis.cells).splitlines())
        if (row["transport"], row["servers"]) == ("soap", "1")
    ]
    assert (row["mean_ms"], row["p50_ms"], row["outcome"]) == ("", "", "failed")


def test_a_trial_without_a_good_call_is_told_though_it_is_sealed_as_ok(tmp_path):
    """As runners sealed it that knew of no least_ok."""
    plan = make_run(tmp_path / "old", sort_times, study=study_of(5000), until=0)
    statuses = dict.fromkeys(range(8), "error")
    seal(tmp_path / "old/trials", plan[0], [1.0] * 8, statuses=statuses)
    warnings = find_warnings(analyse(open_run(str(tmp_path / "old"))))
    (told,) = [one for one in warnings if "did not end well" in one.text]
    assert told.details == (f"{name_of(plan[0].factors)}: 1 failed of 1 (no reason recorded)",)


def test_a_pilot_and_an_interim_analysis_do_without_it(survived, lost):
    pilot = read_pilot(analyse(survived))
    soap = cell_of(survived, transport="soap", servers=1).cell
    assert sorted(pilot.cells[soap].logs) == [1, 3, 4]
    assert pilot.cells[soap].mean_ms < 40
    (why,) = read_pilot(analyse(lost)).unusable.values()
    assert why == "no trials counted (failed)"


def test_comparing_runs_does_without_it(survived, tmp_path, capsys):
    make(tmp_path / "other", lambda p: False)
    runs = [str(survived.directory), str(tmp_path / "other")]
    main(["compare", *runs, "--json"])
    cells = json.loads(capsys.readouterr().out)["cells"]
    (soap,) = [c for c in cells if c["factors"] == {**GRID, "transport": "soap", "servers": 1}]
    assert (soap["first"]["trials"], soap["other"]["trials"]) == (3, 4)
    assert 0.5 < soap["ratio"] < 2


@pytest.mark.parametrize("form", ["jtl", "hdr", "trials"])
def test_exports_of_times_do_without_it(survived, tmp_path, form):
    path = tmp_path / "export"
    assert main(["export", str(survived.directory), "--format", form, "-o", str(path)]) == 0
    bad = next(p for p in survived.plan if soap_at_one(p) and p.block == 2).id
    if form == "jtl":
        names = {row["threadName"].split()[0] for row in csv.DictReader(path.open(newline=""))}
        assert names == {planned.id for planned in survived.plan} - {bad}
    elif form == "hdr":
        reader = HistogramLogReader(str(path), HdrHistogram(1, 2**40, 3))
        highest = 0
        while (histogram := reader.get_next_interval_histogram()) is not None:
            highest = max(highest, histogram.get_max_value())
        assert 0 < highest < 40e6
    else:
        means = {row["trial"]: row["mean_ms"] for row in csv.DictReader(path.open(newline=""))}
        assert [name for name, mean in means.items() if not mean] == [bad]


def test_the_rows_are_kept_in_an_export_of_all_calls(survived, tmp_path):
    path = tmp_path / "calls.csv"
    assert main(["export", str(survived.directory), "--format", "csv", "-o", str(path)]) == 0
    rows = list(csv.DictReader(path.open(newline="")))
    assert len([row for row in rows if row["outcome"] == "failed"]) == 10


def test_the_report_names_the_reason(lost):
    assert main(["report", str(lost.directory)]) == 0
    assert REASON in (lost.directory / "report.html").read_text(encoding="utf-8")


def test_in_a_plan_of_an_earlier_version_one_ok_call_is_enough(survived):
    path = survived.directory / "plan.jsonl"
    path.write_text(path.read_text().replace('"least_ok":0.9,', ""))
    bad = survived.trials_directory / next(
        p.id for p in survived.plan if soap_at_one(p) and p.block == 2
    )
    edit_json(bad / "trial.json", outcome="ok", reason="")
    cell = cell_of(open_run(str(survived.directory)), transport="soap", servers=1)
    assert sorted(cell.samples) == [1, 2, 3, 4]
