"""Exhibits: what a study's module hands to the report, without knowing how it is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from collect.evidence import Key
from collect.statistics import Estimate
from collect.study import Level


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
