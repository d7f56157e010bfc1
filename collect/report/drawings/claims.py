"""The claims of a study as one drawing: bound, printed number, measured interval, verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from collect.replication.claims import Bound, Judgement, Result, Verdict
from collect.replication.replicate import JudgedClaim
from collect.report.drawings.axis import Axis
from collect.stats.estimates import Estimate

_FARTHEST = 3
"""An interval's end farther from all values and bounds than this factor is cut at the edge."""


@dataclass(frozen=True)
class Line:
    """One number of a claim: as measured, and as the paper prints it; None where there is none.

    `in_words` has both under its label.
    """

    label: str
    measured: Estimate | None
    printed: Estimate | None
    in_words: str


@dataclass(frozen=True)
class Row:
    """One claim on its axis; no axis where neither the paper nor the run has a number."""

    judged: JudgedClaim
    axis: Axis | None
    lines: Sequence[Line]

    @property
    def bands(self) -> list[tuple[int, float, float]]:
        """How many lines share a bound, in their order, and its ends in percent."""
        if self.axis is None:
            return []
        bounds = [self.judged.claim.bound_of(line.label) for line in self.lines]
        return [
            (len(list(lines)), self.axis.place(bound.low), self.axis.place(bound.high))
            for bound, lines in groupby(bounds)
        ]

    @property
    def bound(self) -> str:
        """The number that the claim is about, and the bound that it must keep as one word."""
        bound = str(self.judged.claim.bound).replace(" ", "\N{NO-BREAK SPACE}")
        return f"{self.judged.claim.statistic} {bound}"

    @property
    def found(self) -> str:
        """What was measured, in words: a number with its interval, or how many hold."""
        return in_words(self.judged.measured)

    @property
    def in_words(self) -> str:
        """The whole row for somebody who does not see it."""
        claim, judged = self.judged.claim, self.judged
        printed = in_words(judged.published) if judged.published.tested else "no number"
        return f"{claim.statistic} {claim.bound}. In the paper: {printed}. Measured: {self.found}."


def rows_of(claims: Sequence[JudgedClaim]) -> list[Row]:
    """Return a row for each claim; all ratios of a study share one axis, which has 1 on it."""
    ratios = [claim for claim in claims if _is_ratio(claim)]
    shared = _axis_of(ratios, is_log=True) if ratios else None
    return [Row(one, shared if _is_ratio(one) else _own_axis(one), _lines(one)) for one in claims]


def _is_ratio(judged: JudgedClaim) -> bool:
    """Tell whether a statistic is one quantity over another, not a share or a difference."""
    return " / " in judged.claim.statistic


def _own_axis(judged: JudgedClaim) -> Axis | None:
    return _axis_of([judged], is_log=False) if _numbers([judged]) else None


def _axis_of(claims: Sequence[JudgedClaim], *, is_log: bool) -> Axis:
    bounds = [b for one in claims for b in (one.claim.bound, *one.claim.bounds.values())]
    limits = [end for bound in bounds for end in _ends(bound)]
    values = [*limits, *(number.value for number in _numbers(claims))]
    known = [v for v in [*values, *([1.0] if is_log else [])] if math.isfinite(v)]
    ends = [e for n in _numbers(claims) for e in (n.low, n.high) if e is not None]
    if is_log:
        known = [value for value in known if value > 0]
        near = [e for e in ends if min(known) / _FARTHEST <= e <= max(known) * _FARTHEST]
    else:
        reach = _FARTHEST * ((max(known) - min(known)) or abs(known[0]) or 1.0)
        near = [e for e in ends if min(known) - reach <= e <= max(known) + reach]
    return Axis.over([*known, *near], is_log=is_log)


def _ends(bound: Bound) -> list[float]:
    return [end for end in (bound.low, bound.high) if math.isfinite(end)]


def _numbers(claims: Sequence[JudgedClaim]) -> list[Estimate]:
    return [n for one in claims for side in (one.measured, one.published) for n in side.tested]


def _lines(judged: JudgedClaim) -> list[Line]:
    return [
        Line(label, _number(own), _number(printed), _told(label, own, printed))
        for label, own, printed in pairs_of(judged)
    ]


def _told(label: str, own: Result | None, printed: Result | None) -> str:
    measured = f": {own.text}" if own and _number(own) else ""
    paper = f"; paper {printed.text}" if printed and _number(printed) else ""
    return f"{label}{measured}{paper}"


def pairs_of(judged: JudgedClaim) -> list[tuple[str, Result | None, Result | None]]:
    """Pair what was measured with what is printed, by place: both are in the claim's order.

    Where they are not as many, as a run has other levels, by label; None where there is none.
    """
    own, printed = judged.measured.results, judged.published.results
    if len(own) == len(printed):
        return [(a.label, a, b) for a, b in zip(own, printed, strict=True)]
    both = {result.label: result for result in printed}
    names = dict.fromkeys(result.label for result in (*own, *printed))
    measured = {result.label: result for result in own}
    return [(name, measured.get(name), both.get(name)) for name in names]


def _number(result: Result | None) -> Estimate | None:
    return result.estimate if result and isinstance(result.estimate, Estimate) else None


def in_words(judged: Judgement) -> str:
    """Return what was found: a number with its interval, or how many hold."""
    if judged.only is not None:
        return judged.only.text
    counts = [(v, sum(r.verdict == v for r in judged.results)) for v in Verdict]
    return ", ".join(f"{count} {verdict}" for verdict, count in counts if count)
