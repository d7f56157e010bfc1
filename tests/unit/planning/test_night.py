"""`collect power`: what a pilot run says about the night."""

import json

import numpy as np
import pytest
from made_up_studies import changed
from open_loops import load_study
from synthetic import edit_json, make_run, sort_times

from collect.cells.analysis import analyse
from collect.cli import main
from collect.planning.pilot import read_pilot
from collect.run.directory import open_run


def varied(planned, rng):
    """Starts of 4 % shared by a block, forks of 3 %, calls of 10 %."""
    start = np.random.default_rng(planned.block).normal(0, 0.04)
    level = 10 * np.exp(start + rng.normal(0, 0.03))
    return (level * rng.lognormal(0, 0.1, planned.calls * planned.threads)).tolist()


def power(capsys, *arguments):
    code = main(["power", *map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "pilot"
    make_run(directory, varied, study="sort", profile="paper")
    return directory


def test_a_night_is_planned_from_a_pilot(pilot, capsys):
    code, found = power(capsys, pilot)
    assert code == 0
    assert len(found["cells"]) == 24
    deviations = [cell["deviation"] for cell in found["cells"]]
    for level, true in {"blocks": 0.04, "forks": 0.03, "calls": 0.1}.items():
        assert np.mean([d[level] for d in deviations]) == pytest.approx(true, rel=0.35)
    best = found["best"]
    assert best["seconds"] == pytest.approx(best["blocks"] * best["block_s"])
    assert best["night"]["blocks"] == int(8 * 3600 / best["block_s"])
    assert best["night"]["half_width"] < 0.05
    assert not found["lacking"]


def test_more_precision_takes_more_blocks_and_a_ratio_is_free_of_what_a_block_shares(pilot, capsys):
    blocks = [
        power(capsys, pilot, *more)[1]["as_it_stands"]["blocks"]
        for more in (["--half-width", "0.1"], [], ["--half-width", "0.02"])
    ]
    assert blocks == sorted(set(blocks))
    _, ratios = power(capsys, pilot, "--contrast", "transport")
    assert len(ratios["quantities"]) == 12
    assert all(len(one["cells"]) == 2 for one in ratios["quantities"])
    cells = power(capsys, pilot)[1]["quantities"]
    seen = [
        np.mean([one["best"]["detectable"] for one in found])
        for found in (cells, ratios["quantities"])
    ]
    assert seen[0] == pytest.approx(seen[1], rel=0.3)


def test_another_profile_is_planned_and_what_the_pilot_lacks_is_named(tmp_path, capsys):
    study = changed(profiles={"pilot": {"factors": {"integers": [500]}, "calls": 8}, "paper": {}})
    make_run(tmp_path / "pilot", varied, study=study, profile="pilot")
    code, found = power(capsys, tmp_path / "pilot", "--profile", "paper")
    assert code == 0
    assert len(found["cells"]) == 6
    assert {cell["factors"]["integers"] for cell in found["lacking"]} == {5000, 50000, 100000}
    assert {cell["calls_as_it_stands"] for cell in found["cells"]} == {10}
    assert any("18 of 24 cells are not planned" in note for note in found["notes"])


def test_a_pilot_under_one_start_says_that_starts_are_unknown(tmp_path, capsys):
    study = changed(
        restart="none", factors={"transport": ["soap"], "servers": [1], "integers": [5]}
    )
    make_run(tmp_path / "pilot", varied, study=study, profile="paper")
    _, found = power(capsys, tmp_path / "pilot")
    assert any("unknown" in note and "restart: block" in note for note in found["notes"])
    assert {cell["forks"] for cell in found["cells"]} == {None}


def test_a_start_of_the_services_is_a_part_of_each_block_and_what_forks_are_for(tmp_path, capsys):
    found = {}
    for seconds in (1, 4800):
        directory = tmp_path / f"start-{seconds}-s"
        plan = make_run(directory, varied, study="sort", profile="paper")
        spent = [{"restart_ms": 250.0 * seconds, "warm_ms": 750.0 * seconds}]
        for name in {trial.block: trial.id for trial in reversed(plan)}.values():
            edit_json(directory / "trials" / name / "trial.json", block_starts=spent)
        found[seconds] = power(capsys, directory)[1]
        assert found[seconds]["start_s"] == pytest.approx(seconds)
    for way in ("as_it_stands", "best"):
        block_s = [one[way]["block_s"] for one in found.values()]
        assert block_s[1] - block_s[0] == pytest.approx(4799)
    cheap, dear = ({cell["forks"] for cell in one["cells"]} for one in found.values())
    assert cheap == {1}
    assert min(dear) > 1


def test_two_blocks_have_a_detectable_difference_however_many_are_compared(pilot, capsys):
    block_s = power(capsys, pilot)[1]["best"]["block_s"]
    code, found = power(capsys, pilot, "--hours", str(2.5 * block_s / 3600))
    assert (code, found["best"]["night"]["blocks"]) == (0, 2)
    assert all(one["best"]["detectable"] > 1 for one in found["quantities"])


def test_a_night_is_printed_for_people(pilot, capsys):
    assert main(["power", str(pilot)]) == 0
    said = capsys.readouterr().out
    assert "±5 % in every cell" in said
    assert "best plan for 8 h" in said


def test_a_narrow_terminal_cuts_nothing(pilot, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    assert main(["power", str(pilot)]) == 0
    printed = capsys.readouterr().out
    assert "calls best" in printed
    assert "…" not in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--contrast", "colour"], "'colour' is not a factor of the study sort; its factors are"),
        (["--profile", "nightly"], "there is no profile 'nightly'; choose one of demo"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_the_reason(pilot, capsys, arguments, message):
    assert main(["power", str(pilot), *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--contrast", "transport"]])
def test_a_pilot_that_does_not_vary_plans_nothing(tmp_path, capsys, more):
    few = {"transport": ["soap", "jms"], "servers": [1], "integers": [500]}
    study = changed(replicates=6, factors=few)
    make_run(tmp_path / "pilot", lambda p, rng: [0.3] * p.calls, study=study, profile="paper")
    assert main(["power", str(tmp_path / "pilot"), *more]) == 2
    refused = capsys.readouterr().err
    assert "all its times are equal, as on a coarse clock" in refused
    assert "of more calls a trial if the clock is too coarse" in refused


def test_a_cell_that_does_not_vary_is_not_planned_and_one_whose_calls_vary_is(tmp_path, capsys):
    def times(planned, rng):
        level = {500: rng.normal(10, 0.1), 5000: 10.0, 50000: 10.0}[planned.factors["integers"]]
        step = planned.factors["integers"] == 50000
        return [level - step, level + step] * (planned.calls // 2)

    few = {"transport": ["soap"], "servers": [1], "integers": [500, 5000, 50000]}
    study = changed(replicates=6, factors=few)
    make_run(tmp_path / "pilot", times, study=study, profile="paper")
    code, found = power(capsys, tmp_path / "pilot")
    assert code == 0
    assert [cell["factors"]["integers"] for cell in found["cells"]] == [500, 50000]
    assert [cell["factors"]["integers"] for cell in found["lacking"]] == [5000]
    assert all(one["best"]["detectable"] > 1e-6 for one in found["quantities"])


def test_one_block_is_no_pilot(tmp_path, capsys):
    make_run(tmp_path / "pilot", sort_times, until=12)
    assert main(["power", str(tmp_path / "pilot")]) == 2
    assert "sweep a pilot of at least 2 blocks, better 5" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--half-width", "5"], ["--hours", "0"], ["--hours", "late"]])
def test_a_wish_that_is_none_is_refused(pilot, capsys, wrong):
    with pytest.raises(SystemExit) as ended:
        main(["power", str(pilot), *wrong])
    assert ended.value.code == 2
    assert "is not a" in capsys.readouterr().err


def night_of(directory, capsys, **changes):
    """What is said of a pilot of two cells, or of all twenty-four, whose trials are the same."""
    make_run(directory, varied, study=changed(replicates=8, **changes), profile="paper")
    return power(capsys, directory)[1]


def test_more_comparisons_are_tested_at_a_stricter_level(tmp_path, capsys):
    few = {"transport": ["soap", "jms"], "servers": [1], "integers": [500]}
    two = night_of(tmp_path / "two", capsys, factors=few)
    every = night_of(tmp_path / "every", capsys)
    hours = every["best"]["night"]["blocks"], two["best"]["night"]["blocks"]
    assert len(every["quantities"]) == 24
    # Blocks differ, so the level shows in what a block tells: the difference over its error.
    told = [
        np.median([one["best"]["detectable"] / one["best"]["half_width"] for one in found])
        for found in (two["quantities"], every["quantities"])
    ]
    assert min(hours) > 20
    assert told[1] > told[0]


def test_a_profile_with_interim_analyses_is_planned_for_corrected_intervals(tmp_path, capsys):
    rule = {"half_width": 0.05, "looks": [3, 4, 5, 6, 7, 8]}
    fixed = night_of(tmp_path / "fixed", capsys)
    corrected = night_of(tmp_path / "corrected", capsys, stop=rule)
    widths = [found["best"]["night"]["half_width"] for found in (fixed, corrected)]
    assert widths[1] > 1.05 * widths[0]
    assert corrected["best"]["blocks"] > fixed["best"]["blocks"]
    assert any("interim analyses" in note for note in corrected["notes"])
    assert not any("interim analyses" in note for note in fixed["notes"])


def near_full(planned, rng):
    """Calls of 4.99 ms, in blocks of ±2 %, of which more than 200 a second cannot be served."""
    level = np.random.default_rng(planned.block).normal(0, 0.02)
    return (4.99 * np.exp(level) * rng.lognormal(0, 0.02, planned.measured_rows)).tolist()


def test_an_open_loop_is_planned_by_its_response_times(tmp_path, capsys):
    study = load_study(calls=400, rates=(200,), replicates=5)
    make_run(tmp_path / "open", near_full, study=study, profile="demo")
    cells = analyse(open_run(str(tmp_path / "open"))).cells
    _, found = power(capsys, tmp_path / "open")
    for planned in found["cells"]:
        cell = next(c for c in cells if dict(c.cell) == planned["factors"])
        means = list(cell.response.samples.values())
        assert planned["mean_ms"] == pytest.approx(np.exp(np.log(means).mean()))
        levels = [planned["deviation"][name] for name in ("blocks", "forks")]
        assert np.hypot(*levels) == pytest.approx(np.log(means).std(ddof=1), rel=0.1)
        assert planned["call_s"] == pytest.approx(1 / 200, rel=0.05)
        assert planned["calls"] == planned["calls_as_it_stands"]
    assert any("Times of an open loop are response times." in note for note in found["notes"])


def test_a_block_of_another_profile_takes_what_its_rate_and_threads_ask(tmp_path, capsys):
    few = {"transport": ["soap"], "servers": [1], "integers": [500, 5000]}
    profiles = {
        "pilot": {"arrival": {"rate": 50, "spacing": "even"}, "threads": 1},
        "slow": {"arrival": {"rate": 5, "spacing": "even"}, "threads": 2},
    }
    study = changed(factors=few, replicates=4, calls=20, warmup=1, profiles=profiles)

    def times(planned, rng):
        return (4 * rng.lognormal(0, 0.02, planned.measured_rows)).tolist()

    make_run(tmp_path / "pilot", times, study=study, profile="pilot")
    _, found = power(capsys, tmp_path / "pilot", "--profile", "slow")
    forks_s = sum(cell["fork_s"] for cell in found["cells"])
    # Two threads make 20 calls each, of which five a second are due.
    assert found["as_it_stands"]["block_s"] == pytest.approx(forks_s + 2 * 40 / 5)


def test_more_calls_than_in_the_pilot_leave_less_of_what_calls_vary(tmp_path, capsys):
    """Calls alone vary: a mean of four times as many varies half as much."""
    few = {"transport": ["soap"], "servers": [1], "integers": [500, 5000]}
    profiles = {"fewer": {"calls": 4}, "pilot": {"calls": 16}, "more": {"calls": 64}}
    study = changed(factors=few, replicates=12, warmup=1, profiles=profiles)

    def times(planned, rng):
        return (10 * rng.lognormal(0, 0.4, planned.calls)).tolist()

    make_run(tmp_path / "pilot", times, study=study, profile="pilot")
    fewer, same, more = (
        power(capsys, tmp_path / "pilot", "--profile", name)[1]["as_it_stands"]["blocks"]
        for name in profiles
    )
    assert fewer > 1.2 * same > 1.2 * 1.2 * more


def test_a_failed_trial_is_no_pause_of_the_next_one_and_has_its_part_in_the_starts(tmp_path):
    """Four of six cells fail, so that most trials that count have failed ones between them."""
    few = {"transport": ["soap"], "servers": [1, 3, 5], "integers": [500, 5000]}

    def times(planned, rng):
        return varied(planned, rng) if planned.factors["servers"] == 1 else "failed"

    study = changed(factors=few, replicates=5, calls=8, warmup=1)
    plan = make_run(tmp_path / "pilot", times, study=study, profile="paper")
    ends = {trial.block: trial for trial in reversed(plan)}, {trial.block: trial for trial in plan}
    for restart_ms, by_block in zip((30_000.0, 20_000.0), ends, strict=True):
        for trial in by_block.values():
            starts = [{"restart_ms": restart_ms, "warm_ms": 0.0}]
            edit_json(tmp_path / "pilot/trials" / trial.id / "trial.json", block_starts=starts)
    pilot = read_pilot(analyse(open_run(str(tmp_path / "pilot"))))
    assert (len(pilot.cells), pilot.start_s) == (2, pytest.approx(50))
    # Half a second after the trial before, 1.5 s long, of which 8 calls of 10 ms.
    assert [one.fork_s for one in pilot.cells.values()] == pytest.approx([1.92] * 2, abs=0.02)


def test_what_lies_between_two_blocks_is_no_pause(tmp_path):
    one_cell = {"transport": ["soap"], "servers": [1], "integers": [500]}
    study = changed(factors=one_cell, replicates=5, calls=8, warmup=1)
    make_run(tmp_path / "pilot", varied, study=study, profile="paper")
    (one,) = read_pilot(analyse(open_run(str(tmp_path / "pilot")))).cells.values()
    assert one.fork_s == pytest.approx(1.42, abs=0.02)


def test_what_blocks_share_is_seen_although_no_block_is_whole(tmp_path):
    """In each block another of three cells fails; the two others vary as the block does."""
    sizes = [500, 5000, 50000]
    effects = {block: np.random.default_rng(block).normal(0, 0.1) for block in range(1, 13)}

    def times(planned, rng):
        if planned.block % 3 == sizes.index(planned.factors["integers"]):
            return "failed"
        level = 10 * np.exp(effects[planned.block])
        return (level * rng.lognormal(0, 0.01, planned.calls)).tolist()

    few = {"transport": ["soap"], "servers": [1], "integers": sizes}
    study = changed(factors=few, replicates=12, calls=8, warmup=1)
    make_run(tmp_path / "pilot", times, study=study, profile="paper")
    pilot = read_pilot(analyse(open_run(str(tmp_path / "pilot"))))
    of_pairs = [
        np.var([effect for block, effect in effects.items() if block % 3 == missing], ddof=1)
        for missing in range(3)
    ]
    assert [one.shared for one in pilot.cells.values()] == pytest.approx(
        [np.mean(of_pairs)] * 3, rel=0.2
    )


def test_cells_of_different_services_share_their_block_and_not_the_starts_of_services(tmp_path):
    """Blocks and the starts of each service vary independently: by 0.1 and by 0.2."""
    blocks = np.tile([-0.1, 0.1, -0.1, 0.1], 3)
    starts = {"soap": np.tile([0.2, 0.2, -0.2, -0.2], 3), "jms": np.tile([0.2, -0.2, -0.2, 0.2], 3)}

    def times(planned, rng):
        place = planned.block - 1
        level = 10 * np.exp(blocks[place] + starts[planned.factors["transport"]][place])
        return [level * rng.lognormal(0, 1e-4)] * planned.calls

    few = {"transport": ["soap", "jms"], "servers": [1], "integers": [500, 5000]}
    study = changed(factors=few, replicates=12, calls=3, warmup=1)
    make_run(tmp_path / "pilot", times, study=study, profile="paper")
    pilot = read_pilot(analyse(open_run(str(tmp_path / "pilot"))))
    assert pilot.across == pytest.approx(0.01 * 12 / 11, rel=0.01)
    shared = [cell.shared for cell in pilot.cells.values()]
    assert shared == pytest.approx([0.05 * 12 / 11] * 4, rel=0.01)
