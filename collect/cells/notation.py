"""How numbers and levels are written for people: three digits that matter, thousands apart."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal

from collect.counts import show_number
from collect.run.cell import Cell, Level, level_text
from collect.run.fields import is_whole
from collect.stats.estimates import Estimate

_THIN = "\N{NARROW NO-BREAK SPACE}"


def show(value: float) -> str:
    """Return a number with three significant digits, or all digits before the point.

    One of more than 15 digits, as ends of very long intervals are, has a power of ten.
    """
    if value == 0:
        return "0"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    magnitude = abs(value)
    if magnitude >= 1e15:
        return f"{value:.2e}"
    if magnitude >= 99.95:
        return f"{value:,.0f}".replace(",", _THIN)
    decimals = 1 if magnitude >= 9.995 else 2 if magnitude >= 0.9995 else 3
    return f"{value:.{decimals}f}" if magnitude >= 0.01 else f"{value:.2g}"


def show_until(value: float, told: Callable[[float], object]) -> str:
    """Return a number as `show`, with further digits until they say what is `told` of the value.

    So 1.2504 is no 1.25 where that is a limit.
    """
    text = show(value)
    if value == 0 or not math.isfinite(value) or "e" in text:
        return text
    decimals = len(text.partition(".")[2])
    return f"{Decimal(show_number(value, decimals, told)):,f}".replace(",", _THIN)


def show_apart(value: float, limits: Sequence[float]) -> str:
    """Return a number as `show`, with the digits that tell on which side of each limit it is."""
    return show_until(value, lambda shown: [(shown < end, shown > end) for end in limits])


def show_printed(value: float) -> str:
    """Return a number of a paper with the digits that the paper prints, and no others."""
    return f"{value:,.10g}".replace(",", _THIN)


def show_tick(value: float) -> str:
    """Return a value at an axis, where room is short."""
    return f"{value:.3g}" if abs(value) < 1000 else show(value)


def show_whole(value: int) -> str:
    """Return a whole number with all its digits, thousands apart."""
    return f"{value:,}".replace(",", _THIN)


def show_estimate(estimate: Estimate, number: Callable[[float], str] = show) -> str:
    """Return a value with its interval as [low, high]; alone without an interval of some length.

    Each `number` is written in this way. A value of survivors says so.
    """
    lost = f" ({show_lost(estimate)})" if estimate.lost else ""
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return f"{number(estimate.value)}{lost}"
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]{lost}"


def show_span(estimates: Sequence[Estimate]) -> str:
    """Return the smallest and the largest of these values; one value alone."""
    values = sorted(estimate.value for estimate in estimates)
    return " to ".join(dict.fromkeys((show(values[0]), show(values[-1]))))


def show_sure(ratios: Sequence[Estimate]) -> str:
    """Return how many of these ratios have an interval that excludes 1."""
    sure = sum(one.excludes(1) for one in ratios)
    return f"{sure} of {len(ratios)} with an interval that excludes 1"


def show_lost(estimate: Estimate) -> str:
    """Return how many trials, or blocks of several cells, failed and are in no value."""
    return f"without {estimate.lost} failed"


def name_of(cell: Cell) -> str:
    """Return the levels of a cell as text."""
    return ", ".join(map(show_level, cell.levels))


def names_in(cell: Cell) -> str:
    """Return the levels of a cell with their factors as text."""
    return ", ".join(f"{factor} {show_level(level)}" for factor, level in cell.items())


def show_level(level: Level) -> str:
    """Return a level as text, thousands apart."""
    if not is_whole(level):
        return level_text(level)
    return f"{level:,}".replace(",", _THIN)
