"""A comparison for people and programs: on the terminal, as JSON, as one HTML page."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from collect.cells.analysis import Analysis
from collect.cells.cells import CellResult
from collect.cells.notation import show, show_estimate, show_level
from collect.errors import InputError
from collect.printable import console
from collect.report.compare.budget import Budget
from collect.report.compare.environment import Difference, find_differences
from collect.report.compare.ratios import CellVerdict, Compared, Comparison, compare_cells
from collect.run.cell import Cell
from collect.run.directory import Run
from collect.templates import templates_in

METHOD = (
    "The ratio is that of the geometric means of the trials (JVM forks), other run to first run, "
    "with Welch's 95 % interval of the logs: above 1 is slower. Faster and slower are said at 5 % "
    "over all cells together (Holm's correction), and so is what exceeds its budget."
)
_STYLES = {
    CellVerdict.FASTER: "green",
    CellVerdict.SLOWER: "yellow",
    CellVerdict.BROKEN: "red",
    CellVerdict.MENDED: "green",
}


@dataclass(frozen=True)
class Outcome:
    """The result of a comparison of two or more runs, by their labels."""

    runs: Mapping[str, Analysis]
    compared: Compared
    differences: Sequence[Difference]

    @property
    def has_budget(self) -> bool:
        """Whether any cell has a budget."""
        return any(comparison.budget is not None for comparison in self.compared.comparisons)

    @property
    def summary(self) -> list[str]:
        """How many cells are what, a line each other run, and a last one for the budget."""
        lines = []
        first, *others = self.runs
        for label in others:
            cells = [c.verdict for c in self.compared.comparisons if c.run == label]
            counts = [f"{cells.count(v)} {v}" for v in CellVerdict if v in cells]
            lines.append(f"{label} against {first}: {len(cells)} cells, {', '.join(counts)}")
        if self.has_budget:
            over = len(self.compared.over)
            lines.append(f"over budget beyond doubt: {over or 'no'} cell{'' if over == 1 else 's'}")
        return lines


def labels(runs: Sequence[Run]) -> list[str]:
    """Return a label for each run: its name, or its path when two runs have the same name."""
    names = [run.name for run in runs]
    if len(set(names)) == len(names):
        return names
    paths = [str(run.directory) for run in runs]
    if len(set(paths)) < len(paths):
        raise InputError(f"the run {names[-1]} is given twice; name two or more different runs")
    return paths


def compare(runs: Mapping[str, Analysis], budget: Budget) -> Outcome:
    """Compare runs with the first of them; raises InputError when they have nothing in common."""
    return Outcome(runs, compare_cells(runs, budget), find_differences(list(runs.values())))


def print_text(outcome: Outcome) -> None:
    """Print the cells, what only one run has, and what differs around them."""
    out = console()
    for label in list(outcome.runs)[1:]:
        out.print(_cells(outcome, label))
    for absence in outcome.compared.absences:
        out.print(Text(f"only in {absence.only_in}: {_name(absence.factors)}"))
    out.print(_differences(outcome))
    for line in (METHOD, *outcome.summary):
        out.print(Text(line))


def as_json(outcome: Outcome) -> str:
    """Return everything as JSON: times in ms, null where there is none, with the reason."""
    content = {
        "runs": list(outcome.runs),
        "method": METHOD,
        "cells": [_record(comparison) for comparison in outcome.compared.comparisons],
        "only_in_one": [
            {**vars(absence), "factors": dict(absence.factors)}
            for absence in outcome.compared.absences
        ],
        "differences": [
            {"subject": d.subject, "values": dict(zip(outcome.runs, d.values, strict=True))}
            for d in outcome.differences
        ],
        "over_budget": len(outcome.compared.over),
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)


def as_html(outcome: Outcome) -> str:
    """Return one HTML page that needs no other file and no network."""
    environment = templates_in("report/compare")
    environment.filters.update(show=show, level=show_level, name=_name, time=_time)
    return environment.get_template("page.html.j2").render(
        outcome=outcome,
        first=next(iter(outcome.runs)),
        others=list(outcome.runs)[1:],
        factors=list(next(iter(outcome.runs.values())).run.factors),
        method=METHOD,
        place=_scale(outcome.compared.comparisons),
    )


def _scale(comparisons: Sequence[Comparison]) -> Any:
    """Return a function that places a ratio on a logarithmic axis of 0 to 100, with 1 at 50."""
    ends = [
        abs(math.log(end))
        for c in comparisons
        if c.ratio
        for end in (c.ratio.low, c.ratio.value, c.ratio.high)
        if end and math.isfinite(end)
    ]
    # An interval that reaches beyond ten times is drawn to the end of the axis.
    widest = min(max([*ends, math.log(1.1)]), math.log(10))
    return lambda ratio: (
        max(2.0, min(98.0, 50 + 48 * math.log(ratio) / widest)) if ratio > 0 else 2.0
    )


def _cells(outcome: Outcome, label: str) -> Table:
    first = next(iter(outcome.runs))
    table = Table(title=Text(f"{label} against {first}"), title_justify="left")
    comparisons = [c for c in outcome.compared.comparisons if c.run == label]
    for factor in comparisons[0].factors:
        table.add_column(Text(factor))
    for name in (f"{first}, ms", f"{label}, ms", "ratio [95 % interval]", "p (Holm)"):
        table.add_column(Text(name), justify="right")
    table.add_column("verdict")
    if outcome.has_budget:
        table.add_column("budget", justify="right")
    table.add_column("remark")
    for c in comparisons:
        row = [
            *(Text(show_level(level)) for level in c.factors.values()),
            Text(_time(c.before)),
            Text(_time(c.after)),
            Text(show_estimate(c.ratio) if c.ratio else ""),
            Text("" if c.p_value is None else f"{c.p_value:.2g}"),
            Text(c.verdict, style=_STYLES.get(c.verdict, "")),
        ]
        if outcome.has_budget:
            limit = "" if c.budget is None else f"{c.budget:g}"
            row.append(Text(limit + (" over" if c.is_over else ""), "red" if c.is_over else ""))
        table.add_row(*row, Text(c.reason))
    return table


def _differences(outcome: Outcome) -> Table | Text:
    if not outcome.differences:
        return Text("Nothing else that is recorded differs between the runs.")
    table = Table(title="What else differs", title_justify="left")
    table.add_column("what")
    for label in outcome.runs:
        table.add_column(Text(label), overflow="fold")
    for difference in outcome.differences:
        table.add_row(Text(difference.subject), *map(Text, difference.values))
    return table


def _record(comparison: Comparison) -> dict[str, Any]:
    ratio = comparison.ratio
    return {
        "run": comparison.run,
        "factors": dict(comparison.factors),
        "first": _side(comparison.before),
        "other": _side(comparison.after),
        "ratio": _finite(ratio.value) if ratio else None,
        "low": _finite(ratio.low) if ratio else None,
        "high": _finite(ratio.high) if ratio else None,
        "p_value": comparison.p_value,
        "verdict": comparison.verdict,
        "reason": comparison.reason,
        "budget": comparison.budget,
        "is_over_budget": comparison.is_over,
    }


def _side(cell: CellResult) -> dict[str, Any]:
    return {
        "outcome": cell.outcome,
        "mean_ms": cell.mean.value if cell.mean else None,
        "trials": len(cell.counted),
        "calls": cell.calls,
        "errors": cell.errors,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _time(cell: CellResult) -> str:
    return show(cell.mean.value) if cell.mean else cell.outcome


def _name(factors: Cell) -> str:
    return ", ".join(f"{name} {show_level(level)}" for name, level in factors.items())
