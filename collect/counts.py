"""Counts and shares as people read them."""

from collections.abc import Callable

_MOST_DECIMALS = 17


def show_count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `one` for 1, else `many`, or `one` with an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def show_number(
    number: float, decimals: int, is_told: Callable[[float], object], scale: int = 1
) -> str:
    """Return `scale` times a number, with so many decimals or more until it says what is told.

    So 1.04 is no 1.0 where 1 is a limit.
    """
    told, shown = is_told(number), scale * number
    texts = (f"{shown:.{count}f}" for count in range(decimals, _MOST_DECIMALS))
    enough = (text for text in texts if is_told(float(text) / scale) == told)
    return next(enough, f"{shown:.{_MOST_DECIMALS}f}")


def show_percent(share: float, decimals: int, is_told: Callable[[float], object]) -> str:
    """Return a share in percent, with decimals as `show_number` chooses them."""
    return f"{show_number(share, decimals, is_told, 100)} %"
