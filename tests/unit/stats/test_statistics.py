import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from collect.stats.components import share_between, split_variance
from collect.stats.course import course_of
from collect.stats.estimates import (
    Estimate,
    Moments,
    geometric_t,
    mean_t,
    mean_t_from_moments,
    pooled,
    positive_mean_t,
    quotient_of_means,
)

TIMES = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=20)
# Student's sleep data as the differences of R's `sleep` (Cushny and Peebles 1905).
SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
# Strength of cloth from four looms: Montgomery, Design and Analysis of Experiments, ch. 3.
LOOMS = [[98, 97, 99, 96], [91, 90, 93, 92], [96, 95, 97, 95], [95, 96, 99, 98]]


def test_the_t_interval_is_that_of_r_on_the_sleep_data():
    """R: t.test(extra ~ group, sleep, paired = TRUE) gives 0.7001142 to 2.4598858."""
    estimate = mean_t(SLEEP)
    assert estimate.value == pytest.approx(1.58)
    assert estimate.low == pytest.approx(0.7001142, abs=1e-6)
    assert estimate.high == pytest.approx(2.4598858, abs=1e-6)


def test_the_interval_from_moments_is_that_from_the_sample():
    other = mean_t_from_moments(Moments(len(SLEEP), np.mean(SLEEP), np.var(SLEEP, ddof=1)))
    assert (other.low, other.high) == pytest.approx((mean_t(SLEEP).low, mean_t(SLEEP).high))


def test_the_interval_of_a_published_cell_is_the_published_one():
    """Menascé and Dubey, Figure 3: 1/2 95 % interval 0.0340 and 0.1979 from 490 calls."""
    tcp, soap = (mean_t_from_moments(Moments(490, *m)) for m in ((1.07, 0.15), (14.31, 4.99)))
    assert tcp.half_width == pytest.approx(0.0340, abs=0.0005)
    assert soap.half_width == pytest.approx(0.1979, abs=0.0005)


@given(sample=TIMES)
def test_intervals_hold_the_mean_and_never_invent_certainty(sample):
    for estimate in (mean_t(sample), geometric_t(sample)):
        assert estimate.samples == len(sample)
        if estimate.low is not None:
            slack = 1e-9 * max(sample)
            assert estimate.low - slack <= estimate.value <= estimate.high + slack
    assert (mean_t(sample).low is None) == (np.ptp(sample) <= 1e-12 * np.mean(sample))


def test_ratios_that_differ_by_rounding_are_equal():
    """0.3 ms are 0.30000000000000004 where they are summed; the logs of both ratios are near 0."""
    estimate = geometric_t([0.3 / 0.3, (0.1 + 0.2) / 0.3, 0.3 / 0.3])
    assert (0.1 + 0.2) / 0.3 != 1
    assert (estimate.value, estimate.low, estimate.high) == (pytest.approx(1), None, None)


@given(sample=st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=12))
def test_no_interval_of_a_time_reaches_0(sample):
    assume(np.ptp(sample) > 1e-9 * max(sample))
    moments = Moments(len(sample), float(np.mean(sample)), float(np.var(sample, ddof=1)))
    for estimate in (geometric_t(sample), positive_mean_t(moments)):
        assert estimate.low >= 0
        assert estimate.low > 0 or np.ptp(np.log(sample)) > 1


def test_a_sample_with_a_zero_has_no_interval():
    assert (geometric_t([0.0, 1.0, 2.0]).value, geometric_t([0.0, 1.0, 2.0]).low) == (1.0, None)
    assert (geometric_t([0.0, 0.0]).value, geometric_t([0.0, 0.0]).low) == (0.0, None)


def test_many_calls_have_the_usual_interval_and_few_one_above_0():
    many = Moments(490, 14.31, 4.99)
    assert positive_mean_t(many).half_width == pytest.approx(0.1979, abs=0.001)
    few = Moments(3, 10.0, 150.0)
    assert mean_t_from_moments(few).low < 0 < positive_mean_t(few).low


@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_the_interval_of_log_normal_trials_covers_95_percent(blocks):
    rng = np.random.default_rng(blocks)
    runs = np.exp(rng.normal(math.log(20), 0.8, size=(3000, blocks)))
    found = [geometric_t(run) for run in runs]
    assert 0.93 < np.mean([one.low <= 20 <= one.high for one in found]) < 0.97


