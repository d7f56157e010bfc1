"""A night planned from a pilot run: how many blocks and calls, how long, and what it sees."""

import math
from collections import defaultdict
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass

from collect.cells.plots import WholePlots, whole_plots
from collect.errors import InputError
from collect.planning.interim import error_at
from collect.planning.pilot import Pilot, PilotCell
from collect.run.cell import Cell, level_rank
from collect.run.directory import Run
from collect.run.plan import PlannedTrial, make_plan
from collect.run.study import Study, find_study, load_study
from collect.stats.estimates import FEWEST_BLOCKS
from collect.stats.sample_size import (
    Spread,
    best_repetitions,
    blocks_for,
    detectable,
    half_width_of,
    moderated,
)
from collect.stats.spending import ERROR

MOST_TIMES = 10
"""How many times the pilot's calls are planned at most: beyond, the pilot says little."""


@dataclass(frozen=True)
class Wish:
    """What is wanted: `half_width` as a share of the mean, `hours` of the night.

    `contrast` is the factor whose levels are compared inside blocks, None for the cells themselves.
    """

    half_width: float = 0.05
    hours: float = 8.0
    contrast: str | None = None

    @property
    def log_width(self) -> float:
        """The half width on the log scale: the upper end is so far above the mean."""
        return math.log1p(self.half_width)


@dataclass(frozen=True)
class Quantity:
    """A cell, or a ratio of two: its variance in the pilot, and that of a difference in a block."""

    cells: tuple[Cell, ...]
    spread: Spread
    difference: Spread


@dataclass(frozen=True)
class Row:
    """What one quantity takes by itself: `blocks` for the wish, and what the night would give.

    `half_width` and `detectable` are shares (0.05 is 5 %), None where a night has too few blocks
    for them: fewer than 2, or than FEWEST_BLOCKS where settings of the nodes are compared.
    """

    quantity: Quantity
    blocks: int | None
    half_width: float | None
    detectable: float | None


@dataclass(frozen=True)
class Way:
    """A night with so many measured calls a thread in each cell; `block_s` is one block, seconds.

    `blocks` reach the wish in every cell, None when 10 000 would not; `night_blocks` fit the hours.
    Fewer than `least` blocks have no `night_half_width`.
    """

    calls: Mapping[Cell, int]
    block_s: float
    blocks: int | None
    night_blocks: int
    night_half_width: float | None
    rows: tuple[Row, ...]
    least: int

    @property
    def seconds(self) -> float | None:
        """How long the blocks take in all."""
        return None if self.blocks is None else self.blocks * self.block_s


@dataclass(frozen=True)
class PlotsPlan:
    """What a run of several node settings takes.

    A block changes the setting `changes` times in the mean, at `change_s` seconds each, None where
    the pilot shows no change. `blocks` holds for each factor in whole plots how many blocks give
    every ratio of two of its levels the wished interval with the pilot's calls, None when 10 000
    would not; a factor without a ratio in the pilot is absent.
    """

    plots: WholePlots
    changes: float
    change_s: float | None
    blocks: Mapping[str, int | None]

    @property
    def seconds(self) -> float:
        """What the changes of a block cost, in seconds; 0 where that is unknown."""
        return self.changes * (self.change_s or 0.0)


@dataclass(frozen=True)
class Outlook:
    """What a pilot says about a run of `profile`: with the calls as they stand, and at their best.

    `forks` is how many forks a start of the services would be best, None where starts are unknown.
    `lacking` are cells of the profile that the pilot cannot speak of, and why. `plots` is None for
    a run of one setting.
    """

    run: Run
    profile: str
    wish: Wish
    pilot: Pilot
    as_it_stands: Way
    best: Way
    forks: Mapping[Cell, int | None]
    lacking: Mapping[Cell, str]
    notes: tuple[str, ...]
    plots: PlotsPlan | None = None


@dataclass(frozen=True)
class _OfRun:
    """The seconds of a start, how often an interval may miss, and the whole plots."""

    start_s: float
    error: float
    plots: PlotsPlan | None

    def least(self, quantities: Sequence[Quantity]) -> int:
        """Return how many blocks a statement on one of the quantities takes at least."""
        is_between = self.plots and any(self.plots.plots.part(one.cells) for one in quantities)
        return FEWEST_BLOCKS if is_between else 2


