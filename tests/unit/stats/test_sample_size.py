"""Planning from a pilot: promises are kept by simulated nights, optima are those of brute force."""

import math

import numpy as np
import pytest
from scipy import stats

from collect.stats.sample_size import (
    Spread,
    best_repetitions,
    blocks_for,
    detectable,
    half_width_of,
    moderated,
    shared_across,
    shared_variance,
)

WANTED = 0.05


@pytest.mark.parametrize(
    ("cells", "pilot_blocks", "more", "unlike"),
    [(1, 4, 1.0, 0.0), (1, 10, 4.0, 0.0), (4, 5, 1.0, 0.5), (8, 3, 0.5, 0.0)],
)
def test_the_half_width_promised_is_reached_by_four_nights_of_five(
    cells, pilot_blocks, more, unlike
):
    rng = np.random.default_rng(19)
    reached, nights = 0, 120
    for _ in range(nights):
        true = (0.06 * np.exp(rng.normal(0, unlike, cells))) ** 2
        calls = 0.3 * true
        pilot = rng.normal(0, np.sqrt(true), (pilot_blocks, cells)).var(axis=0, ddof=1)
        spreads = [
            Spread(max(v, c), pilot_blocks - 1, c) for v, c in zip(pilot, calls, strict=True)
        ]
        blocks = blocks_for(WANTED, moderated(spreads), [more] * cells)
        variance = true - calls + calls / more
        found = variance * rng.chisquare(blocks - 1, cells) / (blocks - 1)
        widths = stats.t.ppf(0.975, blocks - 1) * np.sqrt(found / blocks)
        reached += widths.max() <= WANTED
    assert reached / nights >= 0.72
    if cells == 1:
        assert reached / nights <= 0.92


def test_no_fewer_blocks_would_do_and_the_width_of_so_many_blocks_is_the_one_wanted():
    spreads = [Spread(0.004, 9, 0.001), Spread(0.002, 9, 0.0)]
    blocks = blocks_for(WANTED, spreads, [1, 1])
    assert half_width_of(blocks, spreads, [1, 1]) <= WANTED
    assert half_width_of(blocks - 1, spreads, [1, 1]) > WANTED
    assert blocks_for(1e-6, spreads, [1, 1]) is None


def test_a_width_that_is_no_number_is_bounded():
    """Thirty cells of two blocks each, one of which took 17 times as long as the other."""
    assert half_width_of(2, [Spread(4.0, 1, 0.0)] * 30, [1.0] * 30) == 300
    assert half_width_of(2, [Spread(1e-33, 5, 0.0), Spread(0.0, 5, 0.0)], [1.0, 1.0]) == 0


def test_the_best_number_of_calls_costs_least_for_its_variance():
    fork_s, call_s, forks, calls = 3.0, 0.02, 0.05**2, 0.2**2
    numbers = np.arange(1, 500)
    cost = (forks + calls / numbers) * (fork_s + numbers * call_s)
    assert best_repetitions(fork_s, call_s, forks, calls) == pytest.approx(
        numbers[np.argmin(cost)], abs=0.6
    )
    assert best_repetitions(fork_s, call_s, 0, calls) == math.inf
    assert best_repetitions(fork_s, call_s, forks, 0) == 1


