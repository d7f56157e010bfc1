import re

import pytest
from synthetic import harness_times

from collect.cells.analysis import analyse
from collect.replication.replicate import replicate
from collect.report.bench import Bench, find_bench


@pytest.fixture(scope="module")
def analysis(shared_run):
    return analyse(shared_run("harness", "paper"))


def test_the_share_of_the_bench_stands_for_each_number_of_threads(analysis):
    (table,) = [
        e for e in replicate(analysis).exhibits if e.title == "How much of a time is the bench"
    ]
    assert [row[0].text for row in table.rows] == ["1", "30", "100"]
    assert table.rows[0][3].estimate.value == pytest.approx(100 * 4e-5 / 0.075, rel=0.1)
    assert table.rows[0][1].estimate.value == pytest.approx(0.04, rel=0.1)


def test_the_summary_has_the_bench_in_ns_and_http_in_us(analysis):
    (sentence,) = replicate(analysis).summary
    numbers = [float(number) for number in re.findall(r"([\d.]+) [nµ]s", sentence)]
    assert numbers == pytest.approx([40, 75], rel=0.1)


def test_no_claims_are_made_of_the_bench(analysis):
    assert replicate(analysis).claims == []


def test_the_bench_is_that_of_the_harness_run(analysis, shared_run):
    other = analyse(shared_run("overhead", "demo"))
    bench = find_bench([other, analysis])
    assert bench.run == "paper-harness"
    assert set(bench.noop_ms) == {1, 30, 100}
    assert find_bench([other]) is None


def test_a_share_is_taken_at_the_nearest_number_of_threads(analysis):
    cell = next(c for c in analysis.cells if c.cell["workload"] == "http")
    bench = Bench("x", {1: 0.001, 30: 0.002})
    assert bench.share(cell, 1) == pytest.approx(0.001 / cell.mean.value)
    assert bench.share(cell, 100) == pytest.approx(0.002 / cell.mean.value)
    # By ratio: ten threads are three times less than thirty, and ten times more than one.
    assert bench.share(cell, 10) == pytest.approx(0.002 / cell.mean.value)


def test_a_bench_that_failed_is_none(run_of):
    def times(planned, rng):
        return "failed" if planned.factors["workload"] == "noop" else harness_times(planned, rng)

    assert find_bench([analyse(run_of(times, study="harness"))]) is None