def plan_night(run: Run, pilot: Pilot, wish: Wish, profile: str | None = None) -> Outlook:
    """Plan a night; `profile` is another one of the study than the pilot's.

    Raises InputError for an unknown profile or factor, and where no planned cell is in the pilot.
    """
    planned, name = _planned(run, profile), profile or run.profile
    known = {cell: pilot.cells[cell] for cell in planned if cell in pilot.cells}
    if not known:
        raise InputError(
            f"{run.name}: has no cell of the profile {name}; sweep a pilot that "
            "shares levels with it"
        )
    lacking = {
        cell: pilot.unusable.get(cell, "it is not in the pilot")
        for cell in planned
        if cell not in known
    }
    first = next(iter(planned.values()))
    restarted = first.restart == "block"
    start_s = (pilot.start_s or 0.0) if restarted else 0.0
    error = ERROR if first.stop is None else error_at(first.stop, first.stop.most)

    quantities = _quantities(run, pilot, known, wish.contrast)
    spreads = dict(zip(known, moderated([one.spread for one in known.values()]), strict=True))
    plots = _plots_plan(pilot, known, planned, (wish.log_width, error))
    in_plots = plots.plots.factors if plots else ()
    apart = _served_apart(planned, wish.contrast)
    cancelled = {
        cell: _cancelled(one, wish.contrast, in_plots, pilot.across if cell in apart else None)
        for cell, one in known.items()
    }
    both = {cell: (one, planned[cell]) for cell, one in known.items()}
    wanted = {cell for quantity in quantities for cell in quantity.cells}
    of_run = _OfRun(start_s, error, plots)
    as_it_stands, best = (
        _way({cell: max(1, round(n)) for cell, n in calls.items()}, both, quantities, wish, of_run)
        for calls in _calls(both, spreads, cancelled, wanted)
    )
    are_starts_known = pilot.is_restarted and pilot.start_s and restarted
    forks = {
        cell: _best_forks(one, spreads[cell], trial, best, start_s) if are_starts_known else None
        for cell, (one, trial) in both.items()
    }
    notes = (
        *_notes(pilot, restarted=restarted, forks=forks),
        *_planned_notes(planned, lacking, error),
        *(_plots_notes(plots, pilot) if plots else ()),
    )
    return Outlook(run, name, wish, pilot, as_it_stands, best, forks, lacking, notes, plots)


def _served_apart(planned: Mapping[Cell, PlannedTrial], contrast: str | None) -> set[Cell]:
    """Return the cells of which one that differs in this factor alone needs other services."""
    if contrast is None:
        return set()
    needs: dict[Cell, set[tuple[str, ...]]] = defaultdict(set)
    for cell, trial in planned.items():
        needs[cell.without(contrast)].add(tuple(trial.needs))
    return {cell for cell in planned if len(needs[cell.without(contrast)]) > 1}


def _cancelled(
    one: PilotCell, contrast: str | None, in_plots: Sequence[str], across: float | None = None
) -> float:
    """Return what the ratios of two levels of a factor are free of; 0 for the cells themselves.

    Levels that different services serve have `across` in common, which is no start of a service.
    """
    if contrast is None:
        return 0.0
    if across is not None:
        return min(across, one.shared)
    return one.shared if contrast in in_plots else one.shared + one.plot


def _plots_plan(
    pilot: Pilot,
    known: Mapping[Cell, PilotCell],
    planned: Mapping[Cell, PlannedTrial],
    wish: tuple[float, float],
) -> PlotsPlan | None:
    """Plan the whole plots; `wish` is a half width in logs, and how often an interval may miss.

    None for a run of one setting.
    """
    plots = whole_plots(list(planned.values()))
    if plots is None:
        return None
    width, error = wish
    blocks = {}
    for factor in plots.factors:
        pairs = [pair for pair in pilot.contrasts(factor) if set(pair) <= known.keys()]
        spreads = [spread for pair in pairs if plots.part(pair) and (spread := pilot.ratio(pair))]
        if spreads:
            same = [1.0] * len(spreads)
            blocks[factor] = blocks_for(width, moderated(spreads), same, error, least=FEWEST_BLOCKS)
    settings = plots.distinct
    # A block begins with any of the settings, also with that of the block before.
    changes = settings - 1 + (settings - 1) / settings
    return PlotsPlan(plots, changes, pilot.change_s, blocks)


