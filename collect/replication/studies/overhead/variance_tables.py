"""Tables of the overhead study about its analyses of variance."""

from collections.abc import Sequence

import numpy as np

from collect.cells.notation import show_level, show_printed
from collect.replication.contrasts import Sample, p_entry, percent_entry, value_entry
from collect.replication.evidence import Evidence, Measured, Published, Untested
from collect.replication.exhibits import Entry, Table, headings
from collect.replication.studies.overhead.experiments import (
    ELEMENTS,
    LABELS,
    NAMES,
    ONE_BYTE,
    Experiment,
    in_bytes,
)
from collect.replication.studies.overhead.variance import table_of_calls, table_of_trials
from collect.run.cell import Cell
from collect.stats.anova import BLOCK, Kind, Source, standing_for


def variance_table(experiment: Experiment, published: Published, measured: Measured) -> Table:
    """Lay the printed table next to those computed from the printed and the measured numbers."""
    kinds = "One-way" if len(experiment.factors) == 1 else "Two-way"
    tables: dict[str, Sequence[Source] | Untested] = {
        "paper": published.tables[experiment.name],
        "paper, recomputed": table_of_calls(experiment, published),
        "measured: calls as samples": table_of_calls(experiment, measured),
        "measured: trials": table_of_trials(experiment, measured),
    }
    found = {name: table for name, table in tables.items() if not isinstance(table, Untested)}
    lacking = [f"{n}: {t.reason}." for n, t in tables.items() if isinstance(t, Untested)]
    *sources, within, total = [row.source for row in found["paper"]]
    rows = []
    plots = Kind.WHOLE_PLOT_ERROR.value
    for source in (*sources, BLOCK, plots, within, total):
        for name, table in found.items():
            row = next((row for row in table if row.source == source), None)
            if row is None:
                continue
            is_paper = name.startswith("paper")
            number = _printed if name == "paper" else value_entry
            rows.append(
                [
                    Entry(source),
                    Entry(name),
                    number(row.ss, is_published=is_paper),
                    Entry(show_level(row.df), sort=row.df, is_published=is_paper),
                    number(row.ms, is_published=is_paper),
                    number(row.f, is_published=is_paper),
                    p_entry(row.p_value, is_published=is_paper),
                    number(row.f_crit, is_published=is_paper),
                    percent_entry(row.share, is_published=is_paper),
                ]
            )
    return Table(
        id=f"overhead-figure-{experiment.figure}-anova",
        title=f"Figure {experiment.figure}: analysis of variance",
        caption=f"{kinds} analysis of variance. Recomputed: from the printed counts, sums and "
        "variances. Calls as samples is the paper's own method, in ms²; trials are the samples "
        "that are independent, as logs of their means, with a term for the block that each "
        "belongs to. Their critical values are simulated with the variances seen in the cells, at "
        "least those of F, and their P-values follow; where cells lie in different whole plots, "
        "or fewer than two blocks hold all cells, they are those of F. Compare F with its critical "
        "value, and shares; sums of squares are of other hardware. "
        f"{' '.join(lacking)}".rstrip(),
        heads=[
            headings(
                *("source", "numbers", "SS", "df", "MS"),
                *("F", "P-value", "F crit (95 %)", "share"),
            )
        ],
        rows=rows,
    )


def _printed(value: float | None, *, is_published: bool) -> Entry:
    text = "" if value is None else show_printed(value)
    return Entry(text, sort=value, is_published=is_published)


def samples_of(experiment: Experiment, published: Published, measured: Measured) -> list[Sample]:
    """Return the cells of an experiment as groups: printed, calls as samples, and trials."""
    kinds: list[tuple[str, Evidence]] = [
        ("paper", published),
        ("measured: calls as samples", measured),
    ]
    found = []
    for name, evidence in kinds:
        moments = {cell: evidence.moments(cell) for cell in experiment.cells(evidence)}
        known = {cell: found for cell, found in moments.items() if found}
        groups = [standing_for(sample).tolist() for sample in known.values()]
        found.append(
            Sample(
                f"{LABELS[experiment.name]}, {name}",
                [_label(experiment, cell) for cell in known],
                groups,
                is_published=evidence is published,
                are_samples=False,
            )
        )
    return [sample for sample in (*found, _trials_of(experiment, measured)) if sample.groups]


def _trials_of(experiment: Experiment, measured: Measured) -> Sample:
    """Return the logs of trial means of the blocks that have every cell.

    Of all trials if no two blocks do, or where blocks have them in different whole plots: trials
    are then not exchangeable inside a block. Nothing where a trial took 0 ms, which has no
    logarithm.
    """
    cells = [cell for cell in experiment.cells(measured) if measured.samples(cell)]
    labels = [_label(experiment, cell) for cell in cells]
    name = f"{LABELS[experiment.name]}, measured: trials"
    if any(min(measured.samples(cell).values()) <= 0 for cell in cells):
        return Sample(name, [], [], error=measured.error)
    rows = measured.rows(cells) if cells else []
    if isinstance(rows, Untested) or len(rows) < 2 or measured.whole_plots(cells):
        unpaired = [np.log(list(measured.samples(cell).values())).tolist() for cell in cells]
        return Sample(name, labels, unpaired, error=measured.error)
    groups = np.log(rows).T.tolist()
    name = f"{name} in {len(rows)} blocks"
    return Sample(name, labels, groups, in_blocks=True, error=measured.error)


def _label(experiment: Experiment, cell: Cell) -> str:
    if experiment is ELEMENTS:
        return show_level(cell["elements"])
    protocol = NAMES[str(cell["protocol"])]
    return protocol if experiment is ONE_BYTE else f"{protocol}, {in_bytes(cell['reply_bytes'])}"
