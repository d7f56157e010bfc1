"""The mtom study: Pericas-Geertsen, MTOM Performance in JAX-WS (paper 002_…)."""

from collections.abc import Sequence
from dataclasses import replace

from collect.cells.notation import show_estimate
from collect.replication import charts
from collect.replication.claims import Bound, Claim, over_cells
from collect.replication.crossing import overtaking, show_crossing
from collect.replication.evidence import (
    Evidence,
    Measured,
    Published,
    Untested,
    levels_of,
    load_published,
    quotient,
    read_published,
)
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
from collect.replication.studies import StudyModule
from collect.run.cell import Cell
from collect.stats.estimates import Estimate, quotient_of_means

KIB = 1024
SMALL, MIDDLE, LARGE = 1 * KIB, 24 * KIB, 192 * KIB
NAMES = {"inline": "inline base64", "mtom": "MTOM"}
BASE64_GROWTH = 4 / 3 * 78 / 76
"""Four characters for three bytes, and a line break of two after every 76 (RFC 2045)."""


def _published() -> Published:
    cells = load_published("mtom", {"encoding": str, "payload_bytes": int})
    return replace(cells, reason="text only: the chart is lost")


def _cell(encoding: str, size: int) -> Cell:
    return Cell.of(encoding=encoding, payload_bytes=size)


def _payloads(evidence: Evidence) -> list[int]:
    """Return the sizes above 0, which has no logarithm, at which both encodings have a time."""
    ran = {cell for cell in evidence.keys if evidence.value(cell)}
    sizes = levels_of("payload_bytes", evidence)
    return [size for size in sizes if size > 0 and all(_cell(name, size) in ran for name in NAMES)]


def _threshold(evidence: Evidence) -> Estimate | Untested:
    """Return the crossing of the two curves in KiB."""
    if evidence.reason:
        return Untested(evidence.reason)
    payloads = _payloads(evidence)
    pairs = [(_cell("inline", size), _cell("mtom", size)) for size in payloads]
    return overtaking(evidence, [size / KIB for size in payloads], pairs)


def _growth(sizes: Sequence[float]) -> float:
    """Bytes a byte of payload takes, the same for any envelope: [large, small]."""
    return (sizes[0] - sizes[1]) / (LARGE - SMALL)


def _slopes(evidence: Evidence) -> Sequence[tuple[str, Estimate | Untested]]:
    """Return the slope of inline's time over bytes at the large sizes over that at the small."""
    rows = evidence.rows([_cell("inline", size) for size in (SMALL, MIDDLE, LARGE)])
    if not isinstance(rows, Untested):
        above = [(large - middle) / (LARGE - MIDDLE) for _, middle, large in rows]
        below = [(middle - small) / (MIDDLE - SMALL) for small, middle, _ in rows]
        slopes = quotient_of_means(above, below, evidence.error)
        return [("inline", slopes or Untested("24 KiB take no longer than 1 KiB"))]
    return [("inline", rows)]


CLAIMS = (
    Claim(
        sentence="The threshold from which MTOM is faster lies between 4 and 5 K.",
        where="text",
        statistic="crossing of the two curves in KiB (0: MTOM always wins; ∞: never)",
        bound=Bound(4, 5),
        direction=Bound(1, 192),
        numbers=lambda evidence: [("threshold", _threshold(evidence))],
        note="The direction is that there is a crossing between 1 and 192 KiB at all.",
    ),
    Claim(
        sentence="MTOM loses at 1 K and wins at 192 K.",
        where="text: what a threshold means",
        statistic="time of the loser / time of the winner",
        bound=Bound(low=1, is_open=True),
        numbers=over_cells(
            [
                (
                    "MTOM / inline at 1 KiB",
                    [_cell("mtom", SMALL), _cell("inline", SMALL)],
                    quotient,
                ),
                (
                    "inline / MTOM at 192 KiB",
                    [_cell("inline", LARGE), _cell("mtom", LARGE)],
                    quotient,
                ),
            ]
        ),
    ),
    Claim(
        sentence="base64 makes the data up to a third larger.",
        where="text",
        statistic="bytes of the message a byte of payload, inline, with line breaks",
        bound=Bound(1, BASE64_GROWTH),
        numbers=over_cells(
            [("1 to 192 KiB", [_cell("inline", LARGE), _cell("inline", SMALL)], _growth)],
            "request_bytes",
        ),
    ),
    Claim(
        sentence="The cost of base64 grows linearly with the size.",
        where="text",
        statistic="time a byte costs, inline, from 24 to 192 KiB / from 1 to 24 KiB",
        bound=Bound(0.8, 1.25),
        numbers=_slopes,
        note="A line has no curvature: its slope is the same at both ends.",
    ),
)


