"""Counts and shares as people read them."""

from collections.abc import Callable

_MOST_DECIMALS = 9


def show_count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `one` for 1, else `many`, or `one` with an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def show_percent(share: float, decimals: int, is_told: Callable[[float], bool]) -> str:
    """Return a share in percent with so many decimals, or more until the text says what is told.

    So 5.04 % is no 5.0 % where 5 % is a limit.
    """
    text = f"{100 * share:.{decimals}f}"
    while decimals < _MOST_DECIMALS and is_told(float(text) / 100) != is_told(share):
        decimals += 1
        text = f"{100 * share:.{decimals}f}"
    return f"{text} %"
