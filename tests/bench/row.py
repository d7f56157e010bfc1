"""One line of the benchmarks' table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


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
class Row:
    """What was measured and what it is compared with, in the same unit; `show` writes both.

    `of_rounds` is the median of the rounds' ratios, where both were measured in each round.
    """

    what: str
    value: float
    yardstick: str
    yardstick_value: float
    target: str = ""
    show: Callable[[float], str] = seconds
    of_rounds: float | None = None

    def line(self) -> str:
        """The row as Markdown."""
        quotient = self.value / self.yardstick_value if self.yardstick_value else None
        found = quotient if self.of_rounds is None else self.of_rounds
        ratio = "-" if found is None else f"{found:.2f}"
        return (
            f"| {self.what} | {self.show(self.value)} | {self.yardstick} | "
            f"{self.show(self.yardstick_value)} | {ratio} | {self.target} |"
        )
