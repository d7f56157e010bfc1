"""The exhibits of the overhead study: its figures, its tables and the overhead itself."""

from collections.abc import Callable, Mapping, Sequence

from collect.cells.notation import show_level
from collect.replication import charts
from collect.replication.contrasts import (
    ranks_table,
    residual_table,
    value_entry,
)
from collect.replication.evidence import Measured, Published, Untested, quotient
from collect.replication.exhibits import (
    Entry,
    Exhibit,
    Figure,
    Header,
    Table,
    headings,
    measured_entry,
)
from collect.replication.figures import Pair, paired_figure
from collect.replication.studies.overhead.experiments import (
    ELEMENTS,
    EXPERIMENTS,
    NAMES,
    ONE_BYTE,
    SIZE,
    Experiment,
    cell_of,
    cells_of,
)
from collect.replication.studies.overhead.variance_tables import samples_of, variance_table
from collect.stats.estimates import Moments, mean_t_from_moments, pooled

_SUMMARY: Mapping[str, Callable[[Moments], float | None]] = {
    "count": lambda sample: sample.count,
    "sum": lambda sample: sample.count * sample.mean,
    "average": lambda sample: sample.mean,
    "variance": lambda sample: sample.variance,
}


def exhibits(published: Published, measured: Measured) -> Sequence[Exhibit]:
    """Return the exhibits in the order of the paper."""
    samples = [
        sample
        for experiment in EXPERIMENTS
        for sample in samples_of(experiment, published, measured)
    ]
    return [
        _summary_table(ONE_BYTE, "Figure 3: one-byte replies", published, measured),
        variance_table(ONE_BYTE, published, measured),
        _figure_4(published, measured),
        _figure_5(published, measured),
        variance_table(SIZE, published, measured),
        _summary_table(ELEMENTS, "Figure 7: number of elements", published, measured),
        variance_table(ELEMENTS, published, measured),
        ranks_table(samples),
        residual_table(samples),
        _overheads(published, measured),
    ]


def _summary_table(
    experiment: Experiment, title: str, published: Published, measured: Measured
) -> Table:
    rows = []
    for cell in cells_of(experiment, published, measured):
        label = (
            NAMES[str(cell["protocol"])] if experiment is ONE_BYTE else show_level(cell["elements"])
        )
        row = [Entry(label, sort=None if experiment is ONE_BYTE else cell["elements"])]
        printed = published.cells.get(cell)
        row += _moments_entries(
            published.moments(cell), printed.half_ms if printed else None, is_published=True
        )
        row += _moments_entries(measured.moments(cell), None, is_published=False)
        rows.append([*row, measured_entry(measured, cell)])
    columns = ("calls", "sum, ms", "average, ms", "variance, ms²", "± 95 %, ms")
    return Table(
        id=f"overhead-figure-{experiment.figure}-summary",
        title=f"{title}, summary",
        caption="Calls as samples, as in the paper; the last column is the geometric "
        "mean of the trial means with its 95 % interval. A half-width (±) that the paper does "
        "not print is computed from its count and variance.",
        heads=[
            [Header(""), Header("paper", 5), Header("measured: calls as samples", 5), Header("")],
            headings(
                "protocol" if experiment is ONE_BYTE else "elements", *columns * 2, "trials, ms"
            ),
        ],
        rows=rows,
    )


def _moments_entries(
    moments: Moments | None, half_ms: float | None, *, is_published: bool
) -> list[Entry]:
    if moments is None:
        return [Entry(is_published=is_published)] * 5
    half = mean_t_from_moments(moments).half_width if half_ms is None else half_ms
    count = Entry(show_level(moments.count), sort=moments.count, is_published=is_published)
    numbers = (moments.count * moments.mean, moments.mean, moments.variance, half)
    return [count, *(value_entry(number, is_published=is_published) for number in numbers)]


def _summary_entry(value: float | None, *, is_published: bool) -> Entry:
    if isinstance(value, int):
        return Entry(show_level(value), sort=value, is_published=is_published)
    return value_entry(value, is_published=is_published)


