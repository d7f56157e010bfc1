"""What a run teaches about the next one: how much each level of repetition varies, and costs."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import fmean, median

import numpy as np

from collect.cells.analysis import Analysis
from collect.cells.cells import CellResult
from collect.cells.plots import WholePlots, whole_plots
from collect.errors import InputError
from collect.run import starts
from collect.run.cell import Cell
from collect.run.plan import PlannedTrial
from collect.run.trials import Trial
from collect.run.warmup import Warmup, bounds_of
from collect.stats.estimates import ROUNDING, geometric_t
from collect.stats.sample_size import Matrix, Spread, shared_across, shared_variance

_ROUNDING_S = 1
"""By how much a trial may seem to begin before the one before it has ended: clocks are set."""


@dataclass(frozen=True)
class PilotCell:
    """A cell of a pilot: how its trials vary, in squared logs, and what they cost, in seconds.

    `logs` holds the logarithm of each trial's mean by block: of response times in an open loop, as
    verdicts and stopping rules take them. `service_ms` is the mean service time, which is a cost.
    `call_variance` is the variance of a call about its trial, relative to the squared mean, and
    `calls` are those of a trial over all its threads. `shared` is what the cells that need the same
    services have in common in a block, and `plot` what those of its whole plot share beyond that, 0
    in a run of one setting.
    `fork_s` is a trial without its measured calls: the pause before it, its JVM and its warm-up. A
    client that is a program decides itself how many calls it makes: `fork_s` is its whole trial.
    Where `is_single` is false, single calls are unknown: `call_variance` is 0, and what calls vary
    counts for forks.
    """

    planned: PlannedTrial
    service_ms: float
    logs: Mapping[int, float]
    calls: float
    call_variance: float
    shared: float
    fork_s: float
    warmup_calls: float
    plot: float = 0.0
    is_program: bool = False
    is_single: bool = True

    @property
    def mean_ms(self) -> float:
        """The geometric mean over its trials."""
        return math.exp(fmean(self.logs.values()))

    @property
    def spread(self) -> Spread:
        """The variance of its trial means over the blocks."""
        return spread_of(list(self.logs.values()), self.call_variance / self.calls)

    def call_s_of(self, planned: PlannedTrial) -> float:
        """Return what one measured call more of each thread costs in this or another profile."""
        return 0.0 if self.is_program else _call_s(planned, self.service_ms)

    def fork_s_of(self, planned: PlannedTrial) -> float:
        """Return what a trial of this cell costs without its measured calls in another profile."""
        if self.is_program:
            return self.fork_s
        least, most = bounds_of(planned.warmup)
        least_s = planned.warmup.least_s if isinstance(planned.warmup, Warmup) else None
        service_s = self.service_ms / 1e3  # the warm-up is a closed loop
        in_time = (least_s or 0) / service_s
        change = min(max(self.warmup_calls, least, in_time), most) - self.warmup_calls
        return max(self.fork_s + change * service_s, 0.0)


def _call_s(planned: PlannedTrial, service_ms: float) -> float:
    """Return how long each thread takes for a measured call: in an open loop until the next."""
    due_s = planned.threads / planned.arrival.rate if planned.arrival else 0.0
    return max(service_ms / 1e3, due_s)


@dataclass(frozen=True)
class Pilot:
    """A pilot run. `start_s` is a start of the services and their warming, None if there was none.

    `unusable` says of each cell without a variance between trials why it cannot be planned.
    `change_s` is what a change of the nodes' setting inside a block costs in the middle, in
    seconds, beyond the usual pause and the starts of services; None where none was seen. `across`
    is what cells that need different services have in common in a block.
    """

    cells: Mapping[Cell, PilotCell]
    unusable: Mapping[Cell, str]
    start_s: float | None
    is_restarted: bool
    change_s: float | None = None
    across: float = 0.0

    @property
    def blocks(self) -> int:
        """How many blocks have a trial that counts."""
        return len({block for cell in self.cells.values() for block in cell.logs})

    def contrasts(self, factor: str) -> list[tuple[Cell, Cell]]:
        """Return the pairs of cells that differ in this factor alone, in the order of the run."""
        groups: dict[Cell, list[Cell]] = defaultdict(list)
        for cell in self.cells:
            groups[cell.without(factor)].append(cell)
        return [pair for cells in groups.values() for pair in combinations(cells, 2)]

    def ratio(self, pair: tuple[Cell, Cell]) -> Spread | None:
        """Return the variance of a ratio of two cells inside blocks; None with fewer than two."""
        first, second = (self.cells[cell] for cell in pair)
        both = [block for block in first.logs if block in second.logs]
        if len(both) < 2:
            return None
        calls = sum(one.call_variance / one.calls for one in (first, second))
        return spread_of([first.logs[block] - second.logs[block] for block in both], calls)


def spread_of(values: Sequence[float], calls: float) -> Spread:
    """Return the variance of values, one a block, of which calls make at least their part."""
    return Spread(max(float(np.var(values, ddof=1)), calls), len(values) - 1, calls)


def read_pilot(analysis: Analysis) -> Pilot:
    """Read the variances and costs of a run; raises InputError where no cell shows a variance."""
    run = analysis.run
    planned = {trial.factors: trial for trial in run.plan}
    plots = whole_plots(run.plan)
    # A trial that failed took its time as well, and its services were started for it.
    pauses, changes = _pauses(analysis.trials, plots)
    if _is_at_once(analysis.counted):
        raise InputError(
            f"{run.name}: the trials of a block ran at the same time, as labels of one log do, so "
            "the time of one trial is unknown; import one label (--label) as the pilot"
        )
    pause_s = max(0.0, median(pauses)) if pauses else 0.0
    unusable = {c.cell: why for c in analysis.cells if (why := _useless(c))}
    usable = [cell for cell in analysis.cells if cell.cell not in unusable]
    if not usable:
        raise InputError(
            f"{run.name}: no cell shows a variance between trials: "
            f"{'; '.join(dict.fromkeys(unusable.values()))}. So the number of blocks that a night "
            "needs is unknown; sweep a pilot of at least 2 blocks, better 5, and of more calls a "
            "trial if the clock is too coarse"
        )
    shared = _shared(usable, planned, plots)
    cost = starts.cost(analysis.trials)
    return Pilot(
        {c.cell: _cell(c, planned[c.cell], pause_s, shared[c.cell]) for c in usable},
        unusable,
        None if cost is None else cost.seconds,
        starts.is_restarted(run.plan),
        max(0.0, median(changes) - pause_s) if changes else None,
        shared_across(_rows(usable), [str(planned[cell.cell].needs) for cell in usable]),
    )


def _judged(cell: CellResult) -> CellResult:
    """Return the cell with the times that are judged: those of responses in an open loop."""
    return cell.response or cell


def _useless(cell: CellResult) -> str:
    means = list(_judged(cell).samples.values())
    if len(means) < 2:
        return f"{len(means) or 'no'} trial{'s' * (not means)} counted ({cell.outcome})"
    if min([*means, *cell.samples.values()]) <= 0:
        return "a mean is 0 ms, below the resolution of the clock"
    is_tied = np.ptp(means) <= ROUNDING * min(means)
    if is_tied and not any(trial.calls.variance_ms2 for trial in _judged(cell).counted):
        return "all its times are equal, as on a coarse clock"
    return ""


def _logs(cell: CellResult) -> dict[int, float]:
    return {block: math.log(mean) for block, mean in _judged(cell).samples.items()}


def _cell(
    cell: CellResult, planned: PlannedTrial, pause_s: float, shared: tuple[float, float]
) -> PilotCell:
    parts = [trial.calls for trial in _judged(cell).counted]
    service_ms = geometric_t(list(cell.samples.values())).value
    calls = fmean(part.calls for part in parts)
    freedom = sum(part.calls - 1 for part in parts)
    squares = sum(
        (part.calls - 1) * (part.variance_ms2 or 0) / (part.mean_ms or 1) ** 2 for part in parts
    )
    seconds = fmean(trial.trial.seconds for trial in cell.counted)
    is_program = any(trial.trial.program for trial in cell.counted)
    of_calls_s = 0.0 if is_program else calls / planned.threads * _call_s(planned, service_ms)
    warm = [trial.trial.warmup.calls for trial in cell.counted if trial.trial.warmup]
    return PilotCell(
        planned=planned,
        service_ms=service_ms,
        logs=_logs(cell),
        calls=calls,
        call_variance=squares / freedom if freedom else 0.0,
        shared=shared[0],
        plot=shared[1],
        fork_s=pause_s + max(seconds - of_calls_s, 0.0),
        is_program=is_program,
        is_single=all(part.is_single for part in parts),
        warmup_calls=fmean(warm) if warm else float(bounds_of(planned.warmup)[0]),
    )


def _shared(
    cells: Sequence[CellResult], planned: Mapping[Cell, PlannedTrial], plots: WholePlots | None
) -> dict[Cell, tuple[float, float]]:
    """Return what cells that need the same services share in a block, and further in a plot.

    Of each two cells in the blocks that both have.
    """
    groups: dict[tuple[str, ...], list[CellResult]] = defaultdict(list)
    for cell in cells:
        groups[tuple(planned[cell.cell].needs)].append(cell)
    found = {}
    for group in groups.values():
        rows = _rows(group)
        settings = [plots.settings[cell.cell] if plots else "" for cell in group]
        of_block = shared_across(rows, settings)
        for name in set(settings):
            own = [place for place, setting in enumerate(settings) if setting == name]
            of_plot = max(0.0, shared_variance(rows[:, own]) - of_block) if plots else 0.0
            found.update({group[place].cell: (of_block, of_plot) for place in own})
    return found


def _rows(cells: Sequence[CellResult]) -> Matrix:
    """Return the logs of the trial means of cells, a row for each block, NaN where it has none."""
    of_cells = [_logs(cell) for cell in cells]
    blocks = sorted(set[int]().union(*of_cells))
    return np.array([[logs.get(block, math.nan) for logs in of_cells] for block in blocks])


def _is_at_once(trials: Sequence[Trial]) -> bool:
    """Tell whether trials of a block ran at the same time, also if blocks did."""
    ordered = sorted(trials, key=lambda trial: (trial.block, trial.started_at))
    gaps = [
        (after.started_at - before.ended_at).total_seconds()
        for before, after in pairwise(ordered)
        if before.block == after.block
    ]
    return bool(gaps) and median(gaps) < -_ROUNDING_S


def _pauses(trials: Sequence[Trial], plots: WholePlots | None) -> tuple[list[float], list[float]]:
    """Return the times between two trials of a block, in seconds: inside a plot, and between two.

    Starts of services are left out: pauses with one inside plots, and their time between plots.
    """
    ordered = sorted(trials, key=lambda trial: trial.started_at)
    inside, between = [], []
    for before, after in pairwise(ordered):
        gap = (after.started_at - before.ended_at).total_seconds()
        if before.block != after.block:
            continue
        if plots and plots.of_trial[before.id] != plots.of_trial[after.id]:
            between.append(gap - sum(start.seconds for start in after.block_starts))
        elif not after.block_starts:
            inside.append(gap)
    return inside, between
