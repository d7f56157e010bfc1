"""The attachments study: Ying, Huang and Walker, SOAP with Attachments (paper 004_…)."""

from collections.abc import Sequence
from itertools import combinations

from collect.cells.notation import show, show_estimate
from collect.replication import charts
from collect.replication.claims import Bound, Claim, Numbers, over_cells
from collect.replication.evidence import (
    Evidence,
    Measured,
    Published,
    Quantity,
    Untested,
    levels_of,
    load_published,
    quotient,
)
from collect.replication.exhibits import (
    Entry,
    Exhibit,
    Figure,
    Header,
    Table,
    headings,
    measured_entry,
    printed_entry,
)
from collect.replication.figures import Pair, paired_figure
from collect.replication.studies import StudyModule
from collect.run.cell import Cell
from collect.stats.estimates import Estimate

MATRICES = (10, 50, 100, 500, 1000)
HEAP_MB = 128
"""Our choice: as much as all memory of the paper's machine, which names no heap."""
NAMES = {
    "xml": "standard SOAP",
    "mime": "MIME",
    "dime": "DIME",
    "xml-multiref": "SOAP with multi-references (ours)",
    "jms": "JMS (ours)",
}
_PUBLISHED = ("xml", "mime", "dime")


def _published() -> Published:
    return load_published("attachments", {"encoding": str, "matrix": int})


def _cell(encoding: str, matrix: int) -> Cell:
    return Cell.of(encoding=encoding, matrix=matrix)


def _square(matrix: int) -> str:
    return f"{matrix}\N{SUPERSCRIPT TWO}"


def _memory(evidence: Evidence) -> Sequence[tuple[str, Estimate | Untested]]:
    """Share of trials with the outcome the paper reports, in the heaps of our choice."""
    return [
        (f"{NAMES[encoding]}, {_square(matrix)}: {words}", _outcome(evidence, cell, outcome))
        for encoding, matrix, outcome, words in (
            ("xml", 500, "oom", "out of memory"),
            ("mime", 1000, "ok", "done"),
            ("dime", 1000, "ok", "done"),
        )
        for cell in [_cell(encoding, matrix)]
    ]


def _outcome(evidence: Evidence, cell: Cell, outcome: str) -> Estimate | Untested:
    share = evidence.share(cell, outcome)
    if isinstance(share, Untested) or evidence.constant(cell, "machine_mb") == HEAP_MB:
        return share
    heaps = [evidence.constant(cell, name) for name in ("client_heap_mb", "tomcat_heap_mb")]
    if heaps == [HEAP_MB] * 2:
        return share
    return Untested(
        f"the heaps were {heaps[0]} and {heaps[1]} MB, and the paper's machine had {HEAP_MB} MB "
        "in all: see the profile paper-memory"
    )


def _pairs(encodings: Sequence[str], matrix: int, of: Quantity = "time_ms") -> Numbers:
    words = "time" if of == "time_ms" else "bytes"
    return over_cells(
        [
            (
                f"{words}, {NAMES[first]} / {NAMES[second]}",
                [_cell(first, matrix), _cell(second, matrix)],
                quotient,
            )
            for first, second in combinations(encodings, 2)
        ],
        of,
    )


def _alike_at_10(evidence: Evidence) -> Sequence[tuple[str, Estimate | Untested]]:
    return [
        *_pairs(_PUBLISHED, 10)(evidence),
        *_pairs(_PUBLISHED, 10, "request_bytes")(evidence),
    ]


def _change(values: Sequence[float]) -> float:
    """Ratio at the first size over ratio at the second: [SOAP, other, SOAP, other]."""
    return (values[0] / values[1]) / (values[2] / values[3])


def _as_at_50(evidence: Evidence) -> Sequence[tuple[str, Estimate | Untested]]:
    """Return what standard SOAP takes of time and bytes at 100² over what it takes at 50²."""
    quantities: tuple[tuple[str, Quantity], ...] = (("time", "time_ms"), ("bytes", "request_bytes"))
    return [
        (
            f"{words}, over {NAMES[encoding]}",
            evidence.statistic(
                [_cell(name, n) for n in (100, 50) for name in ("xml", encoding)], _change, of
            ),
        )
        for words, of in quantities
        for encoding in ("mime", "dime")
    ]


