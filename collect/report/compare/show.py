"""A comparison for people and programs: on the terminal, as JSON, as one HTML page."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from collect.cells.analysis import Analysis
from collect.cells.notation import names_in, show, show_estimate, show_level
from collect.counts import show_count
from collect.errors import InputError
from collect.printable import console, print_table
from collect.report.compare.budget import Budget
from collect.report.compare.contrast import Unit
from collect.report.compare.environment import Difference, find_differences
from collect.report.compare.ratios import (
    Absence,
    CellVerdict,
    Compared,
    Comparison,
    Side,
    SideCell,
    compare_cells,
)
from collect.run.directory import Run
from collect.run.interference import disturbances
from collect.templates import templates_in

_RATIO = (
    "The ratio is that of geometric means, above 1 where {others} took longer than {reference}, "
    "with its 95 % interval. "
)
_OF_RESPONSES = "Times of an open loop are response times. "
_OF_RUNS = (
    "Runs are the samples: the interval depends on the variance between repeated runs "
    "({groups}), by Student's t over the logs of their means. The verdicts faster, slower and over "
    "budget hold at 5 % over all cells together (Holm's correction)."
)
_OF_TRIALS = (
    "Each side has one run, so the comparison cannot separate systems from nights: repeated runs "
    "of the same systems differ too, by an unknown amount. It calls no cell faster or slower. The "
    "interval (Welch's, on the logs of trial means) and the cells over budget apply to these two "
    "runs only. Name several runs on each side (--against), or repeated runs of the same systems "
    "(--noise)."
)
_OF_INTERIM = (
    " Interim analyses could end a run early (stop), so each interval is corrected for them."
)
_NIGHTS = (
    "one run on each side cannot separate systems from nights: name repeated runs of the same "
    "systems (--noise), or several runs on each side (--against)"
)
_MOST_LIMITS = 3
_STYLES = {
    CellVerdict.FASTER: "green",
    CellVerdict.SLOWER: "yellow",
    CellVerdict.BROKEN: "red",
    CellVerdict.MENDED: "green",
}


Runs = Mapping[str, Analysis]
"""Runs by their labels."""


@dataclass(frozen=True)
class Outcome:
    """The result of a comparison of sides with the side `reference`; `runs` are all by label.

    `noise` has the labels of the runs of which only the spread is used.
    """

    runs: Runs
    reference: Side
    others: Sequence[Side]
    noise: Sequence[str]
    compared: Compared
    differences: Sequence[Difference]

    @property
    def has_budget(self) -> bool:
        """Whether any cell has a budget."""
        return any(comparison.budget is not None for comparison in self.compared.comparisons)

    @property
    def summary(self) -> list[str]:
        """How many cells are what, how disturbed each side was, and how they meet their budgets."""
        lines = [disturbed for side in self._sides if (disturbed := _disturbed(side))]
        for side in self.others:
            cells = [c.verdict for c in self.compared.comparisons if c.run == side.label]
            counts = [f"{cells.count(v)} {v}" for v in CellVerdict if v in cells]
            against = f"{side.label} against {self.reference.label}"
            lines.append(f"{against}: {len(cells)} cells, {', '.join(counts)}")
        if self.has_budget:
            over = len(self.compared.over)
            of_runs = self.unit == "runs" and all(c.unit != "trials" for c in self.compared.over)
            line = (
                f"over budget {'beyond doubt' if of_runs else 'in these runs'}: "
                f"{over or 'no'} cell{'' if over == 1 else 's'}"
            )
            lines.append(line if of_runs or not over else f"{line}; {_NIGHTS}")
        if unchecked := self.compared.unchecked:
            gone = sum(isinstance(one, Absence) for one in unchecked)
            parts = [show_count(len(unchecked), "cell")]
            parts += [f"{gone} of them only in {self.reference.label}"] if gone else []
            parts += ["the remarks say why"] if gone < len(unchecked) else []
            lines.append(f"not checked against a budget: {'; '.join(parts)}")
        return lines

    @property
    def _sides(self) -> Sequence[Side]:
        return (self.reference, *self.others)

    @property
    def unit(self) -> Unit:
        """What the intervals take for samples."""
        several = any(len(side.named) > 1 for side in self._sides)
        return "runs" if self.noise or several else "trials"

    @property
    def method(self) -> str:
        """How the ratios and their intervals were made, and what they can tell."""
        others = " or ".join(side.label for side in self.others)
        ratio = _RATIO.format(others=others, reference=self.reference.label)
        cells = (cell for side in self._sides for one in side.runs for cell in one.cells)
        if any(cell.response for cell in cells):
            ratio += _OF_RESPONSES
        if self.unit == "trials":
            may_stop = any(one.run.stop for side in self._sides for one in side.runs)
            return ratio + _OF_TRIALS + (_OF_INTERIM if may_stop else "")
        groups = [side.label for side in self._sides if len(side.runs) > 1]
        return ratio + _OF_RUNS.format(
            groups="; ".join([*groups, ", ".join(self.noise)]).strip("; ")
        )


def _disturbed(side: Side) -> str:
    """Return how many trials of a side a disturbance hit, and which are the most; "" for none."""
    trials = [t.trial for one in side.runs for cell in one.cells for t in cell.counted]
    found = [{one.limit for one in disturbances(trial)} for trial in trials]
    hit = sum(map(bool, found))
    if not hit:
        return ""
    limits = Counter(limit for limits in found for limit in limits)
    named = ", ".join(f"{limit}: {count}" for limit, count in limits.most_common(_MOST_LIMITS))
    return f"{side.label}: a disturbance hit {hit} of {len(trials)} trials ({named})"


def labels(runs: Sequence[Run]) -> list[str]:
    """Return a label for each run: its name, or its place when two runs have the same name."""
    names = [run.name for run in runs]
    if len(set(names)) == len(names):
        return names
    paths = [run.archived or str(run.directory) for run in runs]
    for name, path in zip(names, paths, strict=True):
        if paths.count(path) > 1:
            raise InputError(f"the run {name} is given twice; name two or more different runs")
    return paths


def compare(
    first: Runs, others: Runs, noise: Runs, budget: Budget, *, together: bool = False
) -> Outcome:
    """Compare runs with the first ones: each for itself, or `together` as one side.

    Only the spread of the runs of `noise` is used. Raises InputError when the runs have nothing in
    common, or when a single run is to show a spread.
    """
    if len(noise) == 1:
        raise InputError(
            f"{next(iter(noise))} alone does not show how runs differ; name two or more repeated "
            "runs of the same systems after --noise"
        )
    reference = Side(first)
    sides = [Side(others)] if together else [Side({name: run}) for name, run in others.items()]
    runs = {**first, **others, **noise}
    return Outcome(
        runs,
        reference,
        sides,
        list(noise),
        compare_cells(reference, sides, list(noise.values()), budget),
        find_differences(list(runs.values())),
    )


def print_text(outcome: Outcome) -> None:
    """Print the cells, what only one run has, and what differs around them."""
    out = console()
    for side in outcome.others:
        print_table(_cells(outcome, side.label))
    for absence in outcome.compared.absences:
        out.print(Text(f"only in {absence.only_in}: {names_in(absence.factors)}"))
    out.print(_differences(outcome))
    for line in (outcome.method, *outcome.summary):
        out.print(Text(line))


def as_json(outcome: Outcome) -> str:
    """Return everything as JSON: times in ms, null where there is none, with the reason."""
    content = {
        "runs": list(outcome.runs),
        "against": list(outcome.reference.named),
        "noise": list(outcome.noise),
        "unit": outcome.unit,
        "method": outcome.method,
        "cells": [_record(comparison) for comparison in outcome.compared.comparisons],
        "only_in_one": [
            {**vars(absence), "factors": dict(absence.factors)}
            for absence in outcome.compared.absences
        ],
        "differences": [
            {"subject": d.subject, "values": dict(zip(outcome.runs, d.values, strict=True))}
            for d in outcome.differences
        ],
        "summary": outcome.summary,
        "disturbed": {
            side.label: _disturbed(side) for side in (outcome.reference, *outcome.others)
        },
        "over_budget": len(outcome.compared.over),
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)


def as_html(outcome: Outcome) -> str:
    """Return one HTML page that needs no other file and no network."""
    environment = templates_in("report/compare")
    environment.filters.update(level=show_level, name=names_in, time=_time)
    return environment.get_template("page.html.j2").render(
        outcome=outcome,
        first=outcome.reference.label,
        others=[side.label for side in outcome.others],
        factors=list(outcome.reference.runs[0].run.factors),
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
    first = outcome.reference.label
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
            Text(show_estimate(c.ratio, c.show) if c.ratio else ""),
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
    table = Table(title="Other differences", title_justify="left")
    table.add_column("what", overflow="fold")
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
        "unit": comparison.unit,
        "p_value": comparison.p_value,
        "verdict": comparison.verdict,
        "reason": comparison.reason,
        "budget": comparison.budget,
        "is_over_budget": comparison.is_over,
    }


def _side(cell: SideCell) -> dict[str, Any]:
    return {
        "outcome": cell.outcome,
        "mean_ms": cell.mean_ms,
        "runs": len(cell.well),
        "trials": sum(map(len, cell.samples)),
        "calls": cell.total("calls"),
        "errors": cell.total("errors"),
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _time(cell: SideCell) -> str:
    return cell.outcome if cell.mean_ms is None else show(cell.mean_ms)
