"""Claims of the documents as predicates, judged on the published numbers and on a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from collect.replication.evidence import Evidence, Quantity, Statistic, Untested
from collect.run.cell import Cell
from collect.stats.estimates import Estimate
from collect.stats.groups import holm
from collect.stats.repeated import CONFIDENCE

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
    """Where a statistic must lie; an open end excludes its limit.

    Below `negligible`, where a bound has one, an effect that is not outside counts as outside too.
    """

    low: float = float("-inf")
    high: float = float("inf")
    is_open: bool = False
    negligible: float | None = None

    def __contains__(self, value: float) -> bool:
        """Tell whether a value lies inside."""
        if self.is_open:
            return self.low < value < self.high
        return self.low <= value <= self.high

    def __str__(self) -> str:
        """Return the bound as text."""
        if self.high == float("inf"):
            return f"{'>' if self.is_open else '≥'} {self.low:.4g}"
        if self.low == float("-inf"):
            return f"{'<' if self.is_open else '≤'} {self.high:.4g}"
        return f"in [{self.low:.4g}, {self.high:.4g}]"

    def excludes(self, estimate: Estimate) -> bool:
        """Tell whether the whole interval lies on one side outside."""
        low, high = estimate.low, estimate.high
        if low is None or high is None:
            return False
        if self.negligible is not None and high < self.negligible:
            return True
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


@dataclass(frozen=True)
class Claim:
    """A sentence of a document as a predicate; every number it is about must lie in `bound`.

    `direction` is where the sign is right although the size is not; `where` says where the sentence
    stands; `note` what a reader must know of the published numbers. `beside` are numbers that the
    sentence leaves out; they are shown and not judged. `bounds` are those of numbers, by label, for
    which the sentence says something else than `bound`.
    """

    sentence: str
    where: str
    statistic: str
    bound: Bound
    numbers: Numbers
    direction: Bound | None = None
    note: str = ""
    beside: Numbers | None = None
    bounds: Mapping[str, Bound] = field(default_factory=dict)

    def bound_of(self, label: str) -> Bound:
        """Return the bound of the number with this label."""
        return self.bounds.get(label, self.bound)


@dataclass(frozen=True)
class Judgement:
    """A claim judged on one evidence."""

    verdict: Verdict
    results: tuple[Result, ...]
    beside: tuple[tuple[str, Estimate | Untested], ...] = ()

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
    """Judge a claim by its worst number.

    A missing number keeps a claim from holding, and hides nothing that the others say. Of several
    numbers some lie outside by chance: those that count as outside are corrected for how many were
    tested (Holm 1979), and what does not pass is inconclusive.
    """
    numbers = claim.numbers(evidence)
    tested = [
        (claim.bound_of(label), number) for label, number in numbers if isinstance(number, Estimate)
    ]
    outside = iter(_outside(tested))
    results = tuple(
        Result(label, number, Verdict.NOT_TESTED)
        if isinstance(number, Untested)
        else Result(label, number, _verdict(claim, label, number, is_outside=next(outside)))
        for label, number in numbers
    )
    found = {result.verdict for result in results}
    worst_first = (
        Verdict.FAILS,
        Verdict.INCONCLUSIVE,
        Verdict.DIRECTION_ONLY,
        Verdict.NOT_TESTED,
    )
    verdict = next((verdict for verdict in worst_first if verdict in found), Verdict.HOLDS)
    beside = tuple(claim.beside(evidence)) if claim.beside else ()
    return Judgement(verdict if results else Verdict.NOT_TESTED, results, beside)


def _verdict(claim: Claim, label: str, number: Estimate, *, is_outside: bool) -> Verdict:
    if claim.bound_of(label).holds(number):
        return Verdict.HOLDS
    if not is_outside:
        return Verdict.INCONCLUSIVE
    direction = None if label in claim.bounds else claim.direction
    if direction is not None and direction.holds(number):
        return Verdict.DIRECTION_ONLY
    return Verdict.FAILS


def _outside(tested: Sequence[tuple[Bound, Estimate]]) -> list[bool]:
    """Tell of each number whether it lies outside its bound, corrected for all of them."""
    found = [bound.excludes(number) for bound, number in tested]
    p_values = [number.p_outside(bound.low, bound.high) for bound, number in tested]
    known = [1.0 if p is None else p for p in p_values]
    # A limit that an open end leaves out, or an effect that is negligible, is outside by itself.
    return [
        is_out and (corrected < 1 - CONFIDENCE or p == 1 or len(tested) == 1)
        for is_out, corrected, p in zip(found, holm(known), known, strict=True)
    ]


def over_cells(
    items: Sequence[tuple[str, Sequence[Cell], Statistic]], of: Quantity = "time_ms"
) -> Numbers:
    """Make the numbers of a claim from labels, the cells each is about and their statistic."""

    def numbers(evidence: Evidence) -> Sequence[tuple[str, Estimate | Untested]]:
        return [
            (label, evidence.statistic(cells, statistic, of)) for label, cells, statistic in items
        ]

    return numbers
