"""The sort study: Eggen and Sunku, Efficiency of SOAP versus JMS (paper 000_…, Figures 7-11)."""

from collections.abc import Sequence

from collect.cells.notation import show_estimate, show_level, show_span, show_sure
from collect.replication.evidence import Evidence, Measured, Published, quotient
from collect.replication.exhibits import Exhibit
from collect.replication.studies import StudyModule
from collect.replication.studies.sort.cells import NAMES, TRANSPORTS, cell_of, published
from collect.replication.studies.sort.claims import CLAIMS
from collect.replication.studies.sort.figures import figure_7, growth_figure, times_figure
from collect.replication.studies.sort.growth import crossings, exponents, speed_up
from collect.stats.estimates import Estimate


def _exhibits(published: Published, measured: Measured) -> Sequence[Exhibit]:
    return [
        figure_7(published, measured),
        times_figure("8", "JMS times", ("jms",), published, measured),
        times_figure("9", "SOAP times", ("soap",), published, measured),
        times_figure("10", "Execution times for JMS and SOAP", TRANSPORTS, published, measured),
        growth_figure(published, measured),
        exponents(published, measured),
        speed_up(published, measured),
        crossings(published, measured),
    ]


def _summary(published: Published, measured: Measured) -> Sequence[str]:
    sentences = []
    own, printed = _soap_over_jms(measured), _soap_over_jms(published)
    if own:
        sentences.append(
            f"A job over SOAP took {show_span(own)} times as long as the same job over JMS "
            f"({show_sure(own)}); in the paper {show_span(printed)} ({len(printed)} ratios)."
        )
    for transport in TRANSPORTS:
        sizes = [
            int(cell["integers"])
            for cell in measured.keys
            if (cell["transport"], cell["servers"]) == (transport, 5)
        ]
        for size in sorted(sizes)[-1:]:
            cells = [cell_of(transport, servers, size) for servers in (1, 5)]
            ratio = measured.statistic(cells, quotient)
            if isinstance(ratio, Estimate):
                sentences.append(
                    f"With {NAMES[transport]} at {show_level(size)} integers, five servers were "
                    f"{show_estimate(ratio)} times as fast as one."
                )
    return sentences


def _soap_over_jms(evidence: Evidence) -> list[Estimate]:
    soap = [cell for cell in evidence.keys if cell["transport"] == "soap"]
    pairs = [[cell, cell.at(transport="jms")] for cell in soap]
    ratios = [evidence.statistic(pair, quotient) for pair in pairs]
    return [ratio for ratio in ratios if isinstance(ratio, Estimate)]


STUDY = StudyModule(
    study="sort",
    factors=frozenset(("transport", "servers", "integers")),
    published=published,
    claims=CLAIMS,
    exhibits=_exhibits,
    summary=_summary,
    system="transport",
    names=NAMES,
    numbers=frozenset(("servers", "integers")),
)
