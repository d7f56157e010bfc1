"""Figures of lines: what is printed next to what is measured, on the same axes."""

from collections.abc import Sequence
from dataclasses import dataclass

from collect.cells.notation import show_estimate
from collect.replication import charts
from collect.replication.exhibits import Entry, Figure, Panel, Table, headings, over_paper
from collect.run.cell import Cell
from collect.stats.estimates import Estimate

_COLUMNS = ("paper", "measured", "measured / paper")


@dataclass(frozen=True)
class Pair:
    """One place on the horizontal axis of a line, printed and measured.

    `labels` begin its row in the table of numbers; `cell` is what the measured number links to.
    `alike` is the measured number of the same kind as the printed one, where `own` is of another.
    """

    series: charts.Series
    x: float
    labels: Sequence[Entry]
    printed: Estimate | None
    own: Estimate | None
    cell: Cell
    alike: Estimate | None = None

    @property
    def over_paper(self) -> Estimate | None:
        """The measured number over the printed one, like with like."""
        return over_paper(self.alike or self.own, self.printed)


def paired_figure(  # noqa: PLR0913 - named everywhere it is called
    *,
    id: str,  # noqa: A002 - the field of the figure
    title: str,
    caption: str,
    quantity: str,
    x_title: str,
    heads: Sequence[str],
    pairs: Sequence[Pair],
    ticks: Sequence[float] = (),
    breaks: bool = False,
) -> Figure:
    """Draw the pairs as a panel each for paper and measured; a side without numbers is left out.

    `quantity` is what the vertical axis shows, with its unit, and `ticks` are those it may have;
    `heads` are those of the labels. With `breaks` a line breaks where nothing was measured.
    """
    shown = [pair for pair in pairs if pair.printed or pair.own]
    sides = {
        side: [
            _point(pair, e)
            for pair in shown
            # Logarithmic axes have no zero: such a number stands in the table alone.
            if (e := getattr(pair, of)) is not None and min(e.value, pair.x) > 0
        ]
        for side, of in (("Paper", "printed"), ("Measured", "own"))
    }
    has_paper = bool(sides["Paper"])
    gaps = [(pair.series.name, pair.x) for pair in pairs if breaks and pair.own is None]
    return Figure(
        id=id,
        title=title,
        caption=caption,
        panels=_panels(
            title=title,
            titles=(x_title, quantity),
            shown=shown,
            sides=sides,
            ticks=ticks,
            gaps=gaps,
        ),
        data=Table(
            id=f"{id}-numbers",
            title=f"The numbers of {title.partition(':')[0].lower()}",
            caption=f"{quantity[0].upper()}{quantity[1:]}; with the 95 % interval where there is "
            "one.",
            heads=[headings(*heads, *(_COLUMNS if has_paper else _COLUMNS[1:2]))],
            rows=[
                [
                    *pair.labels,
                    *([Entry(estimate=pair.printed, is_published=True)] if has_paper else []),
                    Entry(estimate=pair.own, cell=pair.cell),
                    *([Entry(estimate=pair.over_paper)] if has_paper else []),
                ]
                for pair in shown
            ],
        ),
    )


def _panels(  # noqa: PLR0913 - named where it is called
    *,
    title: str,
    titles: tuple[str, str],
    shown: Sequence[Pair],
    sides: dict[str, list[charts.Point]],
    ticks: Sequence[float],
    gaps: Sequence[tuple[str, float]],
) -> list[Panel]:
    points = [point for side in sides.values() for point in side]
    if not points:
        return []
    x_title, quantity = titles
    places = sorted({point.x for point in points} | {place for _, place in gaps})
    x = charts.Axis(x_title, charts.domain_of(places), places)
    low, high = domain = charts.domain_of_points(points)
    y = charts.Axis(quantity, domain, [tick for tick in ticks if low <= tick <= high])
    series = list({pair.series.name: pair.series for pair in shown}.values())
    return [
        Panel(
            side,
            f"{title}, {side.lower()}: {quantity} over {x_title}; the numbers stand below.",
            charts.lines(group, series, x, y, gaps if side == "Measured" else ()),
        )
        for side, group in sides.items()
        if group
    ]


def _point(pair: Pair, estimate: Estimate) -> charts.Point:
    return charts.Point(
        pair.series.name,
        pair.x,
        estimate.value,
        estimate.low,
        estimate.high,
        show_estimate(estimate),
    )
