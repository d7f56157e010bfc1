"""Claims of the documents as predicates, judged on the published numbers and on a run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from collect.replication.evidence import Evidence, Quantity, Statistic, Untested
from collect.run.cell import Cell
from collect.stats.estimates import Estimate

Numbers = Callable[[Evidence], Sequence[tuple[str, Estimate | Untested]]]
"""The numbers a claim is about, each with its label."""


class Verdict(StrEnum):
    """The verdict on a claim."""

    HOLDS = "holds"
    DIRECTION_ONLY = "direction only"
    INCONCLUSIVE = "inconclusive"
    FAILS = "fails"
    NOT_TESTED = "not tested"


@dataclass(frozen=True)
class Bound:
    """Where a statistic must lie; an open end excludes its limit."""

    low: float = float("-inf")
    high: float = float("inf")
    is_open: bool = False

    def __contains__(self, value: float) -> bool:
        """Tell whether a value lies inside."""
        if self.is_open:
            return self.low < value < self.high
        return self.low <= value <= self.high

    def __str__(self) -> str:
        """Return the bound as text."""
        if self.high == float("inf"):
            return f"{'>' if self.is_open else '≥'} {self.low:g}"
        if self.low == float("-inf"):
            return f"{'<' if self.is_open else '≤'} {self.high:g}"
        return f"in [{self.low:g}, {self.high:g}]"

    def excludes(self, estimate: Estimate) -> bool:
        """Tell whether the whole interval lies on one side outside."""
        low, high = estimate.low, estimate.high
        if low is None or high is None:
            return False
        return all(v not in self for v in (low, high)) and (high <= self.low or low >= self.high)

    def holds(self, estimate: Estimate) -> bool:
        """Tell whether the whole interval lies inside."""
        low, high = estimate.low, estimate.high
        return low is not None and high is not None and low in self and high in self


@dataclass(frozen=True)
class Result:
    """One number of a claim, and the verdict on it alone."""

    label: str
    estimate: Estimate | Untested
    verdict: Verdict

    @classmethod
    def of(cls, label: str, estimate: Estimate | Untested, claim: "Claim") -> Self:
        """Judge one number."""
        if isinstance(estimate, Untested):
            verdict = Verdict.NOT_TESTED
        elif claim.bound.holds(estimate):
            verdict = Verdict.HOLDS
        elif not claim.bound.excludes(estimate):
            verdict = Verdict.INCONCLUSIVE
        elif claim.direction is not None and claim.direction.holds(estimate):
            verdict = Verdict.DIRECTION_ONLY
        else:
            verdict = Verdict.FAILS
        return cls(label, estimate, verdict)


@dataclass(frozen=True)
class Claim:
    """A sentence of a document as a predicate; every number it is about must lie in `bound`.

    `direction` is where the sign is right although the size is not; `where` says where the sentence
    stands; `note` what a reader must know of the published numbers.
    """

    sentence: str
    where: str
    statistic: str
    bound: Bound
    numbers: Numbers
    direction: Bound | None = None
    note: str = ""


@dataclass(frozen=True)
class Judgement:
    """A claim judged on one evidence."""

    verdict: Verdict
    results: tuple[Result, ...]

    @property
    def tested(self) -> list[Estimate]:
        """The numbers that could be computed."""
        return [r.estimate for r in self.results if isinstance(r.estimate, Estimate)]

    @property
    def only(self) -> Estimate | Untested | None:
        """The one number, or the one reason why there is none; None when there are several."""
        estimates = {result.estimate for result in self.results}
        return estimates.pop() if len(estimates) == 1 else None

    @property
    def holding(self) -> int:
        """How many numbers lie inside the bound with their whole interval."""
        return sum(result.verdict == Verdict.HOLDS for result in self.results)


def judge(claim: Claim, evidence: Evidence) -> Judgement:
    """Judge a claim by its worst number; with a number missing it can fail, but not hold."""
    results = tuple(
        Result.of(label, estimate, claim) for label, estimate in claim.numbers(evidence)
    )
    found = {result.verdict for result in results}
    worst_first = (
        Verdict.FAILS,
        Verdict.NOT_TESTED,
        Verdict.INCONCLUSIVE,
        Verdict.DIRECTION_ONLY,
    )
    verdict = next((verdict for verdict in worst_first if verdict in found), Verdict.HOLDS)
    return Judgement(verdict if results else Verdict.NOT_TESTED, results)


def over_cells(
    items: Sequence[tuple[str, Sequence[Cell], Statistic]], of: Quantity = "time_ms"
) -> Numbers:
    """Make the numbers of a claim from labels, the cells each is about and their statistic."""

    def numbers(evidence: Evidence) -> Sequence[tuple[str, Estimate | Untested]]:
        return [
            (label, evidence.statistic(cells, statistic, of)) for label, cells, statistic in items
        ]

    return numbers
