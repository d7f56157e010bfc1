import math
from dataclasses import replace
from statistics import fmean
from types import SimpleNamespace

import numpy as np
import pytest

from collect.cells.analysis import analyse
from collect.replication.claims import Verdict, judge
from collect.replication.crossing import crossing, overtaking
from collect.replication.evidence import Untested
from collect.replication.replicate import replicate
from collect.replication.studies import find

MTOM = find("mtom")
PLACES = [1, 2, 4, 8, 16]


def on(evidence, part):
    (claim,) = [claim for claim in MTOM.claims if part in claim.sentence]
    return judge(claim, evidence)


def exact(crossed_at):
    """Times of nearly no noise whose curves cross at so many KiB."""

    def times(planned, rng):
        kib = planned.factors["payload_bytes"] / 1024
        is_inline = planned.factors["encoding"] == "inline"
        level = 10.0 * (kib / crossed_at) ** 0.1 if is_inline else 10.0
        return [level * rng.lognormal(0, 1e-4)] * planned.calls

    return times


@pytest.fixture(scope="module")
def paper(shared_run):
    return replicate(analyse(shared_run("mtom", "paper")))


def test_a_crossing_is_found_exactly_where_it_is():
    noise = np.array([-1e-7, 0, 1e-7])[:, np.newaxis]
    estimate = crossing(PLACES, np.log(np.array(PLACES) / 5.0) + noise)
    assert (estimate.low, estimate.value, estimate.high) == pytest.approx((5, 5, 5))
    assert estimate.low < estimate.high


@pytest.mark.parametrize("blocks", [[[-0.2, 0.2, 0.3]] * 3, [[-0.2, 0.2, b] for b in (1, 2, 3)]])
def test_a_crossing_between_ties_of_a_clock_has_no_interval(blocks):
    estimate = crossing([1, 4, 8], blocks)
    assert estimate.value == pytest.approx(2)
    assert (estimate.low, estimate.high) == (None, None)


def test_a_curve_that_is_always_above_or_below_has_no_crossing():
    assert crossing(PLACES, [[0.1, 0.2, 0.3, 0.4, 0.5]] * 3).value == 0
    assert crossing(PLACES, [[-0.5, -0.4, -0.3, -0.2, -0.1]] * 3).value == math.inf


def test_curves_that_scatter_cross_once():
    """-1, 1, -1, 1: the two in the middle are pooled to zero, which is no advantage yet."""
    estimate = crossing([1, 2, 4, 8], [[-1, 1, -1, 1]])
    assert estimate.value == pytest.approx(4)
    assert estimate.low is None


def test_the_interval_covers_the_truth_in_about_95_of_100():
    rng = np.random.default_rng(1)
    truth = np.log(np.array(PLACES) / 5.0) * 0.1
    found = [crossing(PLACES, truth + rng.normal(0, 0.05, (10, 5))) for _ in range(40)]
    covering = [estimate for estimate in found if estimate.low <= 5 <= estimate.high]
    assert 32 <= len(covering) <= 40
    assert all(estimate.low < estimate.high for estimate in found)


def test_a_block_with_a_time_of_0_has_no_advantage():
    """As clocks of whole milliseconds give it: it would have all the weight."""
    rows = [[1.0, 2.0, 4.0, 1.0], [0.0, 2.0, 4.0, 1.0], [1.1, 2.0, 4.0, 1.1]]
    evidence = SimpleNamespace(error=0.05, rows=lambda cells: rows)
    found = overtaking(evidence, [1, 4], [(None, None)] * 2)
    others = crossing([1, 4], [np.log([row[0] / row[1], row[2] / row[3]]) for row in rows[::2]])
    assert (found.value, found.samples) == (pytest.approx(others.value), 2)
    assert (found.low, found.high) == (None, None)
    del rows[::2]
    assert isinstance(overtaking(evidence, [1, 4], [(None, None)] * 2), Untested)


def test_an_interval_can_be_open():
    blocks = [[-0.1, 0.1], [-0.101, -0.05], [-0.1, -0.05], [-0.1, 0.2]]
    assert crossing([1, 2], blocks).high == math.inf
    assert crossing([1, 2], blocks).low < 2
    # The logarithm of 24 is not the sum of that of 3 and of what lies between, but for rounding.
    assert crossing([3, 24], blocks).high == math.inf


