"""Calls a second beside times: over all threads, of calls that were measured and ok."""

import hashlib

import pytest
from synthetic import CALLS_HEADER

from collect.cells.analysis import analyse
from collect.logs.columns import read_log
from collect.logs.summaries import count_calls
from collect.run.trials import Seal


@pytest.mark.parametrize(
    ("rows", "calls_per_s"),
    [
        # One thread: the pause between its calls counts.
        (["0,measure,,0,500000000,1,1,ok", "0,measure,,1000000000,500000000,1,1,ok"], 2 / 1.5),
        # Warm-up and cooldown count neither as calls nor as time.
        (
            [
                "0,warmup,,0,9000000000,1,1,ok",
                "0,measure,,9000000000,500000000,1,1,ok",
                "0,cooldown,,9500000000,9000000000,1,1,ok",
            ],
            2,
        ),
        # A failed call takes its time and is no call.
        (["0,measure,,0,500000000,1,1,error", "0,measure,,500000000,500000000,1,1,ok"], 1),
        # A thread that ends early makes the others no slower.
        (["0,measure,,0,100000000,1,1,ok", "1,measure,,0,1000000000,1,1,ok"], 11),
        # A thread that begins late is timed from its own first call.
        (["0,measure,,0,1000000000,1,1,ok", "1,measure,,9000000000,1000000000,1,1,ok"], 2),
    ],
)
def test_throughput_is_the_sum_of_what_threads_do(tmp_path, rows, calls_per_s):
    lines = [CALLS_HEADER, *(f"{seq},{row}" for seq, row in enumerate(rows))]
    content = ("\n".join(lines) + "\n").encode()
    path = tmp_path / "calls.csv"
    path.write_bytes(content)
    log = read_log(Seal("one", str(path), len(rows), hashlib.sha256(content).hexdigest()))
    assert count_calls(log).summary.calls_per_s == pytest.approx(calls_per_s)


def test_throughput_of_a_cell_is_the_geometric_mean_over_trials_with_its_interval(run_of):
    run = run_of(lambda planned, rng: [2.0**planned.block] * planned.calls)
    rates = analyse(run).cells[0].throughput
    assert rates.low < rates.value < rates.high
    assert rates.value == pytest.approx(1000 / 4, rel=0.01)


def test_a_cell_without_a_good_call_has_no_throughput(run_of):
    run = run_of(lambda planned, rng: "oom")
    assert {cell.throughput for cell in analyse(run).cells} == {None}
