"""Runs that stop early: intervals keep their coverage, decisions last and are proven."""

import json
import shutil

import numpy as np
import pytest
from made_up_studies import changed
from open_loops import load_study, service_ms
from synthetic import make_run, spread

from collect.cli import main
from collect.errors import InputError
from collect.planning.interim import due_analyses, error_at
from collect.run.directory import open_run
from collect.run.stop import LOOKS, Decision, StopRule, write_decisions
from collect.stats.estimates import geometric_t
from collect.stats.spending import ERROR, equal_errors, errors_of
from collect.sweep.interim import analyses_of, open_trials

STOP = {"half_width": 0.05, "looks": [3, 5, 8]}
STUDY = changed(
    study="orders",
    factors={"transport": ["soap", "jms"], "servers": [1], "integers": [500]},
    stop=STOP,
    replicates=8,
    calls=8,
    warmup=2,
    where=[],
)


def narrow(planned, rng):
    return [10.0 + 0.001 * planned.block] * planned.calls


def wide(planned, rng):
    return [10.0 * (1.5 if planned.block % 2 else 1)] * planned.calls


def run_of(directory, times, until=None):
    make_run(directory, times, profile="paper", study=STUDY, until=until)
    return directory


def forget_trials(directory, after):
    for trial in open_run(str(directory)).plan:
        if trial.block > after:
            shutil.rmtree(directory / "trials" / trial.id)


def test_trials_that_never_count_come_with_the_last_analysis(tmp_path):
    study = f"{STUDY}profile_forks: 1\n"
    make_run(tmp_path / "run", narrow, profile="paper", study=study, until=0)
    run = open_run(str(tmp_path / "run"))
    given = {look: [t.profiled for t in run.upto(look)] for look in (3, 5, 8, 0)}
    assert [any(profiled) for profiled in given.values()] == [False, False, True, True]
    assert [profiled.count(False) for profiled in given.values()] == [6, 10, 16, 16]


def test_interim_analyses_cost_no_coverage_though_they_would_uncorrected():
    rng = np.random.default_rng(4)
    looks, wanted, runs = (3, 4, 6, 9, 14), 0.1, 3000
    levels = {"corrected": errors_of(looks), "equal": equal_errors(looks), "fixed": [ERROR] * 5}
    hits, ends = dict.fromkeys(levels, 0), {name: set() for name in levels}
    for values in np.exp(rng.normal(0, 0.06, (runs, looks[-1]))):
        for name, errors in levels.items():
            for look, error in zip(looks, errors, strict=True):
                interval = geometric_t(values[:look].tolist(), error)
                if interval.high / interval.value - 1 <= wanted:
                    break
            hits[name] += interval.low <= 1 <= interval.high
            ends[name].add(look)
    assert hits["corrected"] / runs >= 0.95
    assert hits["equal"] / runs >= 0.95
    assert hits["fixed"] / runs < 0.945
    assert len(ends["corrected"]) > 1, "some of these runs stop early"


def test_between_two_analyses_an_interval_may_miss_as_often_as_at_the_earlier_one():
    first, second, last = errors_of((3, 5, 8))
    assert first < second < last
    found = [error_at(StopRule(0.05, (3, 5, 8)), blocks) for blocks in (0, 2, 3, 4, 5, 7, 8, 9)]
    assert found == [first] * 4 + [second] * 2 + [last] * 2