def test_nothing_is_published_but_the_text():
    assert {judge(claim, MTOM.published()).verdict for claim in MTOM.claims} == {Verdict.NOT_TESTED}
    reasons = {
        result.estimate.reason
        for claim in MTOM.claims
        for result in judge(claim, MTOM.published()).results
    }
    assert reasons == {"text only: the chart is lost"}


@pytest.mark.parametrize(
    ("crossed_at", "verdict"),
    [
        (4.5, Verdict.HOLDS),
        (20, Verdict.DIRECTION_ONLY),
        (0.5, Verdict.FAILS),
        (1000, Verdict.FAILS),
    ],
)
def test_the_threshold_is_judged(run_of, crossed_at, verdict):
    run = run_of(exact(crossed_at), study="mtom", profile="paper")
    assert on(replicate(analyse(run)).measured, "threshold").verdict == verdict


def test_the_threshold_of_a_plausible_run_stands_in_the_report(paper):
    (result,) = on(paper.measured, "threshold").results
    assert result.estimate.low < 4.5 < result.estimate.high
    (table,) = [e for e in paper.exhibits if e.title == "The MTOM threshold"]
    assert [entry.text for entry in table.rows[0]][:2] == ["threshold", "4 to 5"]
    assert table.rows[0][2].text.startswith(f"{result.estimate.value:.2f} [")


def test_no_threshold_is_said_in_words(run_of):
    replication = replicate(analyse(run_of(exact(1000), study="mtom")))
    (table,) = [e for e in replication.exhibits if e.title == "The MTOM threshold"]
    assert table.rows[0][2].text == "above 192"


def test_base64_grows_by_a_third(paper):
    (result,) = on(paper.measured, "third larger").results
    assert result.estimate.value == pytest.approx(4 / 3, abs=1e-4)
    assert result.verdict == Verdict.HOLDS


@pytest.mark.parametrize(("power", "verdict"), [(1, Verdict.HOLDS), (2, Verdict.FAILS)])
def test_a_line_has_no_curvature(run_of, power, verdict):
    def times(planned, rng):
        kib = planned.factors["payload_bytes"] / 1024
        level = (2 + 0.01 * kib**power) * planned.block**0.5
        return [level * rng.lognormal(0, 1e-4)] * planned.calls

    run = run_of(times, study="mtom")
    assert on(replicate(analyse(run)).measured, "linearly").verdict == verdict


def test_the_one_printed_latency_stands_beside_the_measured(paper):
    (table,) = [e for e in paper.exhibits if e.title == "Latency and bytes"]
    (found,) = [entry.over_paper for row in table.rows for entry in row if entry.over_paper]
    assert found.value == pytest.approx(
        fmean(paper.measured.samples(table.rows[-1][2].cell).values()) / 11
    )


def test_signs_at_the_ends(paper):
    assert on(paper.measured, "loses at 1 K").results[1].verdict == Verdict.HOLDS


def test_latency_and_bytes_stand_for_each_size(paper):
    (table,) = [e for e in paper.exhibits if e.title == "Latency and bytes"]
    assert [row[0].text for row in table.rows] == [
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "12",
        "24",
        "48",
        "96",
        "192",
    ]
    assert table.rows[0][4].estimate.value == 220 + 1368
    assert table.rows[-1][6].estimate.value == pytest.approx(4 / 3, abs=0.01)


def test_one_encoding_alone_has_no_threshold(run_of):
    def times(planned, rng):
        return "failed" if planned.factors["encoding"] == "mtom" else [1.0] * planned.calls

    replication = replicate(analyse(run_of(times, study="mtom")))
    assert on(replication.measured, "threshold").verdict == Verdict.NOT_TESTED
    (table,) = [e for e in replication.exhibits if e.title == "Latency and bytes"]
    assert table.rows[0][2].text == "failed"


def test_threshold_and_slopes_are_corrected_for_interim_analyses(paper):
    evidence = [replace(paper.measured, error=error) for error in (0.05, 0.05 / 3)]
    for part in ("threshold", "linearly"):
        (fixed,), (paid,) = (on(measured, part).tested for measured in evidence)
        assert paid.value == fixed.value
        assert paid.low <= fixed.low
        assert paid.high > fixed.high