@pytest.mark.parametrize(
    ("blocks", "apart", "fork", "call", "calls"),
    [
        (3, 13, 1, 2, [20] * 4),
        (10, 4, 3, 1, [20] * 4),
        (5, 6, 2, 3, [5, 20, 80, 320]),
        (5, 6, 2, 3, [320, 80, 20, 5]),
    ],
)
def test_the_interval_of_a_share_covers_95_percent(blocks, apart, fork, call, calls):
    """Cells in a row, and blocks as far apart as forks."""
    rng = np.random.default_rng(blocks)
    cells, calls = np.linspace(0, apart, 4), np.array(calls)
    share = np.var(cells) / (np.var(cells) + fork**2 + call**2)
    hits = 0
    for _ in range(250):
        means = cells + rng.normal(0, fork, (blocks, 4)) + rng.normal(0, fork, (blocks, 1))
        means += rng.normal(0, call / calls**0.5, means.shape)
        spreads = call**2 * rng.chisquare(calls - 1, means.shape) / (calls - 1)
        found = share_between(
            [
                [Moments(*trial) for trial in zip(calls.tolist(), *row, strict=True)]
                for row in zip(means, spreads, strict=True)
            ]
        )
        hits += found.low <= share <= found.high
    assert 0.915 < hits / 250 < 0.985


def test_a_share_does_not_depend_on_how_many_calls_each_cell_makes():
    """As in a test of a fixed time, in which the fast cell makes nearly all calls."""
    forks = (0.01, -0.02, 0.02, -0.01)
    few, many = (
        share_between([[Moments(n, f, 0.09), Moments(50, 2.6 - f, 0.09)] for f in forks])
        for n in (50, 5000)
    )
    assert few.low < few.value < few.high
    assert many.low < many.value < many.high
    assert many.value == pytest.approx(few.value, rel=0.01)


def test_a_share_lies_in_its_interval_where_cells_differ_less_than_by_chance():
    """One run in forty: the interval would end at 0, as if the share were known exactly."""
    forks = np.add([[1, -1, 1, -1], [-1, 1, -1, 1], [0, 0, 0, 0]], [0, 0.2, 0, 0.2])
    found = share_between([[Moments(20, mean, 0.5) for mean in row] for row in forks])
    assert found.low == 0 < found.value <= found.high < 0.1


def test_a_share_is_that_of_the_very_calls():
    rng = np.random.default_rng(9)
    calls = rng.normal(0, 1, (3, 2, 7)) + rng.normal(0, 0.5, (3, 2, 1)) + [[[0], [3]]]
    calls += rng.normal(0, 9, (3, 1, 1)) - calls.mean(axis=(1, 2), keepdims=True)
    found = share_between(
        [[Moments(7, one.mean(), one.var(ddof=1)) for one in row] for row in calls]
    )
    inside = calls - calls.mean(axis=(1, 2), keepdims=True)
    between = inside.mean(axis=(0, 2)).var()
    assert found.value == pytest.approx(between / inside.var())


def test_a_p_value_says_what_the_interval_says():
    rng = np.random.default_rng(3)
    for _ in range(200):
        found = geometric_t(rng.lognormal(0, 0.2, size=5))
        outside = found.high < 1 or found.low > 1
        assert (found.p_outside(1, 1) < 0.05) == outside
    assert geometric_t([2.0, 2.0], is_exact=True).p_outside(1, 1) == 0
    assert geometric_t([2.0, 2.0]).p_outside(1, 1) is None
    assert geometric_t([2.0]).p_outside(1, 1) is None
    assert geometric_t([1.9, 2.1]).p_outside(1, 3) == 1


@pytest.mark.parametrize("method", [mean_t, geometric_t])
def test_values_that_do_not_vary_have_an_interval_only_if_they_are_exact(method):
    """Times are those of a clock's ticks; bytes are exact."""
    ticks, exact = method([5.0] * 4), method([5.0] * 4, is_exact=True)
    assert (ticks.low, ticks.value, ticks.high) == (None, 5, None)
    assert (exact.low, exact.value, exact.high) == (5, 5, 5)
    assert mean_t_from_moments(Moments(4, 5.0, 0.0)) == Estimate(5.0, samples=4)


@given(ratios=st.lists(st.floats(0.01, 100), min_size=2, max_size=12))
def test_a_ratio_and_its_inverse_tell_the_same(ratios):
    ratio, inverse = geometric_t(ratios), geometric_t([1 / r for r in ratios])
    assert ratio.value == pytest.approx(1 / inverse.value)
    if None not in (ratio.high, inverse.low) and 1e-300 < inverse.low < ratio.high < 1e300:
        assert ratio.high == pytest.approx(1 / inverse.low)


