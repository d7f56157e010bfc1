"""Runs that rotate their workers: the plan, the seal, and a slow machine in the report."""

import json
import math

import numpy as np
import pytest
from made_up_studies import changed
from synthetic import make_run

from collect.cells.analysis import analyse
from collect.cli import main
from collect.report.placements import placements_of
from collect.run.directory import open_run
from collect.run.plan import read_plan
from collect.stats.components import between_groups

STUDY = changed(
    study="orders",
    factors={"transport": ["soap"], "servers": [1, 2], "integers": [500]},
    replicates=12,
    calls=8,
    warmup=2,
)


def run_of(directory, slow, blocks=12):
    """Worker 2 of three is slow by so much, wherever it does the work of the first place."""

    def times(planned, rng):
        is_slow = planned.shift == 1 and planned.factors["servers"] == 1
        level = 10 * (1 + slow * is_slow) * math.exp(rng.normal(0, 0.02))
        return [level] * planned.calls

    make_run(
        directory, times, profile="paper", study=STUDY, workers=3, rotate=True, until=2 * blocks
    )
    return analyse(open_run(str(directory)))


def test_each_block_begins_with_the_next_worker(tmp_path, capsys):
    (tmp_path / "orders.yml").write_text(STUDY)
    plan = ["plan", str(tmp_path / "orders.yml"), "--profile", "paper", "--workers", "3"]
    output = tmp_path / "run" / "plan.jsonl"
    assert main([*plan, "--rotate", "-o", str(output)]) == 0
    shifts = {trial.block: trial.shift for trial in read_plan(output)}
    assert [shifts[block] for block in range(1, 6)] == [0, 1, 2, 0, 1]
    assert main([*plan, "-o", str(output)]) == 2
    assert "shift of trial 3 is" in capsys.readouterr().err


def test_a_trial_on_other_workers_than_planned_is_refused(tmp_path, capsys):
    run_of(tmp_path / "night", slow=0)
    trial = next(one for one in open_run(str(tmp_path / "night")).plan if one.shift)
    path = tmp_path / "night" / "trials" / trial.id / "trial.json"
    record = {**json.loads(path.read_text()), "schema": 1}
    del record["shift"]  # as a runner that knows nothing of it seals
    path.write_text(json.dumps(record))
    assert main(["check", str(tmp_path / "night")]) == 1
    assert "shift is 0 in trial.json, but 1 in the plan" in capsys.readouterr().out


def test_a_slow_machine_is_a_component_of_variance_and_named(tmp_path):
    said = placements_of(run_of(tmp_path / "night", slow=0.3))
    assert "3 placements" in said
    assert "with worker1 as the first worker" in said


def test_machines_that_are_alike_are_said_to_be(tmp_path):
    said = placements_of(run_of(tmp_path / "night", slow=0))
    assert "not significantly more than blocks of one placement do" in said


def test_too_few_blocks_cannot_tell_machines_from_blocks(tmp_path):
    assert "plan 6 blocks or more" in placements_of(run_of(tmp_path / "night", 0.3, blocks=3))


def test_a_run_that_does_not_rotate_says_nothing(tmp_path):
    make_run(tmp_path / "night", lambda planned, rng: [10.0] * planned.calls)
    assert placements_of(analyse(open_run(str(tmp_path / "night")))) is None


def numbered(groups):
    """Groups whose samples are named by their places."""
    return {name: dict(enumerate(values)) for name, values in groups.items()}


def test_the_component_is_the_variance_between_groups():
    rng = np.random.default_rng(2)
    groups = numbered(
        {name: level + rng.normal(0, 0.1, 4) for name, level in enumerate(rng.normal(0, 0.3, 400))}
    )
    found = between_groups([groups])
    assert found.deviation == pytest.approx(0.3, rel=0.1)
    assert found.p_value < 1e-6


def test_groups_of_unequal_size_count_by_their_size():
    """Mean squares of 3 between and 1 within; a group has (4 - 10 / 4) / 1 = 1.5 samples."""
    found = between_groups([numbered({0: [0.0], 1: [1.0, 2.0, 3.0]})])
    assert found.deviation == pytest.approx(((3 - 1) / 1.5) ** 0.5)


def test_quantities_that_lost_different_samples_are_not_averaged():
    one = numbered({0: [1.0], 1: [1.1, 1.2], 2: [0.9, 1.0]})
    other = numbered({0: [1.0, 1.1], 1: [1.2], 2: [1.0, 0.9]})
    assert between_groups([one, other]).p_value == between_groups([one]).p_value


def test_quantities_that_lost_as_many_samples_are_averaged_only_if_these_are_the_same():
    """The one lost block 5, the other block 1; out of step, a slow block would meet a fast one."""
    one = {0: {1: 1.0, 3: 3.0}, 1: {2: 1.5, 4: 2.6}}
    other = {0: {3: 3.0, 5: 1.0}, 1: {2: 1.5, 4: 2.6}}
    assert between_groups([one, other]).p_value == between_groups([one]).p_value


def test_quantities_that_lost_one_block_together_outweigh_the_one_that_kept_it():
    kept = {0: {1: 1.0, 3: 3.0, 5: 9.0}, 1: {2: 1.5, 4: 2.6}}
    lost = [{0: {1: 1.0, 3: 2.0 + n}, 1: {2: 1.5, 4: 2.6}} for n in (0, 1)]
    assert between_groups([kept, *lost]).p_value == between_groups(lost).p_value


def test_groups_of_equal_values_do_not_differ():
    """As times of a clock of whole milliseconds."""
    found = between_groups([{0: {1: 2.0, 3: 2.0}, 1: {2: 2.0, 4: 2.0}}])
    assert (found.deviation, found.p_value) == (0, 1)


def test_groups_that_are_alike_are_called_different_in_one_of_twenty():
    rng = np.random.default_rng(6)
    alarms = sum(
        between_groups(
            [numbered({g: rng.normal(0, 1, 4) for g in range(3)}) for _ in range(2)]
        ).p_value
        < 0.05
        for _ in range(400)
    )
    assert 0.02 < alarms / 400 < 0.08
