"""Capacity, read off rates that were planned, from runs whose truth is known."""

import hashlib
import itertools
import json
import math
from dataclasses import replace

import pytest
import yaml
from open_loops import load_study, service_ms
from synthetic import make_run, of_means, reseal
from trial_layout import in_layout

from collect.cells.analysis import analyse
from collect.errors import InputError
from collect.planning.capacity import Demand, capacities, rate_factor
from collect.planning.refine import refine
from collect.replication.load import load_exhibits, parting
from collect.run.cell import Cell
from collect.run.directory import open_run
from collect.run.study import load_study as read_study

RATES = (50, 100, 190, 250, 400, 800)


@pytest.fixture
def night(tmp_path):
    numbers = itertools.count()

    def make(times=service_ms, **changes):
        directory = tmp_path / f"open/{next(numbers)}/results/night"
        options = {"rates": RATES, "capacity": {"p99_ms": 50}, **changes}
        make_run(directory, times, study=load_study(**options))
        return analyse(open_run(str(directory)))

    return make


def capacity_of(analysis, transport="soap", error=0.05):
    found = capacities(analysis.run, analysis.cells, Demand.of(analysis.run), error)
    return next(one for one in found if one.system["transport"] == transport)


def test_the_capacity_lies_between_the_levels_around_the_truth(night):
    # Calls of 5 ms in one thread: 200 a second; of 2 ms: 500.
    analysis = night(replicates=6)
    soap, jms = capacity_of(analysis), capacity_of(analysis, "jms")
    assert (soap.low, soap.high) == (190, 250)
    assert (jms.low, jms.high) == (400, 800)
    assert (soap.low_end, soap.high_end) == pytest.approx((190, 250))
    assert str(soap) == "190 to 250/s"


@pytest.mark.parametrize("blocks", [2, 3, 5])
def test_few_blocks_between_the_same_levels_do_not_show_how_much_the_capacity_varies(night, blocks):
    soap = capacity_of(night(replicates=blocks))
    assert (soap.low, soap.high) == (190, 250)
    assert (soap.low_end, soap.high_end) == (None, None)
    assert soap.interval == "too few blocks for an interval"


def slow_in_block_2(each_ms):
    def times(planned, rng):
        slow = planned.factors["transport"] == "soap" and planned.block == 2
        return [each_ms] * 100 if slow else service_ms(planned, rng)

    return times


def test_blocks_that_differ_widen_the_interval(night):
    soap = capacity_of(night(slow_in_block_2(15.0)))
    assert soap.steps == {1: (190, 250), 2: (50, 100), 3: (190, 250)}
    assert soap.low == pytest.approx((190 * 50 * 190) ** (1 / 3))
    assert soap.low_end < 50
    assert soap.high_end > 250


def test_both_ends_are_summarised_alike_so_that_they_never_cross(night):
    soap = capacity_of(night(slow_in_block_2(60.0)))
    assert soap.steps == {1: (190, 250), 2: (0, 50), 3: (190, 250)}
    assert str(soap) == "190 to 250/s"


def test_a_limit_that_the_lowest_level_misses_is_said(night):
    soap = capacity_of(night(capacity={"p99_ms": 1}))
    assert str(soap) == "below 50/s"
    assert (soap.low, soap.low_end) == (0, None)


@pytest.mark.parametrize(
    ("blocks", "error", "ends"),
    [
        (5, 0.05, (None, None)),
        (6, 0.05, (0, 250)),
        # Corrected for three interim analyses.
        (6, 0.05 / 3, (None, None)),
        (7, 0.05 / 3, (0, 250)),
    ],
)
def test_blocks_without_a_mean_have_an_interval_from_six_on(night, blocks, error, ends):
    soap = capacity_of(night(slow_in_block_2(60.0), replicates=blocks), error=error)
    assert (soap.low, soap.high) == (190, 250)
    assert (soap.low_end, soap.high_end) == ends


def test_of_two_blocks_without_a_mean_the_lower_capacity_is_told(night):
    soap = capacity_of(night(slow_in_block_2(60.0), replicates=2))
    assert (soap.low, soap.high) == (0, 50)
    assert str(soap) == "below 50/s"


def test_a_limit_that_every_level_meets_is_said(night):
    jms = capacity_of(night(rates=(50, 100)), "jms")
    assert str(jms) == "100/s or more"
    assert math.isinf(jms.high)


