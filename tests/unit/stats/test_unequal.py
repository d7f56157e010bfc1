"""F tests inside blocks where cells vary unlike: how far their 5 % points move."""

import numpy as np
import pytest
from scipy import stats

from collect.stats.unequal import _projections, inflation

ONE = [(name,) for name in "abcde"]
TWO = [(size, protocol) for size in "12345" for protocol in "st"]


def rejections(levels, deviations, nights=400):
    """How often F is beyond its tabled 5 % point, and beyond the moved one, by source."""
    rng = np.random.default_rng(3)
    projections = _projections(levels)
    found = {source: np.zeros(2) for source in projections}
    cells, blocks = len(levels), 6
    for _ in range(nights):
        values = rng.normal(size=(blocks, cells)) * deviations + rng.normal(size=(blocks, 1))
        beyond = inflation(values, levels)
        means = values.mean(axis=0)
        left = values - means - values.mean(axis=1, keepdims=True) + values.mean()
        freedom = (blocks - 1) * (cells - 1)
        within = (left**2).sum() / freedom
        for source, projection in projections.items():
            between = round(np.trace(projection))
            f = blocks * means @ projection @ means / between / within
            point = stats.f.isf(0.05, between, freedom)
            found[source] += f > point, f > point * beyond[source]
    return {source: counts / nights for source, counts in found.items()}


@pytest.mark.parametrize(
    ("levels", "deviations"),
    [
        (ONE, np.array([1, 1, 1, 1, 12.0])),
        (TWO, np.array([10.0 if protocol == "s" else 0.5 for _, protocol in TWO])),
        (TWO, np.where(np.arange(10) == 3, 15.0, 1.0)),
    ],
)
def test_a_moved_point_keeps_5_percent_where_variances_differ(levels, deviations):
    tabled, moved = np.transpose(list(rejections(levels, deviations).values()))
    assert max(moved) <= 0.05 + 2.6 * (0.05 * 0.95 / 400) ** 0.5
    assert max(tabled) > max(moved)


def test_cells_that_vary_alike_move_no_point():
    rng = np.random.default_rng(4)
    for levels in (ONE, TWO):
        values = rng.normal(size=(60, len(levels)))
        assert max(inflation(values, levels).values()) < 1.1


def test_two_cells_need_no_moving():
    assert inflation(np.array([[1.0, 90], [2, 3], [4, 5]]), [("a",), ("b",)]) == {(0,): 1.0}


def test_the_sources_are_those_of_the_two_way_model():
    found = _projections(TWO)
    assert {source: round(np.trace(p)) for source, p in found.items()} == {
        (0,): 4,
        (1,): 1,
        (0, 1): 4,
    }
    for one in found.values():
        assert one @ one == pytest.approx(one)
        assert one @ np.ones(10) == pytest.approx(np.zeros(10))
    assert found[0,] @ found[0, 1] == pytest.approx(np.zeros((10, 10)))
