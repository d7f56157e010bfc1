"""The plan of a night as JSON, and as tables on a terminal."""

import json
import math
from typing import Any

from rich.table import Table
from rich.text import Text

from collect.cells.notation import names_in
from collect.planning.night import Outlook, PlotsPlan, Quantity, Row, Way
from collect.planning.pilot import PilotCell
from collect.printable import console, print_table
from collect.run.cell import Cell, level_text
from collect.stats.sample_size import ASSURANCE, MOST_BLOCKS, POWER
from collect.time_left import in_words

SCHEMA = 1


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
    if outlook.plots:
        content["whole_plots"] = _plots_record(outlook.plots)
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)


def _plots_record(plan: PlotsPlan) -> dict[str, Any]:
    return {
        "factors": list(plan.plots.factors),
        "settings": plan.plots.distinct,
        "changes_a_block": plan.changes,
        "change_s": plan.change_s,
        "blocks": dict(plan.blocks),
    }


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
        "deviation": dict(zip(_levels(outlook), _deviations(one, outlook), strict=True)),
        "fork_s": one.fork_s,
        "call_s": one.call_s_of(one.planned),
        "forks": outlook.forks[cell],
        "calls_as_it_stands": outlook.as_it_stands.calls[cell],
        "calls": outlook.best.calls[cell],
    }


def _row_record(row: Row) -> dict[str, Any]:
    return {"blocks": row.blocks, "half_width": row.half_width, "detectable": row.detectable}


def _levels(outlook: Outlook) -> tuple[str, ...]:
    """Return the levels of repetition; plots only where a run has several settings."""
    return ("blocks", "plots", "forks", "calls") if outlook.plots else ("blocks", "forks", "calls")


def _deviations(one: PilotCell, outlook: Outlook) -> list[float | None]:
    """Return the standard deviation of each level of repetition, as a share of the mean.

    That of calls is None where the pilot has no single calls.
    """
    spread = one.spread
    own = max(spread.variance - spread.calls, 0.0)
    shared = min(one.shared, own)
    of_plot = [min(one.plot, own - shared)] if outlook.plots else []
    parts = [shared, *of_plot, own - shared - sum(of_plot)]
    of_calls = math.sqrt(one.call_variance) if one.is_single else None
    return [*map(math.sqrt, parts), of_calls]


def print_text(outlook: Outlook) -> None:
    """Print the levels of repetition of each cell, what is wanted, and the night."""
    out = console()
    print_table(_cells(outlook))
    print_table(_rows(outlook))
    for cell, reason in outlook.lacking.items():
        out.print(Text(f"not planned: {names_in(cell)}: {reason}"))
    of_plots = _of_plots(outlook.plots, outlook.wish.half_width) if outlook.plots else []
    for line in (*_summary(outlook), *of_plots, *outlook.notes):
        out.print(Text(line))


def _cells(outlook: Outlook) -> Table:
    title = f"{outlook.run.name}: variation at each level of repetition (±, % of the mean)"
    table = Table(title=Text(title), title_justify="left")
    for factor in next(iter(outlook.best.calls)):
        table.add_column(Text(factor))
    for name in ("mean, ms", *_levels(outlook), "fork, s", "calls now", "calls best"):
        table.add_column(name, justify="right")
    for cell, best in outlook.best.calls.items():
        one = outlook.pilot.cells[cell]
        table.add_row(
            *map(Text, map(level_text, cell.levels)),
            f"{one.mean_ms:.4g}",
            *(
                "-" if share is None else f"{100 * share:.1f}"
                for share in _deviations(one, outlook)
            ),
            f"{one.fork_s:.1f}",
            str(outlook.as_it_stands.calls[cell]),
            str(best),
        )
    return table


def _rows(outlook: Outlook) -> Table:
    wish = outlook.wish
    table = Table(
        title=Text(f"Each alone, with the best number of calls, in {wish.hours:g} h"),
        title_justify="left",
    )
    table.add_column("cell" if wish.contrast is None else f"ratio of two {wish.contrast}")
    for name in (f"blocks for ±{_percent(wish.half_width)}", "interval then, ±", "detects"):
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
        return names_in(quantity.cells[0])
    levels = " / ".join(level_text(cell[contrast]) for cell in quantity.cells)
    return ", ".join(filter(None, [levels, names_in(quantity.cells[0].without(contrast))]))


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
            else f"not reached with {MOST_BLOCKS} blocks"
        )
        for way_name, way in (
            ("with the present number of calls", outlook.as_it_stands),
            ("with the best number of calls", best),
        )
    ]
    if best.night_half_width is None:
        needed = "two blocks"
        if best.least > 2:
            needed = f"{best.least} blocks, which a verdict on settings of the nodes needs"
        lines.append(
            f"{wish.hours:g} h: too short for {needed}, since one takes {in_words(best.block_s)}; "
            "give more hours, or plan fewer cells"
        )
        return lines
    seen = max(row.detectable or 0.0 for row in best.rows)
    lines.append(
        f"best plan for {wish.hours:g} h: {best.night_blocks} blocks; every interval within "
        f"±{_percent(best.night_half_width)} with {_percent(ASSURANCE)} certainty; detectable "
        f"difference {_percent(seen)}, with a power of {_percent(POWER)} at the level of 5 % over "
        f"all {len(best.rows)} comparisons (Holm)"
    )
    return lines


def _of_plots(plan: PlotsPlan, half_width: float) -> list[str]:
    """Return what the whole plots cost, and how many blocks each of their factors takes."""
    cost = "" if plan.change_s is None else f" of {plan.change_s:.1f} s each"
    lines = [
        f"Whole plots ({', '.join(plan.plots.factors)}): {plan.plots.distinct} settings, "
        f"{plan.changes:.1f} changes of setting a block{cost}, {in_words(plan.seconds)} a block."
    ]
    for factor, blocks in plan.blocks.items():
        needed = "more than" if blocks is None else "needs"
        cost = "" if blocks is None else f", {in_words(blocks * plan.seconds)} for the changes"
        lines.append(
            f"±{_percent(half_width)} in every ratio of two {factor}, with the calls of the pilot: "
            f"{needed} {_count(blocks).removeprefix('> ')} blocks{cost}."
        )
    return lines


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.3g} %"


def _count(blocks: int | None) -> str:
    return f"> {MOST_BLOCKS}" if blocks is None else str(blocks)
