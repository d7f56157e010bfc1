"""How the times of the sort study change: with more servers, with more integers, by transport."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from collect.cells.notation import show_level
from collect.replication.crossing import overtaking, show_crossing
from collect.replication.evidence import (
    Evidence,
    Measured,
    Published,
    Untested,
    levels_of,
    quotient,
)
from collect.replication.exhibits import Entry, Header, Table, headings
from collect.replication.studies.sort.cells import NAMES, TRANSPORTS, cell_of
from collect.stats.estimates import Estimate

LARGE = 50000
_TOO_LONG = 0.5
"""The length of an interval of an exponent, half the way from n to n², that names none."""


def speed_up(published: Published, measured: Measured) -> Table:
    """Lay the speed-up by more servers next to the printed one."""
    servers = [count for count in levels_of("servers", published, measured) if count > 1]
    rows = []
    for transport in TRANSPORTS:
        for size in levels_of("integers", published, measured):
            row = [Entry(NAMES[transport]), Entry(show_level(size), sort=size)]
            for count in servers:
                cells = [cell_of(transport, 1, size), cell_of(transport, count, size)]
                for evidence in (published, measured):
                    ratio = evidence.statistic(cells, quotient)
                    row += _speed_and_efficiency(ratio, count, is_published=evidence is published)
            rows.append(row)
    return Table(
        id="sort-speed-up",
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


def exponents(published: Published, measured: Measured) -> Table:
    """Show the slope of log time over log integers, of all sizes and from 50 000 on."""
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
        id="sort-exponents",
        title="Growth exponents",
        caption="The power of the number of integers with which the time grows: the slope of a "
        "straight line (least squares) through the logarithms. 1 is n, 2 is n²; a cost that stays "
        "the same pulls it down at small sizes. Measured: mean of one slope a block, with its "
        "95 % interval. An interval of 0.5 or longer cannot tell one power from another.",
        heads=[headings("transport", "servers", "sizes", "paper", "measured", "in words")],
        rows=rows,
    )


def _exponent(evidence: Evidence, transport: str, servers: int, least: int) -> Estimate | Untested:
    cells = [
        cell
        for cell in evidence.keys
        if (cell["transport"], cell["servers"]) == (transport, servers)
        and int(cell["integers"]) >= max(least, 1)
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
    if slope.high - slope.low >= _TOO_LONG:
        return "cannot be told"
    if slope.low <= 2 <= slope.high:
        return "as n²"
    if slope.low <= 1 <= slope.high:
        return "as n"
    if slope.high < 1:
        return "slower than n"
    return "between n and n²" if slope.high < 2 and slope.low > 1 else "faster than n²"


def crossings(published: Published, measured: Measured) -> Table:
    """Say from how many integers on SOAP is the faster."""
    rows = []
    for servers in levels_of("servers", published, measured):
        row = [Entry(show_level(servers), sort=servers)]
        for evidence in (published, measured):
            sizes = [
                size
                for size in levels_of("integers", evidence)
                if size > 0 and all(evidence.value(cell_of(t, servers, size)) for t in NAMES)
            ]
            pairs = [
                (cell_of("jms", servers, size), cell_of("soap", servers, size)) for size in sizes
            ]
            found = overtaking(evidence, sizes, pairs)
            text = found.reason if isinstance(found, Untested) else show_crossing(found, sizes)
            row.append(Entry(text, is_published=evidence is published))
        rows.append(row)
    return Table(
        id="sort-crossings",
        title="Where SOAP overtakes JMS",
        caption="The number of integers from which SOAP is faster, if its advantage grows with "
        "them. The method is isotonic regression of log(JMS / SOAP), cut at zero. The measured "
        "column adds the sizes at which the blocks do not show which is faster (95 %, t). The "
        "paper's value for five servers depends on one cell that is probably a misprint.",
        heads=[headings("servers", "paper, integers", "measured, integers")],
        rows=rows,
    )
