import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from collect.stats.estimates import outliers
from collect.stats.groups import (
    check_residuals,
    compare_in_blocks,
    compare_means,
    compare_pairs,
    compare_pairs_in_blocks,
    hedges,
    hedges_of_pairs,
    holm,
    omega_squared,
    p_of_ratio,
)

# PlantGrowth, a data set that comes with R: weights of plants in three groups of ten. R prints
# F = 4.846, p = 0.0159 (aov), F = 5.181, denominator 17.128, p = 0.01739 (oneway.test), and
# p adj 0.3909, 0.1980, 0.0120 (TukeyHSD).
PLANTS = [
    [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
    [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
]


def test_means_are_compared_as_r_does():
    f, welch, forsythe = compare_means(PLANTS)
    assert f.statistic == pytest.approx(4.846, abs=5e-4)
    assert f.p_value == pytest.approx(0.0159, abs=5e-5)
    assert welch.statistic == pytest.approx(5.181, abs=5e-4)
    assert welch.degrees == pytest.approx((2, 17.128), abs=5e-4)
    assert welch.p_value == pytest.approx(0.01739, abs=5e-6)
    # With groups of one size the statistic of Brown and Forsythe is F itself.
    assert forsythe.statistic == pytest.approx(f.statistic)
    assert forsythe.degrees[1] < f.degrees[1]


def test_pairs_are_compared_as_r_does():
    pairs = compare_pairs(PLANTS, equal_variances=True)
    assert [(p.first, p.second) for p in pairs] == [(0, 1), (0, 2), (1, 2)]
    assert [p.p_value for p in pairs] == pytest.approx([0.3909, 0.1980, 0.0120], abs=5e-5)
    assert pairs[2].difference.low < pairs[2].difference.value < pairs[2].difference.high < 0


UNLIKE = [[1.0, 1.4, 0.7], [2.0, 2.9, 1.1, 2.2], [3.0, 9.0, 1.0, 4.0, 4.1]]


@pytest.mark.parametrize("equal_variances", [True, False])
@pytest.mark.parametrize("groups", [PLANTS, UNLIKE, UNLIKE[:2]])
def test_pairs_are_compared_as_scipy_does(groups, equal_variances):
    wanted = stats.tukey_hsd(*groups, equal_var=equal_variances)
    interval = wanted.confidence_interval()
    pairs = compare_pairs(groups, equal_variances=equal_variances)
    assert len(pairs) == len(groups) * (len(groups) - 1) / 2
    for pair in pairs:
        place = pair.first, pair.second
        ends = (pair.difference.low, pair.difference.high)
        assert pair.p_value == pytest.approx(wanted.pvalue[place])
        assert pair.difference.value == pytest.approx(wanted.statistic[place])
        assert ends == pytest.approx((interval.low[place], interval.high[place]), rel=1e-6)


# Hollander and Wolfe (1999), table 7.1, in R's friedman.test: rounding first base in three ways, 22
# players, a block each. R prints Friedman chi-squared = 11.143, df = 2, p-value = 0.003805.
BASES = np.array(
    [
        [5.40, 5.85, 5.20, 5.55, 5.90, 5.45, 5.40, 5.45, 5.25, 5.85, 5.25],
        [5.65, 5.60, 5.05, 5.50, 5.45, 5.55, 5.45, 5.50, 5.65, 5.70, 6.30],
        [5.50, 5.70, 5.60, 5.50, 5.85, 5.55, 5.40, 5.50, 5.15, 5.80, 5.20],
        [5.55, 5.35, 5.00, 5.50, 5.55, 5.55, 5.50, 5.45, 5.60, 5.65, 6.30],
        [5.55, 5.75, 5.50, 5.40, 5.70, 5.60, 5.35, 5.35, 5.00, 5.70, 5.10],
        [5.45, 5.45, 4.95, 5.40, 5.50, 5.35, 5.55, 5.25, 5.40, 5.55, 6.25],
    ]
).reshape(3, 22)


def test_inside_blocks_friedman_is_that_of_r():
    f, aligned, friedman = compare_in_blocks(BASES)
    assert friedman.statistic == pytest.approx(11.143, abs=5e-4)
    assert friedman.p_value == pytest.approx(0.003805, abs=5e-7)
    assert f.degrees == aligned.degrees == (2, 2 * 21)
    assert aligned.p_value < 0.01


def test_two_groups_in_blocks_are_those_of_a_paired_t_test():
    first, second, _ = BASES
    wanted = stats.ttest_rel(first, second)
    (pair,) = compare_pairs_in_blocks(BASES[:2])
    f, *_ = compare_in_blocks(BASES[:2])
    ends = (pair.difference.low, pair.difference.high)
    assert ends == pytest.approx(tuple(wanted.confidence_interval()))
    assert (pair.p_value, f.p_value) == pytest.approx((wanted.pvalue, wanted.pvalue))
    differences = [a - b for a, b in zip(first, second, strict=True)]
    assert pair.effect == pytest.approx(hedges_of_pairs(differences))


def nights(count, cells, blocks, shape):
    """Groups in blocks as far apart as forks, whose means do not differ."""
    rng = np.random.default_rng(cells * blocks)
    forks = rng.normal(size=(count, cells, blocks))
    if shape == "skewed":
        forks = np.exp(0.8 * forks)
    return forks + rng.normal(size=(count, 1, blocks)) * forks.std()


@pytest.mark.parametrize("shape", ["normal", "skewed"])
@pytest.mark.parametrize(("cells", "blocks"), [(4, 5), (7, 10)])
def test_tests_inside_blocks_have_5_percent_false_alarms(cells, blocks, shape):
    found = [
        [test.p_value < 0.05 for test in compare_in_blocks(night)]
        for night in nights(400, cells, blocks, shape)
    ]
    assert len(found[0]) == 3
    assert max(np.mean(found, axis=0)) < 0.05 + 2.6 * (0.05 * 0.95 / 400) ** 0.5


def test_tests_inside_blocks_see_what_blocks_would_hide():
    """Four cells, the last of them 2 forks' deviations away, over five blocks."""
    found = []
    for night in nights(100, 4, 5, "normal"):
        night[-1] += 2
        inside = [test.p_value < 0.05 for test in compare_in_blocks(night)]
        found.append([*inside[:2], compare_means(night)[0].p_value < 0.05])
    f, aligned, without = np.mean(found, axis=0)
    assert min(f, aligned) > without + 0.2


@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_among_all_pairs_inside_blocks_5_percent_of_nights_have_a_false_alarm(shape):
    first = nights(1, 4, 5, shape)[0]
    pairs = compare_pairs_in_blocks(first)
    # What a difference has to exceed, in standard deviations: the same for every night.
    (limit,) = {
        round(pair.difference.half_width * abs(pair.effect / pair.difference.value), 9)
        for pair in pairs
    }
    many = nights(4000, 4, 5, shape)
    means = many.mean(axis=2)
    left = many - means[..., np.newaxis] - many.mean(axis=1, keepdims=True)
    left += many.mean(axis=(1, 2))[:, np.newaxis, np.newaxis]
    deviation = (np.square(left).sum(axis=(1, 2)) / 12) ** 0.5 / (1 - 3 / (4 * 12 - 1))
    assert 0.03 < np.mean(np.ptp(means, axis=1) / deviation > limit) < 0.06


@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize("unlike", [1, 8])
def test_unlike_variances_are_not_taken_for_a_shape(in_blocks, unlike):
    """Normal cells, of which the widest varies `unlike` times as much: 5 % false alarms."""
    rng = np.random.default_rng(unlike)
    cells = rng.normal(size=(200, 7, 5)) * np.geomspace(1, unlike, 7)[:, np.newaxis]
    found = [check_residuals(groups, in_blocks=in_blocks).normal_p < 0.05 for groups in cells]
    assert 0.01 < np.mean(found) < 0.1
    skewed = np.exp(rng.normal(size=(30, 7, 10)))
    seen = [check_residuals(groups, in_blocks=in_blocks).normal_p < 0.05 for groups in skewed]
    assert np.mean(seen) > 0.6


def test_two_cells_in_blocks_leave_residuals_that_are_mirror_images():
    found = check_residuals(BASES[:2], in_blocks=True)
    assert (found.equal_p, found.variance_ratio, found.worst_share) == (None, None, 1)
    assert found.normal_p == pytest.approx(check_residuals(BASES[1::-1], in_blocks=True).normal_p)


def test_residuals_of_the_plants_are_unsuspicious():
    found = check_residuals(PLANTS)
    # shapiro.test of each group prints 0.7475, 0.4519 and 0.5643; by Stouffer:
    assert found.normal_p == pytest.approx(0.65855, abs=1e-5)
    assert found.equal_p == pytest.approx(0.3412, abs=5e-5)  # car::leveneTest
    assert found.worst_share < 1


def test_a_noisy_group_is_named():
    found = check_residuals([[1, 1.1, 0.9], [2, 2.1, 1.9], [3, 9, 1]])
    assert found.worst[0] == 2
    assert found.worst_share > 0.99
    assert found.variance_ratio > 1000


@pytest.mark.parametrize("groups", [[], [[1.0, 2.0]], [[1.0], [2.0, 3.0]], [[1, 1], [1, 2]]])
def test_what_cannot_be_compared_gives_nothing(groups):
    assert compare_means(groups) == []
    assert compare_pairs(groups) == []


@pytest.mark.parametrize("groups", [[[1.0, 2.0]], [[1.0, 2.0], [2.0, 3.0]]])
def test_what_leaves_nothing_inside_blocks_gives_nothing(groups):
    assert compare_in_blocks(groups) == []
    assert compare_pairs_in_blocks(groups) == []
    assert check_residuals(groups, in_blocks=True) is None


def test_equal_values_leave_no_residuals():
    assert check_residuals([[1.0, 1.0], [2.0, 2.0]]) is None
    assert hedges([1.0, 1.0], [2.0, 2.0]) is None


def test_effect_sizes():
    rng = np.random.default_rng(3)
    first, second = rng.normal(1, 1, 4000), rng.normal(0, 1, 4000)
    assert hedges(first, second) == pytest.approx(1, abs=0.1)
    assert omega_squared(between=10, freedom=2, within_ms=1, total=100) == pytest.approx(8 / 101)
    assert omega_squared(between=1, freedom=2, within_ms=1, total=100) == 0


def test_holm_is_that_of_statsmodels():
    for values in ([0.3], [0.01, 0.04, 0.03, 0.005], [0.2, 0.2, 1.0, 0.0, 0.049, 0.2]):
        assert holm(values) == pytest.approx(multipletests(values, method="holm")[1].tolist())


@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_is_never_below_the_p_value_nor_above_bonferroni(values):
    corrected = holm(values)
    assert len(corrected) == len(values)
    for before, after in zip(values, corrected, strict=True):
        assert min(1, before) <= after + 1e-12
        assert after <= min(1, len(values) * before) + 1e-12


def test_a_ratio_is_tested_by_its_logs():
    ratios = [1.1, 1.3, 1.2, 1.15]
    assert p_of_ratio(ratios) == pytest.approx(stats.ttest_1samp(np.log(ratios), 0).pvalue)
    assert p_of_ratio([2.0]) is None
    assert p_of_ratio([2.0, 2.0]) is None


def test_outliers_are_those_far_from_the_median():
    assert outliers([1.0, 1.1, 0.9, 1.05, 0.95, 5.0]) == (5,)
    assert outliers([1.0] * 9 + [2.0]) == (9,)
    assert outliers([1.0] * 9) == ()
    assert outliers([1.0, 1.1, 0.9, 9.0]) == ()


@given(st.lists(st.floats(1e-3, 1e6), min_size=5, max_size=40), st.floats(1e-3, 1e3))
def test_outliers_do_not_hang_on_the_unit(sample, factor):
    assert set(outliers(sample)) <= set(range(len(sample)))
    assert len(outliers(sample)) < len(sample) / 2 or np.ptp(sample) == 0
    exact = [2.0 ** round(np.log2(factor)) * value for value in sample]
    assert outliers(exact) == outliers(sample)
