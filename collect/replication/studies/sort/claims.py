"""The claims of the sort study."""

from collections.abc import Sequence

from collect.cells.notation import show_level
from collect.replication.claims import Bound, Claim, over_cells
from collect.replication.evidence import quotient
from collect.replication.studies.sort.cells import SERVERS, SIZES, TRANSPORTS, cell_of


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
            [("JMS, 100 000", [cell_of("jms", 1, 100000), cell_of("jms", 5, 100000)], quotient)]
        ),
        note="About 5² = 25: the work is n², so a fifth of the integers is a 25th of the work.",
    ),
    Claim(
        sentence="SOAP speeds up from 1 to 5 servers at 100 000 integers.",
        where="section 10, Figures 7 and 9",
        statistic="time with 1 server / time with 5",
        bound=Bound(low=1, is_open=True),
        numbers=over_cells(
            [("SOAP, 100 000", [cell_of("soap", 1, 100000), cell_of("soap", 5, 100000)], quotient)]
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
                    [cell_of("soap", servers, size), cell_of("jms", servers, size)],
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
                    [cell_of(t, servers, size) for t in TRANSPORTS for size in (50000, 100000)],
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
                    [cell_of("soap", servers, size) for servers in (3, 1, 5)],
                    _over_slowest,
                )
                for size in SIZES
            ]
        ),
    ),
)
