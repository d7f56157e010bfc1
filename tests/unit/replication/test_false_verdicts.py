"""How often a night in which nothing differs is given a verdict that says the contrary."""

from dataclasses import replace

import numpy as np
import pytest
from synthetic import of_means

from collect.planning.interim import decide, error_at
from collect.replication.claims import Bound, Claim, Verdict, judge, over_cells
from collect.replication.evidence import Measured, quotient
from collect.replication.studies import find
from collect.run.cell import Cell
from collect.run.stop import EQUAL, OBRIEN_FLEMING, StopRule
from collect.stats.spending import ERROR

NIGHTS = 120
FALSE = 0.05 + 2.4 * (0.05 * 0.95 / NIGHTS) ** 0.5
"""What one verdict in twenty stays below in 99 of 100 such counts."""


def night(cells, blocks, rng, forks=0.08):
    """A run whose cells all take the same time; blocks vary as much as forks.

    `forks` is how much forks vary, as a share, a number for all cells or one for each.
    """
    of_forks = np.broadcast_to(forks, len(cells))
    of_blocks = rng.lognormal(0, 0.08, size=blocks)
    results = {
        cell: of_means(cell, 10 * of_blocks * rng.lognormal(0, spread, size=blocks))
        for cell, spread in zip(cells, of_forks, strict=True)
    }
    return Measured(results)


def verdicts(study, cells, blocks):
    """Each claim with its verdicts over many nights."""
    rng = np.random.default_rng(blocks)
    nights = [night(cells, blocks, rng) for _ in range(NIGHTS)]
    return {
        claim.sentence: [judge(claim, one).verdict for one in nights]
        for claim in find(study).claims
    }


def share(found, part, verdict):
    (of_claim,) = [each for sentence, each in found.items() if part in sentence]
    return of_claim.count(verdict) / NIGHTS


SORT = [
    Cell.of(transport=transport, servers=servers, integers=integers)
    for transport in ("soap", "jms")
    for servers in (1, 3, 5)
    for integers in (500, 5000, 50000, 100000)
]
BINDING = [
    Cell.of(binding=binding, message_bytes=size, concurrency=concurrency, pooled=True)
    for binding in ("http", "jms")
    for size in (512, 3584, 20480, 104448)
    for concurrency in (1, 30, 100)
]


@pytest.mark.parametrize("blocks", [3, 10])
def test_nothing_differs_in_the_sort_study(blocks):
    found = verdicts("sort", SORT, blocks)
    for part in ("grow alike", "scale alike", "no major difference", "Three servers"):
        assert share(found, part, Verdict.FAILS) <= FALSE, part
    for part in ("JMS speeds up", "SOAP speeds up", "nearly twice", "Three servers", "differ sig"):
        assert share(found, part, Verdict.HOLDS) <= FALSE, part
    if blocks == 10:
        assert share(found, "no major difference", Verdict.HOLDS) > 0.5


@pytest.mark.parametrize("blocks", [3, 10])
def test_nothing_differs_in_the_binding_study(blocks):
    found = verdicts("binding", BINDING, blocks)
    for part in ("one request", "all together"):
        assert share(found, part, Verdict.FAILS) <= FALSE, part
    for part in ("HTTP is faster at 0.5 KB", "little slower"):
        assert share(found, part, Verdict.HOLDS) <= FALSE, part
        assert share(found, part, Verdict.FAILS) <= FALSE, part


RULE = StopRule(0.15, (3, 4, 6, 9, 14))
FIRST, SECOND = PAIR = SORT[:2]
ALIKE = Claim(
    sentence="Both take as long.",
    where="",
    statistic="time / time",
    bound=Bound(1, 1),
    numbers=over_cells([("ratio", PAIR, quotient)]),
)
ORDERED = [
    replace(ALIKE, bound=Bound(low=1, is_open=True), numbers=over_cells([("", pair, quotient)]))
    for pair in (PAIR, PAIR[::-1])
]


def stopped_night(rng, rule):
    """The cells of a run that ended at the first analysis at which both intervals were narrow."""
    whole = night(PAIR, rule.most, rng, forks=(0.08, 0.002)).cells
    for blocks in rule.looks:
        if decide(list(whole.values()), rule, blocks).stops:
            break
    cells = {cell: replace(found, trials=found.trials[:blocks]) for cell, found in whole.items()}
    return cells, error_at(rule, blocks)


@pytest.mark.parametrize(("spending", "ends"), [(EQUAL, 4), (OBRIEN_FLEMING, 2)])
def test_nothing_differs_in_nights_that_stop_early(spending, ends):
    rng = np.random.default_rng(3)
    nights = [stopped_night(rng, replace(RULE, spending=spending)) for _ in range(800)]
    assert len({len(cells[FIRST].trials) for cells, _ in nights}) >= ends
    false = {}
    for is_corrected in (False, True):
        measured = [Measured(cells, error if is_corrected else ERROR) for cells, error in nights]
        fails = [judge(ALIKE, one).verdict == Verdict.FAILS for one in measured]
        holds = [
            any(judge(claim, one).verdict == Verdict.HOLDS for claim in ORDERED) for one in measured
        ]
        false[is_corrected] = np.mean(fails), np.mean(holds)
    assert max(false[True]) <= 0.05
    if spending == EQUAL:
        assert min(false[False]) > 0.06
