"""The fields of a JSON object, each read as the kind of value that it must have.

What a number rests on is required; of the rest, a field of another kind is as good as absent, since
a run must stay readable whatever an older or newer version recorded next to it.
"""

import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, TypeGuard

from collect.errors import quoted

_SHOWN = 60


def is_whole(value: object) -> TypeGuard[int]:
    """Tell whether a value is a whole number; a boolean is none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether a value is a number; a boolean is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_positive(value: object) -> TypeGuard[int | float]:
    """Tell whether a value is a finite number above 0, such as a rate or a time."""
    return is_number(value) and 0 < value < math.inf


class Fields:
    """One JSON object; a value that is no object has no fields."""

    def __init__(self, value: Any) -> None:
        """Read the fields of `value`."""
        self.all: Mapping[str, Any] = value if isinstance(value, dict) else {}

    def required(self, name: str, kind: type) -> Any:
        """Return a field; raises ValueError unless it is of this kind, and a number of 63 bits."""
        value = self.all.get(name)
        if not isinstance(value, kind) or isinstance(value, bool) or _is_beyond(value):
            raise ValueError(f"{name} is {quoted(value)[:_SHOWN]}")
        return value

    def text(self, name: str) -> str | None:
        """Return a text."""
        value = self.all.get(name)
        return value if isinstance(value, str) else None

    def whole(self, name: str) -> int | None:
        """Return a whole number."""
        return _whole(self.all.get(name))

    def number(self, name: str) -> float | None:
        """Return a number."""
        return _number(self.all.get(name))

    def numbers(self, name: str) -> tuple[float | None, ...]:
        """Return a list of numbers, with None for what is no number."""
        return tuple(_number(value) for value in self._list(name))

    def scalar(self, name: str) -> str | float | None:
        """Return a text or a number."""
        text = self.text(name)
        if text is not None:
            return text
        number, whole = self.number(name), self.whole(name)
        return number if number is None or whole is None else whole

    def instant(self, name: str) -> datetime | None:
        """Return a moment as ISO 8601 writes it, with or without a time zone."""
        try:
            return datetime.fromisoformat(self.text(name) or "")
        except ValueError:
            return None

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list as texts."""
        return tuple(map(str, self._list(name)))

    def fields(self, name: str) -> "Fields":
        """Return the fields of an object."""
        return Fields(self.all.get(name))

    def each(self, name: str) -> "list[Fields]":
        """Return the objects of a list."""
        return [Fields(value) for value in self._list(name) if isinstance(value, dict)]

    def by_name(self, name: str) -> "dict[str, Fields]":
        """Return the objects of an object, by name."""
        values = self.fields(name).all.items()
        return {key: Fields(value) for key, value in values if isinstance(value, dict)}

    def _list(self, name: str) -> list[Any]:
        value = self.all.get(name)
        return value if isinstance(value, list) else []


def leaves(settings: Mapping[str, Any], joint: str = " ") -> Iterator[tuple[str, Any]]:
    """Yield what is no object, in order; what is nested is named `outer inner`, by its `joint`."""
    for name, value in settings.items():
        if isinstance(value, dict):
            for inner, what in leaves(value, joint):
                yield f"{name}{joint}{inner}", what
        else:
            yield name, value


def _whole(value: Any) -> int | None:
    return value if is_whole(value) else None


def _number(value: Any) -> float | None:
    try:
        return float(value) if is_number(value) else None
    except OverflowError:  # JSON has whole numbers of any length
        return None


def _is_beyond(value: Any) -> bool:
    """Return whether a number is below zero or does not fit into 63 bits."""
    return isinstance(value, int) and not 0 <= value < 2**63
