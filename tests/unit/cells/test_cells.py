import csv
import io
import shutil
from dataclasses import replace
from statistics import geometric_mean, mean

import numpy as np
import pytest
from made_up_studies import changed
from scipy import stats
from synthetic import reseal, seal, sort_times

from collect.cells.analysis import analyse
from collect.cells.cells import cells_csv
from collect.logs.calls import prove_calls
from collect.run.cell import CELL_COLUMNS
from collect.run.trials import read_trial
from collect.run.warmup import Warmup


def rows_of(analysis):
    return list(csv.DictReader(io.StringIO(cells_csv(analysis.run, analysis.cells))))


def measured_rows(directory):
    rows = csv.DictReader(io.StringIO((directory / "calls.csv").read_text()))
    return [row for row in rows if row["phase"] == "measure"]


def raw(run):
    """The measured ok calls in ms of every ok trial by cell, read without the code under test."""
    found = {}
    for planned in run.plan:
        path = run.trials_directory / planned.id / "calls.csv"
        times = [
            int(row["elapsed_ns"]) / 1e6
            for row in csv.DictReader(path.read_text().splitlines())
            if row["phase"] == "measure" and row["status"] == "ok"
        ]
        found.setdefault(tuple(str(planned.factors[f]) for f in run.factors), []).append(times)
    return found


def test_cells_are_those_recomputed_from_the_raw_calls(run_of):
    run = run_of()
    by_cell = raw(run)
    rows = rows_of(analyse(run))
    assert list(rows[0]) == ["study", "transport", "servers", "integers", *CELL_COLUMNS]
    assert len(rows) == len(by_cell) == 12
    for row in rows:
        trials = by_cell[row["transport"], row["servers"], row["integers"]]
        calls = [time for trial in trials for time in trial]
        assert float(row["mean_ms"]) == pytest.approx(geometric_mean(map(mean, trials)), abs=1e-6)
        assert float(row["p50_ms"]) == pytest.approx(np.percentile(calls, 50), abs=1e-6)
        assert row["p99_ms"] == "", "24 calls say nothing of p99"
        assert float(row["ci95_low_ms"]) < float(row["mean_ms"]) < float(row["ci95_high_ms"])
        assert (int(row["trials"]), int(row["calls"])) == (3, 3 * run.plan[0].calls)
        assert (row["request_bytes"], row["response_bytes"]) == ("2000", "1900")


@pytest.mark.parametrize(("calls", "is_shown"), [(298, False), (299, True), (1000, True)])
def test_p99_is_shown_where_the_calls_suffice_for_its_bound(run_of, calls, is_shown):
    study = changed(calls=calls, replicates=1, profiles={"demo": {}})
    times = np.random.default_rng(1).lognormal(size=calls).tolist()
    analysis = analyse(run_of(lambda planned, rng: times, study=study, until=1))
    (cell,) = [cell for cell in analysis.cells if cell.trials]
    in_ns = np.round(np.array(times) * 1e6) / 1e6
    most = stats.quantile_test(in_ns, p=0.99, alternative="less").confidence_interval(0.95).high
    assert (cell.pooled.p50.low, cell.pooled.p50.high) == (None, None), "one trial has no interval"
    (row,) = [row for row in rows_of(analysis) if row["outcome"] == "ok"]
    if is_shown:
        assert np.isfinite(most)
        assert cell.pooled.p99.value == pytest.approx(np.percentile(in_ns, 99), abs=1e-6)
        assert float(row["p99_ms"]) == pytest.approx(np.percentile(in_ns, 99), abs=1e-6)
    else:
        assert np.isnan(most)
        assert (cell.pooled.p99, row["p99_ms"]) == (None, "")


@pytest.mark.parametrize(("calls", "is_shown"), [(5, False), (6, True)])
def test_p50_takes_six_calls(run_of, calls, is_shown):
    study = changed(calls=calls, replicates=1, profiles={"demo": {}})
    run = run_of(lambda planned, rng: rng.lognormal(size=calls).tolist(), study=study, until=1)
    (row,) = [row for row in rows_of(analyse(run)) if row["outcome"] == "ok"]
    assert bool(row["p50_ms"]) == is_shown


