"""A night planned from a pilot run: how many blocks and calls, how long, and what it sees."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from collect.cells.notation import show_level
from collect.errors import InputError
from collect.planning.pilot import Pilot, PilotCell
from collect.printable import console
from collect.run.cell import Cell, level_rank, level_text
from collect.run.directory import Run
from collect.run.plan import PlannedTrial, make_plan
from collect.run.study import Study, find_study, load_study
from collect.stats.sample_size import (
    ASSURANCE,
    MOST_BLOCKS,
    POWER,
    Spread,
    best_repetitions,
    blocks_for,
    detectable,
    half_width_of,
    moderated,
)
from collect.time_left import in_words

SCHEMA = 1
MOST_TIMES = 10
"""How many times the pilot's calls are planned at most: beyond, the pilot says little."""
_ANY_NUMBER_OF_WORKERS = 10**6


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

    `half_width` and `detectable` are shares (0.05 is 5 %), None where a night has not two blocks.
    """

    quantity: Quantity
    blocks: int | None
    half_width: float | None
    detectable: float | None


@dataclass(frozen=True)
class Way:
    """A night with so many measured calls a thread in each cell; `block_s` is one block, seconds.

    `blocks` reach the wish in every cell, None when 10 000 would not; `night_blocks` fit the hours.
    """

    calls: Mapping[Cell, int]
    block_s: float
    blocks: int | None
    night_blocks: int
    night_half_width: float | None
    rows: tuple[Row, ...]

    @property
    def seconds(self) -> float | None:
        """How long the blocks take in all."""
        return None if self.blocks is None else self.blocks * self.block_s


@dataclass(frozen=True)
class Outlook:
    """What a pilot says about a run of `profile`: with the calls as they stand, and at their best.

    `forks` is how many forks a start of the services would be best, None where starts are unknown.
    `lacking` are cells of the profile that the pilot cannot speak of, and why.
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


def plan_night(run: Run, pilot: Pilot, wish: Wish, profile: str | None = None) -> Outlook:
    """Plan a night; `profile` is another one of the study than the pilot's.

    Raises InputError for an unknown profile or factor, and where no planned cell is in the pilot.
    """
    planned = _planned(run, profile)
    lacking = {
        cell: pilot.unusable.get(cell, "it is not in the pilot")
        for cell in planned
        if cell not in pilot.cells
    }
    known = {cell: pilot.cells[cell] for cell in planned if cell in pilot.cells}
    if not known:
        raise InputError(
            f"{run.name}: has no cell of the profile {profile or run.profile}; sweep a pilot that "
            "shares levels with it"
        )
    quantities = _quantities(run, pilot, known, wish.contrast)
    wanted = {cell for quantity in quantities for cell in quantity.cells}
    single = moderated([cell.spread for cell in known.values()])
    spreads = dict(zip(known, single, strict=True))
    stated = {cell: planned[cell].measured_rows / planned[cell].threads for cell in known}
    chosen = {
        cell: _best_calls(one, spreads[cell], planned[cell], is_ratio=wish.contrast is not None)
        if cell in wanted
        else stated[cell]
        for cell, one in known.items()
    }
    restarted = next(iter(planned.values())).restart == "block"
    start_s = (pilot.start_s or 0.0) if restarted else 0.0
    both = {cell: (one, planned[cell]) for cell, one in known.items()}
    ways = [
        _way({cell: max(1, round(n)) for cell, n in calls.items()}, both, quantities, wish, start_s)
        for calls in (stated, chosen)
    ]
    forks = {
        cell: _best_forks(one, spreads[cell], ways[1], start_s)
        if pilot.is_restarted and pilot.start_s and restarted
        else None
        for cell, one in known.items()
    }
    notes = _notes(pilot, restarted=restarted, forks=forks)
    if lacking:
        notes.append(
            f"{len(lacking)} of {len(planned)} cells are not planned, so that every time here is "
            "too short; sweep a pilot that has them."
        )
    name = profile or run.profile
    return Outlook(run, name, wish, pilot, ways[0], ways[1], forks, lacking, tuple(notes))


def _planned(run: Run, profile: str | None) -> dict[Cell, PlannedTrial]:
    """Return a trial of each cell of a profile, or of the run as it was planned."""
    trials: Sequence[PlannedTrial] = run.plan
    if profile is not None:
        study: Study = run.stated or load_study(find_study(run.study))
        trials = make_plan(study.profile(profile, _ANY_NUMBER_OF_WORKERS))
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
            f"{run.name}: {contrast!r} is no factor of the study {run.study}; its factors are "
            f"{', '.join(run.factors)}"
        )
    pairs = {
        pair: spread
        for pair in pilot.contrasts(contrast)
        if set(pair) <= known.keys() and (spread := pilot.ratio(pair))
    }
    if not pairs:
        raise InputError(
            f"{run.name}: no two cells that differ in {contrast} alone share two blocks; sweep a "
            "pilot with two of its levels"
        )
    spreads = moderated(list(pairs.values()))
    return [Quantity(pair, one, one) for pair, one in zip(pairs, spreads, strict=True)]


