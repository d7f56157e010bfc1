"""The cold study: how much of the ratio SOAP/TCP at one byte is the just-in-time compiler."""

from collections.abc import Sequence
from functools import partial

from collect.cells.notation import show, show_apart, show_estimate
from collect.replication import charts
from collect.replication.evidence import (
    Measured,
    Published,
    Untested,
    load_published,
    quotient,
)
from collect.replication.exhibits import Entry, Exhibit, Figure, Table, headings, measured_entry
from collect.replication.figures import Pair, paired_figure
from collect.replication.studies import StudyModule
from collect.run.cell import Cell
from collect.stats.estimates import Estimate, geometric_t

NAMES = {"tcp": "TCP", "soap": "SOAP/HTTP"}
STARTS = {"cold": "from the first call of a JVM", "warm": "after a long warm-up"}
_FIRST = 50


def _published() -> Published:
    return Published({}, reason="a study of our own")


def _cell(protocol: str, start: str) -> Cell:
    return Cell.of(protocol=protocol, start=start)


def _pair(start: str) -> list[Cell]:
    return [_cell("soap", start), _cell("tcp", start)]


def ratio(measured: Measured, start: str) -> Estimate | Untested:
    """Return SOAP over TCP, cold or warm."""
    return measured.statistic(_pair(start), quotient)


def of_the_compiler(measured: Measured) -> Estimate | Untested:
    """Return the cold ratio over the warm one, in the blocks that have all four cells."""
    return measured.statistic(
        [*_pair("cold"), *_pair("warm")], lambda t: (t[0] / t[1]) / (t[2] / t[3])
    )


def published_ratio() -> Estimate | Untested:
    """Return SOAP over TCP at one byte as the paper of the study overhead prints it."""
    factors = {"experiment": str, "protocol": str, "reply_bytes": int, "elements": int}
    cells = [
        Cell.of(experiment="one-byte", protocol=protocol, reply_bytes=1, elements=1)
        for protocol in ("soap", "tcp")
    ]
    return load_published("overhead", factors).statistic(cells, quotient)


def _exhibits(published: Published, measured: Measured) -> Sequence[Exhibit]:
    return [_table(measured), _figure(measured)]


def _table(measured: Measured) -> Table:
    rows = [
        [
            Entry(STARTS[start]),
            *(measured_entry(measured, _cell(protocol, start)) for protocol in NAMES),
            _entry(ratio(measured, start)),
        ]
        for start in STARTS
    ]
    slower = (
        measured.statistic([_cell(protocol, "cold"), _cell(protocol, "warm")], quotient)
        for protocol in NAMES
    )
    rows.append([Entry("cold / warm"), *map(_entry, slower), _entry(of_the_compiler(measured))])
    printed = _entry(published_ratio(), is_published=True)
    rows.append([Entry("study overhead, as printed"), Entry(), Entry(), printed])
    return Table(
        id="cold-ratio",
        title="How much of the ratio is the compiler",
        caption="Mean time of a call of one byte in ms, and SOAP over TCP. In the row cold / warm, "
        "the last column shows what a cold client alone does to the ratio. Below 1 it hides a "
        "difference between the protocols; above 1 it exaggerates one. The paper names no warm-up.",
        heads=[headings("measured", *(f"{name}, ms" for name in NAMES.values()), "SOAP / TCP")],
        rows=rows,
    )


def _entry(found: Estimate | Untested, *, is_published: bool = False) -> Entry:
    if isinstance(found, Untested):
        return Entry(text=found.reason)
    return Entry(estimate=found, is_published=is_published)


def _figure(measured: Measured) -> Figure:
    return paired_figure(
        id="cold-calls",
        title="Time of a call by its place in the trial",
        caption="The geometric mean over trials of the first, second, … measured call. A cold "
        "JVM compiles while it is measured; how fast a line falls says how many calls a mean needs "
        "until it no longer depends on their number. Both axes are logarithmic.",
        quantity="time of a call in ms",
        x_title="measured call",
        heads=("protocol", "start", "measured call"),
        pairs=[
            Pair(
                charts.Series(f"{name}, {start}", hue, hue),
                place,
                [Entry(name), Entry(start), Entry(str(place), sort=place)],
                None,
                estimate,
                _cell(protocol, start),
            )
            for hue, (protocol, name, start) in enumerate(
                (protocol, name, start) for protocol, name in NAMES.items() for start in STARTS
            )
            for place, estimate in _by_place(measured, _cell(protocol, start))
        ],
    )


def _by_place(measured: Measured, cell: Cell) -> list[tuple[int, Estimate]]:
    """Return the mean of the calls at each place over the trials in which every call was ok."""
    found = measured.cells.get(cell)
    if found is None:
        return []
    whole = [
        item.course_ms
        for item in found.counted
        if len(item.course_ms) == item.calls.calls and not item.calls.errors
    ]
    places = range(min(_FIRST, *map(len, whole)) if whole else 0)
    return [
        (place + 1, geometric_t([float(course[place]) for course in whole], measured.error))
        for place in places
    ]


def _summary(published: Published, measured: Measured) -> Sequence[str]:
    ratios, factor = [ratio(measured, start) for start in STARTS], of_the_compiler(measured)
    known = [found for found in ratios if isinstance(found, Estimate)]
    if len(known) < len(ratios) or isinstance(factor, Untested):
        return []
    cold, warm = map(show_estimate, known)
    sentences = [
        f"At one byte SOAP took {cold} times as long as TCP from the first call of a JVM, and "
        f"{warm} times as long after a long warm-up."
    ]
    if factor.excludes(1):
        does = "hides a part of" if factor.value < 1 else "exaggerates"
        sentences.append(
            f"A cold client {does} the difference: it changes the ratio by the factor "
            f"{show_estimate(factor, partial(show_apart, limits=(1,)))}."
        )
    else:
        sentences.append(
            f"Whether a cold client changes the ratio is open: by the factor {show(factor.value)}, "
            "with an interval that contains 1 or is missing."
        )
    return sentences


STUDY = StudyModule(
    study="cold",
    factors=frozenset(("protocol", "start")),
    published=_published,
    claims=(),
    exhibits=_exhibits,
    summary=_summary,
    system="protocol",
    names=NAMES,
)