def test_a_failed_call_is_in_no_average(run_of):
    run = run_of(until=0)
    planned = run.plan[0]
    times = [10.0] * planned.calls
    times[3] = 1e6
    seal(run.trials_directory, planned, times, statuses={3: "wrong"})
    cell = next(c for c in analyse(run).cells if c.trials)
    assert cell.mean.value == pytest.approx(10)
    assert cell.pooled.p99_ms == pytest.approx(10)
    assert (cell.calls, cell.errors) == (planned.calls - 1, 1)


@pytest.mark.parametrize("outcome", ["failed", "timeout", "oom"])
def test_a_cell_that_could_not_run_is_a_row_with_its_outcome(run_of, outcome):
    def times(planned, rng):
        is_broken = planned.factors["transport"] == "soap" and planned.factors["servers"] == 3
        return outcome if is_broken else sort_times(planned, rng)

    rows = rows_of(analyse(run_of(times)))
    assert len(rows) == 12
    broken = [row for row in rows if row["transport"] == "soap" and row["servers"] == "3"]
    for row in broken:
        assert (row["outcome"], row["trials"], row["calls"]) == (outcome, "3", "0")
        assert not any(row[column] for column in CELL_COLUMNS[2:9])
    assert {row["outcome"] for row in rows if row not in broken} == {"ok"}


def test_a_trial_that_did_not_end_well_is_in_no_average(run_of):
    run = run_of(lambda planned, rng: [5.0] * planned.calls if planned.block > 1 else "timeout")
    for row in rows_of(analyse(run)):
        assert (row["outcome"], row["trials"], row["calls"]) == ("ok", "2", "16")
        assert float(row["mean_ms"]) == 5


@pytest.mark.parametrize("outcome", ["timeout", "oom"])
def test_of_outcomes_that_are_as_frequent_the_one_that_says_more_is_that_of_the_cell(
    run_of, outcome
):
    run = run_of(lambda planned, rng: "failed" if planned.block == 1 else outcome, until=24)
    assert {cell.outcome for cell in analyse(run).cells} == {outcome}


@pytest.mark.parametrize("outcome", ["failed", "timeout", "oom"])
def test_good_calls_of_a_trial_that_did_not_end_well_are_in_no_average(run_of, outcome):
    run = run_of(lambda planned, rng: [5.0] * planned.calls, until=24)
    for planned in run.plan[24:]:
        seal(run.trials_directory, planned, [900.0] * planned.calls, outcome=outcome)
    for cell in analyse(run).cells:
        assert (cell.outcome, len(cell.trials), len(cell.counted)) == ("ok", 3, 2)
        assert (cell.mean.value, cell.pooled.p99_ms) == (5, 5)
        assert cell.calls == 2 * run.plan[0].calls


@pytest.mark.parametrize("outcome", ["failed", "timeout", "oom"])
def test_a_cell_whose_trials_all_ended_badly_has_no_times_although_calls_were_good(run_of, outcome):
    run = run_of(until=0)
    for planned in run.plan:
        seal(run.trials_directory, planned, [900.0] * planned.calls, outcome=outcome)
    for row in rows_of(analyse(run)):
        assert (row["outcome"], row["trials"], row["calls"]) == (outcome, "3", "0")
        assert not any(row[column] for column in CELL_COLUMNS[2:9])


def test_a_cell_of_an_open_run_is_a_row_too(run_of):
    rows = rows_of(analyse(run_of(until=5)))
    assert len(rows) == 12
    assert sum(row["outcome"] == "not run" for row in rows) == 7
    assert all(row["ci95_low_ms"] == "" for row in rows)


def test_an_ok_trial_without_one_good_call_is_a_failed_one(run_of):
    run = run_of(until=0)
    planned = run.plan[0]
    every = dict.fromkeys(range(planned.calls), "error")
    seal(run.trials_directory, planned, [1.0] * planned.calls, statuses=every)
    row = next(row for row in rows_of(analyse(run)) if row["outcome"] != "not run")
    assert (row["outcome"], row["mean_ms"]) == ("failed", "")


def test_zero_variance_and_single_calls_give_no_wrong_number(run_of):
    study = changed(calls=1, replicates=2, profiles={"demo": {}})
    analysis = analyse(run_of(lambda planned, rng: [4.0], study=study))
    for cell in analysis.cells:
        for found in (cell.mean, cell.typical, cell.arithmetic_mean()):
            assert (found.low, found.value, found.high) == (None, pytest.approx(4), None)
        assert cell.variance is None
        assert cell.steadiness == "undecided"