def test_a_higher_level_that_meets_it_again_does_not_count(night):
    def times(planned, rng):
        bad = planned.factors["rate"] == 100
        return [60.0] * 100 if bad else service_ms(planned, rng)

    assert capacity_of(night(times)).steps[1] == (50, 100)


def test_answers_count_beside_the_percentile(night):
    # With 100 calls, p99 stays below a second also where half of the calls are left behind.
    soap = capacity_of(night(capacity={"p99_ms": 1000, "achieved": 0.95}))
    assert (soap.low, soap.high) == (190, 250)
    soap = capacity_of(night(capacity={"p99_ms": 1000, "achieved": 0.4}))
    assert (soap.low, soap.high) == (400, 800)


def test_a_failed_trial_meets_no_demand_and_an_open_block_is_left_out(night):
    def times(planned, rng):
        failed = planned.factors == {"transport": "soap", "rate": 100} and planned.block == 1
        return "failed" if failed else service_ms(planned, rng)

    assert capacity_of(night(times)).steps == {1: (50, 100), 2: (190, 250), 3: (190, 250)}


def say_a_mean_alone(directory):
    """Let a program have made the calls of a trial, and say no more of them, as wrk does."""
    text = "    Latency   5.0ms\n"
    reseal(directory, lambda rows: rows.partition("\n")[0] + "\n")
    (directory / "summary.txt").write_text(text)
    numbers = {"calls": 100, "mean_ms": 5.0, "p50_ms": 5.0, "p99_ms": 5.0, "max_ms": 5.0}
    numbers |= {"calls_per_s": 50.0, "from_ns": 10**8, "to_ns": 21 * 10**8}
    sealed = {"file": "summary.txt", "sha256": hashlib.sha256(text.encode()).hexdigest()}
    record = json.loads((directory / "trial.json").read_text())
    program = {"command": ["wrk"], "reads": "wrk", "summary": {**numbers, **sealed}}
    record |= {"program": program, "jvm": {}}
    (directory / "trial.json").write_text(json.dumps(in_layout(record)))


def test_the_capacity_is_not_known_where_a_program_says_a_mean_alone(night):
    run = night().run
    for planned in run.plan:
        if planned.factors["transport"] == "soap":
            say_a_mean_alone(run.trials_directory / planned.id)
    analysis = analyse(open_run(str(run.directory)))
    assert all(cell.outcome == "ok" for cell in analysis.cells)
    soap, jms = capacity_of(analysis), capacity_of(analysis, "jms")
    assert (str(soap), soap.steps, str(jms)) == ("not known", {}, "400 to 800/s")
    *_, answers = load_exhibits(analysis)
    assert "soap: not known; jms: below 800/s" in answers.caption


def test_the_rate_is_found_by_its_levels(night, run_of):
    assert rate_factor(night().run) == "rate"
    closed = run_of(name="closed")
    assert rate_factor(closed) is None
    assert load_exhibits(analyse(closed)) == []


def test_the_report_shows_capacity_responses_and_where_answers_part(night):
    analysis = night()
    table, responses, answers = load_exhibits(analysis)
    assert [row[1].text for row in table.rows] == ["190 to 250/s", "400 to 800/s"]
    assert len(responses.panels) == 1
    soap = [cell for cell in analysis.cells if cell.cell["transport"] == "soap"]
    assert parting(soap, "rate") == 250
    assert "soap: below 250/s" in answers.caption


def answering(rate, shares):
    """A cell whose trials answer these shares of the offered calls."""
    cell = of_means(Cell.of(rate=rate), [5.0] * len(shares))
    trials = [
        replace(one, calls=replace(one.calls, offered_per_s=rate, calls_per_s=share * rate))
        for one, share in zip(cell.trials, shares, strict=True)
    ]
    return replace(cell, trials=tuple(trials))


def test_answers_part_by_the_mean_over_trials():
    """By the geometric mean, as it is drawn: the arithmetic one of the third rate is 0.955."""
    rates = {50: [0.9, 1.0, 1.0], 75: [1.0, 0.94, 0.96], 90: [0.55] + [1.0] * 9, 100: [0.5]}
    assert parting([answering(rate, shares) for rate, shares in rates.items()], "rate") == 90


