"""Verdicts: sizes and signs apart, corrected, and what a wider interval does to them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from collect.replication.claims import Bound, Claim, Status, Verdict, judge
from collect.replication.evidence import Untested
from collect.replication.studies import find
from collect.stats.estimates import Estimate
from collect.stats.groups import explained

PRINTED = find("sort").published()
TWICE, ABOVE_ONE = Bound(1.5, 2.5), Bound(low=1, is_open=True)
HOLDS, DIRECTION, SIGN = Verdict.HOLDS, Verdict.DIRECTION_ONLY, Verdict.SIGN_OPEN
OPEN, FAILS, NOT = Verdict.INCONCLUSIVE, Verdict.FAILS, Verdict.NOT_TESTED


def judged(*numbers, bound=TWICE, direction=ABOVE_ONE, bounds=None):
    claim = Claim(
        sentence="",
        where="",
        statistic="",
        bound=bound,
        direction=direction,
        numbers=lambda evidence: [(str(place), one) for place, one in enumerate(numbers)],
        bounds=bounds or {},
    )
    return judge(claim, PRINTED)


def ratio(value, times, samples=10):
    """A ratio with an interval that reaches so many times up and down."""
    return Estimate(value, value / times, value * times, samples)


MISSING, ALONE = Untested("not run"), Estimate(2.0)


@pytest.mark.parametrize(
    ("numbers", "verdict"),
    [
        ([], NOT),
        ([MISSING], NOT),
        ([ratio(2, 1.1)], HOLDS),
        ([ratio(2, 1.1), MISSING], NOT),
        ([ratio(2, 1.1), ALONE], OPEN),
        ([ALONE], OPEN),
        ([ratio(2, 1.6)], OPEN),
        ([ratio(4, 1.1)], DIRECTION),
        ([ratio(4, 1.1), ratio(2, 1.1)], DIRECTION),
        ([ratio(4, 1.1), ratio(2, 1.6)], DIRECTION),
        ([ratio(4, 1.1), ratio(2, 3)], SIGN),
        ([ratio(4, 1.1), MISSING], SIGN),
        ([ratio(4, 1.1), ALONE], SIGN),
        ([ratio(1.1, 1.3)], SIGN),
        ([ratio(1.2, 1.1)], DIRECTION),
        ([ratio(0.5, 1.1)], FAILS),
        ([ratio(0.5, 1.1), MISSING], FAILS),
        ([ratio(0.5, 1.1), ratio(2, 1.1), ratio(4, 1.1)], FAILS),
    ],
)
def test_verdicts_follow_sizes_and_signs(numbers, verdict):
    assert judged(*numbers).verdict == verdict


def test_without_a_direction_a_refuted_size_is_a_refuted_sign():
    assert judged(ratio(4, 1.1), direction=None).verdict == FAILS
    assert judged(ratio(0.5, 1.1), bound=ABOVE_ONE).verdict == FAILS
    opposite = {"1": Bound(high=1, is_open=True)}
    assert judged(ratio(2, 1.1), ratio(1.5, 1.1), bounds=opposite).verdict == FAILS


def test_a_bound_of_its_own_keeps_the_direction_of_the_claim():
    both = judged(ratio(20, 1.1), ratio(2, 1.1), bound=Bound(9, 15), bounds={"1": TWICE})
    assert [one.verdict for one in both.results] == [DIRECTION, HOLDS]
    assert both.verdict == DIRECTION
    assert judged(
        ratio(12, 1.1), ratio(4, 1.1), bound=Bound(9, 15), bounds={"1": TWICE}
    ).verdict == (DIRECTION)


def test_what_was_printed_wrongly_before_is_right_now():
    """SOAP / JMS of paper-sort, six cells; SOAP / DIME of paper-attachments, and its look-alike."""
    found = [(5.71, 1.32), (6.37, 1.13), (3.87, 1.16), (6.47, 1.15), (2.78, 1.38), (4.89, 1.29)]
    assert judged(*(ratio(*one) for one in found)).verdict == DIRECTION
    of_dime = {"bound": Bound(7.47 / 1.5, 7.47 * 1.5)}
    assert judged(Estimate(1.61, 0.925, 2.81, 10), **of_dime).verdict == SIGN
    assert judged(Estimate(1.61, 1.2, 2.2, 10), **of_dime).verdict == DIRECTION


def test_refutations_are_corrected_for_the_numbers_that_were_measured():
    barely = Estimate(1.35, 1.35 / 1.11, 1.35 * 1.11, 10)
    assert judged(barely).results[0].size == Status.REFUTED
    many = judged(barely, *[ratio(2, 1.1)] * 11)
    assert many.results[0].size == Status.OPEN
    assert many.verdict == OPEN
    # What is missing is no test.
    few = judged(barely, *[MISSING] * 11)
    assert few.results[0].size == Status.REFUTED


EFFECT = Bound(low=0, is_open=True, negligible=0.01)
ALIKE, AT_LEAST_ONE = Bound(0.8, 1.25), Bound(low=1)


@pytest.mark.parametrize(
    ("number", "bounds", "verdict", "text"),
    [
        (Estimate(1.27, 1.2504, 1.3, 10), (ALIKE, None), FAILS, "1.27 [1.2504, 1.30]"),
        (Estimate(1.27, 1.2496, 1.3, 10), (ALIKE, None), OPEN, "1.27 [1.25, 1.30]"),
        (Estimate(1.1, 1.002, 1.21, 10), (TWICE, ABOVE_ONE), DIRECTION, "1.10 [1.002, 1.21]"),
        (Estimate(1.1, 1.002, 1.21, 10), (ABOVE_ONE, None), HOLDS, "1.10 [1.002, 1.21]"),
        (Estimate(1.1, 1.002, 1.21, 10), (AT_LEAST_ONE, None), HOLDS, "1.10 [1.00, 1.21]"),
        (Estimate(0.98, 0.96, 0.9996, 10), (AT_LEAST_ONE, None), FAILS, "0.980 [0.960, 0.9996]"),
        (Estimate(0.005, 0.0, 0.00998, 10), (EFFECT, None), FAILS, "0.005 [0, 0.00998]"),
        (MISSING, (TWICE, ABOVE_ONE), NOT, "not run"),
    ],
)
def test_a_number_has_the_digits_that_its_verdict_rests_on(number, bounds, verdict, text):
    bound, direction = bounds
    found = judged(number, bound=bound, direction=direction)
    assert (found.verdict, found.only.text) == (verdict, text)


def test_the_span_of_numbers_has_the_digits_that_tell_them_from_the_bound():
    outside, beyond = Estimate(1.2504, 1.2, 1.3, 10), Estimate(1.31, 1.2, 1.4, 10)
    assert judged(beyond, MISSING, outside, bound=ALIKE).span == "1.2504 to 1.31"
    assert judged(MISSING).span == ""


def test_a_negligible_effect_is_corrected_too():
    """One of twelve effects that are shown to be negligible alone does not pass for one of many."""
    small = next(
        effect
        for size in range(300, 4000, 5)
        if (effect := explained(0.4, 1, size - 2, size)).high < 0.01
    )
    large = explained(500.0, 1, 98, 100)
    one = judged(small, bound=EFFECT, direction=None)
    many = judged(small, *[large] * 11, bound=EFFECT, direction=None)
    assert (one.verdict, many.verdict) == (FAILS, OPEN)
    assert large.low > 0
    assert judged(*[large] * 12, bound=EFFECT, direction=None).verdict == HOLDS


def test_an_effect_whose_interval_has_no_length_is_corrected_too():
    """One F in twenty is so small that its interval ends at 0: it is not known exactly."""
    tiny, large = explained(0.003, 1, 8, 10), explained(500.0, 1, 98, 100)
    assert (tiny.low, tiny.high) == (0, 0)
    one = judged(tiny, bound=EFFECT, direction=None)
    many = judged(tiny, *[large] * 2, bound=EFFECT, direction=None)
    assert (one.verdict, many.verdict) == (FAILS, OPEN)


def test_an_effect_is_negligible_only_where_its_whole_interval_is():
    effect = explained(0.4, 1, 98, 100)
    assert effect.value < EFFECT.negligible < effect.high
    assert judged(effect, bound=EFFECT, direction=None).verdict == OPEN


@pytest.mark.parametrize(("between", "within", "size"), [(1, 8, 10), (9, 76, 100), (6, 24, 35)])
def test_an_effect_is_significant_exactly_where_f_is(between, within, size):
    critical = float(stats.f.isf(0.05, between, within))
    for factor, is_significant in ((0.98, False), (1.02, True)):
        effect = explained(factor * critical, between, within, size)
        assert (effect.low > 0) == is_significant
        assert (judged(effect, bound=EFFECT, direction=None).verdict == HOLDS) == is_significant
        p_value = float(stats.f.sf(factor * critical, between, within))
        assert effect.p_outside(0, 0) == pytest.approx(p_value, rel=1e-6)


def test_an_effect_of_an_analysis_that_may_hardly_err_is_open():
    """As after two blocks of a run with analyses after 2 and 30; F is that of a clear effect."""
    effect = explained(14286.0, 1, 1, 4, error=8e-18)
    assert (effect.low, effect.high) == (0, 1)
    assert effect.value == pytest.approx(explained(14286.0, 1, 1, 4).value)
    assert judged(effect, bound=EFFECT, direction=None).verdict == OPEN


def test_an_effect_next_to_hardly_any_noise_has_an_interval():
    """The noncentral F distribution of scipy is no number from F of 1e10 on."""
    effect = explained(1e12, 1, 8, 10)
    assert 0.99 < effect.low <= effect.value <= effect.high <= 1
    assert judged(effect, bound=EFFECT, direction=None).verdict == HOLDS
    # What is left unexplained falls with F, the same on both sides of where the method changes.
    below, above = (
        [(1 - end) * f for end in (effect.low, effect.value, effect.high)]
        for f in (0.9e8, 1.1e8)
        for effect in [explained(f, 1, 8, 10)]
    )
    assert above == pytest.approx(below, rel=1e-4)


def test_the_interval_of_an_effect_is_that_of_its_tests():
    effect = explained(4.0, 9, 76, 100)
    for end in (effect.low, effect.high):
        assert effect.p_outside(end, end) == pytest.approx(0.05, rel=1e-3)


WIDER = {
    HOLDS: {HOLDS, OPEN},
    NOT: {NOT, OPEN},
    OPEN: {OPEN},
    SIGN: {SIGN, OPEN},
    DIRECTION: {DIRECTION, SIGN, OPEN},
    FAILS: {FAILS, SIGN, OPEN},
}
logs = st.floats(-2, 2)
widths = st.floats(1e-4, 3)
numbers = st.one_of(st.none(), st.tuples(logs, widths, st.integers(2, 30)))
bounds = st.sampled_from(
    [(TWICE, ABOVE_ONE), (TWICE, None), (ABOVE_ONE, ABOVE_ONE), (Bound(low=1.2), ABOVE_ONE)]
)


@given(st.lists(numbers, min_size=1, max_size=6), bounds, st.floats(1, 20), st.integers(0, 5))
def test_a_wider_interval_moves_a_verdict_one_way_only(drawn, bound, wider, place):
    def made(times):
        return [
            MISSING
            if one is None
            else Estimate(
                math.exp(one[0]),
                math.exp(one[0] - one[1] * (times if at == place else 1)),
                math.exp(one[0] + one[1] * (times if at == place else 1)),
                one[2],
            )
            for at, one in enumerate(drawn)
        ]

    before, after = (
        judged(*made(times), bound=bound[0], direction=bound[1]).verdict for times in (1, wider)
    )
    assert after in WIDER[before]


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (2.6, 5.4, OPEN),
        (2.574, 5.454, OPEN),
        (2.6, 6.0, OPEN),
        (2.8, 5.4, DIRECTION),
        (2.8, 60.0, DIRECTION),
    ],
)
def test_the_side_that_faces_the_bound_decides(low, high, verdict):
    """The interval is symmetric on one scale or on the other, or on none."""
    assert judged(Estimate(4.0, low, high, 10), Estimate(2.0, 1.9, 2.1, 10)).verdict == verdict


def test_an_interval_that_crosses_zero_refutes_no_more_than_one_that_ends_above_it():
    both = [Estimate(0.5, low, 0.9, 10).p_outside(1, 2) for low in (0.01, -0.01)]
    assert both[0] == both[1]
    down = [Estimate(4.0, low, 5.0, 10).p_outside(1, 2) for low in (2.5, 0.5, 1e-9, 0, -1e-9, -9)]
    assert down == sorted(down)
    assert down[-3:] == [1, 1, 1]


def test_a_p_value_of_an_interval_that_is_symmetric_in_logs_is_that_of_its_logs():
    found = Estimate(3.0, 3.0 / 1.3, 3.0 * 1.3, 10)
    t = math.log(3 / 2) / math.log(1.3) * stats.t.isf(0.025, 9)
    assert found.p_outside(1, 2) == pytest.approx(2 * stats.t.sf(t, 9))
    below = Estimate(-3.0, -3.5, -2.5, 10)
    assert below.p_outside(-2, 5) == pytest.approx(2 * stats.t.sf(2 * stats.t.isf(0.025, 9), 9))


def sided(value, down, up, samples, of_logs):
    """A number whose ends have reaches of their own, of logs or of values: low ones cross zero."""
    if of_logs:
        return Estimate(value, value * math.exp(-down), value * math.exp(up), samples)
    return Estimate(value, value - down, value + up, samples)


reaches = st.floats(1e-4, 8)
two_sided = st.tuples(st.floats(0.1, 8), reaches, reaches, st.integers(2, 30), st.booleans())
ends = st.sampled_from([1, 2])


def widened(drawn, end, times):
    return sided(*(one * times if at == end else one for at, one in enumerate(drawn)))


@given(two_sided, st.floats(-1, 9), st.floats(1, 20), ends)
def test_a_wider_end_makes_no_p_value_smaller(drawn, bound, wider, end):
    before, after = (widened(drawn, end, times).p_outside(bound, bound) for times in (1, wider))
    assert after >= before * (1 - 1e-9)


@given(
    st.lists(st.one_of(st.none(), two_sided), min_size=1, max_size=6),
    bounds,
    st.floats(1, 20),
    st.integers(0, 5),
    ends,
)
def test_a_wider_end_moves_a_verdict_one_way_only(drawn, bound, wider, place, end):
    def made(times):
        return [
            MISSING if one is None else widened(one, end, times if at == place else 1)
            for at, one in enumerate(drawn)
        ]

    before, after = (
        judged(*made(times), bound=bound[0], direction=bound[1]).verdict for times in (1, wider)
    )
    assert after in WIDER[before]


def test_unequal_variances_make_an_effect_neither_significant_nor_negligible_by_themselves():
    """A moved critical value asks more of an effect; it shows no more of there being none."""
    critical = float(stats.f.isf(0.05, 6, 24))
    plain, moved = (explained(1.2 * critical, 6, 24, 35, beyond=beyond) for beyond in (1.0, 1.5))
    assert (plain.low > 0, moved.low) == (True, 0)
    assert moved.high == plain.high
    small, same = (explained(0.4, 6, 1000, 1007, beyond=beyond) for beyond in (1.0, 3.0))
    assert small.p_outside(0.01, 1) == same.p_outside(0.01, 1)
    assert small.high == same.high