def _mime_less_dime(evidence: Evidence) -> Sequence[tuple[str, Estimate | Untested]]:
    return [
        (_square(n), evidence.difference(_cell("mime", n), _cell("dime", n), "request_bytes"))
        for n in MATRICES
    ]


CLAIMS = (
    Claim(
        sentence="A message of standard SOAP is several times larger at 50² and 100².",
        where="section 3.2, Table 2",
        statistic="bytes of standard SOAP / bytes with attachment",
        bound=Bound(low=6),
        direction=Bound(low=1, is_open=True),
        numbers=over_cells(
            [
                (f"{_square(n)}, over {NAMES[e]}", [_cell("xml", n), _cell(e, n)], quotient)
                for n in (50, 100)
                for e in ("mime", "dime")
            ],
            "request_bytes",
        ),
        note="The paper says about 6.46 times at 50², and nearly the same at 100².",
    ),
    Claim(
        sentence="Standard SOAP takes 4.85 times as long as MIME at 50².",
        where="section 3.2, Table 1",
        statistic="time of standard SOAP / time of MIME",
        bound=Bound(4.85 / 1.5, 4.85 * 1.5),
        direction=Bound(low=1, is_open=True),
        numbers=over_cells([("50²", [_cell("xml", 50), _cell("mime", 50)], quotient)]),
        note="A number of the paper's own machine: the bound is a factor of 1.5 either way.",
    ),
    Claim(
        sentence="Standard SOAP takes 7.47 times as long as DIME at 50².",
        where="section 3.2, Table 1",
        statistic="time of standard SOAP / time of DIME",
        bound=Bound(7.47 / 1.5, 7.47 * 1.5),
        direction=Bound(low=1, is_open=True),
        numbers=over_cells([("50²", [_cell("xml", 50), _cell("dime", 50)], quotient)]),
        note="A number of the paper's own machine: the bound is a factor of 1.5 either way.",
    ),
    Claim(
        sentence="Standard SOAP runs out of memory at 500²; attachments do 1000².",
        where="section 3.2",
        statistic="share of trials with that outcome",
        bound=Bound(low=1),
        direction=Bound(low=0, is_open=True),
        numbers=_memory,
        note="The paper's machine had 128 MB in all, and no heap is named. The claim is judged "
        "in heaps of 128 MB, our choice: see the profile paper-memory.",
    ),
    Claim(
        sentence="MIME is always about 310 bytes larger than DIME.",
        where="section 3.2, Table 2",
        statistic="bytes of MIME less bytes of DIME",
        bound=Bound(300, 320),
        direction=Bound(low=0, is_open=True),
        numbers=_mime_less_dime,
    ),
    Claim(
        sentence="DIME is never slower than MIME.",
        where="section 3.2, Table 1",
        statistic="time of MIME / time of DIME",
        bound=Bound(low=1),
        numbers=over_cells(
            [(_square(n), [_cell("mime", n), _cell("dime", n)], quotient) for n in MATRICES]
        ),
    ),
    Claim(
        sentence="DIME is just slightly faster than MIME.",
        where="section 3.2, Table 1",
        statistic="time of MIME / time of DIME",
        bound=Bound(1, 1.25),
        direction=Bound(low=1, is_open=True),
        numbers=over_cells(
            [(_square(n), [_cell("mime", n), _cell("dime", n)], quotient) for n in MATRICES]
        ),
        note="At 10² it is 2.15 times in the paper's own table.",
    ),
    Claim(
        sentence="At 10² there is not too much difference in time and in bytes.",
        where="section 3.2, Tables 1 and 2",
        statistic="one encoding / another",
        bound=Bound(1 / 1.5, 1.5),
        numbers=_alike_at_10,
        note="In the paper, up to 2.1 times in time and 2.8 in bytes.",
    ),
    Claim(
        sentence="MIME and DIME are nearly the same at 100².",
        where="section 3.2, Table 1",
        statistic="time of MIME / time of DIME",
        bound=Bound(0.8, 1.25),
        numbers=_pairs(("mime", "dime"), 100),
    ),
    Claim(
        sentence="What 50² shows of standard SOAP is nearly the same at 100².",
        where="section 3.2, Tables 1 and 2",
        statistic="standard SOAP over an attachment, at 100² / at 50²",
        bound=Bound(0.8, 1.25),
        numbers=_as_at_50,
    ),
)


