"""The sort study: Eggen and Sunku, Efficiency of SOAP versus JMS (document 000_…, Figures 7-11)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from scipy import stats

from collect.cells.notation import show, show_estimate, show_level
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

TRANSPORTS = ("jms", "soap")
SERVERS = (1, 3, 5)
LARGE = 50000
SIZES = (500, 5000, 50000, 100000)
NAMES = {"jms": "JMS", "soap": "SOAP"}


def _cell(transport: str, servers: int, integers: int) -> Cell:
    return Cell.of(transport=transport, servers=servers, integers=integers)


def _published() -> Published:
    return load_published("sort", {"transport": str, "servers": int, "integers": int})


def _growths(times: Sequence[float]) -> float:
    """Growth of JMS over growth of SOAP: [JMS small, JMS large, SOAP small, SOAP large]."""
    return (times[1] / times[0]) / (times[3] / times[2])


def _over_slowest(times: Sequence[float]) -> float:
    return times[0] / max(times[1:])


CLAIMS = (
    Claim(
        sentence="JMS speeds up from 1 to 5 servers at 100 000 integers.",
        where="section 10, Figures 7 and 8",
        statistic="time with 1 server / time with 5",
        bound=Bound(low=1, is_open=True),
        numbers=over_cells(
            [("JMS, 100 000", [_cell("jms", 1, 100000), _cell("jms", 5, 100000)], quotient)]
        ),
        note="About 5² = 25: the work is n², so a fifth of the integers is a 25th of the work.",
    ),
    Claim(
        sentence="SOAP speeds up from 1 to 5 servers at 100 000 integers.",
        where="section 10, Figures 7 and 9",
        statistic="time with 1 server / time with 5",
        bound=Bound(low=1, is_open=True),
        numbers=over_cells(
            [("SOAP, 100 000", [_cell("soap", 1, 100000), _cell("soap", 5, 100000)], quotient)]
        ),
        note="The printed 1 177 286 ms is likely a slip of the pen.",
    ),
    Claim(
        sentence="SOAP takes nearly twice as long as JMS.",
        where="section 11",
        statistic="SOAP time / JMS time, every cell",
        bound=Bound(1.5, 2.5),
        direction=Bound(low=1, is_open=True),
        numbers=over_cells(
            [
                (
                    f"{servers} servers, {show_level(size)}",
                    [_cell("soap", servers, size), _cell("jms", servers, size)],
                    quotient,
                )
                for servers in SERVERS
                for size in SIZES
            ]
        ),
    ),
    Claim(
        sentence="Both grow alike from 50 000 to 100 000 integers.",
        where="section 11, Figure 11",
        statistic="growth of JMS / growth of SOAP",
        bound=Bound(0.8, 1.25),
        numbers=over_cells(
            [
                (
                    f"{servers} servers",
                    [_cell(t, servers, size) for t in TRANSPORTS for size in (50000, 100000)],
                    _growths,
                )
                for servers in SERVERS
            ]
        ),
        note="n² says that both grow fourfold.",
    ),
    Claim(
        sentence="Three servers are the slowest for SOAP, at every size.",
        where="section 11",
        statistic="time with 3 servers / the longer of 1 and 5",
        bound=Bound(low=1, is_open=True),
        numbers=over_cells(
            [
                (
                    show_level(size),
                    [_cell("soap", servers, size) for servers in (3, 1, 5)],
                    _over_slowest,
                )
                for size in SIZES
            ]
        ),
    ),
)


def _exhibits(published: Published, measured: Measured) -> Sequence[Exhibit]:
    return [
        _figure_7(published, measured),
        _times_figure("8", "JMS times", ("jms",), published, measured),
        _times_figure("9", "SOAP times", ("soap",), published, measured),
        _times_figure(
            "10", "Execution times for JMS and SOAP", ("jms", "soap"), published, measured
        ),
        _growth_figure(published, measured),
        _exponents(published, measured),
        _speed_up(published, measured),
        _crossings(published, measured),
    ]


def _figure_7(published: Published, measured: Measured) -> Table:
    servers = levels_of("servers", published, measured)
    columns = [(transport, count) for count in servers for transport in TRANSPORTS]
    rows = []
    for size in levels_of("integers", published, measured):
        row = [Entry(show_level(size), sort=size)]
        for transport, count in columns:
            cell = _cell(transport, count, size)
            row += [
                printed_entry(published, cell),
                measured_entry(measured, cell, published=published),
            ]
        rows.append(row)
    return Table(
        title="Figure 7: execution times for JMS and SOAP",
        caption="Time of one whole job in milliseconds, printed beside measured. Measured: mean of "
        "the trial means, with its 95 % interval, and below it measured over paper.",
        heads=[
            [Header(""), *(Header(_servers(count), 4) for count in servers)],
            [Header(""), *(Header(NAMES[transport], 2) for transport, _ in columns)],
            headings("integers", *("paper", "measured") * len(columns)),
        ],
        rows=rows,
    )


def _servers(count: int) -> str:
    return "1 server" if count == 1 else f"{count} servers"


def _times_figure(
    number: str, title: str, transports: Sequence[str], published: Published, measured: Measured
) -> Figure:
    cells = _cells(transports, published, measured)
    pairs = {cell: (published.value(cell), measured.value(cell)) for cell in cells}
    return _figure(
        name=f"sort-figure-{number}",
        title=f"Figure {number}: {title}",
        caption="Both axes are logarithmic and the same on both sides: compare slopes and "
        "distances between lines, not heights. Bars are 95 % intervals, cut at the edge.",
        quantity="time in ms",
        x_title="integers",
        pairs=pairs,
    )


def _growth_figure(published: Published, measured: Measured) -> Figure:
    def growths(evidence: Evidence) -> dict[Cell, Estimate]:
        found = {}
        for smaller, larger in pairwise(levels_of("integers", evidence)):
            for cell in _cells(TRANSPORTS, evidence):
                if cell["integers"] == larger:
                    growth = evidence.statistic([cell, cell.at(integers=smaller)], quotient)
                    if isinstance(growth, Estimate):
                        found[cell] = growth
        return found

    printed, own = growths(published), growths(measured)
    return _figure(
        name="sort-figure-11",
        title="Figure 11: rates of growth",
        caption="How many times as long a job takes as one size smaller. The printed axes are "
        "lost; this reading follows section 11. Work that is all n² gives 100 for ten times as "
        "many integers and 4 for twice as many.",
        quantity="times as long as one size below",
        x_title="grown to this many integers",
        pairs={
            cell: (printed.get(cell), own.get(cell))
            for cell in _cells(TRANSPORTS, published, measured)
        },
    )


def _figure(  # noqa: PLR0913 - named everywhere it is called
    *,
    name: str,
    title: str,
    caption: str,
    quantity: str,
    pairs: Mapping[Cell, tuple[Estimate | None, Estimate | None]],
    x_title: str,
) -> Figure:
    """Draw what is printed beside what is measured, a line for each transport and servers."""
    shown = {cell: pair for cell, pair in pairs.items() if any(pair)}
    several = len({cell["transport"] for cell in shown}) > 1
    counts = list(dict.fromkeys(cell["servers"] for cell in shown))
    drawn = []
    for cell, (printed, own) in shown.items():
        transport = str(cell["transport"])
        servers, size = int(cell["servers"]), int(cell["integers"])
        mark = counts.index(servers)
        text = (f"{NAMES[transport]}, " if several else "") + _servers(servers)
        hue = TRANSPORTS.index(transport) if several else mark
        labels = [Entry(NAMES[transport]), *(Entry(show_level(v), sort=v) for v in (servers, size))]
        drawn.append(Pair(charts.Series(text, hue, mark), size, labels, printed, own, cell))
    return paired_figure(
        name=name,
        title=title,
        caption=caption,
        quantity=quantity,
        x_title=x_title,
        heads=("transport", "servers", "integers"),
        pairs=drawn,
    )


def _cells(transports: Sequence[str], *evidence: Evidence) -> list[Cell]:
    return [
        _cell(transport, servers, size)
        for transport in transports
        for servers in levels_of("servers", *evidence)
        for size in levels_of("integers", *evidence)
    ]


def _speed_up(published: Published, measured: Measured) -> Table:
    servers = [count for count in levels_of("servers", published, measured) if count > 1]
    rows = []
    for transport in TRANSPORTS:
        for size in levels_of("integers", published, measured):
            row = [Entry(NAMES[transport]), Entry(show_level(size), sort=size)]
            for count in servers:
                cells = [_cell(transport, 1, size), _cell(transport, count, size)]
                for evidence in (published, measured):
                    ratio = evidence.statistic(cells, quotient)
                    row += _speed_and_efficiency(ratio, count, is_published=evidence is published)
            rows.append(row)
    return Table(
        title="Speed-up",
        caption="Time with one server over time with several. Work that is all n² and split evenly "
        "would give 9 with three servers and 25 with five; work that is all messages gives 1 or "
        "less. Efficiency is the speed-up for each server; work that is n² can have more than 1. "
        "Measured: geometric mean of one ratio a block, with its 95 % interval.",
        heads=[
            [Header("", 2), *(Header(f"1 to {count} servers", 4) for count in servers)],
            [
                Header("", 2),
                *(Header(text, 2) for _ in servers for text in ("paper", "measured")),
            ],
            headings("transport", "integers", *("speed-up", "efficiency") * 2 * len(servers)),
        ],
        rows=rows,
    )


def _speed_and_efficiency(
    ratio: Estimate | Untested, servers: int, *, is_published: bool
) -> list[Entry]:
    if isinstance(ratio, Untested):
        return [Entry(ratio.reason, is_published=is_published), Entry(is_published=is_published)]
    return [
        Entry(estimate=estimate, is_published=is_published)
        for estimate in (ratio, ratio.times(1 / servers))
    ]


def _exponents(published: Published, measured: Measured) -> Table:
    """Slope of log time over log integers, of all sizes and of those from 50 000 on."""
    ranges = {"all sizes": 0, f"from {show_level(LARGE)}": LARGE}
    rows = []
    for transport in TRANSPORTS:
        for servers in levels_of("servers", published, measured):
            for name, least in ranges.items():
                row = [Entry(NAMES[transport]), Entry(show_level(servers), sort=servers)]
                row.append(Entry(name, sort=least))
                for evidence in (published, measured):
                    slope = _exponent(evidence, transport, servers, least)
                    printed = evidence is published
                    row.append(
                        Entry(slope.reason, is_published=printed)
                        if isinstance(slope, Untested)
                        else Entry(estimate=slope, is_published=printed)
                    )
                own = row[-1].estimate
                rows.append([*row, Entry(_order(own) if own else "")])
    return Table(
        title="Growth exponents",
        caption="The power of the number of integers with which the time grows: the slope of a "
        "straight line (least squares) through the logarithms. 1 is n, 2 is n²; a cost that stays "
        "the same pulls it down at small sizes. Measured: mean of one slope a block, with its "
        "95 % interval.",
        heads=[headings("transport", "servers", "sizes", "paper", "measured", "in words")],
        rows=rows,
    )


def _exponent(evidence: Evidence, transport: str, servers: int, least: int) -> Estimate | Untested:
    cells = [
        cell
        for cell in evidence.keys
        if (cell["transport"], cell["servers"]) == (transport, servers)
        and int(cell["integers"]) >= least
        and evidence.value(cell)
    ]
    if len(cells) < 2:
        return Untested("fewer than two sizes")
    sizes = np.log2([int(cell["integers"]) for cell in cells])

    def doubling(times: Sequence[float]) -> float:
        """How many times as long twice as many integers take."""
        return float(2 ** stats.linregress(sizes, np.log2(times)).slope)

    growth = evidence.statistic(cells, doubling)
    return growth if isinstance(growth, Untested) else growth.log2()


def _order(slope: Estimate) -> str:
    if slope.low is None or slope.high is None:
        return "no interval"
    if slope.low <= 1 and slope.high >= 2:
        return "cannot be told"
    if slope.low <= 2 <= slope.high:
        return "as n²"
    if slope.low <= 1 <= slope.high:
        return "as n"
    if slope.high < 1:
        return "slower than n"
    return "between n and n²" if slope.high < 2 and slope.low > 1 else "faster than n²"


def _crossings(published: Published, measured: Measured) -> Table:
    rows = []
    for servers in levels_of("servers", published, measured):
        row = [Entry(show_level(servers), sort=servers)]
        for evidence in (published, measured):
            sizes = [
                size
                for size in levels_of("integers", evidence)
                if all(evidence.value(_cell(t, servers, size)) for t in NAMES)
            ]
            pairs = [(_cell("jms", servers, size), _cell("soap", servers, size)) for size in sizes]
            found = overtaking(evidence, sizes, pairs)
            text = found.reason if isinstance(found, Untested) else show_crossing(found, sizes)
            row.append(Entry(text, is_published=evidence is published))
        rows.append(row)
    return Table(
        title="Where SOAP overtakes JMS",
        caption="The number of integers from which SOAP is the faster, if its advantage grows with "
        "them (isotonic regression of the logarithm of JMS over SOAP, cut at zero). Measured: with "
        "the percentile bootstrap over whole blocks, from three blocks on. On paper that of "
        "five servers hangs on the cell that is likely a slip of the pen.",
        heads=[headings("servers", "paper, integers", "measured, integers")],
        rows=rows,
    )


def _summary(published: Published, measured: Measured) -> Sequence[str]:
    sentences = []
    own, printed = _soap_over_jms(measured), _soap_over_jms(published)
    if own:
        sentences.append(
            f"A job over SOAP took {_range(own)} times as long as the same job over JMS "
            f"({len(own)} pairs of cells); in the paper {_range(printed)} times ({len(printed)})."
        )
    for transport in TRANSPORTS:
        sizes = [
            int(cell["integers"])
            for cell in measured.keys
            if (cell["transport"], cell["servers"]) == (transport, 5)
        ]
        for size in sorted(sizes)[-1:]:
            cells = [_cell(transport, servers, size) for servers in (1, 5)]
            ratio = measured.statistic(cells, quotient)
            if isinstance(ratio, Estimate):
                sentences.append(
                    f"With {NAMES[transport]} at {show_level(size)} integers, five servers were "
                    f"{show_estimate(ratio)} times as fast as one."
                )
    return sentences


def _soap_over_jms(evidence: Evidence) -> list[float]:
    soap = [cell for cell in evidence.keys if cell["transport"] == "soap"]
    pairs = [[cell, cell.at(transport="jms")] for cell in soap]
    ratios = [evidence.statistic(pair, quotient) for pair in pairs]
    return [ratio.value for ratio in ratios if isinstance(ratio, Estimate)]


def _range(values: Sequence[float]) -> str:
    return f"{show(min(values))} to {show(max(values))}"


STUDY = StudyModule(
    study="sort",
    factors=frozenset(("transport", "servers", "integers")),
    published=_published,
    claims=CLAIMS,
    exhibits=_exhibits,
    summary=_summary,
    system="transport",
    names=NAMES,
)
