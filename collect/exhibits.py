"""Exhibits: what a study's module hands to the report, without knowing how it is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from collect.cells import NOT_RUN
from collect.evidence import Key, Measured, Published, Quantity
from collect.statistics import Estimate
from collect.study import Level

_OUTCOMES = {
    "oom": "out of memory",
    "timeout": "timed out",
    "failed": "failed",
    NOT_RUN: "not run yet",
}


@dataclass(frozen=True)
class Entry:
    """One place in a table: a text, or an estimate shown with its interval and linked to a cell.

    `is_published` sets printed numbers apart from measured ones; `sort` orders a text as a number.
    """

    text: str = ""
    sort: Level | None = None
    estimate: Estimate | None = None
    cell: Key | None = None
    is_published: bool = False


def printed_entry(published: Published, cell: Key, of: Quantity = "time_ms") -> Entry:
    """Give what the document prints of a cell: a number, or its outcome in words."""
    value = published.value(cell, of)
    text = "" if value or cell not in published.cells else published.cells[cell].outcome
    return Entry(text=_OUTCOMES.get(text, ""), estimate=value, is_published=True)


def measured_entry(measured: Measured, cell: Key, of: Quantity = "time_ms") -> Entry:
    """Give what was measured of a cell: a number with its interval, or its outcome in words."""
    value = measured.value(cell, of)
    text = "" if value else _OUTCOMES.get(measured.outcome(cell), "")
    return Entry(text=text, estimate=value, cell=cell)


@dataclass(frozen=True)
class Header:
    """A column heading over `span` columns."""

    text: str
    span: int = 1


@dataclass(frozen=True)
class Table:
    """A table in the layout of the document; `heads` are the header rows from the top."""

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
    """Charts side by side with their numbers as a table; `name` names the SVG and PDF files."""

    name: str
    title: str
    caption: str
    panels: Sequence[Panel]
    data: Table


Exhibit = Table | Figure
