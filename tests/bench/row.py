"""One line of the benchmarks' table."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scipy import stats

if TYPE_CHECKING:
    from aims import Aim

CONFIDENCE = 0.95


def seconds(value: float) -> str:
    """Return a time, given in seconds, with a fitting unit."""
    return f"{value:.1f} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def rate(value: float) -> str:
    """Return calls per second as text."""
    return f"{value:.0f} /s"


def mebibytes(value: float) -> str:
    """Return bytes as text in MiB."""
    return f"{value / 2**20:.0f} MiB"


def share(value: float) -> str:
    """Return a share as text."""
    return f"{value:.2f}"


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of values and the ends of its 95 % interval, by Student's t.

    A single value is its own interval.
    """
    mean, half = statistics.fmean(values), 0.0
    if len(values) > 1:
        half = stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * statistics.stdev(values)
        half /= math.sqrt(len(values))
    return mean, mean - half, mean + half


@dataclass(frozen=True)
class Ratio:
    """The geometric mean of ratios, and its 95 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of_pairs(cls, ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
        """Return the ratio of paired values, ours by theirs, by Student's t on logarithms.

        A single pair has a ratio without an interval.
        """
        logs = [math.log(one / other) for one, other in zip(ours, theirs, strict=True)]
        return cls(*map(math.exp, interval(logs)))

    def show(self, digits: int) -> str:
        """Return the text for a cell of a table."""
        low, mean, high = (f"{value:.{digits}f}" for value in (self.low, self.mean, self.high))
        return f"{mean} ({low} to {high})"


@dataclass(frozen=True)
class Row:
    """A measured value and its reference, in the same unit; `show` formats both.

    `paired` is the ratio if both were measured together several times; it has `digits`.
    """

    what: str
    value: float
    yardstick: str
    yardstick_value: float
    target: str = ""
    show: Callable[[float], str] = seconds
    paired: Ratio | None = None
    digits: int = 2

    @classmethod
    def of_rounds(
        cls,
        what: str,
        ours: Sequence[float],
        yardstick: str,
        theirs: Sequence[float],
        target: str | Aim = "",
        **shown: Any,
    ) -> Row:
        """Return the medians of values measured together in rounds, with the ratio inside these."""
        ratio = Ratio.of_pairs(ours, theirs)
        medians = statistics.median(ours), statistics.median(theirs)
        judged = target if isinstance(target, str) else target.of(ratio)
        return cls(what, medians[0], yardstick, medians[1], judged, paired=ratio, **shown)

    def cells(self) -> tuple[str, str, str, str, str, str]:
        """Return the cells of the row as they are shown."""
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
        """Return the row as Markdown."""
        return f"| {' | '.join(self.cells())} |"
