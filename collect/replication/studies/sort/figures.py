"""The figures of the sort study: execution times and rates of growth."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from collect.cells.notation import show_level
from collect.replication import charts
from collect.replication.evidence import Evidence, Measured, Published, levels_of, quotient
from collect.replication.exhibits import (
    Entry,
    Figure,
    Header,
    Table,
    headings,
    measured_entry,
    printed_entry,
)
from collect.replication.figures import Pair, paired_figure
from collect.replication.studies.sort.cells import (
    NAMES,
    TRANSPORTS,
    cell_of,
    cells_of,
    servers_text,
)
from collect.run.cell import Cell
from collect.stats.estimates import Estimate


def figure_7(published: Published, measured: Measured) -> Table:
    """Lay the printed times next to the measured ones."""
    servers = levels_of("servers", published, measured)
    columns = [(transport, count) for count in servers for transport in TRANSPORTS]
    rows = []
    for size in levels_of("integers", published, measured):
        row = [Entry(show_level(size), sort=size)]
        for transport, count in columns:
            cell = cell_of(transport, count, size)
            row += [
                printed_entry(published, cell),
                measured_entry(measured, cell, published=published),
            ]
        rows.append(row)
    return Table(
        id="sort-figure-7",
        title="Figure 7: execution times for JMS and SOAP",
        caption="Time of one whole job in milliseconds, printed next to measured. Measured: "
        "geometric mean of the trial means, with its 95 % interval, and below it measured over "
        "paper, of which both are arithmetic means.",
        heads=[
            [Header(""), *(Header(servers_text(count), 4) for count in servers)],
            [Header(""), *(Header(NAMES[transport], 2) for transport, _ in columns)],
            headings("integers", *("paper", "measured") * len(columns)),
        ],
        rows=rows,
    )


def times_figure(
    number: str, title: str, transports: Sequence[str], published: Published, measured: Measured
) -> Figure:
    """Draw the times of some transports over the number of integers."""
    cells = cells_of(transports, published, measured)
    pairs = {
        cell: (published.value(cell), measured.value(cell), measured.arithmetic(cell))
        for cell in cells
    }
    return _figure(
        id=f"sort-figure-{number}",
        title=f"Figure {number}: {title}",
        caption="Both axes are logarithmic and the same on both sides: compare slopes and "
        "distances between lines, not heights. Bars are 95 % intervals, cut at the edge.",
        quantity="time in ms",
        x_title="integers",
        pairs=pairs,
    )


def growth_figure(published: Published, measured: Measured) -> Figure:
    """Draw how many times as long a job takes as one size smaller."""

    def growths(evidence: Evidence) -> dict[Cell, Estimate]:
        found = {}
        for smaller, larger in pairwise(levels_of("integers", evidence)):
            for cell in cells_of(TRANSPORTS, evidence):
                if cell["integers"] == larger:
                    growth = evidence.statistic([cell, cell.at(integers=smaller)], quotient)
                    if isinstance(growth, Estimate):
                        found[cell] = growth
        return found

    printed, own = growths(published), growths(measured)
    return _figure(
        id="sort-figure-11",
        title="Figure 11: rates of growth",
        caption="How many times as long a job takes as one size smaller. The printed axes are "
        "lost; this reading follows section 11. Work that is all n² gives 100 for ten times as "
        "many integers and 4 for twice as many.",
        quantity="times as long as one size below",
        x_title="grown to this many integers",
        pairs={
            cell: (printed.get(cell), own.get(cell), own.get(cell))
            for cell in cells_of(TRANSPORTS, published, measured)
        },
    )


def _figure(  # noqa: PLR0913 - named everywhere it is called
    *,
    id: str,  # noqa: A002 - the field of the figure
    title: str,
    caption: str,
    quantity: str,
    pairs: Mapping[Cell, tuple[Estimate | None, Estimate | None, Estimate | None]],
    x_title: str,
) -> Figure:
    """Draw what is printed next to what is measured, a line for each transport and servers.

    `pairs` have the printed number, the measured one, and that of the same kind as the printed one.
    """
    shown = {cell: pair for cell, pair in pairs.items() if any(pair)}
    several = len({cell["transport"] for cell in shown}) > 1
    counts = list(dict.fromkeys(cell["servers"] for cell in shown))
    drawn = []
    for cell, (printed, own, alike) in shown.items():
        transport = str(cell["transport"])
        servers, size = int(cell["servers"]), int(cell["integers"])
        mark = counts.index(servers)
        text = (f"{NAMES[transport]}, " if several else "") + servers_text(servers)
        hue = TRANSPORTS.index(transport) if several else mark
        labels = [Entry(NAMES[transport]), *(Entry(show_level(v), sort=v) for v in (servers, size))]
        drawn.append(Pair(charts.Series(text, hue, mark), size, labels, printed, own, cell, alike))
    return paired_figure(
        id=id,
        title=title,
        caption=caption,
        quantity=quantity,
        x_title=x_title,
        heads=("transport", "servers", "integers"),
        pairs=drawn,
    )