def _planned_notes(
    planned: Mapping[Cell, PlannedTrial], lacking: Collection[Cell], error: float
) -> list[str]:
    notes, rule = [], next(iter(planned.values())).stop
    if any(trial.arrival for trial in planned.values()):
        notes.append(
            "Times of an open loop are response times. Its calls wait for each other, so the plan "
            "keeps their number."
        )
    if rule is not None:
        notes.append(
            f"The stopping rule ({rule}) has interim analyses, so the plan uses the intervals of "
            f"the last one, at {100 * (1 - error):.4g} %."
        )
    if lacking:
        notes.append(
            f"{len(lacking)} of {len(planned)} cells are not planned, so every time here is too "
            "short; sweep a pilot that has them."
        )
    return notes


def _plots_notes(plan: PlotsPlan, pilot: Pilot) -> list[str]:
    notes = []
    if plan.change_s is None:
        notes.append(
            "The pilot does not show the cost of a change of the nodes' settings, which counts as "
            "0 s. Sweep a pilot with two settings to measure it."
        )
    if pilot.blocks < FEWEST_BLOCKS:
        notes.append(
            f"The pilot has {pilot.blocks} blocks, too few to estimate the variance between whole "
            f"plots; sweep a pilot of at least {FEWEST_BLOCKS} blocks, better 5."
        )
    return notes


def _planned(run: Run, profile: str | None) -> dict[Cell, PlannedTrial]:
    """Return a trial of each cell of a profile, or of the run as it was planned."""
    trials: Sequence[PlannedTrial] = run.plan
    if profile is not None:
        study: Study = run.stated or load_study(find_study(run.study))
        trials = make_plan(study.profile(profile))
    found = {trial.factors: trial for trial in trials if trial.counts}
    return {cell: found[cell] for cell in sorted(found, key=_place)}


def _place(cell: Cell) -> list[tuple[bool, float, str]]:
    return [level_rank(level) for level in cell.levels]


def _quantities(
    run: Run, pilot: Pilot, known: Mapping[Cell, PilotCell], contrast: str | None
) -> list[Quantity]:
    if contrast is None:
        spreads = moderated([one.spread for one in known.values()])
        return [
            Quantity((cell,), spread, _doubled(spread, one.shared))
            for (cell, one), spread in zip(known.items(), spreads, strict=True)
        ]
    if contrast not in run.factors:
        raise InputError(
            f"{run.name}: {contrast!r} is not a factor of the study {run.study}; its factors are "
            f"{', '.join(run.factors)}"
        )
    pairs = {
        pair: spread
        for pair in pilot.contrasts(contrast)
        if set(pair) <= known.keys() and (spread := pilot.ratio(pair))
    }
    if not pairs:
        raise InputError(
            f"{run.name}: no two cells that differ only in {contrast} share two blocks; sweep a "
            "pilot with two of its levels"
        )
    spreads = moderated(list(pairs.values()))
    return [Quantity(pair, one, one) for pair, one in zip(pairs, spreads, strict=True)]


def _doubled(spread: Spread, shared: float) -> Spread:
    """Return the variance of the difference of two such cells of one block."""
    own = max(spread.variance - shared, spread.calls)
    return Spread(2 * own, spread.freedom, 2 * spread.calls)


def _calls(
    known: Mapping[Cell, tuple[PilotCell, PlannedTrial]],
    spreads: Mapping[Cell, Spread],
    cancelled: Mapping[Cell, float],
    wanted: Container[Cell],
) -> tuple[Mapping[Cell, float], Mapping[Cell, float]]:
    """Return the calls of a thread in each cell: as they stand, and at their best if `wanted`.

    A client that is a program keeps those that it made in the pilot. An open loop keeps those of
    its plan: its calls wait for each other, so what more of them would tell is unknown.
    """
    stated = {
        cell: (one.calls if one.is_program else planned.measured_rows) / planned.threads
        for cell, (one, planned) in known.items()
    }
    chosen = {
        cell: _best_calls(one, spreads[cell], planned, cancelled[cell])
        if cell in wanted and not one.is_program and not planned.arrival
        else stated[cell]
        for cell, (one, planned) in known.items()
    }
    return stated, chosen


