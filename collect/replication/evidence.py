"""The evidence for claims and exhibits: published or measured cells, with one contract."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import TYPE_CHECKING, Literal, Protocol, Self

from collect.cells.cells import CellResult
from collect.cells.notation import name_of
from collect.cells.plots import WholePlots
from collect.logs.cell_trial import CellTrial
from collect.run.cell import Cell
from collect.run.setting import Setting
from collect.stats.estimates import Estimate, Moments, geometric_t, mean_t, mean_t_from_moments
from collect.stats.spending import ERROR

if TYPE_CHECKING:
    from collect.stats.anova import Source

Statistic = Callable[[Sequence[float]], float]
"""A positive, dimensionless number from the values of some cells."""

Quantity = Literal["time_ms", "request_bytes", "response_bytes"]
"""A quantity of a cell: its time, or the bytes of a message's body."""

OK, NOT_PLANNED = "ok", "not in this profile"
NO_BLOCK = "no block holds all the cells"
NO_RATIO = "values of 0 have no ratio"


@dataclass(frozen=True)
class Untested:
    """The reason why a statistic cannot be computed."""

    reason: str


class Evidence(Protocol):
    """What a claim is evaluated on."""

    @property
    def reason(self) -> str:
        """Why there are no numbers at all; empty when there are some."""

    @property
    def error(self) -> float:
        """How often its intervals may miss; see collect.stats.spending."""

    @property
    def keys(self) -> Sequence[Cell]:
        """The cells there are, whether or not they have a time."""

    def value(self, cell: Cell, of: Quantity = "time_ms") -> Estimate | None:
        """Return a quantity of a cell, None when there is none."""

    def statistic(
        self, cells: Sequence[Cell], statistic: Statistic, of: Quantity = "time_ms"
    ) -> Estimate | Untested:
        """Return `statistic` of a quantity of `cells`, in that order, with its interval."""

    def rows(
        self, cells: Sequence[Cell], of: Quantity = "time_ms"
    ) -> Sequence[Sequence[float]] | Untested:
        """Return a quantity of `cells`, in that order, a row for each block that has them all."""

    def difference(
        self, larger: Cell, smaller: Cell, of: Quantity = "time_ms"
    ) -> Estimate | Untested:
        """Return the difference of a quantity of two cells, in its own unit."""

    def share(self, cell: Cell, outcome: str) -> Estimate | Untested:
        """Return the share of the trials of a cell that ended with `outcome`."""

    def constant(self, cell: Cell, name: str) -> Setting | None:
        """Return a constant or node setting a cell ran with, None when it is not known."""

    def moments(self, cell: Cell) -> Moments | None:
        """Return count, mean and variance over the calls of a cell, in ms."""

    def interval(self, cell: Cell) -> Estimate | None:
        """Return the time of a cell with the best interval there is, None without a time."""

    def outcome(self, cell: Cell) -> str:
        """Return how the trials of a cell ended, or why there are none."""

    def samples(self, cell: Cell) -> Mapping[int, float]:
        """Return the mean time of each trial of a cell in ms, by block."""

    def moments_by_block(
        self, cells: Sequence[Cell], *, of_logs: bool
    ) -> Sequence[Sequence[Moments]]:
        """Return the moments of calls, or of their logs, of the trials of `cells`.

        A row for each block that has them all.
        """

    def printed_table(self, name: str) -> Sequence["Source"] | None:
        """Return an analysis of variance as a paper prints it; None where none is printed."""

    def whole_plots(self, cells: Sequence[Cell]) -> WholePlots | None:
        """Return the whole plots if the cells lie in different ones of a block; else None."""

    def watched(self, seen: set[Cell]) -> "Evidence":
        """Return the same evidence, which adds to `seen` each cell whose time is taken."""

    def is_drifting(self, cell: Cell) -> bool:
        """Tell whether the measured phase of a cell drifted."""


def quotient(values: Sequence[float]) -> float:
    """Return the first value over the second: the usual statistic of two cells."""
    return values[0] / values[1]


@dataclass(frozen=True)
class Printed:
    """What a paper prints of a cell; None where it prints nothing.

    `message_bytes` is the size of the message, `moments` count, mean and variance over calls in ms,
    `half_ms` half of the 95 % interval; `machine_mb` is the memory of the machine.
    """

    source: str
    time_ms: float | None = None
    message_bytes: float | None = None
    outcome: str = OK
    moments: Moments | None = None
    half_ms: float | None = None
    machine_mb: int | None = None


