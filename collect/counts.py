"""Counts and shares as people read them."""

from collections.abc import Callable

_MOST_DECIMALS = 17


def show_count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `one` for 1, else `many`, or `one` with an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def show_number(number: float, decimals: int, is_told: Callable[[float], object]) -> str:
    """Return a number with so many decimals, or more until the text says what is told.

    So 1.04 is no 1.0 where 1 is a limit.
    """
    told = is_told(number)
    return _shown(number, decimals, lambda text: is_told(float(text)) == told)


def show_percent(share: float, decimals: int, is_told: Callable[[float], bool]) -> str:
    """Return a share in percent, with decimals as `show_number` chooses them."""
    told = is_told(share)
    return f"{_shown(100 * share, decimals, lambda text: is_told(float(text) / 100) == told)} %"


def _shown(number: float, decimals: int, is_true: Callable[[str], bool]) -> str:
    texts = (f"{number:.{count}f}" for count in range(decimals, _MOST_DECIMALS))
    return next(filter(is_true, texts), f"{number:.{_MOST_DECIMALS}f}")
