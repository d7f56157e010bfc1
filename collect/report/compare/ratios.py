"""Compares each cell of a run with the same cell of the first run."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from scipy import stats

from collect.cells.analysis import Analysis
from collect.cells.cells import NOT_RUN, CellResult
from collect.errors import InputError
from collect.report.compare.budget import Budget
from collect.run.cell import Cell, Level
from collect.stats.estimates import CONFIDENCE, Estimate
from collect.stats.groups import holm

ALPHA = 1 - CONFIDENCE
_ROUNDING = 1e-12


class CellVerdict(StrEnum):
    """What the comparison says of a cell."""

    FASTER = "faster"
    SLOWER = "slower"
    UNTOLD = "cannot be told"
    BROKEN = "fails now"
    MENDED = "runs now"


@dataclass(frozen=True)
class Contrast:
    """The ratio of two samples of times with its interval; `p_value` is that of no difference.

    `p_budget` is that of a ratio equal to the budget, None without one.
    """

    ratio: Estimate
    p_value: float
    p_budget: float | None = None


@dataclass(frozen=True)
class Comparison:
    """One cell of `run` against the first run; `p_value` is corrected for all cells compared.

    `ratio` is above 1 when the cell got slower; None, like `p_value`, with a `reason`.
    """

    run: str
    factors: Cell
    before: CellResult
    after: CellResult
    verdict: CellVerdict
    reason: str = ""
    ratio: Estimate | None = None
    p_value: float | None = None
    budget: float | None = None
    is_over: bool = False


@dataclass(frozen=True)
class Absence:
    """A cell that the run `only_in` planned and another did not."""

    only_in: str
    other: str
    factors: Cell


@dataclass(frozen=True)
class Compared:
    """All cells of all runs against those of the first."""

    comparisons: Sequence[Comparison]
    absences: Sequence[Absence]

    @property
    def over(self) -> list[Comparison]:
        """The cells that exceed their budget."""
        return [comparison for comparison in self.comparisons if comparison.is_over]


def compare_cells(runs: Mapping[str, Analysis], budget: Budget) -> Compared:
    """Compare the cells of each run with those of the first; `runs` is by label, in order.

    Differences are tested at 5 % over all cells and runs together, by Holm's correction, and so
    is what exceeds a budget. A cell that ran in the first run and fails in another exceeds any
    budget. Raises InputError when the runs have no cell in common.
    """
    (first, base), *others = runs.items()
    budget.check(_levels(list(runs.values())))
    raw: list[tuple[Comparison, Contrast | None]] = []
    absences: list[Absence] = []
    before = _cells(base)
    for label, analysis in others:
        after = _cells(analysis)
        _check_common(first, base, label, analysis, before.keys() & after.keys())
        raw += [_compared(label, before[key], after[key], budget) for key in before if key in after]
        absences += [Absence(first, label, key) for key in before if key not in after]
        absences += [Absence(label, first, key) for key in after if key not in before]
    return Compared(_corrected(raw), absences)


def contrast(
    before: Sequence[float], after: Sequence[float], budget: float | None = None
) -> Contrast | str:
    """Compare trial means in ms; return the reason in words when they allow no statement.

    The contrast is the ratio after/before of geometric means with Welch's t interval of the logs:
    the means of forks vary by factors rather than by summands, and need not vary equally in both
    runs.
    """
    for name, sample in (("first", before), ("other", after)):
        if len(sample) < 2:
            return f"one trial in the {name} run; at least two are needed to know how trials vary"
        if min(sample) <= 0 or not np.isfinite(sample).all():
            return f"a mean of {min(sample):g} ms in the {name} run; ratios need times above zero"
    logs = [np.log(np.asarray(sample, dtype=float)) for sample in (after, before)]
    difference = float(np.mean(logs[0]) - np.mean(logs[1]))
    if max(np.ptp(log) for log in logs) <= _ROUNDING:
        return "the trials of each run are all equal; it is not known how they vary"
    # Of a run without variance SciPy warns that digits are lost; its result of zero is right.
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        welch = stats.ttest_ind(*logs, equal_var=False)
        shifted = stats.ttest_ind(logs[0] - np.log(budget or 1), logs[1], equal_var=False)
        interval = welch.confidence_interval(CONFIDENCE)
        low, value, high = (float(np.exp(end)) for end in (interval.low, difference, interval.high))
    p_budget = None if budget is None else float(shifted.pvalue)
    estimate = Estimate(value, low, high, len(before) + len(after))
    return Contrast(estimate, float(welch.pvalue), p_budget)


def _compared(
    label: str, before: CellResult, after: CellResult, budget: Budget
) -> tuple[Comparison, Contrast | None]:
    ratio = budget.of(after.cell)
    comparison = Comparison(label, after.cell, before, after, CellVerdict.UNTOLD, budget=ratio)
    ran, runs = before.outcome == "ok", after.outcome == "ok"
    if ran and runs:
        found = contrast(list(before.samples.values()), list(after.samples.values()), ratio)
        if isinstance(found, str):
            return replace(comparison, reason=found), None
        return replace(comparison, ratio=found.ratio, reason=_remark(before, after)), found
    reason = f"{before.outcome} in the first run, {after.outcome} in the other"
    broken = ran and after.outcome != NOT_RUN
    if broken or (runs and before.outcome != NOT_RUN):
        verdict = CellVerdict.BROKEN if broken else CellVerdict.MENDED
        over = broken and ratio is not None
        return replace(comparison, verdict=verdict, reason=reason, is_over=over), None
    return replace(comparison, reason=reason), None


def _corrected(raw: Sequence[tuple[Comparison, Contrast | None]]) -> list[Comparison]:
    tested = [found for _, found in raw if found]
    p_values = iter(holm([found.p_value for found in tested]))
    limited = iter(holm([f.p_budget for f in tested if f.p_budget is not None]))
    comparisons = []
    for comparison, found in raw:
        if found is None:
            comparisons.append(comparison)
            continue
        p_value, value = next(p_values), found.ratio.value
        p_budget = 1.0 if found.p_budget is None else next(limited)
        told = CellVerdict.SLOWER if value > 1 else CellVerdict.FASTER
        over = comparison.budget is not None and value > comparison.budget and p_budget < ALPHA
        comparisons.append(
            replace(
                comparison,
                p_value=p_value,
                verdict=told if p_value < ALPHA else CellVerdict.UNTOLD,
                is_over=over,
            )
        )
    return comparisons


def _remark(before: CellResult, after: CellResult) -> str:
    """Return in words which trials and calls of two cells are left out of their times."""
    parts = []
    for kind, left_out in (
        (
            "trials that did not end well",
            [(len(c.trials) - len(c.counted), len(c.trials)) for c in (before, after)],
        ),
        ("calls that failed", [(c.errors, c.calls + c.errors) for c in (before, after)]),
    ):
        if any(count for count, _ in left_out):
            first, other = (f"{count} of {total}" for count, total in left_out)
            parts.append(f"{kind}: {first} in the first run, {other} in the other")
    return "; ".join(parts)


def _cells(analysis: Analysis) -> dict[Cell, CellResult]:
    return {result.cell: result for result in analysis.cells}


def _levels(analyses: Sequence[Analysis]) -> dict[str, list[Level]]:
    levels: dict[str, list[Level]] = {}
    for analysis in analyses:
        for name, known in analysis.run.factors.items():
            levels.setdefault(name, []).extend(known)
    return {name: list(dict.fromkeys(known)) for name, known in levels.items()}


def _check_common(
    first: str, base: Analysis, label: str, analysis: Analysis, common: Collection[object]
) -> None:
    factors = [set(base.run.factors), set(analysis.run.factors)]
    if factors[0] != factors[1]:
        named = [", ".join(run.factors) for run in (base.run, analysis.run)]
        raise InputError(
            f"{first} has the factors {named[0]}, {label} has {named[1]}; "
            "compare runs of the same factors"
        )
    if not common:
        raise InputError(
            f"{first} and {label} have no cell in common; compare runs that share levels"
        )
