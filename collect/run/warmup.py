"""How long client threads warm up: a number of calls, or until the calls are steady."""

from dataclasses import asdict, dataclass
from typing import Any, Self

_KEYS = {"least", "most", "steady"}


@dataclass(frozen=True)
class Warmup:
    """Calls of each thread before the measured ones, from `least` to `most`.

    The harness ends the warm-up when it has excluded that the calls' level still changes by the
    share `steady` (SteadyRule.java says how), and at `most` whether it has or not.
    """

    least: int
    most: int
    steady: float

    def __str__(self) -> str:
        """Return it as the report writes it."""
        return f"{self.least} to {self.most}, until steady within {100 * self.steady:g} %"

    def record(self) -> dict[str, int | float]:
        """Return it as in a study file and in plan.jsonl."""
        return asdict(self)

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Read what `record` gives; raises ValueError that says what is wrong."""
        if not isinstance(value, dict) or set(value) != _KEYS:
            raise ValueError("needs least, most and steady")
        least, most, steady = value["least"], value["most"], value["steady"]
        if any(isinstance(n, bool) or not isinstance(n, int) for n in (least, most)):
            raise ValueError("needs whole numbers for least and most")
        if not 1 <= least < most < 2**31:
            raise ValueError("needs a least of 1 or more, and a most above it")
        if isinstance(steady, bool) or not isinstance(steady, (int, float)) or not 0 < steady < 1:
            raise ValueError("needs a steady between 0 and 1")
        return cls(least, most, steady)


def bounds_of(warmup: "int | Warmup") -> tuple[int, int]:
    """Return the fewest and the most warm-up calls of a thread."""
    return (warmup.least, warmup.most) if isinstance(warmup, Warmup) else (warmup, warmup)
