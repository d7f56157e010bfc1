"""One line of the benchmarks' table."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy import stats

CONFIDENCE = 0.95


def seconds(value: float) -> str:
    """A time in seconds, with a fitting unit."""
    return f"{value:.1f} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def rate(value: float) -> str:
    """Calls per second."""
    return f"{value:.0f} /s"


def mebibytes(value: float) -> str:
    """Bytes, shown in MiB."""
    return f"{value / 2**20:.0f} MiB"


def share(value: float) -> str:
    """A part of a whole."""
    return f"{value:.2f}"


@dataclass(frozen=True)
class Ratio:
    """The geometric mean of ratios, and its 95 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of_pairs(cls, ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
        """Ours by theirs, which were measured together; by Student's t on logarithms.

        A single pair has no interval beside its ratio.
        """
        logs = [math.log(one / other) for one, other in zip(ours, theirs, strict=True)]
        mean, half = statistics.fmean(logs), 0.0
        if len(logs) > 1:
            half = stats.t.ppf((1 + CONFIDENCE) / 2, len(logs) - 1) * statistics.stdev(logs)
            half /= math.sqrt(len(logs))
        return cls(math.exp(mean), math.exp(mean - half), math.exp(mean + half))

    def show(self, digits: int) -> str:
        """For a cell of a table."""
        low, mean, high = (f"{value:.{digits}f}" for value in (self.low, self.mean, self.high))
        return f"{mean} ({low} to {high})"


@dataclass(frozen=True)
class Row:
    """What was measured and what it is compared with, in the same unit; `show` writes both.

    `paired` is the ratio where both were measured together, several times; it has `digits`.
    """

    what: str
    value: float
    yardstick: str
    yardstick_value: float
    target: str = ""
    show: Callable[[float], str] = seconds
    paired: Ratio | None = None
    digits: int = 2

    def cells(self) -> tuple[str, str, str, str, str, str]:
        """The row as it is shown, cell by cell."""
        quotient = f"{self.value / self.yardstick_value:.2f}" if self.yardstick_value else "-"
        return (
            self.what,
            self.show(self.value),
            self.yardstick,
            self.show(self.yardstick_value),
            self.paired.show(self.digits) if self.paired else quotient,
            self.target,
        )

    def line(self) -> str:
        """The row as Markdown."""
        return f"| {' | '.join(self.cells())} |"
