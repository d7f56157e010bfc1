"""Cells as labels, which is how other load generators name what they measured."""

import json
import math
import shlex
from collections.abc import Mapping

from collect.run.cell import Level, level_text


def label_of(factors: Mapping[str, Level]) -> str:
    """Return a cell as a label such as `transport=soap servers=3`; `factors_of` reads it."""
    return " ".join(f"{name}={shlex.quote(_written(level))}" for name, level in factors.items())


def factors_of(label: str) -> dict[str, Level] | None:
    """Return the levels that a label of this form names, None for any other label."""
    try:
        words = shlex.split(label)
    except ValueError:
        return None
    factors: dict[str, Level] = {}
    for word in words:
        name, equals, level = word.partition("=")
        if not equals or not name.isidentifier() or name in factors:
            return None
        factors[name] = parse_level(level)
    return factors or None


def parse_level(text: str) -> Level:
    """Return the level that a text means: a number, true or false, else (or quoted) a string."""
    try:
        value = json.loads(text)
        # NaN and Infinity, which Python reads as numbers but JSON does not have, are strings here.
        is_number = isinstance(value, (int, float)) and math.isfinite(value)
    except (ValueError, RecursionError, OverflowError):  # the last by a whole number of 309 digits
        return text
    return value if is_number or isinstance(value, str) else text


def _written(level: Level) -> str:
    # A string that would be read as something else keeps its quotes.
    plain = isinstance(level, str) and parse_level(level) == level
    return level_text(level) if plain else json.dumps(level, ensure_ascii=False)
