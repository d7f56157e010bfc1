"""How calls arrive: in an open loop they come at a rate, whether a client thread is free or not."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from collect.run.fields import is_positive

RATE = "rate"
"""The factor that an arrival with `{from, to, steps}` makes."""
SPACINGS = ("poisson", "even")
LEAD_S = 2
_LEAST_LEAD_S = 0.5
_MOST_STEPS = 100


@dataclass(frozen=True)
class Arrival:
    """Calls come at `rate` a second, over all client threads together.

    Their gaps are equal (`even`) or drawn from the exponential distribution (`poisson`). For
    `lead_s` seconds they come without counting.
    """

    rate: float
    spacing: str
    lead_s: float

    def __str__(self) -> str:
        """Return it as the report writes it."""
        return f"{self.rate:g}/s, {self.spacing}"

    def record(self) -> dict[str, Any]:
        """Return it as in plan.jsonl."""
        return dict(sorted(asdict(self).items()))

    def seconds(self, calls: int) -> float:
        """Return how long the lead and so many counted calls last on average."""
        return self.lead_s + calls / self.rate

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Read what `record` gives; raises ValueError that says what is wrong."""
        if not isinstance(value, dict) or set(value) != {"rate", "spacing", "lead_s"}:
            raise ValueError("needs rate, spacing and lead_s")
        if not is_positive(value["rate"]):
            raise ValueError("needs a rate above 0, in calls a second")
        if value["spacing"] not in SPACINGS:
            raise ValueError(f"needs a spacing of {' or '.join(SPACINGS)}")
        if not is_positive(value["lead_s"]) or value["lead_s"] < _LEAST_LEAD_S:
            raise ValueError(f"needs a lead_s of at least {_LEAST_LEAD_S}, in seconds")
        return cls(value["rate"], value["spacing"], value["lead_s"])


def geometric_rates(steps: Mapping[str, Any]) -> list[bool | int | float | str]:
    """Return the levels of `{from, to, steps}`: each as many times the one before.

    They are rounded to three digits. Raises ValueError that says what is wrong.
    """
    first, last, count = steps["from"], steps["to"], steps["steps"]
    if first >= last:
        raise ValueError(f"goes from {first:g} to {last:g}; write the lower rate first")
    if count > _MOST_STEPS:
        raise ValueError(f"has {count} steps; {_MOST_STEPS} are the most")
    ratio = (last / first) ** (1 / (count - 1))
    levels = dict.fromkeys(_rounded(first * ratio**step) for step in range(count))
    if len(levels) < count:
        raise ValueError("has steps so close that two rates become one; write fewer steps")
    return list(levels)


def _rounded(rate: float) -> int | float:
    rounded = float(f"{rate:.3g}")
    return int(rounded) if rounded.is_integer() else rounded
