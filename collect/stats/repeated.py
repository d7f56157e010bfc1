"""What it costs to look several times at a sample that grows, and to stop by what is seen.

Repeated confidence intervals and tests (Jennison and Turnbull 1989): those of all looks together
keep 5 %, whatever stops the sampling. Each look gets an equal part of it (Bonferroni), which holds
for any statistic, also where variances are unknown and samples small; for three looks Pocock's
constant (1977), which needs a known variance, is 2.29 where this is 2.39. One look is free.
"""

CONFIDENCE = 0.95
"""Of an interval alone, and of those of all looks together."""


def confidence_of(looks: int) -> float:
    """Return the confidence that an interval must have by itself to pay for so many looks."""
    return 1 - (1 - CONFIDENCE) / looks


def pay(p_value: float, looks: int) -> float:
    """Return a p-value that pays for so many looks, at most 1.

    Below 0.05 exactly where the interval of `confidence_of` leaves the hypothesis out.
    """
    return p_value if looks == 1 else min(1.0, p_value * looks)