def _figure_5(published: Published, measured: Measured) -> Table:
    """Count, sum, average and variance of calls at each size, and of both protocols together."""
    sizes = sorted({int(cell["reply_bytes"]) for cell in cells_of(SIZE, published, measured)})
    rows = []
    for size in [*sizes, None]:
        columns = []
        for protocols in (["tcp"], ["soap"], ["tcp", "soap"]):
            for evidence in (published, measured):
                cells = [
                    cell
                    for cell in SIZE.cells(evidence)
                    if cell["protocol"] in protocols and size in (cell["reply_bytes"], None)
                ]
                parts = [evidence.moments(cell) for cell in cells]
                whole = None if None in parts else pooled([part for part in parts if part])
                columns.append((whole, evidence is published))
        for name, number in _SUMMARY.items():
            entries = [
                _summary_entry(None if one is None else number(one), is_published=printed)
                for one, printed in columns
            ]
            label = "all sizes" if size is None else show_level(size)
            rows.append([Entry(label, sort=size or sizes[-1] + 1), Entry(name), *entries])
    return Table(
        id="overhead-figure-5",
        title="Figure 5: summary of the calls",
        caption="Calls as samples, as in the paper: number, sum in ms, average in ms and variance "
        "in ms². Both protocols together, and all sizes, are computed from the cells.",
        heads=[
            [Header("", 2), *(Header(t, 2) for t in (*NAMES.values(), "both"))],
            headings("reply, bytes", "of the calls", *("paper", "measured") * 3),
        ],
        rows=rows,
    )


def _figure_4(published: Published, measured: Measured) -> Figure:
    pairs = []
    for cell in cells_of(SIZE, published, measured):
        hue = list(NAMES).index(str(cell["protocol"]))
        pairs.append(
            Pair(
                charts.Series(NAMES[str(cell["protocol"])], hue, hue),
                int(cell["reply_bytes"]),
                [
                    Entry(NAMES[str(cell["protocol"])]),
                    Entry(show_level(cell["reply_bytes"]), sort=cell["reply_bytes"]),
                ],
                published.interval(cell),
                measured.value(cell),
                cell,
                measured.arithmetic(cell),
            )
        )
    return paired_figure(
        id="overhead-figure-4",
        title="Figure 4: response time over size of the reply",
        caption="With 95 % intervals: of 50 calls in the paper (from Figure 5), of trials where "
        "measured. Both axes are logarithmic and the same on both sides.",
        quantity="response time in ms",
        x_title="reply, bytes",
        heads=("protocol", "reply, bytes"),
        pairs=pairs,
    )


def _overheads(published: Published, measured: Measured) -> Table:
    """Equation 3: the overhead is the difference of the two response times, as t_s is zero."""
    size_cells = [c for c in cells_of(SIZE, published, measured) if c["protocol"] == "soap"]
    element_cells = [c for c in cells_of(ELEMENTS, published, measured) if c["elements"] != 1]
    rows = []
    for cell in (*size_cells, *element_cells):
        tcp = cell_of("tcp", int(cell["reply_bytes"]))
        row = [
            Entry(show_level(level), sort=level)
            for level in (cell["reply_bytes"], cell["elements"])
        ]
        for evidence in (published, measured):
            is_published = evidence is published
            overhead = evidence.difference(cell, tcp)
            ratio = evidence.statistic([cell, tcp], quotient)
            for number in (overhead, ratio):
                row.append(
                    Entry()
                    if isinstance(number, Untested)
                    else Entry(estimate=number, is_published=is_published)
                )
        rows.append(row)
    return Table(
        id="overhead-of-m-and-p",
        title="Overhead O(m, p)",
        caption="Equation 3: what SOAP adds to a reply of m bytes in p elements. With no time at "
        "the server it is the SOAP time less the TCP time of as many bytes, in ms; next to it "
        "their quotient. Measured: a difference and a quotient a block, with their 95 % intervals.",
        heads=[
            [Header("", 2), Header("paper", 2), Header("measured", 2)],
            headings("m, bytes", "p, elements", *("O, ms", "SOAP / TCP") * 2),
        ],
        rows=rows,
    )
