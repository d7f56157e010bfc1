"""An open loop: response times beside service times, what waited, and what was answered."""

import csv
import io
from functools import partial

import pytest
from open_loops import load_study, service_ms
from synthetic import make_run, reseal

from collect.cells.analysis import analyse
from collect.cells.cells import cells_csv
from collect.run.cell import CELL_COLUMNS, OPEN_COLUMNS
from collect.run.directory import open_run


@pytest.fixture
def loaded(tmp_path):
    def make(times=service_ms, **changes):
        directory = tmp_path / "results/night"
        make_run(directory, times, study=load_study(**changes))
        return analyse(open_run(str(directory)))

    return make


def cell_of(analysis, **levels):
    return next(c for c in analysis.cells if dict(c.cell) == levels)


def test_below_capacity_response_is_service_and_nothing_waits(loaded):
    cell = cell_of(loaded(), transport="soap", rate=50)
    assert cell.mean.value == pytest.approx(5)
    assert cell.response.mean.value == pytest.approx(5)
    assert cell.waited_share == 0
    assert list(cell.achieved.values()) == pytest.approx([1, 1, 1])
    assert cell.throughput.value == pytest.approx(50)


def test_beyond_capacity_calls_wait_and_the_answers_fall_behind(loaded):
    cell = cell_of(loaded(), transport="soap", rate=400)
    # Each of 100 calls waits 2.5 ms longer than the one before; the mean wait is 123.75 ms.
    assert cell.response.mean.value == pytest.approx(5 + 99 * 2.5 / 2)
    assert cell.response.pooled.p99_ms == pytest.approx(5 + 0.99 * 99 * 2.5)
    assert cell.mean.value == pytest.approx(5)
    assert cell.waited_share == pytest.approx(0.99)
    assert list(cell.achieved.values()) == pytest.approx([0.5, 0.5, 0.5], rel=0.01)
    assert cell.throughput.value == pytest.approx(200)


def test_threads_share_one_queue(loaded):
    cell = cell_of(loaded(threads=4, calls=25), transport="soap", rate=400)
    assert cell.response.mean.value == pytest.approx(5)
    assert cell.waited_share == 0


def test_the_table_has_the_new_columns_last_and_only_in_an_open_loop(loaded, run_of):
    def times(planned, rng):
        return [(1 + planned.block / 1000) * ms for ms in service_ms(planned, rng)]

    analysis = loaded(times)
    rows = list(csv.DictReader(io.StringIO(cells_csv(analysis.run, analysis.cells))))
    assert list(rows[0]) == ["study", "transport", "rate", *CELL_COLUMNS, *OPEN_COLUMNS]
    soap = next(r for r in rows if r["transport"] == "soap" and r["rate"] == "400")
    assert soap["offered_per_s"] == "400"
    assert float(soap["mean_ms"]) == pytest.approx(5.01, rel=1e-4)
    low, mean, high = (float(soap[f"response_{name}_ms"]) for name in ("low", "mean", "high"))
    assert mean == pytest.approx(5.01 + 99 * 2.51 / 2, rel=1e-4)
    assert low < mean < high
    assert soap["waited_share"] == "0.99"
    closed = run_of(name="closed")
    header = cells_csv(closed, analyse(closed).cells).splitlines()[0]
    assert header.endswith(",".join(CELL_COLUMNS))


def test_a_percentile_of_too_few_calls_is_left_out(loaded):
    analysis = loaded(calls=20)
    rows = list(csv.DictReader(io.StringIO(cells_csv(analysis.run, analysis.cells))))
    assert {row["response_p99_ms"] for row in rows} == {""}
    assert all(row["response_p50_ms"] for row in rows)


def test_a_failed_trial_is_in_no_response_time(loaded):
    def times(planned, rng):
        return "failed" if planned.block == 2 else service_ms(planned, rng)

    cell = cell_of(loaded(times), transport="jms", rate=100)
    assert (len(cell.counted), cell.failed_trials, cell.response.failed_trials) == (2, 1, 1)
    assert sorted(cell.achieved) == [1, 3]


def test_what_was_counted_of_an_open_loop_is_kept(loaded):
    first = loaded()
    again = analyse(open_run(str(first.run.directory)))
    assert cells_csv(again.run, again.cells) == cells_csv(first.run, first.cells)


def without_due(text, places):
    """The log of an earlier version in which measured calls in these places had no due time."""
    rows = [line.split(",") for line in text.splitlines()]
    measured = [row for row in rows if row[2] == "measure"]
    for place in places:
        measured[place][3], measured[place][8] = "", "error"
    return "\n".join(",".join(row) for row in rows) + "\n"


def test_a_call_that_could_not_be_prepared_leaves_the_loop_open(tmp_path):
    directory = tmp_path / "results/night"
    make_run(directory, service_ms, study=load_study(rates=(50, 400)))
    run = open_run(str(directory))
    places = {50: range(1, 99, 2), 400: range(49)}
    for planned in run.plan:
        unprepared = places[planned.factors["rate"]]
        reseal(run.trials_directory / planned.id, partial(without_due, places=unprepared))
    analysis = analyse(open_run(str(directory)))
    late = cell_of(analysis, transport="soap", rate=400)
    assert late.response.mean.value == pytest.approx(5 + (49 + 99) / 2 * 2.5)
    assert late.waited_share == 1
    half = cell_of(analysis, transport="soap", rate=50)
    assert list(half.achieved.values()) == pytest.approx([0.5] * 3, rel=0.05)
