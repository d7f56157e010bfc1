import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from collect.stats.estimates import outliers
from collect.stats.groups import (
    check_residuals,
    compare_means,
    compare_pairs,
    hedges,
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


def test_residuals_of_the_plants_are_unsuspicious():
    found = check_residuals(PLANTS)
    assert found.normal_p == pytest.approx(0.4379, abs=5e-5)  # shapiro.test of the residuals
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


def test_equal_values_leave_no_residuals():
    assert check_residuals([[1.0, 1.0], [2.0, 2.0]]) is None
    assert hedges([1.0, 1.0], [2.0, 2.0]) is None


def test_effect_sizes():
    rng = np.random.default_rng(3)
    first, second = rng.normal(1, 1, 4000), rng.normal(0, 1, 4000)
    assert hedges(first, second) == pytest.approx(1, abs=0.1)
    assert omega_squared(between=10, freedom=2, within_ms=1, total=100) == pytest.approx(8 / 101)
    assert omega_squared(between=1, freedom=2, within_ms=1, total=100) == 0


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
