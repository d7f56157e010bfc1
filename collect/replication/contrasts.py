"""Tables of comparisons: groups of samples, pairs of groups, system against system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from collect.cells.notation import show_level
from collect.replication.evidence import Measured
from collect.replication.exhibits import Entry, Header, Table, headings
from collect.run.cell import Cell, level_text
from collect.stats.estimates import Estimate, geometric_t
from collect.stats.groups import (
    Groups,
    PairTest,
    check_residuals,
    compare_in_blocks,
    compare_means,
    compare_pairs,
    compare_pairs_in_blocks,
    hedges_of_pairs,
    holm,
    p_of_ratio,
)
from collect.stats.repeated import CONFIDENCE, pay

_FAINT = 1e-300
"""Near the smallest number that a double holds with all its digits: below it digits are lost."""


@dataclass(frozen=True)
class Sample:
    """Groups under one name; `are_samples` is false where values stand for a printed variance.

    With `in_blocks` each group has one value a block, and values at the same place share theirs.
    What is computed of them pays for `looks` looks.
    """

    name: str
    labels: Sequence[str]
    groups: Groups
    is_published: bool = False
    are_samples: bool = True
    in_blocks: bool = False
    looks: int = 1


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


def robust_table(samples: Sequence[Sample]) -> Table:
    """Compare F with the tests that do not need equal variances."""
    rows = []
    for sample in samples:
        compare = compare_in_blocks if sample.in_blocks else compare_means
        for test in compare(sample.groups):
            row = [
                Entry(sample.name, is_published=sample.is_published),
                Entry(test.name, is_published=sample.is_published),
                value_entry(test.statistic, is_published=sample.is_published),
                *(value_entry(d, is_published=sample.is_published) for d in test.degrees),
                p_entry(pay(test.p_value, sample.looks), is_published=sample.is_published),
            ]
            rows.append(row)
    return Table(
        id="robust-tests",
        title="F beside robust tests",
        caption="Whether the cells of an experiment have one mean. Trials that were measured in "
        "whole blocks are compared inside them: by F with the block in its model; by F of aligned "
        "ranks, on which one slow trial weighs little; and by Friedman, who takes the order inside "
        "each block alone, and finds less. Where there are no blocks, F takes the variances for "
        "equal; Welch and Brown-Forsythe do not, but over many small cells Welch finds in 13 to "
        "29 of 100 cases a difference that is not there, instead of 5. No verdict hangs on this "
        "table. A sample whose cells have one trial, or no variance, is left out.",
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
        caption="What is left when the mean of each cell is taken off, and of each block where "
        "trials are in whole blocks. F assumes that it is normal (Shapiro-Wilk inside each cell, "
        "whatever its variance, combined over cells) and of one variance everywhere (Levene, about "
        "medians): a small P-value speaks against. The last columns say how much of it comes from "
        "the two worst cells. Printed summaries have variances alone.",
        heads=[
            headings(
                *("numbers", "normal, P-value", "equal variances, P-value"),
                *("largest / smallest variance", "from two cells", "which"),
            )
        ],
        rows=rows,
    )


def pairs_table(title: str, samples: Sequence[Sample], unit: str) -> Table:
    """Compare every pair of groups of each sample, family-wise, side by side."""
    found: list[Mapping[tuple[str, str], PairTest]] = [
        {
            (sample.labels[pair.first], sample.labels[pair.second]): pair
            for pair in (compare_pairs_in_blocks if sample.in_blocks else compare_pairs)(
                sample.groups, sample.looks
            )
        }
        for sample in samples
    ]
    names = list(dict.fromkeys(label for sample in samples for label in sample.labels))
    rows = []
    for names_of_pair in combinations(names, 2):
        row = [Entry(name) for name in names_of_pair]
        for sample, pairs in zip(samples, found, strict=True):
            pair, printed = pairs.get(names_of_pair), sample.is_published
            row += [
                Entry(estimate=pair.difference if pair else None, is_published=printed),
                p_entry(pair.p_value if pair else None, is_published=printed),
                value_entry(pair.effect if pair else None, is_published=printed),
            ]
        if any(names_of_pair in pairs for pairs in found):
            rows.append(row)
    columns = (f"difference, {unit}", "P-value", "effect, g")
    return Table(
        id="pairs",
        title=title,
        caption="The first less the second, for every pair: trials in whole blocks by Tukey "
        "against what is left inside the blocks, others by Games and Howell. Intervals and "
        "P-values hold for all pairs at once, so that among them one false alarm is as rare as in "
        "a single test. The effect is Hedges' g, the difference in standard deviations of a "
        "sample, without blocks where there are any; trials vary less than calls, so theirs is "
        "larger.",
        heads=[
            [Header("", 2), *(Header(sample.name, 3) for sample in samples)],
            headings("first", "second", *columns * len(samples)),
        ],
        rows=rows,
    )


@dataclass(frozen=True)
class _SystemPair:
    first: Cell
    second: Cell
    ratio: Estimate
    p_value: float | None
    effect: float | None


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
        rows.append(
            [
                *(Entry(show_level(level), sort=level) for level in setting),
                *sides,
                Entry(estimate=contrast.ratio),
                p_entry(p_value),
                value_entry(contrast.effect),
                Entry(_faster(contrast, p_value, [side.text for side in sides])),
            ]
        )
    return Table(
        id="systems",
        title="System against system",
        caption="Time of the first over time of the second at each setting: geometric mean of one "
        "ratio a block with its 95 % interval. P-values are corrected over all rows (Holm), and "
        "only they decide what is called faster. The effect is Hedges' g of the logs of trial "
        "means, without what the trials of a block have in common.",
        heads=[
            headings(
                *(name.replace("_", " ") for name in rest),
                *("first", "second", "first / second", "P-value", "effect, g", "faster"),
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
        for pair in combinations(ran, 2):
            samples = [measured.samples(cell) for cell in pair]
            blocks = sorted(samples[0].keys() & samples[1].keys())
            rows = [(samples[0][b], samples[1][b]) for b in blocks]
            ratios = [first / second for first, second in rows if min(first, second) > 0]
            if ratios:
                effect = hedges_of_pairs(np.log(ratios).tolist())
                ratio = replace(geometric_t(ratios, measured.looks), lost=measured.lost(pair))
                p_value = p_of_ratio(ratios, measured.looks)
                found.append(_SystemPair(*pair, ratio, p_value, effect))
    return found


def _faster(contrast: _SystemPair, p_value: float | None, names: Sequence[str]) -> str:
    if p_value is None:
        return "too few trials to tell"
    if p_value >= 1 - CONFIDENCE:
        return "no difference found"
    return names[1] if contrast.ratio.value > 1 else names[0]
