from types import SimpleNamespace

import pytest

from collect.cells.analysis import analyse
from collect.replication.claims import Verdict, judge
from collect.replication.evidence import Untested
from collect.replication.exhibits import Figure
from collect.replication.replicate import replicate
from collect.replication.studies import find
from collect.replication.studies.attachments import _outcome
from collect.run.cell import Cell
from collect.stats.estimates import Estimate

ATTACHMENTS = find("attachments")
PUBLISHED = ATTACHMENTS.published()
FIRST_HEADS = [
    "",
    "standard SOAP",
    "MIME",
    "DIME",
    "SOAP with multi-references (ours)",
    "JMS (ours)",
]


def cell(encoding, matrix):
    return Cell.of(encoding=encoding, matrix=matrix)


def on(evidence, part):
    (claim,) = [claim for claim in ATTACHMENTS.claims if part in claim.sentence]
    return judge(claim, evidence)


def values(judgement):
    return [estimate.value for estimate in judgement.tested]


def cells(replication, title, matrix):
    (table,) = [e for e in replication.exhibits if e.title.startswith(title)]
    (row,) = [row for row in table.rows if row[0].sort == matrix]
    return table, row


@pytest.fixture(scope="module")
def paper(shared_run):
    return replicate(analyse(shared_run("attachments", "paper")))


@pytest.fixture(scope="module")
def memory(shared_run):
    return replicate(analyse(shared_run("attachments", "paper-memory")))


def test_the_published_tables_are_whole():
    assert len(PUBLISHED.keys) == 14
    assert PUBLISHED.value(cell("dime", 1000), "request_bytes").value == 4011000
    assert PUBLISHED.value(cell("xml", 500)) is None
    assert PUBLISHED.cells[cell("xml", 500)].outcome == "oom"
    assert cell("xml", 1000) not in PUBLISHED.keys


def test_standard_soap_is_6_4_to_7_times_larger_on_paper():
    judgement = on(PUBLISHED, "several times larger")
    assert (min(values(judgement)), max(values(judgement))) == pytest.approx((6.37, 6.97), abs=5e-3)
    assert judgement.verdict == Verdict.HOLDS


def test_standard_soap_is_4_85_and_7_47_times_slower_on_paper():
    assert values(on(PUBLISHED, "4.85")) == pytest.approx([4.85], abs=5e-3)
    assert values(on(PUBLISHED, "7.47")) == pytest.approx([7.47], abs=5e-3)


def test_mime_is_312_to_316_bytes_larger_on_paper():
    judgement = on(PUBLISHED, "310 bytes")
    assert values(judgement) == [316, 312, 316, 312, 316]
    assert judgement.verdict == Verdict.HOLDS


def test_dime_is_2_15_times_faster_at_10_on_paper_which_is_not_slightly():
    judgement = on(PUBLISHED, "never slower")
    assert values(judgement)[0] == pytest.approx(2.15, abs=5e-3)
    assert judgement.verdict == Verdict.HOLDS
    assert on(PUBLISHED, "slightly faster").verdict == Verdict.DIRECTION_ONLY


def test_the_encodings_differ_much_at_10_on_paper():
    judgement = on(PUBLISHED, "not too much difference")
    assert (values(judgement)[2], max(values(judgement))) == pytest.approx((2.15, 2.84), abs=5e-3)
    assert judgement.verdict == Verdict.FAILS


def test_mime_and_dime_are_nearly_the_same_at_100_on_paper():
    judgement = on(PUBLISHED, "MIME and DIME are nearly")
    assert values(judgement) == pytest.approx([1.153], abs=5e-4)
    assert judgement.verdict == Verdict.HOLDS


def test_what_50_shows_is_not_the_same_at_100_on_paper_for_the_time_of_mime():
    judgement = on(PUBLISHED, "What 50")
    assert values(judgement) == pytest.approx([1.36, 1.02, 1.09, 1.07], abs=5e-3)
    failing = [r.label for r in judgement.results if r.verdict == Verdict.FAILS]
    assert failing == ["time, over MIME"]


def test_60_times_is_not_4_85_times(run_of):
    def times(planned, rng):
        level = 60.0 if planned.factors["encoding"] == "xml" else 1.0
        return [level * rng.lognormal(0, 1e-4)] * planned.calls

    measured = replicate(analyse(run_of(times, study="attachments"))).measured
    assert on(measured, "4.85").verdict == Verdict.DIRECTION_ONLY


def test_the_outcome_holds_on_paper():
    assert on(PUBLISHED, "out of memory").verdict == Verdict.HOLDS


def test_out_of_memory_in_the_heap_of_the_paper_is_what_the_claim_says(memory):
    judgement = on(memory.measured, "out of memory")
    assert judgement.verdict == Verdict.HOLDS
    assert values(judgement) == [1, 1, 1]