def _doubled(spread: Spread, shared: float) -> Spread:
    """Return the variance of the difference of two such cells of one block."""
    own = max(spread.variance - shared, spread.calls)
    return Spread(2 * own, spread.freedom, 2 * spread.calls)


def _best_calls(one: PilotCell, spread: Spread, planned: PlannedTrial, *, is_ratio: bool) -> float:
    """Return the number of calls a thread at which a trial tells most for its time."""
    above = spread.variance - spread.calls - (one.shared if is_ratio else 0.0)
    best = best_repetitions(
        one.fork_s_of(planned), one.call_s / planned.threads, max(above, 0.0), one.call_variance
    )
    return min(best, MOST_TIMES * one.calls) / planned.threads


def _best_forks(one: PilotCell, spread: Spread, way: Way, start_s: float) -> int:
    """Return how many forks of a cell would be best in each start of its services."""
    calls = one.call_variance / (way.calls[one.planned.factors] * one.planned.threads)
    forks = max(spread.variance - spread.calls - one.shared, 0.0) + calls
    rounds = best_repetitions(start_s, way.block_s - start_s, one.shared, forks)
    return round(min(rounds, MOST_TIMES))


def _way(
    calls: Mapping[Cell, int],
    known: Mapping[Cell, tuple[PilotCell, PlannedTrial]],
    quantities: Sequence[Quantity],
    wish: Wish,
    start_s: float,
) -> Way:
    block_s = start_s + sum(
        one.fork_s_of(planned) + calls[cell] * one.call_s for cell, (one, planned) in known.items()
    )
    blocks_fit = int(wish.hours * 3600 / block_s) if block_s > 0 else 0

    def more(quantity: Quantity) -> float:
        """Return how many times as many calls as in the pilot this is, for what they vary."""
        left = sum(
            one.call_variance / (calls[cell] * planned.threads)
            for cell in quantity.cells
            for one, planned in [known[cell]]
        )
        return quantity.spread.calls / left if left > 0 else 1.0

    spreads, times = [one.spread for one in quantities], [more(one) for one in quantities]
    rows = []
    for one, ratio in zip(quantities, times, strict=True):
        width = seen = None
        if blocks_fit > 1:
            width = math.expm1(half_width_of(blocks_fit, [one.spread], [ratio]))
            seen = math.expm1(detectable(blocks_fit, one.difference, ratio))
        rows.append(Row(one, blocks_for(wish.log_width, [one.spread], [ratio]), width, seen))
    return Way(
        calls,
        block_s,
        blocks_for(wish.log_width, spreads, times),
        blocks_fit,
        math.expm1(half_width_of(blocks_fit, spreads, times)) if blocks_fit > 1 else None,
        tuple(rows),
    )


def _notes(pilot: Pilot, *, restarted: bool, forks: Mapping[Cell, int | None]) -> list[str]:
    notes = []
    if not pilot.is_restarted:
        notes.append(
            "The pilot does not say that its services were started anew before each block: how "
            "much starts vary is unknown, and counted only as far as blocks share it"
            + ("; what a start costs is unknown and counted as 0 s" if restarted else "")
            + ". Sweep a pilot with restart: block to know."
        )
    elif restarted and pilot.start_s is None:
        notes.append(
            "The pilot does not record what a start of the services costs: counted as 0 s."
        )
    most = max((number or 1 for number in forks.values()), default=1)
    if most > 1:
        notes.append(
            f"Up to {most} forks of a cell to each start of the services would be best, since a "
            "start costs so much and varies so little; a block holds each cell once, so that this "
            "plan makes one fork to a start."
        )
    if pilot.blocks < 5:
        notes.append(
            f"The pilot has {pilot.blocks} blocks, which know the variances badly; part of the "
            "planned blocks pays for that, and a longer pilot would need fewer."
        )
    return notes


def as_json(outlook: Outlook) -> str:
    """Return everything as JSON: times in seconds, widths and deviations as shares."""
    wish = outlook.wish
    content = {
        "schema": SCHEMA,
        "run": outlook.run.name,
        "profile": outlook.profile,
        "half_width": wish.half_width,
        "hours": wish.hours,
        "contrast": wish.contrast,
        "assurance": ASSURANCE,
        "pilot_blocks": outlook.pilot.blocks,
        "start_s": outlook.pilot.start_s,
        "as_it_stands": _way_record(outlook.as_it_stands),
        "best": _way_record(outlook.best),
        "cells": [_cell_record(outlook, cell) for cell in outlook.best.calls],
        "quantities": [
            {
                "cells": [dict(cell) for cell in now.quantity.cells],
                "as_it_stands": _row_record(now),
                "best": _row_record(then),
            }
            for now, then in zip(outlook.as_it_stands.rows, outlook.best.rows, strict=True)
        ],
        "lacking": [
            {"factors": dict(cell), "reason": reason} for cell, reason in outlook.lacking.items()
        ],
        "notes": list(outlook.notes),
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)


