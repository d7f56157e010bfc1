"""What the parts of a call take in the mean of a cell, where its client tells them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from collect.costs.parts import PARTS, read_parts
from collect.logs.cell_trial import CellTrial
from collect.logs.columns import MISSING
from collect.run.trials import TrialError

_NS_A_MS = 1e6
REST = "rest"
"""What the parts leave of a call."""


@dataclass(frozen=True)
class PartMeans:
    """The parts of the calls of a cell in ms; without `parts`, `why` says why none is known.

    `parts` holds the mean over calls, then over `trials`, of each part that the client tells of
    every call; `rest` is what they leave of the mean of the same calls.
    """

    parts: Mapping[str, float]
    rest: float
    trials: int
    why: str = ""

    @property
    def total(self) -> float:
        """All parts and the rest together."""
        return sum(self.parts.values()) + self.rest


def part_means(items: Sequence[CellTrial]) -> PartMeans | None:
    """Return the parts of the calls of trials that count; None where none was logged."""
    logged = [item for item in items if item.trial.parts is not None]
    if not logged:
        return None
    found: list[tuple[Mapping[str, float], float]] = []
    why = ""
    for item in logged:
        try:
            means = _of_trial(item)
        except TrialError as error:
            why = why or str(error)
            continue
        if means is None:
            why = why or f"{item.trial.id}: not all of its calls have parts"
        else:
            found.append((means, item.calls.mean_ms or 0.0))
    known = [part for part in PARTS if found and all(part in means for means, _ in found)]
    if not known:
        return PartMeans({}, 0.0, 0, why or "the client marks none of them")
    parts = {part: fmean(means[part] for means, _ in found) for part in known}
    rest = fmean(mean_ms for _, mean_ms in found) - sum(parts.values())
    return PartMeans(parts, max(0.0, rest), len(found))


def _of_trial(item: CellTrial) -> Mapping[str, float] | None:
    """Return the mean of each part that is told of every call; None when calls are missing."""
    parts = read_parts(item.trial)
    if parts is None or len(parts.seq) != item.calls.calls:
        return None
    return {
        name: float(times.mean()) / _NS_A_MS
        for name, times in parts.ns.items()
        if not (times == MISSING).any()
    }