def test_the_variance_split_is_that_of_the_textbook():
    """Montgomery: between looms 6.96, within 1.90."""
    split = split_variance(
        [4] * 4, [np.mean(x) for x in LOOMS], [float(np.var(x, ddof=1)) for x in LOOMS]
    )
    assert split.forks_ms2 == pytest.approx(6.96, abs=0.005)
    assert split.calls_ms2 == pytest.approx(1.90, abs=0.005)
    assert split.share_of_forks == pytest.approx(6.96 / 8.86, abs=0.001)


def test_the_variance_split_weighs_forks_by_their_calls():
    """Three forks of 3, 1 and 2 calls, by hand: 1 2 3, 10 and 4 8."""
    split = split_variance([3, 1, 2], [2.0, 10.0, 6.0], [1.0, None, 8.0])
    within = (2 * 1 + 1 * 8) / (2 + 1)
    assert split.calls_ms2 == pytest.approx(within)
    assert split.forks_ms2 == pytest.approx(16 - within * (1 / 3 + 1 / 1 + 1 / 2) / 3)


def test_the_variance_split_of_unequal_forks_is_unbiased():
    rng = np.random.default_rng(4)
    counts = [2, 3, 5, 40]
    splits = []
    for _ in range(4000):
        forks = [rng.normal(rng.normal(100, 5), 3, size=count) for count in counts]
        splits.append(
            split_variance(
                counts,
                [float(np.mean(times)) for times in forks],
                [float(np.var(times, ddof=1)) for times in forks],
            )
        )
    assert np.mean([split.calls_ms2 for split in splits]) == pytest.approx(9, rel=0.02)
    assert np.mean([split.forks_ms2 for split in splits]) == pytest.approx(25, rel=0.04)


def test_there_is_no_split_without_two_forks_or_two_calls():
    assert split_variance([5], [1.0], [0.1]) is None
    assert split_variance([1, 1, 1], [1.0, 2.0, 3.0], [None, None, None]) is None
    assert split_variance([3, 3], [1.0, 1.0], [0.0, 0.0]).share_of_forks is None


def test_calls_that_explain_all_leave_nothing_to_the_forks():
    assert split_variance([2, 2], [1.0, 1.1], [4.0, 4.0]).forks_ms2 == 0


def rows(rng, shift_at=None, shift=1.0, calls=60, trials=5):
    base = rng.lognormal(0, 0.05, size=(trials, calls)) * 10
    if shift_at is not None:
        base[:, :shift_at] *= shift
    return base.tolist()


def test_a_level_that_changes_is_drifting_and_one_that_stays_is_steady():
    rng = np.random.default_rng(1)
    assert course_of(rows(rng)).steadiness == "steady"
    assert course_of(rows(rng, shift_at=25, shift=1.5)).steadiness == "drifting"


