"""The arithmetic of pairs with and without what measuring costs."""

import math

import pytest
from costs import mean_ratio


def test_the_interval_of_the_ratio_is_of_the_pairs_not_of_the_sides():
    # The second pair was measured while the machine was ten times as slow.
    ratio, low, high = mean_ratio([1.1, 11.0, 1.2], [1.0, 10.0, 1.0])
    assert ratio == pytest.approx((1.1 * 1.1 * 1.2) ** (1 / 3))
    spread = math.log(1.2 / 1.1) / math.sqrt(3)  # the standard deviation of the logarithms
    half = 4.302653 * spread / math.sqrt(3)
    assert (low, high) == pytest.approx((ratio * math.exp(-half), ratio * math.exp(half)))
