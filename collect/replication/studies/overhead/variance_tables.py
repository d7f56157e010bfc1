"""Tables of the overhead study about its analyses of variance."""

from collections.abc import Sequence

from collect.cells.notation import show_level
from collect.replication.contrasts import Sample, p_entry, percent_entry, value_entry
from collect.replication.evidence import Evidence, Measured, Published, Untested
from collect.replication.exhibits import Entry, Table, headings
from collect.replication.studies.overhead.experiments import (
    ELEMENTS,
    LABELS,
    NAMES,
    ONE_BYTE,
    Experiment,
)
from collect.replication.studies.overhead.variance import table_of_calls, table_of_trials
from collect.run.cell import Cell
from collect.stats.anova import BLOCK, Source, standing_for
from collect.stats.groups import omega_squared


def variance_table(experiment: Experiment, published: Published, measured: Measured) -> Table:
    """Lay the printed table beside those computed from the printed and the measured numbers."""
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
    for source in (*sources, BLOCK, within, total):
        for name, table in found.items():
            row = next((row for row in table if row.source == source), None)
            if row is None:
                continue
            is_paper = name.startswith("paper")
            rows.append(
                [
                    Entry(source),
                    Entry(name),
                    value_entry(row.ss, is_published=is_paper),
                    Entry(show_level(row.df), sort=row.df, is_published=is_paper),
                    value_entry(row.ms, is_published=is_paper),
                    value_entry(row.f, is_published=is_paper),
                    p_entry(row.p_value, is_published=is_paper),
                    value_entry(row.f_crit, is_published=is_paper),
                    percent_entry(row.share, is_published=is_paper),
                    percent_entry(_omega(row, table), is_published=is_paper),
                ]
            )
    return Table(
        id=f"overhead-figure-{experiment.figure}-anova",
        title=f"Figure {experiment.figure}: analysis of variance",
        caption=f"{kinds} analysis of variance. Recomputed: from the printed counts, sums and "
        "variances. Calls as samples is the paper's own method; trials are the samples that are "
        "independent, with a term for the block that each belongs to. Compare F with its critical "
        "value, and shares; sums of squares are of other hardware. ω² is the share without what "
        "chance alone explains. "
        f"{' '.join(lacking)}".rstrip(),
        heads=[
            headings(
                *("source", "numbers", "SS, ms²", "df", "MS"),
                *("F", "P-value", "F crit (95 %)", "share", "ω²"),
            )
        ],
        rows=rows,
    )


def _omega(row: Source, table: Sequence[Source]) -> float | None:
    within, total = table[-2], table[-1]
    if row.f is None or within.ms is None:
        return None
    return omega_squared(row.ss, row.df, within.ms, total.ss)


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
    """Return the trials of the blocks that have every cell; all trials if no two blocks do."""
    cells = [cell for cell in experiment.cells(measured) if measured.samples(cell)]
    labels = [_label(experiment, cell) for cell in cells]
    name = f"{LABELS[experiment.name]}, measured: trials"
    rows = measured.rows(cells) if cells else []
    if isinstance(rows, Untested) or len(rows) < 2:
        unpaired = [list(measured.samples(cell).values()) for cell in cells]
        return Sample(name, labels, unpaired, looks=measured.looks)
    groups = [list(group) for group in zip(*rows, strict=True)]
    name = f"{name} in {len(rows)} blocks"
    return Sample(name, labels, groups, in_blocks=True, looks=measured.looks)


def _label(experiment: Experiment, cell: Cell) -> str:
    if experiment is ELEMENTS:
        return show_level(cell["elements"])
    protocol = NAMES[str(cell["protocol"])]
    return (
        protocol
        if experiment is ONE_BYTE
        else f"{protocol}, {show_level(cell['reply_bytes'])} bytes"
    )
