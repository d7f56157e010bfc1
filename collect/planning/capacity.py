"""Capacity: the highest rate at which calls are still answered in time, read off planned levels."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from collect.cells.cells import CellResult
from collect.run.cell import Cell
from collect.run.directory import Run
from collect.stats.estimates import Estimate, geometric_t
from collect.stats.spending import ERROR

ACHIEVED = 0.95
"""The share of the offered calls that must be answered, unless the study says otherwise."""


@dataclass(frozen=True)
class Demand:
    """What a rate must allow: response times with a p99 within `p99_ms`, and answers.

    The rate of the answers must be at least the share `achieved` of the rate that is offered.
    """

    p99_ms: float
    achieved: float = ACHIEVED

    def __str__(self) -> str:
        """Return it as the report writes it."""
        return f"p99 within {self.p99_ms:g} ms, {100 * self.achieved:g} % of the calls answered"

    @classmethod
    def of(cls, run: Run) -> Self | None:
        """Return what the study of a run demands; None where it names no capacity."""
        stated: Mapping[str, Any] = run.stated.content if run.stated else {}
        return cls(**stated["capacity"]) if "capacity" in stated else None


@dataclass(frozen=True)
class Capacity:
    """The capacity of one system, in calls a second.

    In each block it lies between the highest level that it and all lower ones meet the demand, and
    the next level: `steps` has both by block; 0 where none does, infinity where all do. `low` and
    `high` are the means of these ends over blocks. `low_end` and `high_end` hold the capacity with
    95 %, None where the blocks are too few. `levels` are those that were offered.
    """

    system: Cell
    levels: tuple[float, ...]
    steps: Mapping[int, tuple[float, float]]
    low: float
    high: float
    low_end: float | None
    high_end: float | None

    def __str__(self) -> str:
        """Return it as the report writes it."""
        if math.isinf(self.low) or not self.steps:
            return "not known"
        if self.low == 0:
            return f"below {_show(self.high)}/s" if not math.isinf(self.high) else "not known"
        if math.isinf(self.high):
            return f"{_show(self.low)}/s or more"
        return f"{_show(self.low)} to {_show(self.high)}/s"

    @property
    def interval(self) -> str:
        """The 95 % interval as the report writes it."""
        if self.low_end is None or self.high_end is None:
            return "too few blocks for an interval"
        low = _show(self.low_end)
        high = "∞" if math.isinf(self.high_end) else _show(self.high_end)
        return f"{low} … {high}"


def _show(rate: float) -> str:
    """Return a rate with at most three digits that tell something."""
    return f"{float(f'{rate:.3g}'):.12g}"


def rate_factor(run: Run) -> str | None:
    """Return the factor whose levels are the rates of an open loop; None without one."""
    open_trials = [trial for trial in run.plan if trial.arrival]
    for factor in run.factors if open_trials else ():
        rates = (
            trial.arrival.rate == trial.factors[factor] for trial in open_trials if trial.arrival
        )
        if all(rates) and len(open_trials) == len(run.plan):
            return factor
    return None


def by_system(cells: Iterable[CellResult], factor: str) -> dict[Cell, list[CellResult]]:
    """Return the cells that differ in their rate alone together, by rising rate."""
    systems: dict[Cell, list[CellResult]] = {}
    for cell in cells:
        systems.setdefault(cell.cell.without(factor), []).append(cell)
    for found in systems.values():
        found.sort(key=lambda cell: float(cell.cell[factor]))
    return systems


def capacities(
    run: Run, cells: Sequence[CellResult], demand: Demand, error: float = ERROR
) -> list[Capacity]:
    """Return the capacity of each system of a run; none without a factor for the rate.

    `error` is how often an interval may miss the capacity.
    """
    factor = rate_factor(run)
    if factor is None:
        return []
    return [
        _capacity(system, found, factor, demand, error)
        for system, found in by_system(cells, factor).items()
    ]


def _capacity(
    system: Cell, cells: Sequence[CellResult], factor: str, demand: Demand, error: float
) -> Capacity:
    levels = tuple(float(cell.cell[factor]) for cell in cells)
    met = [_met(cell, demand) for cell in cells]
    blocks = sorted(set[int]().union(*(found.keys() for found in met)))
    whole = [block for block in blocks if all(block in found for found in met)]
    steps = {block: _step(levels, [found[block] for found in met]) for block in whole}
    lows, highs = [low for low, _ in steps.values()], [high for _, high in steps.values()]
    low, high = _mean(lows, error), _mean(highs, error)
    if low is None or high is None:
        low = high = None  # a mean and a median may cross
    return Capacity(
        system,
        levels,
        steps,
        low=low.value if low else _median(lows),
        high=high.value if high else _median(highs),
        low_end=low.low if low else _extreme(lows, min, error),
        high_end=high.high if high else _extreme(highs, max, error),
    )


def _met(cell: CellResult, demand: Demand) -> dict[int, bool]:
    """Tell for each block whether its trial met the demand; one that did not end well did not.

    A trial of which a program reports only a mean has no percentile, so its block is left out.
    """
    achieved = cell.achieved
    return {
        trial.trial.block: trial.counts
        and trial.response is not None
        and trial.response.calls.p99_ms is not None
        and trial.response.calls.p99_ms <= demand.p99_ms
        and achieved.get(trial.trial.block, 0) >= demand.achieved
        for trial in cell.trials
        if trial.response is not None or not trial.counts
    }


def _step(levels: Sequence[float], met: Sequence[bool]) -> tuple[float, float]:
    """Return the last level before the first one that does not meet the demand, and that one."""
    first = met.index(False) if False in met else len(levels)
    return (
        levels[first - 1] if first else 0.0,
        levels[first] if first < len(levels) else math.inf,
    )


def _mean(ends: Sequence[float], error: float) -> Estimate | None:
    """Return the geometric mean of ends; None where it is none, as one is 0 or infinite.

    None also where all are one level: that hides how much the capacity varies between two levels.
    """
    if len(set(ends)) < 2 or any(end == 0 or math.isinf(end) for end in ends):
        return None
    return geometric_t(ends, error)


def _median(ends: Sequence[float]) -> float:
    return sorted(ends)[(len(ends) - 1) // 2] if ends else math.inf


def _extreme(ends: Sequence[float], which: Any, error: float) -> float | None:
    """Return an end of the range of ends; None where the range would miss the median too often."""
    # All lie below the median in one of 2 ** n runs, and above it in as many.
    return float(which(ends)) if 2 * 0.5 ** len(ends) <= error else None
