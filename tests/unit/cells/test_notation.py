from collect.cells.notation import show_span, show_sure
from collect.stats.estimates import Estimate

ABOVE, ACROSS, BELOW = Estimate(2.5, 2, 3), Estimate(1.2, 0.9, 1.6), Estimate(0.5, 0.4, 0.6)
ALONE = Estimate(7)


def test_ratios_are_shown_with_how_many_of_them_are_not_one():
    assert show_span([ABOVE, ACROSS, BELOW]) == "0.500 to 2.50"
    assert show_span([ALONE]) == "7.00"
    assert show_sure([ABOVE, ACROSS, BELOW, ALONE]) == "2 of 4 with an interval that excludes 1"
