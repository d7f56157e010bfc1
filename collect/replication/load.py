"""What an open loop shows: response times over the offered rate, answers, and the capacity."""

from collections.abc import Iterator, Sequence

from collect.cells.analysis import Analysis
from collect.cells.cells import CellResult
from collect.cells.notation import name_of, show
from collect.planning.capacity import ACHIEVED, Demand, by_system, capacities, rate_factor
from collect.replication import charts
from collect.replication.exhibits import Entry, Exhibit, Figure, Table, headings
from collect.replication.figures import Pair, paired_figure
from collect.run.cell import Cell
from collect.stats.estimates import Estimate
from collect.stats.spending import ERROR

_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)


def load_exhibits(analysis: Analysis, error: float = ERROR) -> list[Exhibit]:
    """Return the exhibits of a run with rates as a factor; none of any other run.

    `error` is how often an interval of trials may miss.
    """
    factor = rate_factor(analysis.run)
    if factor is None:
        return []
    systems = by_system(analysis.cells, factor)
    demand = Demand.of(analysis.run)
    found: list[Exhibit] = [_capacity_table(analysis, demand, error)] if demand else []
    return [*found, _responses(systems, factor), _answers(systems, factor, error)]


def parting(cells: Sequence[CellResult], factor: str) -> float | None:
    """Return the lowest rate of which fewer than 95 % are answered, by the mean that is drawn."""
    for cell in cells:
        found = cell.answered()
        if found and found.value < ACHIEVED:
            return float(cell.cell[factor])
    return None


def _capacity_table(analysis: Analysis, demand: Demand, error: float) -> Table:
    return Table(
        id="capacity",
        title="Capacity",
        caption=f"The highest offered rate with {demand}, at it and at all lower rates. In each "
        "block it lies between two levels; the interval is over blocks. A trial that failed "
        "meets no demand.",
        heads=[headings("system", "capacity, calls a second", "95 % interval", "blocks", "levels")],
        rows=[
            [
                Entry(name_of(one.system) or "all"),
                Entry(str(one), sort=one.low),
                Entry(one.interval),
                Entry(str(len(one.steps)), sort=len(one.steps)),
                Entry(", ".join(f"{level:g}" for level in one.levels)),
            ]
            for one in capacities(analysis.run, analysis.cells, demand, error)
        ],
    )


def _responses(systems: dict[Cell, list[CellResult]], factor: str) -> Figure:
    return paired_figure(
        id="load-response",
        title="Response time over the offered rate",
        caption="From the instant at which a call was due to its answer, over the calls of all "
        "trials, p50 and p99. Time in which no thread was free counts. A line breaks at a rate at "
        "which no trial counts, or too few calls. Both axes are logarithmic.",
        quantity="response time in ms",
        x_title="offered calls a second",
        heads=("system", "percentile", "offered calls a second"),
        pairs=list(_response_pairs(systems, factor)),
        breaks=True,
    )


def _response_pairs(systems: dict[Cell, list[CellResult]], factor: str) -> Iterator[Pair]:
    for hue, (system, cells) in enumerate(systems.items()):
        for mark, name in enumerate(("p50", "p99")):
            series = charts.Series(f"{name_of(system)} {name}".strip(), hue, mark)
            for cell in cells:
                pooled = cell.response.pooled if cell.response else None
                value: Estimate | None = getattr(pooled, name) if pooled else None
                yield _pair(series, [name_of(system), name], cell, factor, value)


def _answers(systems: dict[Cell, list[CellResult]], factor: str, error: float) -> Figure:
    parts = []
    for system, cells in systems.items():
        rate = parting(cells, factor)
        said = "at every rate" if rate is None else f"below {show(rate)}/s"
        unknown = [f"{float(cell.cell[factor]):g}" for cell in cells if not cell.achieved]
        but = f" (but not known at {', '.join(unknown)}/s)" if unknown else ""
        if len(unknown) == len(cells):
            said, but = "not known", ""
        parts.append(f"{name_of(system) or 'all'}: {said}{but}")
    return paired_figure(
        id="load-answers",
        title="Answered over offered calls",
        caption="Calls that were answered a second, over those that were offered; the geometric "
        f"mean over trials. {100 * ACHIEVED:g} % or more are answered: {'; '.join(parts)}.",
        quantity="answered / offered",
        x_title="offered calls a second",
        heads=("system", "offered calls a second"),
        pairs=[
            _pair(
                charts.Series(name_of(system) or "all", hue, hue),
                [name_of(system)],
                cell,
                factor,
                cell.answered(error),
            )
            for hue, (system, cells) in enumerate(systems.items())
            for cell in cells
        ],
        ticks=_SHARES,
        breaks=True,
    )


def _pair(
    series: charts.Series,
    labels: Sequence[str],
    cell: CellResult,
    factor: str,
    value: Estimate | None,
) -> Pair:
    rate = float(cell.cell[factor])
    entries = [*(Entry(label) for label in labels), Entry(show(rate), sort=rate)]
    return Pair(series, rate, entries, None, value, cell.cell)
