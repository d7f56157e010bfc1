"""How long client threads warm up: a number of calls, or until the calls are steady."""

from dataclasses import asdict, dataclass
from typing import Any, Self

from collect.run.fields import is_number, is_positive, is_whole

LEAD_ROWS = 64
"""How many calls each thread logs, at most, of those that it makes until all threads are warm."""
_KEYS = {"least", "most", "steady"}


@dataclass(frozen=True)
class Warmup:
    """Calls of each thread before the measured ones, from `least` to `most`.

    The harness ends the warm-up when it has excluded that the calls' level still changes by the
    share `steady` (SteadyRule.java says how), and at `most` whether it has or not. Before `least_s`
    seconds the calls do not become steady; None sets no such time.
    """

    least: int
    most: int
    steady: float
    least_s: float | None = None

    def __str__(self) -> str:
        """Return it as the report writes it."""
        seconds = "" if self.least_s is None else f", for at least {self.least_s:g} s"
        return f"{self.least} to {self.most}, until steady within {100 * self.steady:g} %{seconds}"

    def record(self) -> dict[str, int | float]:
        """Return it as in a study file and in plan.jsonl; what is not set has no key."""
        return {name: value for name, value in sorted(asdict(self).items()) if value is not None}

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Read what `record` gives; raises ValueError that says what is wrong."""
        if not isinstance(value, dict) or set(value) - {"least_s"} != _KEYS:
            raise ValueError("needs least, most and steady, and may have least_s")
        least, most, steady = value["least"], value["most"], value["steady"]
        if not is_whole(least) or not is_whole(most):
            raise ValueError("needs whole numbers for least and most")
        if not 1 <= least < most < 2**31:
            raise ValueError("needs a least of 1 or more, and a most above it")
        if not is_number(steady) or not 0 < steady < 1:
            raise ValueError("needs a steady between 0 and 1")
        least_s = value.get("least_s")
        if "least_s" in value and not is_positive(least_s):
            raise ValueError("needs a least_s above 0, in seconds")
        return cls(least, most, steady, least_s)


def bounds_of(warmup: "int | Warmup") -> tuple[int, int]:
    """Return the fewest and the most warm-up calls of a thread."""
    return (warmup.least, warmup.most) if isinstance(warmup, Warmup) else (warmup, warmup)
