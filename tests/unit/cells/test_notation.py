import math

import pytest

from collect.cells.notation import show_apart, show_span, show_sure
from collect.stats.estimates import Estimate

ABOVE, ACROSS, BELOW = Estimate(2.5, 2, 3), Estimate(1.2, 0.9, 1.6), Estimate(0.5, 0.4, 0.6)
ALONE = Estimate(7)


def test_ratios_are_shown_with_how_many_of_them_are_not_one():
    assert show_span([ABOVE, ACROSS, BELOW]) == "0.500 to 2.50"
    assert show_span([ALONE]) == "7.00"
    assert show_sure([ABOVE, ACROSS, BELOW, ALONE]) == "2 of 4 with an interval that excludes 1"


@pytest.mark.parametrize(
    ("value", "limits", "text"),
    [
        (1.2504, [], "1.25"),
        (1.2504, [1.25], "1.2504"),
        (1.2499, [0.8, 1.25], "1.2499"),
        (1.25, [1.25], "1.25"),
        (1.31, [1.25], "1.31"),
        (0.99996, [1], "0.99996"),
        (1 - 1e-12, [1], "0.999999999999"),
        (1234.4, [1234], "1\u202f234.4"),
        (2.5e-5, [0], "2.5e-05"),
        (math.inf, [1], "∞"),
    ],
)
def test_a_number_is_shown_on_its_side_of_each_limit(value, limits, text):
    assert show_apart(value, limits) == text
