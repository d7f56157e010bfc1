"""Cells as labels of samplers: the form in which other load drivers name what they measured."""

import json
import math
import shlex
from collections.abc import Mapping

from collect.run.study import Level


def label_of(factors: Mapping[str, Level]) -> str:
    """Give a cell as a label such as `transport=soap servers=3`; `factors_of` reads it."""
    return " ".join(f"{name}={shlex.quote(_written(level))}" for name, level in factors.items())


def factors_of(label: str) -> dict[str, Level] | None:
    """Give the levels that a label of this form names, None for any other label."""
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
    """Give a level from text: a number, true or false, or a string; in quotes always a string."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    # What Python alone reads as infinite or as no number is a name.
    is_number = isinstance(value, (int, float)) and math.isfinite(value)
    return value if is_number or isinstance(value, str) else text


def _written(level: Level) -> str:
    # A string that would be read as something else keeps its quotes.
    plain = isinstance(level, str) and parse_level(level) == level
    return str(level) if plain else json.dumps(level, ensure_ascii=False)
