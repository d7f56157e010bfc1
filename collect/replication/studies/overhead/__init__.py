"""The overhead study: Menascé and Dubey, overhead of SOAP/HTTP over TCP (paper 003_…)."""

from collections.abc import Sequence

from collect.cells.notation import show, show_estimate, show_level
from collect.replication.evidence import Measured, Published, quotient
from collect.replication.studies import StudyModule
from collect.replication.studies.overhead.claims import CLAIMS
from collect.replication.studies.overhead.exhibits import exhibits
from collect.replication.studies.overhead.experiments import (
    NAMES,
    SIZE,
    cell_of,
    one_byte,
    published,
)
from collect.stats.estimates import Estimate


def _summary(published: Published, measured: Measured) -> Sequence[str]:
    sentences = []
    cells = [one_byte("soap"), one_byte("tcp")]
    own, printed = measured.statistic(cells, quotient), published.statistic(cells, quotient)
    if isinstance(own, Estimate) and isinstance(printed, Estimate):
        sentences.append(
            f"A call with a reply of one byte took {show_estimate(own)} times as long over "
            f"SOAP/HTTP as over TCP; in the paper {show(printed.value)} times."
        )
    sizes = sorted(
        int(cell["reply_bytes"]) for cell in SIZE.cells(measured) if cell["protocol"] == "soap"
    )
    for size in sizes[-1:]:
        added = measured.difference(cell_of("soap", size), cell_of("tcp", size))
        if isinstance(added, Estimate):
            sentences.append(
                f"At {show_level(size)} bytes, SOAP/HTTP added {show_estimate(added)} ms to a call."
            )
    return sentences


STUDY = StudyModule(
    study="overhead",
    factors=frozenset(("experiment", "protocol", "reply_bytes", "elements")),
    published=published,
    claims=CLAIMS,
    exhibits=exhibits,
    summary=_summary,
    system="protocol",
    names=NAMES,
    numbers=frozenset(("reply_bytes", "elements")),
)