def _exhibits(published: Published, measured: Measured) -> Sequence[Exhibit]:
    return [
        _table(
            "Table 1: round trip",
            "Time of one call there and back in ms, printed next to measured, with 95 % intervals. "
            "Making the matrix is not timed, serialising it is. Columns marked ours were published "
            "by nobody.",
            "time_ms",
            published,
            measured,
        ),
        _figure(published, measured),
        _table(
            "Table 2: message bytes",
            "Bytes of the request's body, without the headers of HTTP or JMS. The printed sizes of "
            "DIME are 4n² + 10n and about 1000 more, which a serialised float[n][n] explains; "
            "those of standard SOAP depend on the digits of the floats. The table of cells has the "
            "bytes of responses.",
            "request_bytes",
            published,
            measured,
        ),
    ]


def _encodings(measured: Measured) -> list[str]:
    planned = {cell["encoding"] for cell in measured.keys}
    return [name for name in NAMES if name in _PUBLISHED or name in planned]


def _table(
    title: str, caption: str, of: Quantity, published: Published, measured: Measured
) -> Table:
    encodings = _encodings(measured)
    rows = []
    for matrix in levels_of("matrix", published, measured):
        row = [Entry(_square(matrix), sort=matrix)]
        for encoding in encodings:
            if encoding in _PUBLISHED:
                row.append(printed_entry(published, _cell(encoding, matrix), of))
            row.append(measured_entry(measured, _cell(encoding, matrix), of, published))
        rows.append(row)
    spans = [2 if encoding in _PUBLISHED else 1 for encoding in encodings]
    return Table(
        id=f"attachments-{'times' if of == 'time_ms' else 'sizes'}",
        title=title,
        caption=caption,
        heads=[
            [
                Header(""),
                *(Header(NAMES[e], span) for e, span in zip(encodings, spans, strict=True)),
            ],
            headings("matrix", *(t for span in spans for t in ("paper", "measured")[2 - span :])),
        ],
        rows=rows,
    )


def _figure(published: Published, measured: Measured) -> Figure:
    encodings = _encodings(measured)
    return paired_figure(
        id="attachments-round-trip",
        title="Round trip over the size of the matrix",
        caption="Table 1 as lines; both axes are logarithmic and the same on both sides.",
        quantity="round trip in ms",
        x_title="rows and columns",
        heads=("encoding", "matrix"),
        pairs=[
            Pair(
                charts.Series(NAMES[encoding], hue, hue),
                matrix,
                [Entry(NAMES[encoding]), Entry(_square(matrix), sort=matrix)],
                published.value(_cell(encoding, matrix)),
                measured.value(_cell(encoding, matrix)),
                _cell(encoding, matrix),
                measured.arithmetic(_cell(encoding, matrix)),
            )
            for hue, encoding in enumerate(encodings)
            for matrix in levels_of("matrix", published, measured)
        ],
    )


def _summary(published: Published, measured: Measured) -> Sequence[str]:
    sentences = []
    shared = [
        int(cell["matrix"])
        for cell in measured.keys
        if cell["encoding"] == "xml" and measured.value(cell)
    ]
    for matrix in sorted(shared)[-1:]:
        for encoding, text in (("mime", "as a MIME attachment"), ("jms", "as a JMS message")):
            cells = [_cell("xml", matrix), _cell(encoding, matrix)]
            times = measured.statistic(cells, quotient)
            sizes = measured.statistic(cells, quotient, "request_bytes")
            if isinstance(times, Estimate) and isinstance(sizes, Estimate):
                sentences.append(
                    f"In standard SOAP a matrix of {_square(matrix)} took "
                    f"{show_estimate(times)} times the time and {show(sizes.value)} times the "
                    f"bytes it took {text}."
                )
    failed = [cell for cell in measured.keys if measured.outcome(cell) == "oom"]
    if failed:
        cells_text = ", ".join(
            f"{NAMES.get(name, name)} at {_square(int(cell['matrix']))}"
            for cell in failed
            for name in [str(cell["encoding"])]
        )
        sentences.append(f"Out of memory: {cells_text}.")
    return sentences


STUDY = StudyModule(
    study="attachments",
    factors=frozenset(("encoding", "matrix")),
    published=_published,
    claims=CLAIMS,
    exhibits=_exhibits,
    summary=_summary,
    system="encoding",
    names=NAMES,
    numbers=frozenset(("matrix",)),
)
