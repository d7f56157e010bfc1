"""The binding study: Rešetar, SOAP/HTTP vs. SOAP/JMS (paper 001_…); its numbers are lost."""

from collections.abc import Sequence
from dataclasses import replace

from collect.cells.notation import show, show_estimate, show_level, show_span, show_sure
from collect.replication import charts
from collect.replication.claims import Bound, Claim, over_cells
from collect.replication.evidence import (
    Measured,
    Published,
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
    Panel,
    Table,
    headings,
    measured_entry,
)
from collect.replication.studies import StudyModule
from collect.run.cell import Cell
from collect.stats.estimates import Estimate

KB = 1024
SIZES = (512, 3584, 20480, 104448)
OURS = 20480
LIKED = 3584
"""The size at which the paper finds JMS the faster."""
NAMES = {
    ("http", True): "HTTP",
    ("jms", True): "JMS",
    ("http", False): "HTTP, not pooled",
    ("jms", False): "JMS, not pooled",
}
_QUANTITY = "response time in ms"
_WIDE = 820


def _published() -> Published:
    cells = load_published(
        "binding", {"binding": str, "message_bytes": int, "concurrency": int, "pooled": bool}
    )
    return replace(cells, reason="text only: the table and the charts are lost")


def _cell(binding: str, size: int, concurrency: int, *, pooled: bool = True) -> Cell:
    return Cell.of(binding=binding, message_bytes=size, concurrency=concurrency, pooled=pooled)


def _size(size: int) -> str:
    return f"{size / KB:g} KB"


def _over(slower: str, faster: str, size: int, concurrency: int) -> tuple[str, list[Cell]]:
    label = f"{_size(size)}, {slower.upper()} / {faster.upper()}"
    return label, [_cell(slower, size, concurrency), _cell(faster, size, concurrency)]


_NOTE = "Judged on reused connections; 20 KB is our choice of the size the paper does not name."

CLAIMS = (
    Claim(
        sentence="With one request at a time there is no big difference, but for the smallest.",
        where="section 1, Single request",
        statistic="JMS time / HTTP time",
        bound=Bound(0.8, 1.25),
        numbers=over_cells([(*_over("jms", "http", size, 1), quotient) for size in SIZES[1:]]),
        note=f"{_NOTE} The smallest took 196 ms, says the text, and blames the look-up in JNDI.",
    ),
    Claim(
        sentence="With 30 at once, HTTP is faster at 0.5 KB and JMS at 3.5 KB.",
        where="section 2, 30 concurrent requests",
        statistic="time of the slower / time of the faster",
        bound=Bound(low=1, is_open=True),
        numbers=over_cells(
            [
                (*_over("jms", "http", 512, 30), quotient),
                (*_over("http", "jms", LIKED, 30), quotient),
            ]
        ),
        note=_NOTE.partition(";")[0] + ".",
    ),
    Claim(
        sentence="With 100 at once, JMS is a little slower, but faster at 3.5 KB.",
        where="section 3, 100 concurrent requests",
        statistic="JMS time / HTTP time, at 3.5 KB < 1, else",
        bound=Bound(1, 1.25),
        direction=Bound(low=1, is_open=True),
        numbers=over_cells([(*_over("jms", "http", size, 100), quotient) for size in SIZES]),
        bounds={_over("jms", "http", LIKED, 100)[0]: Bound(high=1, is_open=True)},
        note=_NOTE,
    ),
    Claim(
        sentence="There is no big difference with 30 at once at the other sizes, nor all together.",
        where="sections 2 and 4, All together",
        statistic="JMS time / HTTP time, every size and number at once,",
        bound=Bound(0.8, 1.25),
        numbers=over_cells(
            [
                (f"{label}, {concurrency} at once", cells, quotient)
                for concurrency in (1, 30, 100)
                for size in SIZES
                for label, cells in [_over("jms", "http", size, concurrency)]
            ]
        ),
        note=_NOTE,
    ),
)


def _exhibits(published: Published, measured: Measured) -> Sequence[Exhibit]:
    return [
        _by_concurrency(published, measured),
        _together(published, measured),
        _failures(measured),
    ]


def _series(measured: Measured) -> dict[tuple[str, bool], charts.Series]:
    ran = {(str(cell["binding"]), bool(cell["pooled"])) for cell in measured.keys}
    return {
        kind: charts.Series(name, hue, hue)
        for hue, (kind, name) in enumerate(NAMES.items())
        if kind in ran
    }


def _at_once(concurrency: int) -> str:
    return "One request at a time" if concurrency == 1 else f"{concurrency} requests at once"


def _bar(measured: Measured, cell: Cell, series: str, place: str) -> list[charts.Bar]:
    time = measured.value(cell)
    if time is None:
        return []
    return [charts.Bar(series, place, time.value, time.low, time.high, show_estimate(time))]