@dataclass(frozen=True)
class Published:
    """The cells of a paper: each number as printed, an interval of no length.

    `reason` says why a paper has no numbers when its tables or charts are lost. `tables` are
    its analyses of variance.
    """

    cells: Mapping[Cell, Printed]
    reason: str = ""
    tables: Mapping[str, Sequence["Source"]] = field(default_factory=dict)
    error = ERROR

    @property
    def keys(self) -> Sequence[Cell]:
        """The published cells in the order of the data file."""
        return tuple(self.cells)

    def value(self, cell: Cell, of: Quantity = "time_ms") -> Estimate | None:
        """Return a printed number; papers print one size of a message, that of the request."""
        printed = self.cells.get(cell)
        if printed is None or of == "response_bytes":
            return None
        value = printed.time_ms if of == "time_ms" else printed.message_bytes
        return None if value is None else Estimate(value, value, value)

    def statistic(
        self, cells: Sequence[Cell], statistic: Statistic, of: Quantity = "time_ms"
    ) -> Estimate | Untested:
        """Return the statistic of the printed numbers."""
        rows = self.rows(cells, of)
        if isinstance(rows, Untested):
            return rows
        result = statistic(rows[0])
        return Estimate(result, result, result)

    def rows(
        self, cells: Sequence[Cell], of: Quantity = "time_ms"
    ) -> Sequence[Sequence[float]] | Untested:
        """Return the printed numbers as the one block there is."""
        values = []
        for cell in cells:
            value = self.value(cell, of)
            if value is None:
                return Untested(self._absence(cell))
            values.append(value.value)
        return [values]

    def difference(
        self, larger: Cell, smaller: Cell, of: Quantity = "time_ms"
    ) -> Estimate | Untested:
        """Return the difference of two printed numbers."""
        return self.statistic([larger, smaller], lambda values: values[0] - values[1], of)

    def share(self, cell: Cell, outcome: str) -> Estimate | Untested:
        """Return 1 when the paper reports the outcome, else 0."""
        if cell not in self.cells:
            return Untested(self._absence(cell))
        share = float(self.cells[cell].outcome == outcome)
        return Estimate(share, share, share)

    def constant(self, cell: Cell, name: str) -> Setting | None:
        """Return the memory of the machine, `machine_mb`, where the paper states it."""
        printed = self.cells.get(cell)
        return printed.machine_mb if printed is not None and name == "machine_mb" else None

    def moments(self, cell: Cell) -> Moments | None:
        """Return the moments that the paper's summary table prints."""
        return self.cells[cell].moments if cell in self.cells else None

    def interval(self, cell: Cell) -> Estimate | None:
        """Return the printed time, with the interval of its calls where their variance is."""
        moments = self.moments(cell)
        return mean_t_from_moments(moments) if moments else self.value(cell)

    def outcome(self, cell: Cell) -> str:
        """Return the printed outcome, or say that the cell is not published."""
        return self.cells[cell].outcome if cell in self.cells else self._absence(cell)

    def samples(self, cell: Cell) -> Mapping[int, float]:
        """Return nothing: papers print no single trials."""
        return {}

    def moments_by_block(
        self, cells: Sequence[Cell], *, of_logs: bool
    ) -> Sequence[Sequence[Moments]]:
        """Return nothing: papers print no blocks."""
        return []

    def printed_table(self, name: str) -> Sequence["Source"] | None:
        """Return the paper's table of that name."""
        return self.tables.get(name)

    def whole_plots(self, cells: Sequence[Cell]) -> None:
        """Return None: papers print no whole plots."""

    def watched(self, seen: set[Cell]) -> Self:
        """Return itself: nothing is asked of printed cells."""
        return self

    def is_drifting(self, cell: Cell) -> bool:
        """Return False: papers do not say it."""
        return False

    def _absence(self, cell: Cell) -> str:
        return self.reason or f"{name_of(cell)} is not published"


