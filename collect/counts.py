"""Counts as people read them."""


def show_count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `one` for 1, else `many`, or `one` with an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"
