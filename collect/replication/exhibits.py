"""Exhibits: what a study's module hands to the report, without knowing how it is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from collect.cells.cells import NOT_RUN
from collect.cells.notation import show_apart
from collect.replication.evidence import Measured, Published, Quantity
from collect.run.cell import Cell, Level
from collect.stats.estimates import Estimate

_OUTCOMES = {
    "oom": "out of memory",
    "timeout": "timed out",
    "failed": "failed",
    NOT_RUN: "not run yet",
}


@dataclass(frozen=True)
class Entry:
    """One place in a table: a text, or an estimate shown with its interval and linked to a cell.

    `is_published` sets printed numbers apart from measured ones; `sort` orders a text as a number;
    `over_paper` is a measured number over the printed one. `limits` are what the row says that the
    estimate is above or below.
    """

    text: str = ""
    sort: Level | None = None
    estimate: Estimate | None = None
    cell: Cell | None = None
    is_published: bool = False
    over_paper: Estimate | None = None
    limits: tuple[float, ...] = ()

    def show(self, value: float) -> str:
        """Return a number of the estimate with the digits that what is said of it needs."""
        return show_apart(value, self.limits)


def over_paper(measured: Estimate | None, printed: Estimate | None) -> Estimate | None:
    """Return measured over printed, with the interval of the measured number."""
    if measured is None or printed is None or printed.value == 0:
        return None
    return measured.times(1 / printed.value)


def printed_entry(published: Published, cell: Cell, of: Quantity = "time_ms") -> Entry:
    """Return the entry of a printed cell: a number, or its outcome in words."""
    value = published.value(cell, of)
    text = "" if value or cell not in published.cells else published.cells[cell].outcome
    return Entry(text=_OUTCOMES.get(text, ""), estimate=value, is_published=True)


def measured_entry(
    measured: Measured, cell: Cell, of: Quantity = "time_ms", published: Published | None = None
) -> Entry:
    """Return the entry of a measured cell: a number with its interval, or its outcome in words.

    With `published`, the number over the printed one stands below it, of times the arithmetic mean:
    that is what papers print.
    """
    value = measured.value(cell, of)
    text = "" if value else _OUTCOMES.get(measured.outcome(cell), "")
    printed = published.value(cell, of) if published else None
    alike = measured.arithmetic(cell) if of == "time_ms" else value
    return Entry(text=text, estimate=value, cell=cell, over_paper=over_paper(alike, printed))


@dataclass(frozen=True)
class Header:
    """A column heading over `span` columns."""

    text: str
    span: int = 1


def headings(*texts: str) -> list[Header]:
    """Return a heading over one column for each text."""
    return [Header(text) for text in texts]


@dataclass(frozen=True)
class Table:
    """A table in the layout of the paper; `heads` are the header rows from the top.

    `id` names it for its lesson, whatever its title says.
    """

    id: str
    title: str
    caption: str
    heads: Sequence[Sequence[Header]]
    rows: Sequence[Sequence[Entry]]


@dataclass(frozen=True)
class Panel:
    """One chart of a figure; `description` says in words what it shows."""

    title: str
    description: str
    chart: alt.LayerChart


@dataclass(frozen=True)
class Figure:
    """Charts side by side with their numbers as a table; `id` names its lesson and its files."""

    id: str
    title: str
    caption: str
    panels: Sequence[Panel]
    data: Table


Exhibit = Table | Figure
