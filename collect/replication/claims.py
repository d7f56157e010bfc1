"""Claims of the papers as predicates, judged on the published numbers and on a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from operator import itemgetter

from collect.cells.notation import show_estimate, show_until
from collect.replication.evidence import Evidence, Quantity, Statistic, Untested
from collect.run.cell import Cell
from collect.stats.estimates import Estimate
from collect.stats.groups import holm
from collect.stats.spending import ERROR

Numbers = Callable[[Evidence], Sequence[tuple[str, Estimate | Untested]]]
"""The numbers a claim is about, each with its label."""


class Verdict(StrEnum):
    """The verdict on a claim, or on one number of it."""

    HOLDS = "holds"
    DIRECTION_ONLY = "direction only"
    SIGN_OPEN = "sign open"
    INCONCLUSIVE = "inconclusive"
    FAILS = "fails"
    NOT_TESTED = "not tested"


class Status(StrEnum):
    """What an interval says of the size of a number, or of its sign."""

    SHOWN = "shown"
    REFUTED = "refuted"
    OPEN = "open"


@dataclass(frozen=True)
class Bound:
    """Where a statistic must lie; an open end excludes its limit.

    Numbers are judged by the ends as they are printed, so that none seems to lie on the other side.
    A bound with `negligible` claims an effect: it is refuted only by one below that.
    """

    low: float = float("-inf")
    high: float = float("inf")
    is_open: bool = False
    negligible: float | None = None

    def __post_init__(self) -> None:
        """Round the ends to three digits that matter, or to whole numbers."""
        for name in ("low", "high"):
            end = getattr(self, name)
            object.__setattr__(self, name, float(f"{end:.3g}" if abs(end) < 1000 else f"{end:.0f}"))

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

    def holds(self, estimate: Estimate) -> bool:
        """Tell whether the whole interval lies inside, and what else the number must be is."""
        low, high = estimate.low, estimate.high
        is_inside = low is not None and high is not None and low in self and high in self
        return is_inside and estimate.is_confirmed

    def excludes(self, estimate: Estimate) -> bool:
        """Tell whether the whole interval lies on one side outside."""
        low, high = estimate.low, estimate.high
        if low is None or high is None:
            return False
        if self.negligible is not None:
            return high < self.negligible
        return all(v not in self for v in (low, high)) and (high <= self.low or low >= self.high)

    def p_value(self, estimate: Estimate) -> float:
        """Return the p-value against the true value lying inside; 1 without an interval.

        It is never at odds with the interval: at most 0.05 exactly where that lies outside.
        """
        if estimate.low is None or estimate.high is None:
            return 1.0
        low = self.low if self.negligible is None else self.negligible
        p_value = estimate.p_outside(low, self.high) or 0.0
        if not self.excludes(estimate):
            return max(p_value, _NOT_OUTSIDE)
        # A number known exactly that is the limit of an open end is outside by itself.
        return 0.0 if estimate.low == estimate.high and p_value == 1 else min(p_value, ERROR)


_NOT_OUTSIDE = 1.001 * ERROR
"""Just above the level of a test."""


@dataclass(frozen=True)
class Result:
    """One number of a claim: what is known of its size and of its sign, alone and corrected.

    `bounds` are those that its verdict rests on.
    """

    label: str
    estimate: Estimate | Untested
    size: Status = Status.OPEN
    sign: Status = Status.OPEN
    bounds: tuple[Bound, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict on this number alone."""
        return verdict_of([self])

    @property
    def text(self) -> str:
        """The number with its interval, or why there is none."""
        if isinstance(self.estimate, Untested):
            return self.estimate.reason
        return show_estimate(self.estimate, self.show)

    def show(self, value: float) -> str:
        """Return a value with the digits that tell whether it lies inside the bounds."""
        return show_until(value, lambda shown: [shown in bound for bound in self.bounds])


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper as a predicate; every number it is about must lie in `bound`.

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

    def direction_of(self, label: str) -> Bound | None:
        """Return where the sign of a number is right; None where its bound alone says it."""
        own = self.bounds.get(label)
        return None if own is not None and own.is_open else self.direction


