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
    holm,
    p_of_ratio,
)

# PlantGrowth, a data set that comes with R: weights of plants in three groups of ten.
PLANTS = [
    [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
    [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
]


# Hollander and Wolfe (1999), table 7.1, in R's friedman.test: rounding first base in three ways, 22
# players, a block each.
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


def test_ranks_are_aligned_inside_their_blocks():
    f, aligned = compare_in_blocks(BASES)
    assert f.degrees == aligned.degrees == (2, 2 * 21)
    assert aligned.p_value < 0.01
    (night,) = nights(1, 4, 5, "normal")
    slow = night + np.array([0, 50, 0, 7, 0])
    assert compare_in_blocks(slow)[1] == compare_in_blocks(night)[1]
    # Some of these are tied, which their rounding must not break.
    assert compare_in_blocks(BASES + np.arange(22))[1] == compare_in_blocks(BASES)[1]


def test_two_groups_in_blocks_are_those_of_a_paired_t_test():
    wanted = stats.ttest_rel(*BASES[:2])
    f, _ = compare_in_blocks(BASES[:2])
    assert (f.statistic, f.p_value) == pytest.approx((wanted.statistic**2, wanted.pvalue))


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
    assert len(found[0]) == 2
    assert max(np.mean(found, axis=0)) < 0.05 + 2.6 * (0.05 * 0.95 / 400) ** 0.5


def test_tests_inside_blocks_see_what_blocks_would_hide():
    """Four cells, the last of them 2 forks' deviations away, over five blocks."""
    found = []
    for night in nights(100, 4, 5, "normal"):
        night[-1] += 2
        inside = [test.p_value < 0.05 for test in compare_in_blocks(night)]
        found.append([*inside, stats.f_oneway(*night).pvalue < 0.05])
    f, aligned, without = np.mean(found, axis=0)
    assert min(f, aligned) > without + 0.2


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


@pytest.mark.parametrize("groups", [[[1.0, 2.0]], [[1.0, 2.0], [2.0, 3.0]]])
def test_what_leaves_nothing_inside_blocks_gives_nothing(groups):
    assert compare_in_blocks(groups) == []
    assert check_residuals(groups, in_blocks=True) is None


def test_equal_values_leave_no_residuals():
    assert check_residuals([[1.0, 1.0], [2.0, 2.0]]) is None


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


@pytest.mark.parametrize(
    ("sample", "found"),
    [
        # By the median deviation of 2: scores of 3.37 and 3.71.
        ([7, 8, 9, 10, 11, 12, 20], ()),
        ([7, 8, 9, 10, 11, 12, 21], (6,)),
        # More than half are equal, so by the mean deviation: scores of 3.35 and 3.72.
        ([10, 10, 10, 10, 9, 11, 13], ()),
        ([10, 10, 10, 10, 9, 11, 14], (6,)),
    ],
)
def test_an_outlier_has_a_score_above_3_5(sample, found):
    assert outliers(sample) == found


@given(st.lists(st.floats(1e-3, 1e6), min_size=5, max_size=40), st.floats(1e-3, 1e3))
def test_outliers_do_not_hang_on_the_unit(sample, factor):
    assert set(outliers(sample)) <= set(range(len(sample)))
    assert len(outliers(sample)) < len(sample) / 2 or np.ptp(sample) == 0
    exact = [2.0 ** round(np.log2(factor)) * value for value in sample]
    assert outliers(exact) == outliers(sample)


def test_residuals_of_rounding_are_none():
    groups = [[0.1] * 3, [0.7] * 3]
    assert any(np.mean(group) != group[0] for group in groups)
    assert check_residuals(groups) is None