def _best_calls(one: PilotCell, spread: Spread, planned: PlannedTrial, cancelled: float) -> float:
    """Return the number of calls a thread at which a trial tells most for its time.

    `cancelled` is the variance that what is planned is free of.
    """
    above = spread.variance - spread.calls - cancelled
    best = best_repetitions(
        one.fork_s_of(planned),
        one.call_s_of(planned) / planned.threads,
        max(above, 0.0),
        one.call_variance,
    )
    return min(best, MOST_TIMES * one.calls) / planned.threads


def _best_forks(
    one: PilotCell, spread: Spread, planned: PlannedTrial, way: Way, start_s: float
) -> int:
    """Return how many forks of a cell would be best in each start of its services."""
    calls = one.call_variance / (way.calls[planned.factors] * planned.threads)
    forks = max(spread.variance - spread.calls - one.shared, 0.0) + calls
    rounds = best_repetitions(start_s, way.block_s - start_s, one.shared, forks)
    return round(min(rounds, MOST_TIMES))


def _way(
    calls: Mapping[Cell, int],
    known: Mapping[Cell, tuple[PilotCell, PlannedTrial]],
    quantities: Sequence[Quantity],
    wish: Wish,
    of_run: _OfRun,
) -> Way:
    """Plan a night with so many calls of a thread in each cell."""
    error = of_run.error
    block_s = of_run.start_s + (of_run.plots.seconds if of_run.plots else 0.0)
    block_s += sum(
        one.fork_s_of(planned) + calls[cell] * one.call_s_of(planned)
        for cell, (one, planned) in known.items()
    )
    blocks_fit = int(wish.hours * 3600 / block_s) if block_s > 0 else 0
    spreads = [one.spread for one in quantities]
    times = [_more_calls(one, calls, known) for one in quantities]
    rows = []
    for one, ratio in zip(quantities, times, strict=True):
        width = seen = None
        least = of_run.least([one])
        if blocks_fit >= least:
            width = math.expm1(half_width_of(blocks_fit, [one.spread], [ratio], error))
            # By Holm's correction the clearest of so many differences is tested at this level.
            level = error / len(quantities)
            seen = math.expm1(detectable(blocks_fit, one.difference, ratio, level))
        needed = blocks_for(wish.log_width, [one.spread], [ratio], error, least=least)
        rows.append(Row(one, needed, width, seen))
    least = of_run.least(quantities)
    return Way(
        calls,
        block_s,
        blocks_for(wish.log_width, spreads, times, error, least=least),
        blocks_fit,
        math.expm1(half_width_of(blocks_fit, spreads, times, error))
        if blocks_fit >= least
        else None,
        tuple(rows),
        least,
    )


def _more_calls(
    quantity: Quantity,
    calls: Mapping[Cell, int],
    known: Mapping[Cell, tuple[PilotCell, PlannedTrial]],
) -> float:
    """Return how many times as many calls as in the pilot these are, for what they vary."""
    left = sum(
        one.call_variance / (calls[cell] * planned.threads)
        for cell in quantity.cells
        for one, planned in [known[cell]]
    )
    return quantity.spread.calls / left if left > 0 else 1.0


def _notes(pilot: Pilot, *, restarted: bool, forks: Mapping[Cell, int | None]) -> list[str]:
    notes = []
    if not pilot.is_restarted:
        notes.append(
            "The pilot does not say that its services were restarted before each block, so the "
            "variance between starts is unknown, and the plan has only the part that blocks share"
            + ("; the cost of a start is unknown and counts as 0 s" if restarted else "")
            + ". Sweep a pilot with restart: block to measure it."
        )
    elif restarted and pilot.start_s is None:
        notes.append(
            "The pilot does not record the cost of a start of the services, which counts as 0 s."
        )
    most = max((number or 1 for number in forks.values()), default=1)
    if most > 1:
        notes.append(
            f"Up to {most} forks of a cell per start of the services would be best, since starts "
            "are costly and vary little. A block holds each cell once, so this plan makes one fork "
            "per start."
        )
    if pilot.blocks < 5:
        notes.append(
            f"The pilot has {pilot.blocks} blocks, too few to estimate the variances well; part of "
            "the planned blocks covers that. After a longer pilot, the plan would need fewer."
        )
    return notes