@pytest.mark.parametrize(("noise", "calls", "trials"), [(0.05, 50, 3), (0.1, 200, 5)])
def test_steady_is_said_only_where_a_drift_of_5_percent_would_have_been_seen(noise, calls, trials):
    rng = np.random.default_rng(calls)
    found = {}
    for shift in (1.0, 1.05):
        cells = rng.lognormal(0, noise, size=(60, trials, calls))
        cells[:, :, : calls // 4] *= shift
        found[shift] = [course_of(cell).steadiness for cell in cells]
    assert found[1.0].count("steady") > 0.6 * 60
    assert found[1.0].count("drifting") < 0.1 * 60
    assert found[1.05].count("steady") < 0.15 * 60


@pytest.mark.parametrize(("calls", "trials"), [(8, 3), (20, 3), (8, 10)])
def test_noise_alone_is_seldom_called_a_drift(calls, trials):
    cells = np.random.default_rng(calls).lognormal(0, 0.1, size=(150, trials, calls))
    drifting = [course_of(cell).steadiness == "drifting" for cell in cells]
    assert np.mean(drifting) < 0.12


def test_what_a_noisy_cell_could_have_seen_is_seen_in_80_of_100():
    rng = np.random.default_rng(6)
    quiet = [course_of(cell) for cell in rng.lognormal(0, 0.2, size=(40, 3, 20))]
    assert {one.steadiness for one in quiet} <= {"undecided", "drifting"}
    smallest = float(np.median([one.smallest for one in quiet]))
    assert smallest > 0.1
    moved = rng.lognormal(0, 0.2, size=(100, 3, 20))
    moved[:, :, :5] *= 1 + smallest
    seen = [course_of(cell).steadiness == "drifting" for cell in moved]
    assert 0.65 < np.mean(seen) < 0.97


def test_one_slow_call_is_no_drift():
    courses = rows(np.random.default_rng(2))
    for course in courses:
        course[30] *= 20
    assert course_of(courses).steadiness == "steady"


def test_a_shift_too_small_to_matter_is_steady():
    courses = [[10.0 + 0.001 * (k % 3) + (0.1 if k > 30 else 0) for k in range(60)]] * 3
    assert course_of(courses).steadiness == "steady"


def test_half_of_the_trials_are_not_most():
    flat = [10 + 0.001 * (k % 3) for k in range(60)]
    up = [value * (1.2 if k >= 30 else 1) for k, value in enumerate(flat)]
    down = [value * (1.2 if k < 30 else 1) for k, value in enumerate(flat)]
    assert course_of([up, down, flat, flat]).steadiness == "steady"
    assert course_of([up, down, up, flat]).steadiness == "drifting"


@pytest.mark.parametrize("courses", [[], [[1.0] * 7] * 9, [[]], [[1.0] * 7, [1.0] * 9]])
def test_too_few_calls_decide_nothing(courses):
    found = course_of(courses)
    assert (found.steadiness, found.smallest) == ("undecided", None)


def test_equal_times_are_steady():
    assert course_of([[3.0] * 20] * 2).steadiness == "steady"


def test_a_trial_that_lost_calls_shortens_nothing():
    courses = rows(np.random.default_rng(3), calls=60, trials=4)
    courses[0] = courses[0][:20]
    assert course_of(courses).smallest < 0.05


@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_the_interval_of_a_quotient_of_means_covers_95_percent(blocks):
    """Differences of which one in four is below zero."""
    rng = np.random.default_rng(blocks)
    above = rng.normal(3, 1.5, size=(2000, blocks))
    below = 2 + 0.5 * above + rng.normal(0, 1, size=(2000, blocks))
    found = [quotient_of_means(*night) for night in zip(above, below, strict=True)]
    hits = [one.low is None or one.low <= 3 / 3.5 <= one.high for one in found]
    assert 0.93 < np.mean(hits) < 0.98


@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_a_quotient_of_means_is_refuted_as_often_as_the_error_says(blocks):
    """The noise is in the denominator alone, where logs of the interval's ends would mislead."""
    rng = np.random.default_rng(blocks)
    below = 1 + rng.normal(0, 0.2, size=(4000, blocks))
    found = [quotient_of_means([0.5] * blocks, night) for night in below]
    p_values = [one.p_outside(0, 0.5) for one in found if one.low is not None and one.value > 0.5]
    for level in (0.05, 0.01, 0.002):
        assert np.sum(np.array(p_values) <= level) / len(found) < 0.6 * level + 0.002
    for one in found:
        if one.low is not None and one.value > 0.5:
            assert (one.p_outside(0, 0.5) <= 0.05) == (one.low >= 0.5)


def test_a_quotient_of_nothing_is_none():
    assert quotient_of_means([1.0, 2.0], [0.0, 0.0]) is None
    assert quotient_of_means([1.0, 2.0], [1.0, -0.9]).low is None
    assert quotient_of_means([4.0], [2.0]) == Estimate(2.0, samples=1)


@pytest.mark.parametrize("below", [[3.0] * 3, [1.1, 2.3, 3.7]])
def test_pairs_of_one_quotient_have_no_interval(below):
    found = quotient_of_means([0.7 * value for value in below], below)
    assert (found.value, found.low, found.high) == (pytest.approx(0.7), None, None)


def test_pooled_moments_are_those_of_all_samples_together():
    groups = [[1.0, 2.0, 4.0], [5.0], [3.0, 9.0]]
    parts = [
        Moments(len(g), float(np.mean(g)), float(np.var(g, ddof=1)) if len(g) > 1 else None)
        for g in groups
    ]
    whole = pooled(parts)
    every = [value for group in groups for value in group]
    assert whole.count == 6
    assert whole.mean == pytest.approx(np.mean(every))
    assert whole.variance == pytest.approx(np.var(every, ddof=1))
    assert pooled(parts[1:2]) == Moments(1, 5.0, None)
    assert pooled([]) is None


@pytest.mark.parametrize("noise", [0.0005, 0.005, 0.02])
@pytest.mark.parametrize("change", [1.06, 1.5, 4.0])
def test_a_change_of_level_is_seen_however_far_beyond_the_noise(noise, change):
    """Courses are cut at four deviations, so that a step in quiet ones looked small: steady."""
    rng = np.random.default_rng(5)
    level = np.where(np.arange(60) < 30, 1.0, change)
    courses = [10 * level * rng.lognormal(0, noise, 60) for _ in range(5)]
    assert course_of(courses).steadiness == "drifting"
    assert course_of(courses[:1]).steadiness == "drifting"
    still = [10 * rng.lognormal(0, noise, 60) for _ in range(5)]
    assert course_of(still).steadiness == "steady"