def test_what_is_called_detectable_is_found_by_four_tests_of_five():
    rng = np.random.default_rng(3)
    spread, blocks = Spread(0.06**2, 9, 0.0), 8
    shift = detectable(blocks, spread, 1.0)
    nights = rng.normal(shift, 0.06, (20_000, blocks))
    found = stats.ttest_1samp(nights, 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(("blocks", "level"), [(2, 0.05 / 3), (2, 0.05 / 24), (3, 0.05 / 300)])
def test_few_blocks_and_many_comparisons_have_a_detectable_difference(blocks, level):
    rng = np.random.default_rng(8)
    shift = detectable(blocks, Spread(0.06**2, 9, 0.0), 1.0, level)
    nights = rng.normal(shift, 0.06, (20_000, blocks))
    found = stats.ttest_1samp(nights, 0, axis=1).pvalue < level
    assert found.mean() == pytest.approx(0.8, abs=0.01)
    assert detectable(2, Spread(1.0, 9, 0.0), 1.0, 0.05 / 300) == 300


def test_what_quantities_of_a_block_share_is_told_from_what_is_their_own():
    rng = np.random.default_rng(5)
    blocks = rng.normal(0, 0.1, (4000, 1))
    values = blocks + rng.normal(0, 0.05, (4000, 3))
    assert shared_variance(values) == pytest.approx(0.01, rel=0.1)
    assert shared_variance(values[:, :1]) == 0
    assert shared_variance(values[:1]) == 0


def test_what_two_quantities_share_is_seen_in_the_blocks_that_have_both():
    """No block has all three; the first two also share what the third does not."""
    rng = np.random.default_rng(6)
    blocks, pair = rng.normal(0, 0.1, (6000, 1)), rng.normal(0, 0.2, (6000, 1))
    values = blocks + pair * [1, 1, 0] + rng.normal(0, 0.05, (6000, 3))
    values[np.arange(6000), np.arange(6000) % 3] = np.nan
    assert shared_variance(values[:, :2]) == pytest.approx(0.05, rel=0.1)
    assert shared_variance(values) == pytest.approx((0.05 + 2 * 0.01) / 3, rel=0.1)
    assert shared_across(values, ["a", "a", "b"]) == pytest.approx(0.01, rel=0.15)
    apart = np.array([[1.0, np.nan], [np.nan, 2.0], [2.0, 3.0]])
    assert shared_variance(apart) == 0


def test_variances_that_are_alike_are_drawn_together_and_unlike_ones_stay_apart():
    rng = np.random.default_rng(7)
    draws = rng.chisquare(4, 40) / 4
    alike = moderated([Spread(v, 4, 0) for v in draws])
    assert max(s.variance for s in alike) / min(s.variance for s in alike) < 2
    unlike = moderated([Spread(v * 10 ** (k % 4), 4, 0) for k, v in enumerate(draws)])
    assert max(s.variance for s in unlike) / min(s.variance for s in unlike) > 100
    assert moderated([Spread(1, 4, 0), Spread(9, 4, 0)]) == [Spread(1, 4, 0), Spread(9, 4, 0)]


def test_nothing_is_borrowed_that_nobody_has_and_no_variance_is_below_that_of_its_calls():
    assert [one.freedom for one in moderated([Spread(1.0, 4, 0)] * 3)] == [12, 12, 12]
    noisy, *others = moderated([Spread(4.0, 4, 3.5), *[Spread(1.0, 4, 0)] * 3])
    assert noisy.variance == 3.5
    assert all(1.0 < one.variance < 2.0 for one in others)


@pytest.mark.parametrize("more", [0.25, 3.0])
def test_other_numbers_of_calls_leave_the_variance_that_they_leave(more):
    """Forks and calls both vary, so that neither `more` nor its inverse would do for the other."""
    rng = np.random.default_rng(12)
    calls, forks, blocks, shown = 0.05, 0.03, 8, 10
    spread = Spread(forks**2 + calls**2 / shown, 9, calls**2 / shown)
    shift = detectable(blocks, spread, more)
    each = rng.normal(0, calls / math.sqrt(shown * more), (20_000, blocks))
    nights = shift + rng.normal(0, forks, (20_000, blocks)) + each
    found = stats.ttest_1samp(nights, 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.015)


def test_intervals_that_are_corrected_take_more_blocks():
    spreads = [Spread(0.004, 9, 0.001)]
    fixed, corrected = (blocks_for(WANTED, spreads, [1], error) for error in (0.05, 0.05 / 3))
    assert corrected > 1.3 * fixed
    rng = np.random.default_rng(6)
    shift = detectable(8, spreads[0], 1.0, 0.05 / 12)
    nights = rng.normal(shift, math.sqrt(0.004), (20_000, 8))
    found = stats.ttest_1samp(nights, 0, axis=1).pvalue < 0.05 / 12
    assert found.mean() == pytest.approx(0.8, abs=0.015)
