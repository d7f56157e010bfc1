"""What stands where in the drawings of the page."""

import math

import pytest

from collect.replication.claims import Bound, Claim, judge
from collect.replication.evidence import Published, Untested
from collect.replication.judge import JudgedClaim
from collect.report.drawings.axis import Axis
from collect.report.drawings.claims import rows_of
from collect.stats.estimates import Estimate


def judged(statistic, bound, measured, printed=()):
    """A claim with these numbers, in the run and in the paper."""
    sides = [
        judge(
            Claim("It is so.", "section 1", statistic, bound, lambda _, numbers=numbers: numbers),
            Published({}),
        )
        for numbers in (printed, measured)
    ]
    return JudgedClaim(Claim("It is so.", "", statistic, bound, lambda _: ()), *sides)


def test_an_axis_of_ratios_has_twice_and_half_equally_far_from_one():
    axis = Axis.over([0.25, 4], is_log=True)
    assert axis.place(2) - axis.place(1) == pytest.approx(axis.place(1) - axis.place(0.5))
    assert 0 < axis.place(0.25) < axis.place(4) < 100
    assert (axis.place(-math.inf), axis.place(0), axis.place(math.inf)) == (0, 0, 100)


@pytest.mark.parametrize("is_log", [True, False])
@pytest.mark.parametrize("ends", [(1, 1), (0.9, 1.1), (3, 40), (1e-3, 2e7), (300, 320)])
def test_an_axis_has_a_few_ticks_that_lie_on_it(ends, is_log):
    axis = Axis.over(ends, is_log=is_log)
    assert 2 <= len(axis.ticks) <= 7
    assert all(axis.holds(tick) for tick in axis.ticks)


def test_ratios_share_an_axis_on_which_their_bounds_numbers_and_one_stand():
    first, second, share = rows_of(
        [
            judged(
                "a / b", Bound(2, 4), [("x", Estimate(3, 2.5, 3.5))], [("x", Estimate(8, 8, 8))]
            ),
            judged("c / d", Bound(low=1), [("y", Estimate(0.5, 0.4, 0.6))]),
            judged("share", Bound(0.9), [("z", Estimate(0.5, 0.4, 0.6))]),
        ]
    )
    assert first.axis == second.axis != share.axis
    assert first.axis.is_log
    assert all(first.axis.holds(value) for value in (0.4, 1, 2, 4, 8))
    assert first.band == (first.axis.place(2), first.axis.place(4))
    assert second.band == (second.axis.place(1), 100)
    assert first.lines[0].printed.value == 8
    assert "Measured: 3.00 [2.50, 3.50]" in first.in_words


def test_an_interval_of_one_trial_too_many_does_not_flatten_all_others():
    (row,) = rows_of([judged("a / b", Bound(1, 2), [("x", Estimate(1.5, 1e-9, 1e9))])])
    assert row.axis.place(2) - row.axis.place(1) > 30


def test_a_claim_without_a_number_says_why_in_its_row():
    (row,) = rows_of([judged("share", Bound(0.9), [("x", Untested("soap: not run"))])])
    assert row.axis is None
    assert row.found == "soap: not run"


def test_of_several_numbers_the_row_says_how_many_hold():
    numbers = [("x", Estimate(3, 2.5, 3.5)), ("y", Estimate(3, 2, 5)), ("z", Untested("gone"))]
    (row,) = rows_of([judged("a / b", Bound(2, 4), numbers, [("y", Estimate(9, 9, 9))])])
    assert row.found == "1 holds, 1 inconclusive, 1 not tested"
    assert [(line.label, bool(line.printed)) for line in row.lines] == [
        ("x", False),
        ("y", True),
        ("z", False),
    ]
