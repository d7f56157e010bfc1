"""The analyses of variance of the overhead study: of calls, as in the paper, and of trials."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from collect.cells.notation import name_of
from collect.errors import InputError
from collect.replication.evidence import Evidence, Untested
from collect.replication.studies.overhead.experiments import Experiment, published
from collect.run.cell import Cell
from collect.stats.anova import Kind, Observations, Source, anova, with_moments
from collect.stats.estimates import Moments
from collect.stats.spending import ERROR, corrected
from collect.stats.split_plot import split_plot
from collect.stats.unequal import inflation


def table_of_calls(experiment: Experiment, evidence: Evidence) -> Sequence[Source] | Untested:
    """Take each call for a sample, as the paper does, on its scale: milliseconds."""
    groups: dict[tuple[str, ...], Moments] = {}
    for cell in experiment.cells(evidence):
        moments = evidence.moments(cell)
        if moments is None:
            return Untested(f"{name_of(cell)}: no time")
        groups[experiment.levels(cell)] = moments
    if not groups:
        return Untested("the profile has no such cells")
    return _analyse(with_moments(groups, experiment.factors))


def table_of_trials(experiment: Experiment, evidence: Evidence) -> Sequence[Source] | Untested:
    """Take each trial for a sample, with the log of its mean, as ratios are to be compared.

    Blocks are in the model if there are two. Critical values are those of the variances that were
    seen, and each P-value is that of F over the part by which they are beyond the tabled ones.
    """
    cells = experiment.cells(evidence)
    response: list[float] = []
    levels: list[tuple[str, ...]] = []
    blocks: list[str] = []
    for cell in cells:
        samples = evidence.samples(cell)
        if not samples:
            return Untested(f"{name_of(cell)}: {evidence.outcome(cell)}")
        if min(samples.values()) <= 0:
            return Untested(f"{name_of(cell)}: a trial of 0 ms, which has no logarithm")
        response += np.log(list(samples.values())).tolist()
        blocks += map(str, samples)
        levels += [experiment.levels(cell)] * len(samples)
    if not levels:
        return Untested("the profile has no such cells")
    factors = tuple(zip(*levels, strict=True))
    if len(set(blocks)) < 2:
        blocks = []
    if plots := evidence.whole_plots(cells):
        return _split(experiment, evidence, cells, experiment.of_columns(plots.factors))
    observations = Observations(np.array(response), factors, experiment.factors, tuple(blocks))
    table = _analyse(observations, evidence.error)
    rows = evidence.rows(cells)
    if isinstance(table, Untested) or isinstance(rows, Untested) or len(rows) < 2:
        return table
    beyond = inflation(np.log(rows), [experiment.levels(cell) for cell in cells])
    names: dict[tuple[int, ...], str] = {
        (place,): name for place, name in enumerate(experiment.factors)
    }
    names[0, 1] = Kind.INTERACTION.value
    by_name = {names[source]: factor for source, factor in beyond.items()}
    within = next(row.df for row in table if row.source == "Within")
    return [_with(row, by_name.get(row.source, 1.0), within, evidence.error) for row in table]


def _with(row: Source, beyond: float, within: int, error: float) -> Source:
    """Return a row whose critical value is so far beyond that of F."""
    if row.f is None or row.f_crit is None:
        return row
    p_value = float(stats.f.sf(row.f / beyond, row.df, within))
    return replace(row, f_crit=row.f_crit * beyond, p_value=corrected(p_value, error))


def _analyse(
    observations: Observations, error: float = ERROR, whole: Sequence[str] | None = None
) -> Sequence[Source] | Untested:
    """Return the analysis of variance; with factors between whole plots that of a split plot."""
    try:
        if whole is None:
            return anova(observations, error)
        return split_plot(observations, whole, error)
    except InputError as fault:
        return Untested(str(fault))


def _split(
    experiment: Experiment, evidence: Evidence, cells: Sequence[Cell], whole: Sequence[str]
) -> Sequence[Source] | Untested:
    """Test what lies between whole plots against their differences, in the whole blocks."""
    rows = evidence.rows(cells)
    if isinstance(rows, Untested):
        return rows
    levels = [experiment.levels(cell) for cell in cells] * len(rows)
    blocks = [str(block) for block in range(len(rows)) for _ in cells]
    observations = Observations(
        np.log(np.ravel(rows)), tuple(zip(*levels, strict=True)), experiment.factors, tuple(blocks)
    )
    return _analyse(observations, evidence.error, whole)


def units_of(row: Source, table: Sequence[Source]) -> tuple[int, int]:
    """Return the degrees of freedom of the error that a row is tested against, and its units.

    The error of a stratum follows the rows that it tests; a printed table has one. Its units are
    the whole plots or the trials: all rows down to it have one degree of freedom less.
    """
    errors = {Kind.WHOLE_PLOT_ERROR.value, Kind.WITHIN.value}
    place = next(n for n in range(table.index(row), len(table)) if table[n].source in errors)
    return table[place].df, sum(one.df for one in table[: place + 1]) + 1


def table_for_claims(experiment: Experiment, evidence: Evidence) -> Sequence[Source] | Untested:
    """Return the printed table, else that of trials if every cell of the paper has a time."""
    printed = evidence.printed_table(experiment.name)
    if printed is not None:
        return printed
    absent = [cell for cell in experiment.cells(published()) if evidence.value(cell) is None]
    if absent:
        reason = "no time" if absent[0] in evidence.keys else "not in this profile"
        return Untested(f"{name_of(absent[0])}: {reason}")
    return table_of_trials(experiment, evidence)