def test_one_trial_has_no_interval(run_of):
    study = changed(replicates=1, profiles={"demo": {}})
    for cell in analyse(run_of(study=study)).cells:
        assert cell.mean.low is None
        assert cell.calls_as_samples.low is not None


def test_unknown_bytes_are_empty_and_not_minus_one(run_of):
    run = run_of(until=0)
    planned = run.plan[0]
    directory = seal(run.trials_directory, planned, [1.0] * planned.calls)
    reseal(directory, lambda text: text.replace(",2000,1900,", ",-1,,"))
    row = next(row for row in rows_of(analyse(run)) if row["outcome"] == "ok")
    assert (row["request_bytes"], row["response_bytes"]) == ("", "")


def test_messages_without_a_byte_are_known_to_have_none(run_of):
    rows = rows_of(analyse(run_of(sizes=lambda planned: (0, 1))))
    assert {(row["request_bytes"], row["response_bytes"]) for row in rows} == {("0", "1")}


def test_bad_calls_are_errors_of_the_cell_whatever_became_of_their_trial(run_of):
    run = run_of(until=0)
    times = [5.0] * run.plan[0].calls
    for planned, outcome in zip(run.plan, ("ok", "timeout"), strict=False):
        seal(run.trials_directory, planned, times, outcome=outcome, statuses={0: "error"})
    assert sum(cell.errors for cell in analyse(run).cells) == 2


def test_bytes_are_averaged_over_calls_and_not_over_trials(run_of):
    run = run_of(until=0)
    cell = run.plan[0].factors
    first, second, *_ = (planned for planned in run.plan if planned.factors == cell)
    seal(run.trials_directory, first, [5.0] * first.calls, sizes=(100, 1))
    bad = dict.fromkeys(range(first.calls - 1), "error")
    seal(run.trials_directory, second, [5.0] * first.calls, sizes=(200, 1), statuses=bad)
    found = next(result for result in analyse(run).cells if result.trials)
    weighted = (100 * first.calls + 200) / (first.calls + 1)
    assert found.bytes_of("request_bytes") == pytest.approx(weighted)


def test_odd_levels_survive_the_csv(run_of):
    levels = ["a b", 'say "hi", then\nleave', "Grüße, 世界", "'; DROP TABLE x; --", "=1+1"]
    study = changed(
        factors={"transport": levels, "servers": [1]},
        domains={},
        clients="any",
        needs=[],
        profiles={"demo": {"replicates": 2}},
    )
    run = run_of(lambda planned, rng: [1.0] * planned.calls, study=study)
    rows = rows_of(analyse(run))
    assert sorted(row["transport"] for row in rows) == sorted(levels)
    assert {row["outcome"] for row in rows} == {"ok"}


def test_levels_are_ordered_by_number_and_as_in_the_study_file(run_of):
    rows = rows_of(analyse(run_of()))
    assert [row["transport"] for row in rows] == ["soap"] * 6 + ["jms"] * 6
    assert [row["integers"] for row in rows[:2]] == ["500", "5000"]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda text: text.replace("measure", "measured", 1), "unknown phase"),
        (lambda text: text.replace(",ok\n", ",fine\n", 1), "unknown status"),
        (lambda text: text.replace("\n3,", "\n4,", 1), "gaps or repetitions"),
        (lambda text: text.replace("\n3,", "\nthree,", 1), "cannot be read"),
        (lambda text: text.replace(",ok\n", ",ok,more\n", 1), "cannot be read"),
        (lambda text: text.replace(",measure,,", ",measure,,-", 1), "missing or negative"),
        (lambda text: text.replace(",measure,,", f",measure,{2**62},", 1), "longer than a year"),
        (lambda text: text.replace(",measure,,", f",measure,{-(2**62)},", 1), "longer than a year"),
        (lambda text: text.replace(",ok\n", ",ok\r0,0,measure,,1,1,1,1,ok\n", 1), "cannot be read"),
        (lambda text: text.replace(",ok\n", ",o\0k\n", 1), "unknown status"),
        (lambda text: text.replace(",ok\n", "\n", 1), "cannot be read"),
    ],
)
def test_rows_that_are_not_of_the_schema_refuse_their_trial_alone(run_of, change, part):
    run = run_of()
    reseal(run.trials_directory / run.plan[4].id, change)
    analysis = analyse(run)
    assert [finding.subject for finding in analysis.findings] == [run.plan[4].id]
    assert part in analysis.findings[0].text
    assert analysis.sealed == len(run.plan) - 1
    assert all(cell.outcome == "ok" for cell in analysis.cells)


