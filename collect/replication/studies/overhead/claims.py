"""The claims of the overhead study."""

from collections.abc import Sequence
from itertools import combinations

from collect.cells.notation import show, show_level
from collect.replication.claims import Bound, Claim, Numbers, over_cells
from collect.replication.evidence import NO_BLOCK, Evidence, Untested, quotient
from collect.replication.studies.overhead.experiments import (
    ELEMENTS,
    ONE_BYTE,
    SIZE,
    SIZES,
    Experiment,
    cell_of,
    one_byte,
    published,
)
from collect.replication.studies.overhead.variance import table_for_claims
from collect.stats.anova import BLOCK
from collect.stats.estimates import Estimate, quotient_of_means, share_between
from collect.stats.groups import effect_of


def _significance(experiment: Experiment) -> Numbers:
    """Cohen's f of each source with its 90 % interval; a lower end above 0 is p below 0.05."""

    def numbers(evidence: Evidence) -> Sequence[tuple[str, Estimate | Untested]]:
        table = table_for_claims(experiment, evidence)
        if isinstance(table, Untested):
            return [(experiment.factors[0].lower(), table)]
        within = next(row.df for row in table if row.source == "Within")
        return [
            (
                f"{row.source.lower()}, F {show(row.f)} against {show(row.f_crit)}",
                effect_of(row.f, row.df, within, table[-1].df + 1, evidence.looks),
            )
            for row in table
            if row.f is not None and row.f_crit is not None and row.source != BLOCK
        ]

    return numbers


def _share(experiment: Experiment) -> Numbers:
    """Share of the variation of calls explained by the one factor, its interval from trials.

    Of calls, as in the document: a share of the variation of trial means would be larger, the more
    calls a trial averages over.
    """
    label = f"share of {experiment.factors[0].lower()}"

    def numbers(evidence: Evidence) -> Sequence[tuple[str, Estimate | Untested]]:
        table = table_for_claims(experiment, evidence)
        if isinstance(table, Untested):
            return [(label, table)]
        if evidence.printed_table(experiment.name) is not None:
            share = table[0].share or 0.0
            return [(label, Estimate(share, share, share))]
        blocks = evidence.moments_by_block(experiment.cells(published()))
        return [(label, share_between(blocks, evidence.looks) if blocks else Untested(NO_BLOCK))]

    return numbers


def _apart(evidence: Evidence) -> Sequence[tuple[str, Estimate | Untested]]:
    """Return SOAP over TCP at each size with the widest quotient their intervals allow."""
    found: list[tuple[str, Estimate | Untested]] = []
    for size in SIZES:
        label = f"{show_level(size)} bytes"
        soap, tcp = (evidence.interval(cell_of(protocol, size)) for protocol in ("soap", "tcp"))
        if soap is None or tcp is None:
            found.append((label, evidence.statistic([cell_of("soap", size)], lambda t: t[0])))
            continue
        low = high = None
        if soap.low is not None and soap.high is not None and tcp.low is not None and tcp.high:
            low = max(0.0, soap.low) / tcp.high
            high = soap.high / tcp.low if tcp.low > 0 else float("inf")
        ratio = soap.value / tcp.value
        found.append((label, Estimate(ratio, low, high, soap.samples, looks=evidence.looks)))
    return found


def _overheads_alike(evidence: Evidence) -> Sequence[tuple[str, Estimate | Untested]]:
    """Return the overhead at each size over that at each smaller one."""
    return [
        (
            f"{show_level(large)} against {show_level(small)} bytes",
            _overhead_over_overhead(evidence, large, small),
        )
        for small, large in combinations(SIZES, 2)
    ]


def _overhead_over_overhead(evidence: Evidence, large: int, small: int) -> Estimate | Untested:
    rows = evidence.rows([cell_of(p, size) for size in (large, small) for p in ("soap", "tcp")])
    if isinstance(rows, Untested):
        return rows
    above, below = ([row[at] - row[at + 1] for row in rows] for at in (0, 2))
    found = quotient_of_means(above, below, evidence.looks)
    if found is None:
        return Untested(f"no overhead at {show_level(small)} bytes")
    # A printed number is known exactly.
    is_printed = evidence.printed_table(SIZE.name) is not None
    return Estimate(found.value, found.value, found.value) if is_printed else found