def test_another_heap_does_not_test_the_claim_on_memory(paper):
    judgement = on(paper.measured, "out of memory")
    assert judgement.verdict == Verdict.NOT_TESTED
    assert "512 and 512 MB" in judgement.results[0].estimate.reason


@pytest.mark.parametrize(
    ("client", "tomcat", "is_tested"),
    [(128, 128, True), (128, 512, False), (512, 128, False), (None, 128, False)],
)
def test_both_heaps_must_be_those_of_the_paper(client, tomcat, is_tested):
    heaps = {"client_heap_mb": client, "tomcat_heap_mb": tomcat}
    evidence = SimpleNamespace(
        share=lambda cell, outcome: Estimate(1, 1, 1), constant=lambda cell, name: heaps.get(name)
    )
    found = _outcome(evidence, cell("xml", 500), "oom")
    assert isinstance(found, Estimate if is_tested else Untested)


def test_memory_that_sufficed_fails_the_claim(run_of):
    run = run_of(lambda p, rng: [1.0] * p.calls, study="attachments", profile="paper-memory")
    judgement = on(replicate(analyse(run)).measured, "out of memory")
    assert judgement.verdict == Verdict.FAILS
    assert [r.verdict for r in judgement.results] == [Verdict.FAILS, Verdict.HOLDS, Verdict.HOLDS]


def test_memory_that_sufficed_at_times_has_only_the_direction(run_of):
    def times(planned, rng):
        broken = planned.factors == {"encoding": "xml", "matrix": 500} and planned.block > 1
        return "oom" if broken else [1.0] * planned.calls

    run = run_of(times, study="attachments", profile="paper-memory")
    result = on(replicate(analyse(run)).measured, "out of memory").results[0]
    assert result.estimate.value == pytest.approx(0.8)
    assert result.verdict == Verdict.DIRECTION_ONLY


def test_out_of_memory_stands_in_the_cell_on_both_sides(memory):
    for title in ("Table 1", "Table 2"):
        _, row = cells(memory, title, 500)
        assert [entry.text for entry in row[1:3]] == ["out of memory"] * 2
        assert row[2].cell == cell("xml", 500)
        assert row[4].estimate is not None
    assert "Out of memory: standard SOAP at 500²." in memory.summary


def test_what_is_not_planned_or_published_is_empty(memory):
    _, row = cells(memory, "Table 1", 1000)
    assert [(entry.text, entry.estimate) for entry in row[1:3]] == [("", None)] * 2


def test_levels_of_ours_are_marked_and_have_no_paper_column(paper):
    table, row = cells(paper, "Table 1", 100)
    assert [head.text for head in table.heads[0]] == FIRST_HEADS
    assert [head.span for head in table.heads[0]] == [1, 2, 2, 2, 1, 1]
    assert len(table.heads[1]) == len(row) == 9
    assert row[1].estimate.value == 25802.6
    assert row[8].cell == cell("jms", 100)


def test_measured_bytes_stand_beside_printed_ones(paper):
    _, row = cells(paper, "Table 2", 100)
    assert (row[5].estimate.value, row[6].estimate.value) == (41998, 4 * 100**2 + 1000 + 998)


def test_bytes_are_judged_without_uncertainty(paper):
    assert on(paper.measured, "310 bytes").verdict == Verdict.HOLDS
    assert on(paper.measured, "several times larger").verdict == Verdict.HOLDS
    assert on(paper.measured, "310 bytes").results[0].estimate.half_width == 0


def test_the_sign_of_a_difference_of_bytes_counts(run_of):
    def sizes(planned):
        return {"mime": 900, "dime": 1000}.get(planned.factors["encoding"], 9000), 1

    run = run_of(
        lambda p, rng: [1.0] * p.calls, study="attachments", profile="paper-memory", sizes=sizes
    )
    measured = replicate(analyse(run)).measured
    assert on(measured, "310 bytes").verdict == Verdict.FAILS
    assert values(on(measured, "310 bytes")) == [-100] * 5


def test_the_demo_leaves_untested_what_it_has_no_cells_for(shared_run):
    measured = replicate(analyse(shared_run("attachments", "demo"))).measured
    assert on(measured, "4.85").verdict != Verdict.NOT_TESTED
    assert on(measured, "several times larger").verdict == Verdict.HOLDS
    results = on(measured, "out of memory").results
    assert any(isinstance(result.estimate, Untested) for result in results)


def test_the_figure_has_a_line_for_each_encoding(paper):
    (figure,) = [e for e in paper.exhibits if isinstance(e, Figure)]
    assert len({row[0].text for row in figure.data.rows}) == 5
