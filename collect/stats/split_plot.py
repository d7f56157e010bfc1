"""Analysis of variance where a factor is hard to change, so that blocks have it in whole plots."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text
from scipy import stats

from collect.errors import InputError
from collect.stats.anova import ROUNDING, Kind, Observations, Source, anova, as_rows
from collect.stats.components import centred
from collect.stats.estimates import FEWEST_BLOCKS, Estimate
from collect.stats.spending import CONFIDENCE, ERROR, corrected

_REST = 1e-12
"""What a difference of two sums of squares leaves below this share of the first is rounding."""


@dataclass(frozen=True)
class LevelDifference:
    """The mean of one level of a factor less that of another, with an interval for all pairs."""

    factor: str
    first: str
    second: str
    difference: Estimate
    p_value: float


def split_plot(
    observations: Observations, whole: Sequence[str], error: float = ERROR
) -> list[Source]:
    """Return the table of a split-plot design (Yates 1935), in randomised complete blocks.

    All observations of a block with the same levels of the `whole` factors are one whole plot, set
    up once: these factors are tested against the differences between whole plots (blocks times
    factor), everything else against the error within them. What is tested against whole plots of
    fewer than FEWEST_BLOCKS blocks has no F and no P-value. These are those of an analysis that may
    err as often as `error`. Where the real plots of the observations are more, because factors that
    are not in the table differ between them too, those differences have a row and are no part of
    the error within. Raises InputError unless every block has every combination of levels equally
    often, and every real plot all levels of the other factors.
    """
    _check(observations, whole)
    *rows, left, total = anova(observations)
    plots = _error(observations, whole, total.ss)
    above = [row for row in rows if _is_above(row, observations, whole)]
    below = [row for row in rows if not _is_above(row, observations, whole)]
    between = [plots, *_other_plots(observations, whole, [*above, plots], total.ss)]
    rest = left.ss - sum(row.ss for row in between)
    within = replace(
        left,
        ss=rest if rest > _REST * left.ss else 0.0,
        df=left.df - sum(row.df for row in between),
    )
    if within.df < 1 and below:
        raise InputError(
            f"the error within whole plots, against which {below[0].source!r} is tested, has no "
            "degrees of freedom; add replicates"
        )
    enough = not too_few(observations)
    tested = (_tested(row, plots, error) if enough else _untested(row) for row in above)
    result = [*tested, *between]
    if within.df > 0:
        within = replace(within, ms=within.ss / within.df, share=within.ss / total.ss)
        result += [*(_tested(row, within, error) for row in below), within]
    return [*result, total]


def too_few(observations: Observations) -> str:
    """Return in words why so few blocks say nothing of a whole-plot factor; "" where they do."""
    blocks = len(set(observations.blocks))
    if blocks >= FEWEST_BLOCKS:
        return ""
    return (
        f"no verdict on effects that are tested against the whole plots: there are {blocks} "
        f"blocks, but {FEWEST_BLOCKS} are needed; run more blocks"
    )


def decided(levels: Sequence[str], settings: Sequence[str]) -> bool:
    """Tell whether the level of a factor follows from the setting of each observation."""
    return len(set(zip(levels, settings, strict=True))) == len(set(settings))


def parted(levels: Sequence[str], settings: Sequence[str]) -> bool:
    """Tell whether some levels of a factor share a setting and others do not."""
    met: dict[str, set[str]] = {}
    for level, setting in zip(levels, settings, strict=True):
        met.setdefault(level, set()).add(setting)
    pairs = combinations(met.values(), 2)
    return len({first.isdisjoint(second) for first, second in pairs}) > 1


def strata(observations: Observations, whole: Sequence[str], table: Sequence[Source]) -> list[str]:
    """Return a sentence for each stratum: what is tested in it, and against how much."""
    errors = {row.kind: row for row in table}
    effects = [row for row in table if row.kind in (Kind.FACTOR, Kind.INTERACTION)]
    above = [row.source for row in effects if _is_above(row, observations, whole)]
    below = [row.source for row in effects if not _is_above(row, observations, whole)]
    plots, within = errors[Kind.WHOLE_PLOT_ERROR], errors.get(Kind.WITHIN)
    number, blocks = _plots(observations, whole), len(set(observations.blocks))
    lines = [
        f"Between whole plots ({number} in {blocks} blocks): {', '.join(above)} against "
        f"{plots.source}, {plots.df} degrees of freedom."
    ]
    if other := errors.get(Kind.OTHER_PLOTS):
        lines.append(
            f"{other.source}: {other.df} degrees of freedom between whole plots that differ in "
            "no factor of this table."
        )
    if within and below:
        lines.append(
            f"Within whole plots: {', '.join(below)} against {within.source}, {within.df} degrees "
            "of freedom."
        )
    return [*lines, *filter(None, [too_few(observations)])]


def level_differences(
    observations: Observations, whole: Sequence[str], table: Sequence[Source]
) -> list[LevelDifference]:
    """Return the differences of all pairs of levels of each factor, each by its own error.

    Intervals and p-values are Tukey's and hold for all pairs of a factor at once. A whole-plot
    factor in too few blocks has none.
    """
    errors = {row.kind: row for row in table}
    of_plots = errors[Kind.WHOLE_PLOT_ERROR]
    found = []
    for factor, levels in zip(observations.factors, observations.levels, strict=True):
        if factor in whole and too_few(observations):
            continue
        error = of_plots if factor in whole else errors.get(Kind.WITHIN, of_plots)
        names = sorted(set(levels))
        means = [float(observations.response[np.array(levels) == name].mean()) for name in names]
        share = len(levels) / len(names)
        scale = ((error.ms or 0.0) / share) ** 0.5
        half = scale * float(stats.studentized_range.ppf(CONFIDENCE, len(names), error.df))
        for one, other in combinations(range(len(names)), 2):
            gap = means[one] - means[other]
            p = float(stats.studentized_range.sf(abs(gap) / scale, len(names), error.df))
            estimate = Estimate(gap, gap - half, gap + half, round(share))
            found.append(LevelDifference(factor, names[one], names[other], estimate, p))
    return found


def as_rows_and_differences(
    observations: Observations, whole: Sequence[str], table: Sequence[Source]
) -> list[dict[str, Any]]:
    """Return the rows of the table for JSON, with error terms and differences between levels."""
    errors = {row.kind: row.source for row in table}

    def error_of(row: Source) -> str | None:
        if row.kind not in (Kind.FACTOR, Kind.INTERACTION, Kind.BLOCK):
            return None
        kind = Kind.WHOLE_PLOT_ERROR if _is_above(row, observations, whole) else Kind.WITHIN
        return errors[kind]

    differences = level_differences(observations, whole, table)
    return [
        {
            **columns,
            "Error term": error_of(row),
            "Differences": [
                {
                    "levels": [one.first, one.second],
                    "difference": one.difference.value,
                    "ci95_low": one.difference.low,
                    "ci95_high": one.difference.high,
                    "p_value": one.p_value,
                }
                for one in differences
                if row.kind == Kind.FACTOR and one.factor == row.source
            ],
        }
        for row, columns in zip(table, as_rows(table), strict=True)
    ]


def as_table(differences: Sequence[LevelDifference]) -> Table:
    """Return the differences for a terminal."""
    shown = Table(box=None, pad_edge=False, header_style="")
    shown.add_column("Factor")
    shown.add_column("Levels")
    for name in ("Difference", "95 % interval (Tukey)", "P-value"):
        shown.add_column(name, justify="right")
    for one in differences:
        ends = f"[{one.difference.low:.6g}, {one.difference.high:.6g}]"
        shown.add_row(
            Text(one.factor),
            Text(f"{one.first} - {one.second}"),
            f"{one.difference.value:.6g}",
            Text(ends),
            f"{one.p_value:.3g}",
        )
    return shown


def _is_above(row: Source, observations: Observations, whole: Sequence[str]) -> bool:
    """Return whether a row is tested against the whole plots."""
    if row.kind is Kind.INTERACTION:
        return set(whole) == set(observations.factors)
    return row.kind is Kind.BLOCK or row.source in whole


def _check(observations: Observations, whole: Sequence[str]) -> None:
    unknown = [name for name in whole if name not in observations.factors]
    if unknown or not whole:
        raise InputError(
            f"whole plot {''.join(unknown[:1])!r} is not a factor; name one of "
            f"{', '.join(observations.factors)}, as given by --factor"
        )
    if not len(observations.blocks):
        raise InputError(
            "whole plots lie in blocks, but no block is given; name their column with --block"
        )
    _check_equal("block and levels", observations.blocks, *observations.levels)
    if _has_plots(observations, whole):
        _check_equal(
            "block, whole plot and levels",
            observations.blocks,
            observations.plots,
            *(_levels(observations, name) for name in observations.factors if name not in whole),
        )


def _check_equal(names: str, *columns: Sequence[str]) -> None:
    """Refuse columns of which some combinations are less often than others."""
    counts = Counter(zip(*columns, strict=True))
    wanted = prod(len(set(column)) for column in columns)
    if len(counts) < wanted or len(set(counts.values())) > 1:
        least = min(counts, key=lambda cell: counts[cell])
        what = f"{wanted - len(counts)} combinations of {names} have no observation"
        if len(counts) == wanted:
            what = f"{', '.join(least)} has {counts[least]} observations, others have more"
        raise InputError(
            f"{what}; whole plots need complete blocks: complete the block, or remove it"
        )


def _levels(observations: Observations, factor: str) -> tuple[str, ...]:
    return observations.levels[observations.factors.index(factor)]


def _has_plots(observations: Observations, whole: Sequence[str]) -> bool:
    """Tell whether the real plots are known, and the factors are constant within each."""
    return bool(observations.plots) and all(
        decided(_levels(observations, name), observations.plots) for name in whole
    )


def _error(observations: Observations, whole: Sequence[str], total: float) -> Source:
    """Return how far whole plots differ beyond what blocks and whole-plot factors explain."""
    chosen = [
        levels
        for name, levels in zip(observations.factors, observations.levels, strict=True)
        if name in whole
    ]
    blocks, of_block = np.unique(observations.blocks, return_inverse=True)
    plots = list(dict.fromkeys(zip(*chosen, strict=True)))
    of_plot = np.array([plots.index(levels) for levels in zip(*chosen, strict=True)])
    means = np.zeros((len(blocks), len(plots)))
    np.add.at(means, (of_block, of_plot), observations.response - observations.response.mean())
    size = len(of_plot) / means.size
    left = centred(means / size)
    ss, df = size * float((left**2).sum()), (len(blocks) - 1) * (len(plots) - 1)
    ss = ss if ss > ROUNDING * total else 0.0
    name, kind = observations.row_name(Kind.WHOLE_PLOT_ERROR), Kind.WHOLE_PLOT_ERROR
    return Source(name, ss, df, ss / df, None, None, None, ss / total, kind)


def _other_plots(
    observations: Observations, whole: Sequence[str], known: Sequence[Source], total: float
) -> list[Source]:
    """Return the row of how far the real plots differ beyond what `known` explains, if they can."""
    if not _has_plots(observations, whole):
        return []
    of_each = list(zip(observations.blocks, observations.plots, strict=True))
    plots = {plot: number for number, plot in enumerate(dict.fromkeys(of_each))}
    response = observations.response - observations.response.mean()
    sums = np.bincount([plots[plot] for plot in of_each], weights=response)
    size = len(of_each) / len(plots)
    ss = float((sums**2).sum()) / size - sum(row.ss for row in known)
    df = len(plots) - 1 - sum(row.df for row in known)
    if df < 1:
        return []
    ss, name = max(ss, 0.0), observations.row_name(Kind.OTHER_PLOTS)
    return [Source(name, ss, df, ss / df, None, None, None, ss / total, Kind.OTHER_PLOTS)]


def _plots(observations: Observations, whole: Sequence[str]) -> int:
    """Return how many whole plots there are, over all blocks."""
    if _has_plots(observations, whole):
        return len(set(zip(observations.blocks, observations.plots, strict=True)))
    levels = [_levels(observations, name) for name in whole]
    return len(set(zip(observations.blocks, *levels, strict=True)))


def _untested(row: Source) -> Source:
    return replace(row, f=None, p_value=None, f_crit=None)


def _tested(row: Source, against: Source, error: float) -> Source:
    """Return the row of a source, tested against that of its error."""
    if not against.ms:
        raise InputError(
            f"{against.source} is 0, so nothing can be tested against it; give observations that "
            "vary"
        )
    f = (row.ms or 0.0) / against.ms
    return replace(
        row,
        f=f,
        p_value=corrected(float(stats.f.sf(f, row.df, against.df)), error),
        f_crit=float(stats.f.ppf(1 - error, row.df, against.df)),
    )
