"""Variants of a trial in rounds that alternate: how long a call takes in one, and in the other.

A machine that is busy or grows warm changes both variants of a round alike, so the ratio inside
the round is kept. Each round begins with the variant that the round before it ended with: A B, B A.
"""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from aims import Aim
from row import Ratio, Row

ROUNDS = 20
DIGITS = 3
"""Of ratios: they are compared with an aim of a few hundredths."""
SAME = Aim("0.98 to 1.02", 0.98, 1.02, DIGITS)


class Sealed(Protocol):
    """A sealed trial."""

    @property
    def record(self) -> Mapping[str, Any]:
        """Its trial.json."""

    @property
    def calls(self) -> bytes:
        """Its calls.csv."""


@dataclass(frozen=True)
class Times:
    """The measured calls of one trial, in seconds."""

    p50: float
    mean: float

    @classmethod
    def of(cls, trial: Sealed) -> Times:
        """A trial that is not ok, or has a measured call that is not, ends the bench."""
        record = trial.record
        calls = list(csv.DictReader(io.StringIO(trial.calls.decode())))
        measured = [call for call in calls if call["phase"] == "measure"]
        failed = sum(call["status"] != "ok" for call in measured)
        if record["outcome"] != "ok" or failed or not measured:
            why = json.dumps(record.get("reason"))
            raise SystemExit(
                f"{record['id']} ended as {record['outcome']} ({why}); "
                f"{failed} of {len(measured)} measured calls failed; repeat it once that is mended"
            )
        took = [int(call["elapsed_ns"]) / 1e9 for call in measured]
        return cls(statistics.median(took), statistics.fmean(took))


Variants = Mapping[str, Callable[[int], Times]]
"""By name: what measures a variant in the round of this number, from 0."""
Rounds = Mapping[str, Sequence[Times]]
"""By variant: what each round measured."""


def alternate(variants: Variants, rounds: int = ROUNDS) -> Rounds:
    """Measure each variant in each round; every other round has them in reverse order."""
    found: dict[str, list[Times]] = {name: [] for name in variants}
    for number in range(rounds):
        order: Iterable[str] = variants if number % 2 == 0 else reversed(list(variants))
        for name in order:
            found[name].append(variants[name](number))
    return found


def compared(what: str, rounds: Rounds, one: str, other: str, aim: Aim | None = None) -> list[Row]:
    """The rows of two variants, `one` by `other`: of the medians of calls and of their means."""
    return [
        _row(f"{what}: p50, {one}", [t.p50 for t in rounds[one]], other,
             [t.p50 for t in rounds[other]], aim),
        _row(f"{what}: mean, {one}", [t.mean for t in rounds[one]], other,
             [t.mean for t in rounds[other]], aim),
    ]  # fmt: skip


def _row(
    what: str, ours: Sequence[float], other: str, theirs: Sequence[float], aim: Aim | None
) -> Row:
    ratio = Ratio.of_pairs(ours, theirs)
    return Row(
        what,
        statistics.median(ours),
        other,
        statistics.median(theirs),
        aim.of(ratio) if aim else "",
        paired=ratio,
        digits=DIGITS,
    )