@dataclass(frozen=True)
class Judgement:
    """A claim judged on one evidence; `drifting` are the drifting cells whose times it uses."""

    results: tuple[Result, ...]
    beside: tuple[tuple[str, Estimate | Untested], ...] = ()
    drifting: tuple[Cell, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict on the claim."""
        return verdict_of(self.results)

    @property
    def is_drifting(self) -> bool:
        """Whether the verdict rests on cells that drift."""
        return bool(self.drifting) and self.verdict != Verdict.NOT_TESTED

    @property
    def words(self) -> str:
        """The verdict, and whether it rests on cells that drift."""
        return f"{self.verdict}, drifting" if self.is_drifting else str(self.verdict)

    @property
    def tested(self) -> list[Estimate]:
        """The numbers that could be computed."""
        return [r.estimate for r in self.results if isinstance(r.estimate, Estimate)]

    @property
    def only(self) -> Result | None:
        """The one number, or the one reason why there is none; None when there are several."""
        estimates = {result.estimate for result in self.results}
        return self.results[0] if len(estimates) == 1 else None

    @property
    def span(self) -> str:
        """The smallest and the largest of the numbers that could be computed; "" without any."""
        numbers = ((r.estimate.value, r) for r in self.results if isinstance(r.estimate, Estimate))
        known = sorted(numbers, key=itemgetter(0))
        return " to ".join(result.show(value) for value, result in known[:1] + known[-1:])

    @property
    def holding(self) -> int:
        """How many numbers lie inside the bound with their whole interval."""
        return sum(result.verdict == Verdict.HOLDS for result in self.results)


def verdict_of(results: Sequence[Result]) -> Verdict:
    """Return the verdict that the sizes and signs of all numbers give together.

    A missing number keeps a claim from holding, and hides nothing that the others say.
    """
    tested = [result for result in results if isinstance(result.estimate, Estimate)]
    sizes, signs = [one.size for one in results], [one.sign for one in results]
    if not tested:
        return Verdict.NOT_TESTED
    if Status.REFUTED in signs:
        return Verdict.FAILS
    if Status.REFUTED in sizes:
        is_right = all(sign == Status.SHOWN for sign in signs)
        return Verdict.DIRECTION_ONLY if is_right else Verdict.SIGN_OPEN
    if all(size == Status.SHOWN for size in sizes):
        return Verdict.HOLDS
    if any(one.size == Status.OPEN for one in tested):
        return Verdict.INCONCLUSIVE
    return Verdict.NOT_TESTED


def judge(claim: Claim, evidence: Evidence) -> Judgement:
    """Judge a claim by the size and the sign of each of its numbers.

    Of several numbers some lie outside by chance: refutations are corrected for how many were
    measured (Holm 1979), those of sizes and those of signs each. A number without a direction of
    its own has the sign right exactly where its size is.
    """
    seen: set[Cell] = set()
    numbers = claim.numbers(evidence.watched(seen))
    places = [place for place, (_, number) in enumerate(numbers) if isinstance(number, Estimate)]
    bounds = [claim.bound_of(numbers[place][0]) for place in places]
    directions = [claim.direction_of(numbers[place][0]) for place in places]
    measured = [number for _, number in numbers if isinstance(number, Estimate)]
    sizes = _statuses(bounds, measured)
    signs = _statuses(
        [own or bound for own, bound in zip(directions, bounds, strict=True)], measured
    )
    found = {
        place: Result(
            *numbers[place], size, size if own is None else sign, _rested_on(bound, own, size)
        )
        for place, bound, own, size, sign in zip(
            places, bounds, directions, sizes, signs, strict=True
        )
    }
    return Judgement(
        tuple(found.get(place, Result(*one)) for place, one in enumerate(numbers)),
        tuple(claim.beside(evidence)) if claim.beside else (),
        tuple(cell for cell in evidence.keys if cell in seen and evidence.is_drifting(cell)),
    )


def _statuses(bounds: Sequence[Bound], numbers: Sequence[Estimate]) -> list[Status]:
    """Return of each number whether it is shown to be inside its bound, or refuted."""
    pairs = list(zip(bounds, numbers, strict=True))
    corrected = holm([bound.p_value(number) for bound, number in pairs])
    return [
        Status.SHOWN if bound.holds(number) else Status.REFUTED if p_value <= ERROR else Status.OPEN
        for (bound, number), p_value in zip(pairs, corrected, strict=True)
    ]


def _rested_on(bound: Bound, direction: Bound | None, size: Status) -> tuple[Bound, ...]:
    """Return the bounds that the verdict on a number of such a size rests on."""
    told = [bound]
    if bound.negligible is not None:
        told.append(Bound(high=bound.negligible, is_open=True))
    if direction is not None and size == Status.REFUTED:
        told.append(direction)
    return tuple(told)


def over_cells(
    items: Sequence[tuple[str, Sequence[Cell], Statistic]], of: Quantity = "time_ms"
) -> Numbers:
    """Make the numbers of a claim from labels, the cells each is about and their statistic."""

    def numbers(evidence: Evidence) -> Sequence[tuple[str, Estimate | Untested]]:
        return [
            (label, evidence.statistic(cells, statistic, of)) for label, cells, statistic in items
        ]

    return numbers