def test_a_run_stops_at_the_first_look_that_is_narrow_and_its_decision_lasts(tmp_path, capsys):
    run = run_of(tmp_path / "night", narrow, until=6)
    assert analyses_of(run) == [3, 5, 8]
    assert open_trials(run, 3) == []
    assert (run / LOOKS).exists()
    assert open_trials(run, 5) == []
    assert main(["check", str(run)]) == 0
    assert "6 of 6 trials" in capsys.readouterr().out
    assert main(["status", str(run), "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["total"], status["remaining"], status["next_look"]) == (6, 0, None)
    assert [look["stops"] for look in status["looks"]] == [True]
    assert {name: status["stop"][name] for name in STOP} == STOP


def test_times_that_do_not_vary_end_no_run(tmp_path, capsys):
    """They are ticks of a clock: how far they are right is unknown."""
    run = run_of(tmp_path / "night", lambda planned, rng: [10.0] * planned.calls)
    decisions = due_analyses(run)
    assert [(one.widest, one.stops) for one in decisions] == [(None, False)] * 3
    assert main(["look", str(run)]) == 0
    assert "after 8 blocks" in capsys.readouterr().out


def test_a_run_goes_on_in_groups_that_end_at_a_look(tmp_path, capsys):
    run = run_of(tmp_path / "night", wide)
    forget_trials(run, after=2)
    blocks = {trial.id: trial.block for trial in open_run(str(run)).plan}
    assert [blocks[name] for name in open_trials(run, 3)] == [3, 3]
    assert open_trials(run, 5) == []  # the look before it is not done
    assert not (run / LOOKS).exists()
    assert main(["status", str(run)]) == 0
    assert "next analysis: after 3 blocks: 2 trials left" in capsys.readouterr().out


def test_a_sweep_that_was_killed_at_a_look_takes_the_same_decision_later(tmp_path, capsys):
    run = run_of(tmp_path / "night", wide)
    forget_trials(run, after=3)
    assert len(open_trials(run, 5)) == 4
    first = (run / LOOKS).read_bytes()
    (run / LOOKS).unlink()
    assert [one.stops for one in due_analyses(run)] == [False]
    assert (run / LOOKS).read_bytes() == first
    assert main(["check", str(run)]) == 1
    assert "missing" in capsys.readouterr().out


def test_a_run_that_is_never_narrow_ends_at_its_last_look(tmp_path):
    run = run_of(tmp_path / "night", wide)
    assert [open_trials(run, look) for look in STOP["looks"]] == [[], [], []]
    assert [(one.blocks, one.stops) for one in due_analyses(run)] == [
        (3, False),
        (5, False),
        (8, False),
    ]
    assert main(["check", str(run)]) == 0


@pytest.mark.parametrize(
    ("times", "change", "message"),
    [
        (wide, {"blocks": 3, "stops": True}, "stopped the run, but the widest interval"),
        (narrow, {"blocks": 3, "stops": False}, "continued the run, but the widest interval"),
        (narrow, {"blocks": 4, "stops": True}, "is none of the rule's interim analyses"),
    ],
)
def test_a_decision_that_does_not_follow_from_the_trials_is_found(
    tmp_path, capsys, times, change, message
):
    run = run_of(tmp_path / "night", times)
    forget_trials(run, after=change["blocks"])
    record = {"schema": 1, "looks": [{"widest": 0.01, "cell": "soap", **change}]}
    (run / LOOKS).write_text(json.dumps(record))
    assert main(["check", str(run)]) == 1
    assert message in capsys.readouterr().out


def test_trials_after_the_look_that_stopped_the_run_are_not_counted(tmp_path, capsys):
    run = run_of(tmp_path / "night", narrow)
    due_analyses(run)
    assert main(["check", str(run)]) == 1
    assert "stray" in capsys.readouterr().out


def test_the_report_has_both_intervals_and_the_looks(tmp_path):
    run = run_of(tmp_path / "night", lambda planned, rng: spread(10, planned, rng))
    due_analyses(run)
    assert main(["report", str(run)]) == 0
    page = (run / "report.html").read_text()
    assert "corrected for the interim analyses" in page
    assert "after 3 blocks the widest interval was" in page


@pytest.mark.parametrize(
    ("width", "text"),
    [(0.05, "±5.0 %"), (0.0496, "±5.0 %"), (0.0504, "±5.04 %"), (0.210004, "±21.0 %")],
)
def test_an_interval_that_is_too_wide_is_not_shown_as_narrow_enough(tmp_path, capsys, width, text):
    assert StopRule(0.05, (3, 5, 8)).show(width) == text
    run = run_of(tmp_path / "night", narrow, until=6)
    write_decisions(run, [Decision(3, width, "soap, 1, 500", stops=width <= 0.05)])
    assert main(["status", str(run)]) == 0
    assert f"widest interval {text} (soap, 1, 500)" in capsys.readouterr().out
    main(["report", str(run)])
    assert f"the widest interval was {text} (soap, 1, 500)" in (run / "report.html").read_text()


def test_the_corrected_interval_of_an_open_loop_is_said_to_be_of_response_times(tmp_path):
    run = tmp_path / "night"
    study = load_study(rates=(50, 100), stop={"half_width": 0.05, "looks": [2, 3]})
    make_run(run, service_ms, study=study, until=8)
    assert due_analyses(run)
    assert main(["report", str(run)]) == 0
    page = (run / "report.html").read_text()
    assert "corrected for the interim analyses (response times)</th>" in page


@pytest.mark.parametrize(
    ("stop", "message"),
    [
        ({"half_width": 0.05, "looks": [5, 3]}, "stop needs looks of 2 blocks or more, each above"),
        ({"half_width": 0.05, "looks": [5, 20]}, "stop.looks ends at 20 blocks, but replicates is"),
        ({"half_width": 5, "looks": [3]}, "stop.half_width: 5 is greater than"),
        ({"half_width": 0.05}, "looks is missing in stop"),
        ("early", "stop: 'early' is not one of ['none']"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(tmp_path, capsys, stop, message):
    (tmp_path / "sort.yml").write_text(changed(stop=stop, replicates=8))
    arguments = ["plan", str(tmp_path / "sort.yml"), "--profile", "paper", "--workers", "5"]
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_plan_with_an_analysis_twice_is_refused():
    with pytest.raises(ValueError, match="each above the one before it"):
        StopRule.parse_planned({"half_width": 0.05, "looks": [3, 3]})


def test_the_last_look_is_the_last_planned_block(tmp_path, capsys):
    (tmp_path / "sort.yml").write_text(changed(stop=STOP, replicates=10))
    output = tmp_path / "run" / "plan.jsonl"
    arguments = ["plan", str(tmp_path / "sort.yml"), "--profile", "paper", "--workers", "5"]
    assert main([*arguments, "-o", str(output)]) == 0
    assert "x 8 blocks" in capsys.readouterr().out
    assert main([*arguments, "-o", str(output)]) == 0
    assert "unchanged" in capsys.readouterr().out


def test_what_was_decided_is_printed_and_a_run_without_a_rule_has_no_look(tmp_path, capsys):
    run = run_of(tmp_path / "night", wide)
    assert main(["look", str(run)]) == 0
    assert "after 8 blocks: widest interval" in capsys.readouterr().out
    make_run(tmp_path / "other", narrow)
    assert main(["look", str(tmp_path / "other")]) == 2
    assert "no rule `stop`" in capsys.readouterr().err


def test_a_look_at_a_torn_trial_says_which_and_decides_nothing(tmp_path):
    run = run_of(tmp_path / "night", narrow, until=6)
    trial = open_run(str(run)).plan[0].id
    (run / "trials" / trial / "calls.csv").write_text("torn")
    with pytest.raises(InputError, match=f"its interim analysis cannot be made: {trial}") as caught:
        open_trials(run, 5)
    assert f"collect check {run} --set-aside" in str(caught.value)
    assert not (run / LOOKS).exists()