def _way_record(way: Way) -> dict[str, Any]:
    return {
        "blocks": way.blocks,
        "seconds": way.seconds,
        "block_s": way.block_s,
        "night": {"blocks": way.night_blocks, "half_width": way.night_half_width},
    }


def _cell_record(outlook: Outlook, cell: Cell) -> dict[str, Any]:
    one = outlook.pilot.cells[cell]
    return {
        "factors": dict(cell),
        "mean_ms": one.mean_ms,
        "deviation": dict(zip(("blocks", "forks", "calls"), _deviations(one), strict=True)),
        "fork_s": one.fork_s,
        "call_s": one.call_s,
        "forks": outlook.forks[cell],
        "calls_as_it_stands": outlook.as_it_stands.calls[cell],
        "calls": outlook.best.calls[cell],
    }


def _row_record(row: Row) -> dict[str, Any]:
    return {"blocks": row.blocks, "half_width": row.half_width, "detectable": row.detectable}


def _deviations(one: PilotCell) -> tuple[float, float, float]:
    """Return the standard deviations between blocks, forks and calls, as shares of the mean."""
    spread = one.spread
    own = max(spread.variance - spread.calls, 0.0)
    shared = min(one.shared, own)
    return math.sqrt(shared), math.sqrt(own - shared), math.sqrt(one.call_variance)


def print_text(outlook: Outlook) -> None:
    """Print the levels of repetition of each cell, what is wanted, and the night."""
    out = console()
    out.print(_cells(outlook))
    out.print(_rows(outlook))
    for cell, reason in outlook.lacking.items():
        out.print(Text(f"not planned: {_named(cell)}: {reason}"))
    for line in (*_summary(outlook), *outlook.notes):
        out.print(Text(line))


def _cells(outlook: Outlook) -> Table:
    title = f"{outlook.run.name}: how much each level of repetition varies (±, % of the mean)"
    table = Table(title=Text(title), title_justify="left")
    for factor in next(iter(outlook.best.calls)):
        table.add_column(Text(factor))
    for name in ("mean, ms", "blocks", "forks", "calls", "fork, s", "calls now", "calls best"):
        table.add_column(name, justify="right")
    for cell, best in outlook.best.calls.items():
        one = outlook.pilot.cells[cell]
        table.add_row(
            *map(Text, map(level_text, cell.levels)),
            f"{one.mean_ms:.4g}",
            *(f"{100 * share:.1f}" for share in _deviations(one)),
            f"{one.fork_s:.1f}",
            str(outlook.as_it_stands.calls[cell]),
            str(best),
        )
    return table


def _rows(outlook: Outlook) -> Table:
    wish = outlook.wish
    table = Table(
        title=Text(f"Each by itself, with the best calls, in {wish.hours:g} h"),
        title_justify="left",
    )
    table.add_column("cell" if wish.contrast is None else f"ratio of two {wish.contrast}")
    for name in (f"blocks for ±{_percent(wish.half_width)}", "interval then, ±", "sees"):
        table.add_column(name, justify="right")
    for row in outlook.best.rows:
        table.add_row(
            Text(_name(row.quantity, wish.contrast)),
            _count(row.blocks),
            _percent(row.half_width),
            _percent(row.detectable),
        )
    return table


def _name(quantity: Quantity, contrast: str | None) -> str:
    if contrast is None:
        return _named(quantity.cells[0])
    levels = " / ".join(level_text(cell[contrast]) for cell in quantity.cells)
    return ", ".join(filter(None, [levels, _named(quantity.cells[0].without(contrast))]))


def _named(cell: Cell) -> str:
    return ", ".join(f"{factor} {show_level(level)}" for factor, level in cell.items())


def _summary(outlook: Outlook) -> list[str]:
    wish, best = outlook.wish, outlook.best
    what = "cell" if wish.contrast is None else f"ratio of two {wish.contrast}"
    lines = [
        f"±{_percent(wish.half_width)} in every {what}, with {_percent(ASSURANCE)} certainty, "
        f"{way_name}: "
        + (
            f"{way.blocks} blocks of one fork of each of {len(way.calls)} cells, "
            f"{in_words(way.seconds)}"
            if way.blocks is not None and way.seconds is not None
            else f"not even with {MOST_BLOCKS} blocks"
        )
        for way_name, way in (
            ("with the calls as they stand", outlook.as_it_stands),
            ("with the best number of calls", best),
        )
    ]
    if best.night_half_width is None:
        lines.append(
            f"{wish.hours:g} h: not two blocks, since one takes {in_words(best.block_s)}; give "
            "more hours, or plan fewer cells"
        )
        return lines
    seen = max(row.detectable or 0.0 for row in best.rows)
    lines.append(
        f"{wish.hours:g} h at their best: {best.night_blocks} blocks; every interval within "
        f"±{_percent(best.night_half_width)} with {_percent(ASSURANCE)} certainty; a difference "
        f"of {_percent(seen)} is found with a power of {_percent(POWER)} at the level of 5 %, in "
        "each cell"
    )
    return lines


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.3g} %"


def _count(blocks: int | None) -> str:
    return f"> {MOST_BLOCKS}" if blocks is None else str(blocks)
