"""Compares each cell of one side with the same cell of the side that it is compared with."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from collect.cells.analysis import Analysis
from collect.cells.cells import NOT_RUN, CellResult
from collect.cells.notation import show_apart
from collect.errors import InputError
from collect.planning.interim import error_of
from collect.report.compare.budget import Budget
from collect.report.compare.contrast import Contrast, Unit, contrast
from collect.run.cell import Cell, Level
from collect.stats.estimates import Estimate, geometric_t
from collect.stats.groups import holm
from collect.stats.spending import ERROR as ALPHA

_MIXED = "an open loop in one run, a closed one in another; compare runs of one kind of loop"


class CellVerdict(StrEnum):
    """What the comparison says of a cell.

    `UNTOLD` is that of a test that found nothing, or of a cell without enough trials; `NONE` that
    of two runs alone, which allow no test of the systems.
    """

    FASTER = "faster"
    SLOWER = "slower"
    UNTOLD = "cannot be told"
    NONE = "no verdict"
    BROKEN = "fails now"
    MENDED = "runs now"


@dataclass(frozen=True)
class Side:
    """Runs of one and the same thing, taken together, by their labels."""

    named: Mapping[str, Analysis]

    @property
    def label(self) -> str:
        """The names of its runs."""
        return ", ".join(self.named)

    @property
    def runs(self) -> list[Analysis]:
        """Its runs."""
        return list(self.named.values())


@dataclass(frozen=True)
class SideCell:
    """A cell in the runs of a side that planned it; `error` is the least of their intervals'.

    `open_loops` holds for its results whether their times are response times of an open loop.
    """

    results: tuple[CellResult, ...]
    error: float
    open_loops: frozenset[bool] = frozenset()

    @property
    def cell(self) -> Cell:
        """Its levels."""
        return self.results[0].cell

    @property
    def tried(self) -> tuple[CellResult, ...]:
        """The cell in those runs that ran it, however that ended."""
        return tuple(result for result in self.results if result.outcome != NOT_RUN)

    @property
    def well(self) -> tuple[CellResult, ...]:
        """The cell in those runs in which a trial of it counts."""
        return tuple(result for result in self.results if result.outcome == "ok")

    @property
    def outcome(self) -> str:
        """`ok` when it is so in every run that tried, else the first other outcome."""
        others = (result.outcome for result in self.tried if result.outcome != "ok")
        return next(others, "ok" if self.tried else NOT_RUN)

    @property
    def samples(self) -> list[list[float]]:
        """The trial means in ms, a list for each run in which one counts."""
        return [list(result.samples.values()) for result in self.well]

    @property
    def mean_ms(self) -> float | None:
        """The geometric mean of the runs' means, the arithmetic one if one of them is 0.

        None when no trial counts.
        """
        means = [result.mean.value for result in self.well if result.mean]
        return geometric_t(means).value if means else None

    @property
    def trials(self) -> int:
        """How many trials are sealed."""
        return sum(len(result.trials) for result in self.results)

    def total(self, name: str) -> int:
        """Return the sum of a count of CellResult over the runs."""
        return sum(getattr(result, name) for result in self.results)


@dataclass(frozen=True)
class Comparison:
    """One cell of a side against the reference; `p_value` is corrected for all cells compared.

    `ratio` is above 1 when the cell got slower; None, like `unit`, with a `reason`. `p_value` is
    None as well where the unit is trials: two runs are no test of what they measured.
    """

    run: str
    factors: Cell
    before: SideCell
    after: SideCell
    verdict: CellVerdict
    reason: str = ""
    ratio: Estimate | None = None
    unit: Unit | None = None
    p_value: float | None = None
    budget: float | None = None
    is_over: bool = False

    def show(self, value: float) -> str:
        """Return a value of its ratio with the digits that tell it from what it is told to pass."""
        is_told = self.verdict in (CellVerdict.FASTER, CellVerdict.SLOWER)
        limits = [1.0] if is_told else []
        if self.is_over and self.budget is not None:
            limits.append(self.budget)
        return show_apart(value, limits)


@dataclass(frozen=True)
class Absence:
    """A cell that the side `only_in` planned and another did not.

    `budget` is that of a cell of the reference, against which the other side cannot be checked.
    """

    only_in: str
    other: str
    factors: Cell
    budget: float | None = None


@dataclass(frozen=True)
class Compared:
    """All cells of all sides against those of the reference."""

    comparisons: Sequence[Comparison]
    absences: Sequence[Absence]

    @property
    def over(self) -> list[Comparison]:
        """The cells that exceed their budget."""
        return [comparison for comparison in self.comparisons if comparison.is_over]

    @property
    def unchecked(self) -> list[Comparison | Absence]:
        """The cells with a budget that could not be checked against it."""
        found: list[Comparison | Absence] = [
            one for one in self.comparisons if not one.ratio and one.verdict is CellVerdict.UNTOLD
        ]
        return [one for one in (*found, *self.absences) if one.budget is not None]


def compare_cells(
    reference: Side, others: Sequence[Side], noise: Sequence[Analysis], budget: Budget
) -> Compared:
    """Compare the cells of each side with those of the reference.

    `noise` are runs of one and the same thing, of which only the spread is used. Differences are
    tested at 5 % over all cells and sides together, by Holm's correction, and so is what exceeds a
    budget. A cell that ran in the reference and fails in another side exceeds any budget; where it
    failed in some runs of the reference too, only if no run of the side has it. Raises InputError
    when the runs have no cell in common.
    """
    runs = [*reference.runs, *(run for side in others for run in side.runs), *noise]
    for run in runs:
        _check_factors(runs[0], run)
    budget.check(_levels(runs))
    spread = _cells(noise)
    has_nights = bool(noise) or any(len(side.named) > 1 for side in (reference, *others))
    raw: list[tuple[Comparison, Contrast | None]] = []
    absences: list[Absence] = []
    before = _cells(reference.runs)
    if noise:
        _check_common(reference.label, "the runs of --noise", before.keys() & spread.keys())
    for side in others:
        after, labels = _cells(side.runs), (reference.label, side.label)
        _check_common(reference.label, side.label, before.keys() & after.keys())
        raw += [
            _compared(labels, before[key], after[key], spread.get(key), budget)
            for key in before
            if key in after
        ]
        absences += [
            Absence(reference.label, side.label, key, budget.of(key))
            for key in before
            if key not in after
        ]
        absences += [Absence(side.label, reference.label, k) for k in after if k not in before]
    compared = _corrected(raw)
    if has_nights:
        compared = [_alone(one) if one.unit == "trials" else one for one in compared]
    return Compared(compared, absences)


def _compared(
    labels: tuple[str, str],
    before: SideCell,
    after: SideCell,
    noise: SideCell | None,
    budget: Budget,
) -> tuple[Comparison, Contrast | None]:
    ratio = budget.of(after.cell)
    comparison = Comparison(labels[1], after.cell, before, after, CellVerdict.UNTOLD, budget=ratio)
    outcomes = before.outcome, after.outcome
    if outcomes == ("ok", "ok"):
        sides = (before, after, noise) if noise else (before, after)
        if len(frozenset().union(*(side.open_loops for side in sides))) > 1:
            return replace(comparison, reason=_MIXED), None
        spread = noise.samples if noise else []
        error = min(before.error, after.error)
        found = contrast(before.samples, after.samples, spread, ratio, error)
        remark = _remark(labels, before, after)
        if isinstance(found, str):
            return replace(comparison, reason="; ".join(filter(None, [found, remark]))), None
        return replace(comparison, ratio=found.ratio, unit=found.unit, reason=remark), found
    reason = f"{outcomes[0]} in {labels[0]}, {outcomes[1]} in {labels[1]}"
    # A cell that ran in the reference and now runs nowhere is broken, whatever else failed there.
    is_gone = bool(before.well) and not after.well
    broken = outcomes[1] != NOT_RUN and (outcomes[0] == "ok" or is_gone)
    if broken or (outcomes[1] == "ok" and outcomes[0] != NOT_RUN):
        verdict = CellVerdict.BROKEN if broken else CellVerdict.MENDED
        over = broken and ratio is not None
        return replace(comparison, verdict=verdict, reason=reason, is_over=over), None
    return replace(comparison, reason=reason), None


def _alone(comparison: Comparison) -> Comparison:
    """Return a comparison of one run a side next to others of several, with that said."""
    reasons = ["no two repeated runs have this cell", comparison.reason]
    return replace(comparison, reason="; ".join(filter(None, reasons)))


def _corrected(raw: Sequence[tuple[Comparison, Contrast | None]]) -> list[Comparison]:
    p_values = iter(holm([found.p_value for _, found in raw if found and found.unit == "runs"]))
    limited = iter(holm([f.p_budget for _, f in raw if f and f.p_budget is not None]))
    comparisons = []
    for comparison, found in raw:
        if found is None:
            comparisons.append(comparison)
            continue
        value = found.ratio.value
        p_budget = 1.0 if found.p_budget is None else next(limited)
        p_value, verdict = None, CellVerdict.NONE
        if found.unit == "runs":
            p_value = next(p_values)
            told = CellVerdict.SLOWER if value > 1 else CellVerdict.FASTER
            verdict = told if p_value < ALPHA else CellVerdict.UNTOLD
        over = comparison.budget is not None and value > comparison.budget and p_budget < ALPHA
        comparisons.append(replace(comparison, p_value=p_value, verdict=verdict, is_over=over))
    return comparisons


def _remark(labels: tuple[str, str], before: SideCell, after: SideCell) -> str:
    """Return in words which runs, trials and calls of two cells are left out of their times."""
    parts = []
    for kind, left_out in (
        (
            "runs without a trial that counts",
            [(len(c.results) - len(c.well), len(c.results)) for c in (before, after)],
        ),
        (
            "trials that did not end well",
            [(c.total("failed_trials"), c.trials) for c in (before, after)],
        ),
        (
            "calls that failed",
            [(c.total("errors"), c.total("made")) for c in (before, after)],
        ),
    ):
        if any(count for count, _ in left_out):
            first, other = (f"{count} of {total}" for count, total in left_out)
            parts.append(f"{kind}: {first} in {labels[0]}, {other} in {labels[1]}")
    return "; ".join(parts)


def _cells(runs: Sequence[Analysis]) -> dict[Cell, SideCell]:
    found: dict[Cell, list[CellResult]] = {}
    errors: dict[Cell, float] = {}
    loops: dict[Cell, set[bool]] = {}
    for analysis in runs:
        for result in analysis.cells:
            found.setdefault(result.cell, []).append(result.response or result)
            errors[result.cell] = min(errors.get(result.cell, ALPHA), error_of(analysis.run))
            loops.setdefault(result.cell, set()).add(result.response is not None)
    return {
        cell: SideCell(tuple(results), errors[cell], frozenset(loops[cell]))
        for cell, results in found.items()
    }


def _levels(analyses: Sequence[Analysis]) -> Mapping[str, list[Level]]:
    levels: dict[str, list[Level]] = {}
    for analysis in analyses:
        for name, known in analysis.run.factors.items():
            levels.setdefault(name, []).extend(known)
    return {name: list(dict.fromkeys(known)) for name, known in levels.items()}


def _check_factors(first: Analysis, other: Analysis) -> None:
    if set(first.run.factors) != set(other.run.factors):
        raise InputError(
            f"{first.run.name} has the factors {', '.join(first.run.factors)}, but "
            f"{other.run.name} has {', '.join(other.run.factors)}; compare runs of the same factors"
        )


def _check_common(first: str, other: str, common: Collection[Cell]) -> None:
    if not common:
        raise InputError(
            f"{first} and {other} have no cell in common; compare runs that share levels"
        )
