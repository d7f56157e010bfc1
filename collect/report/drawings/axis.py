"""Axes of drawings: values as percent of the width, and ticks that a reader can name."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_MOST_TICKS = 6
_ROOM = 0.1
"""Share of the width that stays free at each side."""
_STEPS = ((1, 2, 5), (1, 3), (1,))


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high`, logarithmic or not; both ends finite, low below high."""

    low: float
    high: float
    is_log: bool

    @classmethod
    def over(cls, values: Iterable[float], *, is_log: bool) -> "Axis":
        """Return an axis that holds all finite values (of a logarithmic one: all above 0)."""
        known = [v for v in values if math.isfinite(v) and (v > 0 or not is_log)] or [1.0]
        if is_log:
            room = max((max(known) / min(known)) ** _ROOM, 1.02)
            return cls(min(known) / room, max(known) * room, is_log)
        room = _ROOM * (max(known) - min(known)) or max(abs(known[0]), 1.0) / 10
        return cls(min(known) - room, max(known) + room, is_log)

    def place(self, value: float) -> float:
        """Return where a value stands in percent; 0 or 100 where it lies beyond an end."""
        if value <= self.low or value >= self.high:
            return 0.0 if value <= self.low else 100.0
        if self.is_log:
            return 100 * math.log(value / self.low) / math.log(self.high / self.low)
        return 100 * (value - self.low) / (self.high - self.low)

    def holds(self, value: float) -> bool:
        """Tell whether a value lies between the ends."""
        return self.low <= value <= self.high

    @property
    def ticks(self) -> Sequence[float]:
        """At most six round values, at least two where the axis is not tiny."""
        if self.is_log and self.high / self.low > 4:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            for steps in _STEPS:
                found = [
                    step * 10.0**power
                    for power in range(first, last + 1)
                    for step in steps
                    if self.holds(step * 10.0**power)
                ]
                if len(found) <= _MOST_TICKS:
                    return found
            return found[:: math.ceil(len(found) / _MOST_TICKS)]
        return self._evenly()

    def _evenly(self) -> Sequence[float]:
        least = (self.high - self.low) / _MOST_TICKS
        power = 10.0 ** math.floor(math.log10(least))
        step = next(n * power for n in (1, 2, 5, 10) if n * power >= least)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [round(n * step, 12) for n in range(first, last + 1)]
