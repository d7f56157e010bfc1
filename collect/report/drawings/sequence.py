"""The trials of a run in the order in which they ran, to see whether the bench stayed the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TypeVar

import numpy as np

from collect.cells.cells import CellResult
from collect.report.drawings.axis import Axis
from collect.report.drawings.settings import name_of_system
from collect.run.interference import disturbances
from collect.run.trials import Trial

WIDTH, HEIGHT = 1000, 70
_FARTHEST = 4.0
"""A mean that is farther from its cell's than this factor is drawn at the edge."""
_LEAST = 1.1
"""The axis reaches at least this factor up and down, so that noise does not look like a drift."""
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_MOST_TICKS = 6
_MOST_MARKS = 200
"""Marks with a text of their own; a run with more says how many of them are drawn."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Block:
    """When the trials of a block ran, in percent."""

    number: int
    start: float
    end: float


@dataclass(frozen=True)
class Mark:
    """Something that happened before or during a trial; `height` is its trial's, or None."""

    at: float
    text: str
    height: float | None = None


@dataclass(frozen=True)
class Strip:
    """The trials of one system: one dot each, as a path, and those that were disturbed.

    `disturbed` has the marks that are drawn, `disturbances` counts all.
    """

    name: str
    dots: str
    disturbed: Sequence[Mark]
    disturbances: int


@dataclass(frozen=True)
class _Dot:
    trial: Trial
    system: str
    relative: float


class Sequenced:
    """The counted trials of a run over the wall clock; each mean over the mean of its cell."""

    def __init__(
        self, cells: Sequence[CellResult], system: str | None, names: Mapping[str, str]
    ) -> None:
        """Take the trials that count; `names` are those of the levels of the factor `system`."""
        names_of = {c.cell: name_of_system(c.cell, system, names) or "all cells" for c in cells}
        self._dots = sorted(
            (
                _Dot(t.trial, names_of[cell.cell], t.calls.mean_ms / cell.mean.value)
                for cell in cells
                if cell.mean and cell.mean.value > 0
                for t in cell.counted
                if t.calls.mean_ms
            ),
            key=lambda dot: dot.trial.started_at,
        )
        trials = sorted((t.trial for c in cells for t in c.trials), key=lambda t: t.started_at)
        self._trials = trials
        self._starts = _starts_of(trials)

    @property
    def is_empty(self) -> bool:
        """Whether there are too few trials for an order."""
        return len(self._dots) < 2

    @cached_property
    def axis(self) -> Axis:
        """The vertical axis: a trial's mean over the mean of its cell, as far up as down."""
        far = max(max(dot.relative, 1 / dot.relative) for dot in self._dots)
        far = min(max(far * 1.05, _LEAST), _FARTHEST)
        return Axis(1 / far, far, is_log=True)

    @cached_property
    def levels(self) -> list[tuple[float, float]]:
        """The ticks of the vertical axis, each with its height in pixels."""
        steps = [step for step in (4, 2, 1.5, 1.2, 1.1, 1.05) if self.axis.holds(step)]
        ticks = [1 / steps[0], 1.0, steps[0]] if steps else [1.0]
        return [(tick, self._height(tick)) for tick in ticks]

    @cached_property
    def _span(self) -> tuple[datetime, float]:
        first, last = self._trials[0].started_at, max(t.ended_at for t in self._trials)
        return first, max((last - first).total_seconds(), 1e-3)

    @property
    def strips(self) -> list[Strip]:
        """A strip for each system, all over the same time."""
        names = dict.fromkeys(dot.system for dot in self._dots)
        return [self._strip(name) for name in sorted(names)]

    def _strip(self, name: str) -> Strip:
        dots = [dot for dot in self._dots if dot.system == name]
        path = "".join(
            f"M{round(self._at(dot.trial.started_at) * WIDTH / 100)}"
            f" {round(self._height(dot.relative))}h0"
            for dot in dots
        )
        disturbed = [
            Mark(
                self._at(dot.trial.started_at),
                f"{dot.trial.id}: {'; '.join(one.text for one in found)}",
                self._height(dot.relative),
            )
            for dot in dots
            if (found := disturbances(dot.trial))
        ]
        return Strip(name, path, _some(disturbed), len(disturbed))

    @cached_property
    def blocks(self) -> list[Block]:
        """The blocks from their first trial to the next block's, in the order of time."""
        times: dict[int, list[datetime]] = {}
        for trial in self._trials:
            times.setdefault(trial.block, []).extend((trial.started_at, trial.ended_at))
        return [
            Block(number, self._at(min(of_block)), self._at(max(of_block)))
            for number, of_block in times.items()
        ]

    @property
    def starts(self) -> list[Mark]:
        """Where a service was another start than for the trial before: all, or some evenly."""
        return [Mark(self._at(at), text) for at, text in _some(list(self._starts.items()))]

    @property
    def restarted(self) -> int:
        """How many times some service was another start than for the trial before."""
        return len(self._starts)

    @property
    def disturbed(self) -> int:
        """How many of the drawn trials ran during a disturbance."""
        return sum(bool(disturbances(dot.trial)) for dot in self._dots)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round times of the clock (UTC), with their places in percent."""
        first, seconds = self._span
        step = next((s for s in _STEPS_S if seconds / s <= _MOST_TICKS), None)
        step = step or 86400 * round(seconds / _MOST_TICKS / 86400 + 0.5)
        midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
        passed = -(-(first - midnight).total_seconds() // step)
        found = []
        while (at := midnight + timedelta(seconds=passed * step)) <= first + timedelta(
            seconds=seconds
        ):
            # Dates stand at midnight, so that two ticks of one hour belong to known days.
            is_midnight = (at.hour, at.minute, at.second) == (0, 0, 0)
            form = "%d %b" if is_midnight else "%H:%M:%S" if step < 60 else "%H:%M"
            found.append((self._at(at), at.strftime(form)))
            passed += 1
        return found

    @property
    def day(self) -> str:
        """The day on which it began."""
        return f"{self._span[0]:%Y-%m-%d}"

    def _at(self, instant: datetime) -> float:
        first, seconds = self._span
        return 100 * (instant - first).total_seconds() / seconds

    def _height(self, relative: float) -> float:
        return HEIGHT * (1 - self.axis.place(relative) / 100)


def _some(marks: Sequence[_T]) -> list[_T]:
    """Return all marks, or as many as have room, evenly from the first to the last."""
    places = np.linspace(0, len(marks) - 1, min(len(marks), _MOST_MARKS))
    return [marks[place] for place in places.astype(int)]


def _starts_of(trials: Sequence[Trial]) -> dict[datetime, str]:
    """Return the services restarted before a trial, by its start, in the order of time."""
    last: dict[str, str] = {}
    found: dict[datetime, list[str]] = {}
    for trial in trials:
        for service, start in trial.services.items():
            if last.get(service, start) != start:
                found.setdefault(trial.started_at, []).append(service)
            last[service] = start
        for restart in trial.restarts:
            found.setdefault(trial.started_at, []).append(f"{restart.service}, which hung")
    return {at: f"restarted: {', '.join(names)}" for at, names in found.items()}
