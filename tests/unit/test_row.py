"""The arithmetic of ratios whose two sides were measured together."""

import math

import pytest
from row import Ratio, Row


def test_the_interval_of_the_ratio_is_of_the_pairs_not_of_the_sides():
    # The second pair was measured while the machine was ten times as slow.
    found = Ratio.of_pairs([1.1, 11.0, 1.2], [1.0, 10.0, 1.0])
    assert found.mean == pytest.approx((1.1 * 1.1 * 1.2) ** (1 / 3))
    spread = math.log(1.2 / 1.1) / math.sqrt(3)  # the standard deviation of the logarithms
    factor = math.exp(4.302653 * spread / math.sqrt(3))
    assert (found.low, found.high) == pytest.approx((found.mean / factor, found.mean * factor))


def test_a_row_shows_the_ratio_of_the_pairs_and_not_that_of_the_medians():
    row = Row("ours", 2, "theirs", 1, paired=Ratio(1.5, 1.4, 1.6))
    assert "| 1.50 (1.40 to 1.60) |" in row.line()
    assert "| 2.00 |" in Row("ours", 2, "theirs", 1).line()
    assert "| - |" in Row("ours", 2, "theirs", 0).line()