def _exhibits(published: Published, measured: Measured) -> Sequence[Exhibit]:
    return [_figure(measured), _threshold_table(measured), _table(published, measured)]


def _kib(size: int) -> Entry:
    return Entry(f"{size / KIB:g}", sort=size)


def _figure(measured: Measured) -> Figure:
    return paired_figure(
        id="mtom-latency",
        title="Latency of inline base64 and of MTOM",
        caption="Latency of one call with the payload there and back. The paper's own chart is "
        "lost. Both axes are logarithmic, bars are 95 % intervals.",
        quantity="latency in ms",
        x_title="payload, KiB",
        heads=("encoding", "payload, KiB"),
        pairs=[
            Pair(
                charts.Series(NAMES[encoding], hue, hue),
                size / KIB,
                [Entry(NAMES[encoding]), _kib(size)],
                None,
                measured.value(_cell(encoding, size)),
                _cell(encoding, size),
            )
            for hue, encoding in enumerate(NAMES)
            for size in levels_of("payload_bytes", measured)
        ],
    )


def _threshold_table(measured: Measured) -> Table:
    (printed,) = read_published("mtom", "published-threshold")
    own = _threshold(measured)
    return Table(
        id="mtom-threshold",
        title="The MTOM threshold",
        caption="The payload from which MTOM is faster. The report takes log(inline / MTOM) at "
        "each size in each block. Isotonic regression makes its mean over blocks monotone; the "
        "threshold is where that line crosses zero, on a logarithmic scale. The interval holds the "
        "sizes at which the blocks do not show which is faster (95 %, Student's t).",
        heads=[headings("payload", "paper, KiB", "measured, KiB")],
        rows=[
            [
                Entry("threshold"),
                Entry(
                    f"{printed['low']} to {printed['high']}",
                    is_published=True,
                ),
                Entry(own.reason) if isinstance(own, Untested) else Entry(_words(measured, own)),
            ]
        ],
    )


def _words(measured: Measured, threshold: Estimate) -> str:
    """Return the threshold with its interval; beyond the sizes measured there is no number."""
    return show_crossing(threshold, [size / KIB for size in _payloads(measured)])


def _table(published: Published, measured: Measured) -> Table:
    rows = []
    for size in levels_of("payload_bytes", measured):
        cells = [_cell("inline", size), _cell("mtom", size)]
        row = [_kib(size)]
        for of in ("time_ms", "request_bytes"):
            ratio = measured.statistic(cells, quotient, of)
            row += [measured_entry(measured, cell, of, published) for cell in cells]
            row.append(Entry() if isinstance(ratio, Untested) else Entry(estimate=ratio))
        rows.append(row)
    return Table(
        id="mtom-latency-and-bytes",
        title="Latency and bytes",
        caption="Latency in ms and bytes of the request's body. Inline over MTOM is above 1 where "
        "MTOM is faster or smaller. A whole multipart message stands for MTOM. One latency is "
        "printed, by a reader of the lost chart: 11 ms with 192 K over MTOM.",
        heads=[
            [Header("payload"), Header("latency, ms", 3), Header("request, bytes", 3)],
            headings("KiB", *("inline", "MTOM", "inline / MTOM") * 2),
        ],
        rows=rows,
    )


def _summary(published: Published, measured: Measured) -> Sequence[str]:
    own = _threshold(measured)
    sentences = []
    if isinstance(own, Estimate):
        sentences.append(
            f"The payload from which MTOM is faster is {_words(measured, own)} KiB; in the paper "
            "it is between 4 and 5 K."
        )
    for size in _payloads(measured)[-1:]:
        ratio = measured.statistic([_cell("inline", size), _cell("mtom", size)], quotient)
        if isinstance(ratio, Estimate):
            sentences.append(
                f"At {size / KIB:g} KiB inline base64 took {show_estimate(ratio)} times as long as "
                "MTOM."
            )
    return sentences


STUDY = StudyModule(
    study="mtom",
    factors=frozenset(("encoding", "payload_bytes")),
    published=_published,
    claims=CLAIMS,
    exhibits=_exhibits,
    summary=_summary,
    system="encoding",
    names=NAMES,
    numbers=frozenset(("payload_bytes",)),
)
