"""The harness study: the bench itself, a call that does nothing and one of a byte over HTTP."""

from collections.abc import Sequence
from dataclasses import replace

from collect.cells.notation import show, show_level
from collect.replication import charts
from collect.replication.evidence import Measured, Published, Untested, levels_of, quotient
from collect.replication.exhibits import Entry, Exhibit, Figure, Table, headings, measured_entry
from collect.replication.figures import Pair, paired_figure
from collect.replication.studies import StudyModule
from collect.run.cell import Cell
from collect.stats.estimates import Estimate

NAMES = {"noop": "nothing", "http": "one byte over HTTP"}


def _published() -> Published:
    return Published({}, reason="a study of our own")


def _cell(workload: str, threads: int) -> Cell:
    return Cell.of(workload=workload, concurrency=threads)


def _exhibits(published: Published, measured: Measured) -> Sequence[Exhibit]:
    return [_figure(measured), _table(measured)]


def _figure(measured: Measured) -> Figure:
    return paired_figure(
        id="harness-times",
        title="Time of a call by client threads",
        caption="A call that does nothing measures the bench alone. A byte over HTTP is the lower "
        "bound for any study over HTTP. Both axes are logarithmic.",
        quantity="time of a call in ms",
        x_title="client threads",
        heads=("call", "client threads"),
        pairs=[
            Pair(
                charts.Series(name, hue, hue),
                threads,
                [Entry(name), Entry(show_level(threads), sort=threads)],
                None,
                measured.value(_cell(workload, threads)),
                _cell(workload, threads),
            )
            for hue, (workload, name) in enumerate(NAMES.items())
            for threads in levels_of("concurrency", measured)
        ],
    )


def _table(measured: Measured) -> Table:
    rows = []
    for threads in levels_of("concurrency", measured):
        cells = [_cell("noop", threads), _cell("http", threads)]
        share = measured.statistic(cells, quotient)
        rows.append(
            [
                Entry(show_level(threads), sort=threads),
                *(_scaled(measured_entry(measured, cell), 1e3) for cell in cells),
                Entry() if isinstance(share, Untested) else Entry(estimate=share.times(100)),
            ]
        )
    return Table(
        id="harness-share",
        title="How much of a time is the bench",
        caption="Mean time of a call in µs, and the bench's share of a call over HTTP. For the "
        "other studies of this page, the table Precision has that share.",
        heads=[
            headings(
                "client threads", *(f"{name}, µs" for name in NAMES.values()), "nothing / HTTP, %"
            )
        ],
        rows=rows,
    )


def _scaled(entry: Entry, factor: float) -> Entry:
    if entry.estimate is None:
        return entry
    return replace(entry, estimate=entry.estimate.times(factor))


def _summary(published: Published, measured: Measured) -> Sequence[str]:
    sentences = []
    for threads in levels_of("concurrency", measured)[:1]:
        noop, http = (measured.value(_cell(workload, threads)) for workload in NAMES)
        if isinstance(noop, Estimate) and isinstance(http, Estimate):
            sentences.append(
                f"The bench itself takes {show(1e6 * noop.value)} ns of a call; the shortest call "
                f"over HTTP took {show(1e3 * http.value)} µs."
            )
    return sentences


STUDY = StudyModule(
    study="harness",
    factors=frozenset(("workload", "concurrency")),
    published=_published,
    claims=(),
    exhibits=_exhibits,
    summary=_summary,
    system="workload",
    names=NAMES,
    numbers=frozenset(("concurrency",)),
)