def test_a_wait_for_a_thread_is_in_the_response_time_alone(run_of):
    run = run_of(until=0)
    planned = run.plan[0]
    directory = seal(run.trials_directory, planned, [1.0] * planned.calls)

    def late(text):
        head, *lines = text.splitlines()
        cells = [line.split(",") for line in lines]
        for row in cells:
            row[3] = row[4]
            row[4] = str(int(row[4]) + 2_000_000)
        return "\n".join([head, *(",".join(row) for row in cells)]) + "\n"

    reseal(directory, late)
    counted = prove_calls([read_trial(directory)]).counted[planned.id]
    assert counted.summary.mean_ms == pytest.approx(1)
    assert counted.response.summary.mean_ms == pytest.approx(3)


def test_a_directory_with_pattern_characters_is_read(run_of):
    assert analyse(run_of(name="night [1] *{a,b}'s")).sealed == 36


def test_calls_of_the_cooldown_are_in_no_number(run_of):
    run = run_of()
    before = analyse(run)
    for planned in run.plan:
        directory = run.trials_directory / planned.id
        times = [float(call["elapsed_ns"]) / 1e6 for call in measured_rows(directory)]
        shutil.rmtree(directory)
        seal(run.trials_directory, planned, times, cooldown_ms=[7000.0] * planned.calls)
    after = analyse(run)
    assert cells_csv(run, after.cells) == cells_csv(run, before.cells)
    assert [cell.errors for cell in after.cells] == [0] * len(after.cells)
    assert [cell.calls_as_samples for cell in after.cells] == [
        cell.calls_as_samples for cell in before.cells
    ]


def test_a_cell_tells_how_long_its_trials_warmed_up(run_of):
    rule = {"least": 3, "most": 90, "steady": 0.05}
    demo = {"replicates": 3, "calls": 4, "warmup": rule}
    run = run_of(lambda planned, rng: [1.0] * 4, study=changed(profiles={"demo": demo}))
    assert {str(cell.warmup) for cell in analyse(run).cells} == {"3, steady"}
    cell = run.plan[0].factors
    ids = [planned.id for planned in run.plan if planned.factors == cell]
    for trial, calls in zip(ids, (3, 90, 90), strict=True):
        planned = next(one for one in run.plan if one.id == trial)
        shutil.rmtree(run.trials_directory / trial)
        longer = replace(planned, warmup=Warmup(calls, 99, 0.05))
        told = {"calls": calls, "rows": calls, "steady": calls == 3}
        seal(run.trials_directory, longer, [1.0] * 4, warmup=told)
    (found,) = [one for one in analyse(run).cells if one.cell == cell]
    assert str(found.warmup) == "3 to 90, 1 of 3 steady"


def test_a_cell_has_its_typical_call_and_its_arithmetic_mean(run_of):
    def times(planned, rng):
        slow = [90.0] if planned.block == 1 else []
        return (planned.block * rng.lognormal(2, 0.3, planned.calls - len(slow))).tolist() + slow

    analysis = analyse(run_of(times))
    for cell, row in zip(analysis.cells, rows_of(analysis), strict=True):
        calls = [trial.spread_ms for trial in cell.counted]
        medians, means = ([f(one) for one in calls] for f in (np.median, np.mean))
        wanted = np.exp(
            stats.t.interval(0.95, 2, np.mean(np.log(medians)), stats.sem(np.log(medians)))
        )
        found = [float(row[name]) for name in ("typical_low_ms", "typical_ms", "typical_high_ms")]
        assert found[1] == pytest.approx(stats.gmean(medians), rel=1e-5)
        assert (found[0], found[2]) == pytest.approx(tuple(wanted), rel=1e-5)
        assert float(row["arithmetic_mean_ms"]) == pytest.approx(np.mean(means), rel=1e-5)
        assert float(row["mean_ms"]) == pytest.approx(stats.gmean(means), rel=1e-5)
        assert list(row)[-4:] == [
            "typical_ms",
            "typical_low_ms",
            "typical_high_ms",
            "arithmetic_mean_ms",
        ]