@dataclass(frozen=True)
class Measured:
    """The cells of a run; a statistic is taken in each block that has all its cells.

    `error` is how often an interval may miss: less where interim analyses could end the run. The
    cells whose times are taken are added to `seen`, where there is one. `plots` are the whole plots
    of a run of several node settings. One value a block has the error of its plots in it, so that
    intervals over blocks hold for cells in different plots as they are.
    """

    cells: Mapping[Cell, CellResult]
    error: float = ERROR
    seen: set[Cell] | None = None
    plots: WholePlots | None = None
    reason = ""

    def _note(self, cells: Iterable[Cell]) -> None:
        if self.seen is not None:
            self.seen.update(cells)

    @property
    def keys(self) -> Sequence[Cell]:
        """The planned cells in order of levels."""
        return tuple(self.cells)

    def outcome(self, cell: Cell) -> str:
        """Return the outcome of a cell, or say that it was never planned."""
        return self.cells[cell].outcome if cell in self.cells else NOT_PLANNED

    def samples(self, cell: Cell, of: Quantity = "time_ms") -> dict[int, float]:
        """Return a quantity of each counted trial, by block."""
        if cell not in self.cells:
            return {}
        if of == "time_ms":
            self._note([cell])
        taken = ((t.trial.block, _of_trial(t, of)) for t in self.cells[cell].counted)
        return {block: value for block, value in taken if value is not None}

    def value(self, cell: Cell, of: Quantity = "time_ms") -> Estimate | None:
        """Return the geometric mean over trials with the t interval of its logs."""
        samples = self.samples(cell, of)
        if not samples:
            return None
        found = geometric_t(list(samples.values()), self.error, is_exact=of != "time_ms")
        return replace(found, lost=self.lost([cell]))

    def arithmetic(self, cell: Cell) -> Estimate | None:
        """Return the arithmetic mean of the trial means in ms, None without a time."""
        return self.cells[cell].arithmetic_mean(self.error) if cell in self.cells else None

    def lost(self, cells: Sequence[Cell]) -> int:
        """Return in how many blocks a sealed trial of one of the cells is excluded."""
        trials = (trial for cell in cells for trial in self.cells[cell].trials)
        return len({trial.trial.block for trial in trials if not trial.counts})

    def statistic(
        self, cells: Sequence[Cell], statistic: Statistic, of: Quantity = "time_ms"
    ) -> Estimate | Untested:
        """Return the geometric mean over blocks of the statistic, with the t interval of its logs.

        A statistic that is not positive in every block is averaged as it is. A time of 0, as clocks
        of whole milliseconds give it, has no ratio: the other blocks give a value, but no interval.
        Neither do times whose statistic is the same in every block.
        """
        rows = self.rows(cells, of)
        if isinstance(rows, Untested):
            return rows
        values = [statistic(row) for row in rows if min(row) > 0]
        if not values:
            return Untested(NO_RATIO)
        mean = geometric_t if min(values) > 0 else mean_t
        found = mean(values, self.error, is_exact=of != "time_ms")
        found = replace(found, lost=self.lost(cells))
        return found if len(values) == len(rows) else replace(found, low=None, high=None)

    def difference(
        self, larger: Cell, smaller: Cell, of: Quantity = "time_ms"
    ) -> Estimate | Untested:
        """Return the mean over blocks of the difference, with its t interval."""
        rows = self.rows([larger, smaller], of)
        if isinstance(rows, Untested):
            return rows
        differences = [row[0] - row[1] for row in rows]
        found = mean_t(differences, self.error, is_exact=of != "time_ms")
        return replace(found, lost=self.lost([larger, smaller]))

    def share(self, cell: Cell, outcome: str) -> Estimate | Untested:
        """Return the share of the sealed trials; it has no uncertainty, as every trial is known."""
        if cell not in self.cells or not self.cells[cell].trials:
            return Untested(f"{name_of(cell)}: {self.outcome(cell)}")
        trials = self.cells[cell].trials
        outcomes = [OK if t.counts else t.outcome for t in trials]
        share = outcomes.count(outcome) / len(trials)
        return Estimate(share, share, share, len(trials))

    def constant(self, cell: Cell, name: str) -> Setting | None:
        """Return the value that the sealed trials of the cell recorded."""
        for trial in self.cells[cell].trials if cell in self.cells else ():
            asked = trial.trial.asked
            setting: Setting | None = {**asked["constants"], **asked["node"]}.get(name)
            return setting
        return None

    def moments(self, cell: Cell) -> Moments | None:
        """Return the moments over all counted calls, each call as a sample."""
        return self.cells[cell].moments if cell in self.cells else None

    def interval(self, cell: Cell) -> Estimate | None:
        """Return the geometric mean over trials with the t interval of its logs."""
        return self.value(cell)

    def moments_by_block(
        self, cells: Sequence[Cell], *, of_logs: bool
    ) -> Sequence[Sequence[Moments]]:
        """Return the moments of the trials in each block where all cells count.

        A block that has a time of zero, which has no logarithm, has no moments of logs.
        """
        self._note(cells)
        rows = [
            [trial.calls.log_moments if of_logs else trial.calls.moments for trial in block]
            for block in self.blocks(cells)
        ]
        return [[one for one in row if one] for row in rows if None not in row]

    def printed_table(self, name: str) -> Sequence["Source"] | None:
        """Return None: what was measured is computed."""
        return None

    def whole_plots(self, cells: Sequence[Cell]) -> WholePlots | None:
        """Return the whole plots if the cells lie in different ones of a block; else None."""
        return self.plots if self.plots and self.plots.part(cells) else None

    def watched(self, seen: set[Cell]) -> Self:
        """Return the same run, which adds to `seen` each cell whose time is taken."""
        return replace(self, seen=seen)

    def is_drifting(self, cell: Cell) -> bool:
        """Tell whether the measured phase of a cell drifted."""
        return self.cells[cell].steadiness == "drifting"

    def blocks(self, cells: Sequence[Cell]) -> list[list[CellTrial]]:
        """Return the trials of `cells` in each block where they all count, by block."""
        trials = [{t.trial.block: t for t in self.cells[cell].counted} for cell in cells]
        whole = sorted(set.intersection(*(set(by_block) for by_block in trials)))
        return [[by_block[block] for by_block in trials] for block in whole]

    def rows(
        self, cells: Sequence[Cell], of: Quantity = "time_ms"
    ) -> Sequence[Sequence[float]] | Untested:
        """Return a quantity of the trials of `cells`, a row for each block that has them all.

        Nothing where the cells lie in different whole plots and too few blocks have them all.
        """
        for cell in cells:
            if self.outcome(cell) != OK:
                why = self.cells[cell].why_failed if cell in self.cells else ""
                told = f"{self.outcome(cell)} ({why})" if why else self.outcome(cell)
                return Untested(f"{name_of(cell)}: {told}")
        if of == "time_ms":
            self._note(cells)
        rows = [[_of_trial(trial, of) for trial in block] for block in self.blocks(cells)]
        whole = [[v for v in row if v is not None] for row in rows if None not in row]
        plots = self.whole_plots(cells)
        if whole and plots and of == "time_ms" and (reason := plots.too_few(len(whole))):
            return Untested(reason)
        return whole or Untested(NO_BLOCK)


