"""Tables of comparisons: groups of samples, pairs of groups, system against system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from collect.cells.notation import show_level
from collect.replication.evidence import Measured
from collect.replication.exhibits import Entry, Table, headings
from collect.run.cell import Cell, level_text
from collect.stats.estimates import Estimate, geometric_t
from collect.stats.groups import (
    Groups,
    check_residuals,
    compare_in_blocks,
    holm,
    p_of_ratio,
)
from collect.stats.spending import ERROR, corrected

_FAINT = 1e-300
"""Near the smallest number that a double holds with all its digits: below it digits are lost."""


@dataclass(frozen=True)
class Sample:
    """Groups under one name; `are_samples` is false where values stand for a printed variance.

    With `in_blocks` each group has one value a block, and values at the same place share theirs.
    `error` is how often what is computed of them may miss.
    """

    name: str
    labels: Sequence[str]
    groups: Groups
    is_published: bool = False
    are_samples: bool = True
    in_blocks: bool = False
    error: float = ERROR


def value_entry(value: float | None, *, is_published: bool = False) -> Entry:
    """Return the entry of a number without an interval."""
    if value is None:
        return Entry(is_published=is_published)
    return Entry(estimate=Estimate(value, value, value), is_published=is_published)


def p_entry(value: float | None, *, is_published: bool = False) -> Entry:
    """Return the entry of a p-value; a value too small for a number is written as a bound."""
    if value is not None and value < _FAINT:
        return Entry(f"< {_FAINT:g}", sort=0.0, is_published=is_published)
    return value_entry(value, is_published=is_published)


def percent_entry(share: float | None, *, is_published: bool = False) -> Entry:
    """Return the entry of a share in per cent."""
    if share is None:
        return Entry(is_published=is_published)
    return Entry(f"{100 * share:.1f} %", sort=share, is_published=is_published)


def ranks_table(samples: Sequence[Sample]) -> Table:
    """Compare F of logs inside blocks with F of aligned ranks."""
    rows = [
        [
            Entry(sample.name),
            Entry(test.name),
            value_entry(test.statistic),
            *map(value_entry, test.degrees),
            p_entry(corrected(test.p_value, sample.error)),
        ]
        for sample in samples
        if sample.in_blocks
        for test in compare_in_blocks(sample.groups)
    ]
    return Table(
        id="aligned-ranks",
        title="F and aligned ranks",
        caption="The table tests whether all cells of an experiment have one mean. It uses the "
        "logs of trial means from whole blocks. F has the block in its model. F of aligned ranks "
        "gives one slow trial little weight. No verdict depends on this table. Samples without two "
        "whole blocks are skipped.",
        heads=[headings("numbers", "test", "statistic", "df", "df of the residual", "P-value")],
        rows=rows,
    )


def residual_table(samples: Sequence[Sample]) -> Table:
    """Show whether residuals are what F assumes."""
    rows = []
    for sample in samples:
        found = check_residuals(
            sample.groups, are_samples=sample.are_samples, in_blocks=sample.in_blocks
        )
        if found is None:
            continue
        printed = sample.is_published
        worst = "; ".join(sample.labels[place] for place in found.worst)
        rows.append(
            [
                Entry(sample.name, is_published=printed),
                p_entry(found.normal_p, is_published=printed),
                p_entry(found.equal_p, is_published=printed),
                value_entry(found.variance_ratio, is_published=printed),
                percent_entry(found.worst_share, is_published=printed),
                Entry(worst, is_published=printed),
            ]
        )
    return Table(
        id="residuals",
        title="Residual check",
        caption="A residual is a value minus the mean of its cell, and of its block where trials "
        "are in whole blocks. For trials, the value is the log of the mean. F assumes that "
        "residuals are normal and have one variance. Shapiro-Wilk tests the first inside each "
        "cell; Levene's test, about medians, the second. A small P-value speaks against the "
        "assumption. The last columns show the share of the two worst cells. Printed summaries "
        "have variances only.",
        heads=[
            headings(
                *("numbers", "normal, P-value", "equal variances, P-value"),
                *("largest / smallest variance", "from two cells", "which"),
            )
        ],
        rows=rows,
    )


@dataclass(frozen=True)
class _SystemPair:
    first: Cell
    second: Cell
    ratio: Estimate | None
    p_value: float | None
    why_untested: str


def systems_table(measured: Measured, system: str, names: Mapping[str, str]) -> Table:
    """Compare the levels of the factor `system` at each setting of the others."""
    contrasts = list(_contrasts(measured, system))
    tested = [contrast.p_value for contrast in contrasts if contrast.p_value is not None]
    corrected = iter(holm(tested))
    rest = measured.keys[0].without(system)
    rows = []
    for contrast in contrasts:
        setting = contrast.first.without(system).levels
        sides = [
            Entry(names.get(level_text(cell[system]), show_level(cell[system])), cell=cell)
            for cell in (contrast.first, contrast.second)
        ]
        p_value = None if contrast.p_value is None else next(corrected)
        is_told = p_value is not None and p_value < ERROR
        rows.append(
            [
                *(Entry(show_level(level), sort=level) for level in setting),
                *sides,
                Entry(estimate=contrast.ratio, limits=(1,) if is_told else ()),
                p_entry(p_value),
                Entry(_faster(contrast, p_value, [side.text for side in sides])),
            ]
        )
    return Table(
        id="systems",
        title="System against system",
        caption="Time of the first over time of the second at each setting: geometric mean of one "
        "ratio a block with its 95 % interval. P-values are corrected over all rows (Holm), and "
        "only they decide what is called faster.",
        heads=[
            headings(
                *(name.replace("_", " ") for name in rest),
                *("first", "second", "first / second", "P-value", "faster"),
            )
        ],
        rows=rows,
    )


def _contrasts(measured: Measured, system: str) -> Sequence[_SystemPair]:
    found = []
    settings: dict[Cell, list[Cell]] = {}
    for cell in measured.keys:
        settings.setdefault(cell.without(system), []).append(cell)
    for cells in settings.values():
        ran = [cell for cell in cells if measured.value(cell) is not None]
        found += [_compared(measured, pair) for pair in combinations(ran, 2)]
    return found


def _compared(measured: Measured, pair: tuple[Cell, Cell]) -> _SystemPair:
    first, second = (measured.samples(cell) for cell in pair)
    rows = [(first[block], second[block]) for block in sorted(first.keys() & second.keys())]
    ratios = [one / other for one, other in rows if min(one, other) > 0]
    why = _why_untested(measured, pair, rows, ratios)
    if not ratios:
        return _SystemPair(*pair, None, None, why)
    ratio = replace(geometric_t(ratios, measured.error), lost=measured.lost(pair))
    if why:
        return _SystemPair(*pair, replace(ratio, low=None, high=None), None, why)
    p_value = p_of_ratio(ratios, measured.error)
    return _SystemPair(*pair, ratio, p_value, "all ratios are equal: no test")


def _why_untested(
    measured: Measured,
    pair: tuple[Cell, Cell],
    rows: Sequence[tuple[float, float]],
    ratios: Sequence[float],
) -> str:
    """Return why two cells are not tested, "" where they are if their ratios vary."""
    if not rows:
        return "no block holds both"
    if len(ratios) < len(rows):  # see Measured.statistic
        return "times of 0 ms have no ratio"
    plots = measured.whole_plots(pair)
    too_few = len(ratios) < 2 or bool(plots and plots.too_few(len(ratios)))
    return "too few trials to tell" if too_few else ""


def _faster(contrast: _SystemPair, p_value: float | None, names: Sequence[str]) -> str:
    if contrast.ratio is None or p_value is None:
        return contrast.why_untested
    if p_value >= ERROR:
        return "no difference found"
    return names[1] if contrast.ratio.value > 1 else names[0]
