"""Compares the time of a call in two variants of a trial, in rounds that alternate.

A busy or warming machine changes both variants of a round alike, so the ratio inside the round
stays the same. Each round begins with the last variant of the round before: A B, B A.
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
from row import Row

ROUNDS = 20
DIGITS = 3
"""Digits of ratios, because the aim is a few hundredths wide."""
SAME = Aim("0.98 to 1.02", 0.98, 1.02, DIGITS)


class Sealed(Protocol):
    """A sealed trial."""

    @property
    def record(self) -> Mapping[str, Any]:
        """Return its trial.json."""

    @property
    def calls(self) -> bytes:
        """Return its calls.csv."""


@dataclass(frozen=True)
class Times:
    """The times of one trial's measured calls, in seconds."""

    p50: float
    mean: float

    @classmethod
    def of(cls, trial: Sealed) -> Times:
        """Return the times; a trial or measured call that is not ok ends the bench."""
        record = trial.record
        calls = list(csv.DictReader(io.StringIO(trial.calls.decode())))
        measured = [call for call in calls if call["phase"] == "measure"]
        failed = sum(call["status"] != "ok" for call in measured)
        if record["outcome"] != "ok" or failed or not measured:
            why = json.dumps(record.get("reason"))
            raise SystemExit(
                f"{record['id']} ended as {record['outcome']} ({why}); "
                f"{failed} of {len(measured)} measured calls failed; repeat it after the repair"
            )
        took = [int(call["elapsed_ns"]) / 1e9 for call in measured]
        return cls(statistics.median(took), statistics.fmean(took))


Variants = Mapping[str, Callable[[int], Times]]
"""Functions by name of the variant; each measures it in the round of this number, from 0."""
Rounds = Mapping[str, Sequence[Times]]
"""The times of each round, by variant."""


def alternate(variants: Variants, rounds: int = ROUNDS) -> Rounds:
    """Measure each variant in each round; every second round has the reverse order."""
    found: dict[str, list[Times]] = {name: [] for name in variants}
    for number in range(rounds):
        order: Iterable[str] = variants if number % 2 == 0 else reversed(list(variants))
        for name in order:
            found[name].append(variants[name](number))
    return found


def compared(what: str, rounds: Rounds, one: str, other: str, aim: Aim | None = None) -> list[Row]:
    """Return the rows of two variants, `one` by `other`: medians of calls, and means."""
    rows = []
    for name in ("p50", "mean"):
        ours, theirs = ([getattr(t, name) for t in rounds[variant]] for variant in (one, other))
        label = f"{what}: {name}, {one}"
        rows.append(Row.of_rounds(label, ours, other, theirs, aim or "", digits=DIGITS))
    return rows