_EFFECT = "Cohen's f, the effect in standard deviations, with its 90 % interval"
_SIGNIFICANT = Bound(low=0, is_open=True, negligible=0.1)
"""p < 0.05; it fails where the effect is shown to be below 0.1, which Cohen (1988) calls small."""

CLAIMS = (
    Claim(
        sentence="For a reply of one byte, SOAP/HTTP takes over 13 times as long as TCP.",
        where="sections 4.1 and 5, Figure 3",
        statistic="SOAP time / TCP time",
        bound=Bound(low=13),
        direction=Bound(low=1, is_open=True),
        numbers=over_cells([("one byte", [one_byte("soap"), one_byte("tcp")], quotient)]),
        note="TCP's printed mean of 1.07 ms is about one tick of a clock of 1 ms.",
    ),
    Claim(
        sentence="The protocol is significant at one byte.",
        where="section 4.1, Figure 3",
        statistic=_EFFECT,
        bound=_SIGNIFICANT,
        numbers=_significance(ONE_BYTE),
        note="Printed F 16 719; from the printed counts, sums and variances it is 16 724.",
    ),
    Claim(
        sentence="The protocol explains almost everything at one byte.",
        where="section 4.1, Figure 3",
        statistic="share of the variation",
        bound=Bound(low=0.9),
        numbers=_share(ONE_BYTE),
    ),
    Claim(
        sentence="Size, protocol and their interaction are significant.",
        where="section 4.2, Figure 6",
        statistic=_EFFECT,
        bound=_SIGNIFICANT,
        numbers=_significance(SIZE),
        note="77 % of the printed residual comes from two of the twenty cells: TCP at 20 000 "
        "bytes and SOAP/HTTP at 15 000.",
    ),
    Claim(
        sentence="The intervals of the two protocols never overlap.",
        where="section 4.2, Figure 4",
        statistic="SOAP time / TCP time, from the ends of their intervals,",
        bound=Bound(low=1, is_open=True),
        numbers=_apart,
    ),
    Claim(
        sentence="SOAP/HTTP takes 13.5 times as long as TCP for the smallest reply.",
        where="section 4.2",
        statistic="SOAP time / TCP time",
        bound=Bound(9, 20),
        direction=Bound(low=1, is_open=True),
        numbers=over_cells([("1 byte", [cell_of("soap", 1), cell_of("tcp", 1)], quotient)]),
        note="One end of a ratio that falls as replies grow; the next sentence is the other.",
    ),
    Claim(
        sentence="SOAP/HTTP takes only twice as long as TCP for the largest reply.",
        where="section 4.2",
        statistic="SOAP time / TCP time",
        bound=Bound(1.5, 3),
        direction=Bound(low=1, is_open=True),
        numbers=over_cells(
            [("20 000 bytes", [cell_of("soap", 20000), cell_of("tcp", 20000)], quotient)]
        ),
        note="On paper this hangs on one cell: at 15 000 bytes the ratio is still 5.5.",
    ),
    Claim(
        sentence="What SOAP/HTTP adds to a call lies between 13 and 20 ms, whatever the size.",
        where="section 4.2, equation 3",
        statistic="overhead O(m, 1) at one size / at another, every pair of sizes,",
        bound=Bound(1 / 1.55, 1.55),
        numbers=_overheads_alike,
        note="20 / 13 = 1.54. Every pair is judged, since the largest of ten over the smallest "
        "grows with their noise.",
    ),
    Claim(
        sentence="The number of elements is significant.",
        where="section 4.3, Figure 7",
        statistic=_EFFECT,
        bound=_SIGNIFICANT,
        numbers=_significance(ELEMENTS),
        note="Printed F 3.2, recomputed 3.16; pairwise only 5 and 20 elements differ.",
    ),
    Claim(
        sentence="The number of elements explains about 5 % of the variation.",
        where="section 4.3, Figure 7",
        statistic="share of the variation",
        bound=Bound(0.03, 0.07),
        direction=Bound(low=0, high=0.2),
        numbers=_share(ELEMENTS),
        note="The bound is 5 % give or take 2, our choice; up to 20 % still counts as small.",
    ),
)