def levels_of(factor: str, *evidence: Evidence) -> list[int]:
    """Return the levels of a factor whose levels are whole numbers, in ascending order."""
    return sorted({int(cell[factor]) for source in evidence for cell in source.keys})


def load_published(name: str, factors: Mapping[str, type[int] | type[str]]) -> Published:
    """Read the published numbers of a study; `factors` are the columns of a cell and their types.

    Each row names its paper, figure, section and page (empty where the text has none). The
    columns mean_ms, message_bytes, outcome, machine_mb, half_ms, count, sum_ms and variance_ms2 may
    be absent. A mean is taken from the printed sum where there is one, which has more digits.
    """
    return Published(
        {
            Cell((factor, kind(row[factor])) for factor, kind in factors.items()): _printed(row)
            for row in read_published(name)
        }
    )


def read_published(study: str, name: str = "published") -> list[dict[str, str]]:
    """Return the rows of NAME.csv in the folder of a study; none when there is no such file."""
    path = resources.files("collect.replication").joinpath("studies", study, f"{name}.csv")
    if not path.is_file():
        return []
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def _printed(row: Mapping[str, str]) -> Printed:
    def number(column: str) -> float | None:
        return float(row[column]) if row.get(column) else None

    count, total, variance = number("count"), number("sum_ms"), number("variance_ms2")
    mean = total / count if total is not None and count else number("mean_ms")
    has_moments = count is not None and mean is not None and variance is not None
    return Printed(
        source=f"{row['document']}, {row['figure']}",
        time_ms=mean,
        message_bytes=number("message_bytes"),
        outcome=row.get("outcome") or OK,
        moments=Moments(int(count), mean, variance) if has_moments else None,  # type: ignore[arg-type]
        half_ms=number("half_ms"),
        machine_mb=int(row["machine_mb"]) if row.get("machine_mb") else None,
    )


def _of_trial(trial: CellTrial, of: Quantity) -> float | None:
    value: float | None = getattr(trial.calls, "mean_ms" if of == "time_ms" else of)
    return value
