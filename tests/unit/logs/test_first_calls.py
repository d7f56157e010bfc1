import csv
import io

import numpy as np
import pytest
from made_up_studies import with_demo
from synthetic import make_run, seal

from collect.cells.analysis import analyse
from collect.cli import main
from collect.logs.calls import prove_calls
from collect.logs.columns import read_log
from collect.logs.first_calls import FirstCalls, beginning_of, first_calls
from collect.run.directory import open_run
from collect.run.trials import PHASES, STATUSES, read_trial

ONE_CELL = with_demo(
    factors={"transport": ["soap"], "servers": [1], "integers": [500]},
    restart="none",
    replicates=3,
    calls=5,
    warmup=4,
    timeout_s=60,
)


def columns(rows):
    """The columns of a log, from rows of thread, phase, start and elapsed time in µs, status."""
    names = ("thread", "phase", "start_ns", "elapsed_ns", "status")
    table = {name: [] for name in names}
    for thread, phase, start_us, elapsed_us, *status in rows:
        table["thread"].append(thread)
        table["phase"].append(PHASES.index(phase))
        table["start_ns"].append(round(start_us * 1000))
        table["elapsed_ns"].append(round(elapsed_us * 1000))
        table["status"].append(STATUSES.index(*status or ["ok"]))
    return {name: np.array(values) for name, values in table.items()}


MID_STRIDE = [(0, "warmup", 0, 100), (0, "warmup", 110, 100), (0, "measure", 230, 300)]
OTHERS = [(0, "measure", 540, 100), (0, "measure", 650, 100), (0, "measure", 760, 50)]


def test_the_gap_is_from_the_last_uncounted_call_to_the_first_measured_one():
    found = first_calls(columns([*MID_STRIDE, *OTHERS]))
    assert found == FirstCalls(
        gap_ms=0.02,
        longest_gap_ms=0.02,
        over_usual=2.0,
        most_over_usual=2.0,
        late=0,
        over_others=3.0,
    )


def test_each_thread_has_its_own_gap_and_the_order_of_rows_does_not_matter():
    second = [(1, "warmup", 5, 15), (1, "measure", 9020, 200), (1, "measure", 9221, 100)]
    rows = [*MID_STRIDE, *OTHERS, *second, (0, "cooldown", 900, 1)]
    for order in (rows, rows[::-1]):
        found = first_calls(columns(order))
        assert (found.gap_ms, found.longest_gap_ms) == ((0.02 + 9) / 2, 9.0)
        assert (found.over_usual, found.most_over_usual) == ((2 + 9000) / 2, 9000.0)
        assert found.late == 1
        # The median of 300 and 200 µs over that of the others, 100 µs.
        assert found.over_others == 2.5


@pytest.mark.parametrize(
    ("gap_us", "usual_us", "late"),
    [(2000, 10, 0), (2001, 10, 1), (2999, 1000, 0), (3000, 1000, 0), (3001, 1000, 1)],
)
def test_a_thread_is_late_only_beyond_two_ms_and_three_usual_gaps(gap_us, usual_us, late):
    rows = [
        (0, "warmup", 0, 100),
        (0, "measure", 100 + gap_us, 100),
        (0, "measure", 200 + gap_us + usual_us, 100),
    ]
    assert first_calls(columns(rows)).late == late


def test_a_log_without_warmup_or_with_one_call_says_what_it_can():
    assert first_calls(columns([])) == FirstCalls()
    assert first_calls(columns(OTHERS)) == FirstCalls(over_others=100 / 75)
    once = first_calls(columns(MID_STRIDE))
    assert (once.gap_ms, once.over_usual, once.over_others, once.late) == (0.02, None, None, 0)


def test_only_ok_calls_have_times_but_every_call_has_an_end():
    failed = [(*MID_STRIDE[-1], "error"), *OTHERS]
    found = first_calls(columns([*MID_STRIDE[:-1], *failed]))
    assert (found.gap_ms, found.over_others) == (0.02, None)
    slow = [*MID_STRIDE, OTHERS[0], (*OTHERS[1], "error"), OTHERS[2]]
    assert first_calls(columns(slow)).over_others == 300 / 75


def test_over_trials_it_is_the_median_and_the_largest_over_all_threads():
    found = beginning_of(
        [
            FirstCalls(1.0, 5.0, 2.0, 50.0, 1, 3.0),
            FirstCalls(2.0, 2.0, 4.0, 4.0, 0, 1.0),
            FirstCalls(9.0, 9.0, None, None, 2, None),
            FirstCalls(),
        ]
    )
    assert (found.trials, found.late) == (4, 2)
    assert (found.gap_ms.median, found.gap_ms.most) == (2.0, 9.0)
    assert (found.over_usual.median, found.over_usual.most) == (3.0, 50.0)
    assert (found.over_others.median, found.over_others.most) == (2.0, 3.0)
    nothing = beginning_of([FirstCalls()])
    assert (nothing.gap_ms, nothing.over_usual, nothing.over_others) == (None, None, None)


@pytest.fixture
def paused(tmp_path):
    """A run of three trials that pause 12 ms before the first call, of which one failed."""
    directory = tmp_path / "results" / "night"
    plan = make_run(directory, lambda planned, rng: [], study=ONE_CELL, until=0)
    for planned, outcome, pause_ns in zip(
        plan, ("ok", "ok", "failed"), (12_000_000, 14_000_000, 900_000_000), strict=True
    ):
        times = [3.0, 1.0, 1.0, 1.0, 1.0]
        seal(directory / "trials", planned, times, outcome=outcome, pause_ns=pause_ns)
    return open_run(str(directory))


def test_a_run_is_read_from_its_logs_and_then_from_its_cache(paused):
    for _ in range(2):
        (cell,) = analyse(paused).cells
        firsts = [one.first for one in cell.counted]
        assert len(firsts) == 2
        found = beginning_of(firsts)
        assert (found.gap_ms.median, found.gap_ms.most, found.late) == (13.0, 14.0, 2)
        assert found.over_others.median == 3.0
    trial = read_trial(paused.trials_directory / paused.plan[0].id)
    assert prove_calls([trial]).counted[trial.id].first == cell.counted[0].first
    assert first_calls(read_log(trial.seal)) == cell.counted[0].first


def test_they_are_printed_for_each_cell(paused, capsys):
    assert main(["export", str(paused.directory), "--format", "warmup", "-o", "-"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    found = {row["what"]: (row["median"], row["most"], row["unit"]) for row in rows}
    assert found["pause before the first call"] == ("13", "14", "ms")
    assert found["pause over the usual gap"] == ("13000", "14000", "")
    assert found["first call over the others"] == ("3", "3", "")
    assert found["classes loaded while measured"] == ("0", "0", "")
    assert {row["transport"] for row in rows} == {"soap"}