def test_no_line_goes_over_a_rate_at_which_no_trial_counts(night):
    def times(planned, rng):
        lost = planned.factors == {"transport": "soap", "rate": 100}
        return "failed" if lost else service_ms(planned, rng)

    _, responses, answers = load_exhibits(analyse(night(times).run))
    assert "soap: below 250/s (but not known at 100/s)" in answers.caption
    for figure, series in (responses, "soap p50"), (answers, "soap"):
        (panel,) = figure.panels
        (rows,) = panel.chart.to_dict()["datasets"].values()
        drawn = {row["x"]: row["y"] for row in rows if row["series"] == series}
        assert sorted(drawn) == list(RATES)
        assert [rate for rate, y in drawn.items() if y is None] == [100]


def test_finer_rates_go_into_a_profile_of_the_study(night, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    analysis = night()
    file = tmp_path / "playbooks/studies/load.yml"
    file.parent.mkdir(parents=True)
    text = load_study(rates=RATES, capacity={"p99_ms": 50})
    file.write_text("# kept\n" + yaml.safe_dump(yaml.safe_load(text)))  # sorts the keys
    with pytest.raises(InputError, match="profiles is not its last key"):
        refine(analysis)
    file.write_text("# kept\n" + text)
    assert "the profile refined has 5 rates around each capacity" in refine(analysis)
    assert file.read_text().startswith("# kept\n")
    grids = read_study(file).profile("refined", 5).grids
    assert [dict(grid) for grid in grids] == [
        {"transport": ("soap",), "rate": (190, 203, 218, 233, 250)},
        {"transport": ("jms",), "rate": (400, 476, 566, 673, 800)},
    ]
    assert "the profile refined-2 has" in refine(analysis)


def test_finer_rates_keep_the_levels_of_a_system_whatever_their_letters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    odd = ['a "b"', "c:\\temp"]
    study = load_study(
        rates=RATES,
        capacity={"p99_ms": 50},
        factors={"transport": odd, "rate": list(RATES)},
        clients="any",
        needs=[],
        domains={},
    )
    file = tmp_path / "playbooks/studies/load.yml"
    file.parent.mkdir(parents=True)
    file.write_text(study)
    make_run(tmp_path / "night", service_ms, study=study)
    refine(analyse(open_run(str(tmp_path / "night"))))
    grids = read_study(file).profile("refined", 5).grids
    assert [grid["transport"] for grid in grids] == [(odd[0],), (odd[1],)]


@pytest.fixture
def kit(tmp_path, monkeypatch):
    """The study file of an installation, which lies elsewhere; this directory is empty."""
    folder = tmp_path / "kit/studies"
    folder.mkdir(parents=True)
    (folder / "load.yml").write_text(load_study(rates=RATES, capacity={"p99_ms": 50}))
    for module in ("collect.run.study", "collect.planning.refine"):
        monkeypatch.setattr(f"{module}.KIT_STUDIES", folder)
    (tmp_path / "mylab/results").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "mylab/results")
    return folder / "load.yml"


def test_finer_rates_of_a_project_go_into_its_own_study(night, kit, tmp_path):
    (tmp_path / "mylab/rackbench.yml").write_text("checkout: ../kit\n")
    before = kit.read_bytes()
    own = tmp_path / "mylab/studies/load.yml"
    assert refine(night()).startswith(f"{own}: the profile refined has")
    assert refine(night()).startswith(f"{own}: the profile refined-2 has")
    assert {"refined", "refined-2"} <= read_study(own).content["profiles"].keys()
    assert kit.read_bytes() == before


def test_finer_rates_never_go_into_an_installed_package(night, kit):
    before = kit.read_bytes()
    with pytest.raises(InputError, match=r"the installed package, .* copy it to playbooks/studies"):
        refine(night())
    assert kit.read_bytes() == before


def test_a_capacity_that_is_known_to_three_digits_is_not_refined(night, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "playbooks/studies/load.yml"
    file.parent.mkdir(parents=True)
    file.write_text(load_study(rates=(199, 201), capacity={"p99_ms": 50}))

    def times(planned, rng):
        return [60.0 if planned.factors["rate"] == 201 else 1.0] * planned.measured_rows

    with pytest.raises(InputError, match="199 to 201/s is so narrow that 5 rates in it would not"):
        refine(night(times, rates=(199, 201)))
    assert "refined" not in file.read_text()