def _by_concurrency(published: Published, measured: Measured) -> Figure:
    series, sizes = _series(measured), levels_of("message_bytes", measured)
    panels = []
    for concurrency in levels_of("concurrency", measured):
        drawn = [
            bar
            for (binding, pooled), one in series.items()
            for size in sizes
            for bar in _bar(
                measured,
                _cell(binding, size, concurrency, pooled=pooled),
                one.name,
                _size_text(size),
            )
        ]
        if drawn:
            places = [_size_text(size) for size in sizes]
            title = _at_once(concurrency)
            chart = charts.bars(drawn, list(series.values()), places, ("message", _QUANTITY))
            panels.append(
                Panel(title, f"{title}: {_QUANTITY} by message and binding; see the table.", chart)
            )
    return Figure(
        id="binding-by-concurrency",
        title="Response time by message size",
        caption="A chart for each number of requests at once, as in the paper, whose own are "
        "lost. Bars begin at zero, each chart has a scale of its own; lines are 95 % intervals, "
        "cut at the edge.",
        panels=panels,
        data=_numbers("The numbers of these charts", published, measured),
    )


def _size_text(size: int) -> str:
    return f"{_size(size)} (ours)" if size == OURS else _size(size)


def _together(published: Published, measured: Measured) -> Figure:
    series = _series(measured)
    drawn, places = [], []
    for concurrency in levels_of("concurrency", measured):
        for size in levels_of("message_bytes", measured):
            place = f"{_size(size)}|{concurrency}"
            found = [
                bar
                for (binding, pooled), one in series.items()
                for bar in _bar(
                    measured, _cell(binding, size, concurrency, pooled=pooled), one.name, place
                )
            ]
            places += [place] if found else []
            drawn += found
    chart = charts.bars(
        drawn,
        list(series.values()),
        places,
        ("message, and below it requests at once", _QUANTITY),
        _WIDE,
    )
    description = f"Every {_QUANTITY} by message, requests at once and binding; see the table."
    return Figure(
        id="binding-together",
        title="All together",
        caption="The same bars on one scale.",
        panels=[Panel("Measured", description, chart)] if drawn else [],
        data=_numbers("The numbers of this chart", published, measured),
    )


def _numbers(title: str, published: Published, measured: Measured) -> Table:
    kinds = [
        pooled for pooled in (True, False) if any(c["pooled"] is pooled for c in measured.keys)
    ]
    rows = []
    for concurrency in levels_of("concurrency", measured):
        for size in levels_of("message_bytes", measured):
            row = [
                Entry(show_level(concurrency), sort=concurrency),
                Entry(_size_text(size), sort=size),
            ]
            for pooled in kinds:
                jms, http = (
                    _cell(name, size, concurrency, pooled=pooled) for name in ("jms", "http")
                )
                ratio = measured.statistic([jms, http], quotient)
                row += [measured_entry(measured, c, published=published) for c in (http, jms)]
                row.append(Entry() if isinstance(ratio, Untested) else Entry(estimate=ratio))
            if any(entry.text or entry.estimate for entry in row[2:]):
                rows.append(row)
    words = {True: "connections reused", False: "a connection a call"}
    return Table(
        id="binding-numbers",
        title=title,
        caption="Response time of a request in ms and JMS over HTTP, with 95 % intervals. Failed "
        "calls are excluded from all times. The paper prints one time, 196 ms for the first "
        "message of 0.5 KB over JMS, and blames the look-up in JNDI, which is not timed here.",
        heads=[
            [Header("", 2), *(Header(words[pooled], 3) for pooled in kinds)],
            headings("at once", "message", *("HTTP", "JMS", "JMS / HTTP") * len(kinds)),
        ],
        rows=rows,
    )


def _failures(measured: Measured) -> Table:
    rows = []
    for cell in measured.keys:
        errors = measured.cells[cell].errors
        if errors:
            share = errors / measured.cells[cell].made
            kind = str(cell["binding"]), bool(cell["pooled"])
            rows.append(
                [
                    Entry(NAMES.get(kind, kind[0]), cell=cell),
                    Entry(_size_text(int(cell["message_bytes"])), sort=cell["message_bytes"]),
                    Entry(show_level(cell["concurrency"]), sort=cell["concurrency"]),
                    Entry(show_level(errors), sort=errors),
                    Entry(f"{show(100 * share)} %", sort=share),
                ]
            )
    return Table(
        id="binding-failures",
        title="Failed calls",
        caption="Cells with measured calls that failed, apart from the times."
        if rows
        else "No measured call failed.",
        heads=[headings("binding", "message", "at once", "failed", "share of calls")],
        rows=rows,
    )


def _summary(published: Published, measured: Measured) -> Sequence[str]:
    sentences = []
    for concurrency in levels_of("concurrency", measured):
        ratios = [
            ratio
            for size in levels_of("message_bytes", measured)
            for ratio in [
                measured.statistic(
                    [_cell("jms", size, concurrency), _cell("http", size, concurrency)], quotient
                )
            ]
            if isinstance(ratio, Estimate)
        ]
        if ratios:
            sentences.append(
                f"{_at_once(concurrency)}: SOAP over JMS took {show_span(ratios)} times as long as "
                f"over HTTP, with connections reused ({show_sure(ratios)})."
            )
    return sentences


STUDY = StudyModule(
    study="binding",
    factors=frozenset(("binding", "message_bytes", "concurrency", "pooled")),
    published=_published,
    claims=CLAIMS,
    exhibits=_exhibits,
    summary=_summary,
    system="binding",
    names={"http": "HTTP", "jms": "JMS"},
    numbers=frozenset(("message_bytes", "concurrency")),
)
