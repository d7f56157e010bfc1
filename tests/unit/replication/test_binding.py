import json
from statistics import fmean

import pytest
from synthetic import binding_times, reseal

from collect.cells.analysis import analyse
from collect.replication.claims import Verdict, judge
from collect.replication.evidence import Untested
from collect.replication.exhibits import Figure
from collect.replication.replicate import replicate
from collect.replication.studies import find

BINDING = find("binding")


def on(evidence, part):
    (claim,) = [claim for claim in BINDING.claims if part in claim.sentence]
    return judge(claim, evidence)


def exhibit(replication, title):
    (found,) = [e for e in replication.exhibits if e.title == title]
    return found


@pytest.fixture(scope="module")
def paper(shared_run):
    return replicate(analyse(shared_run("binding", "paper")))


def as_claimed(planned, rng):
    """JMS over HTTP as the document tells it: alike alone, else 0.9 at 3.5 KB and 1.1 elsewhere."""
    factors = planned.factors
    loaded = factors["concurrency"] > 1
    ratio = (0.9 if factors["message_bytes"] == 3584 else 1.1) if loaded else 1.05
    time = ratio if factors["binding"] == "jms" else 1.0
    time *= rng.lognormal(0, 1e-4)
    return [time * (1 if factors["pooled"] else 9)] * (planned.calls * planned.threads)


def test_nothing_is_published_but_the_text():
    for claim in BINDING.claims:
        judgement = judge(claim, BINDING.published())
        assert judgement.verdict == Verdict.NOT_TESTED
        assert judgement.only.estimate == Untested("text only: the table and the charts are lost")


def test_what_the_text_says_holds_when_it_is_so(run_of):
    replication = replicate(analyse(run_of(as_claimed, study="binding", profile="paper")))
    verdicts = [judge(claim, replication.measured).verdict for claim in BINDING.claims]
    assert verdicts == [Verdict.HOLDS] * 4
    alone, thirty, _ = replication.summary
    assert "SOAP over JMS took 1.05 times as long as over HTTP" in alone
    assert "SOAP over JMS took 0.900 to 1.10 times as long as over HTTP" in thirty


def test_the_demo_does_not_test_100_at_once(shared_run):
    measured = replicate(analyse(shared_run("binding", "demo"))).measured
    assert on(measured, "With 30 at once, HTTP").verdict != Verdict.NOT_TESTED
    assert on(measured, "little slower").verdict == Verdict.NOT_TESTED
    assert on(measured, "one request").verdict != Verdict.NOT_TESTED


def test_a_little_slower_has_two_ends(run_of):
    """Three times as long is slower, and not a little."""

    def times(planned, rng):
        is_liked = planned.factors["message_bytes"] == 3584
        jms = 0.9 if is_liked else 3.0
        time = jms if planned.factors["binding"] == "jms" else 1.0
        return [time * rng.lognormal(0, 1e-4)] * (planned.calls * planned.threads)

    measured = replicate(analyse(run_of(times, study="binding", profile="paper"))).measured
    assert on(measured, "little slower").verdict == Verdict.DIRECTION_ONLY
    assert on(measured, "all together").verdict == Verdict.FAILS


def test_the_one_printed_time_stands_beside_the_measured(paper):
    rows = exhibit(paper, "Response time by message size").data.rows
    over = [entry.over_paper for row in rows for entry in row if entry.over_paper]
    (found,) = over
    assert found.value == pytest.approx(
        fmean(paper.measured.samples(rows[0][3].cell).values()) / 196
    )


def test_there_are_bars_for_each_concurrency_and_all_together(paper):
    by_concurrency = exhibit(paper, "Response time by message size")
    assert [panel.title for panel in by_concurrency.panels] == [
        "One request at a time",
        "30 requests at once",
        "100 requests at once",
    ]
    drawn = by_concurrency.panels[1].chart.to_dict()
    assert drawn["layer"][0]["mark"]["type"] == "bar"
    (bars,) = drawn["datasets"].values()
    assert len(bars) == 4 * 4
    (together,) = exhibit(paper, "All together").panels
    assert len(exhibit(paper, "All together").data.rows) == 12
    assert together.chart.to_dict()["width"] > 600


def test_twenty_kilobytes_are_marked_as_ours(paper):
    rows = exhibit(paper, "Response time by message size").data.rows
    assert [row[1].text for row in rows[:4]] == ["0.5 KB", "3.5 KB", "20 KB (ours)", "102 KB"]


def test_pooled_and_not_pooled_stand_apart(paper):
    table = exhibit(paper, "Response time by message size").data
    assert [head.text for head in table.heads[0]][1:] == [
        "connections reused",
        "a connection a call",
    ]
    pooled, apart = table.rows[0][3].estimate, table.rows[0][6].estimate
    assert pooled.value < apart.value


def test_failed_calls_are_counted_apart(run_of):
    run = run_of(binding_times, study="binding")
    trial = run.plan[0]
    rows = trial.threads * trial.calls
    assert exhibit(replicate(analyse(run)), "Failed calls").rows == []
    reseal(
        run.trials_directory / trial.id, lambda text: text[::-1].replace("ko,", "rorre,", 2)[::-1]
    )
    table = exhibit(replicate(analyse(run)), "Failed calls")
    (row,) = table.rows
    assert (row[3].text, row[4].sort) == ("2", pytest.approx(2 / (3 * rows)))
    # The calls of a trial that failed are excluded from all results, but they were made.
    other = next(t for t in run.plan[1:] if t.factors == trial.factors)
    directory = run.trials_directory / other.id
    reseal(directory, lambda text: text[::-1].replace("ko,", "rorre,", 3)[::-1])
    record = json.loads((directory / "trial.json").read_text())
    record |= {"outcome": "failed", "reason": "3 calls failed"}
    (directory / "trial.json").write_text(json.dumps(record))
    (row,) = exhibit(replicate(analyse(run)), "Failed calls").rows
    assert (row[3].text, row[4].sort) == ("5", pytest.approx(5 / (3 * rows)))


def test_a_cell_without_a_time_has_no_bar(run_of):
    def times(planned, rng):
        is_broken = planned.factors["concurrency"] == 30
        return "timeout" if is_broken else binding_times(planned, rng)

    replication = replicate(analyse(run_of(times, study="binding")))
    figure = exhibit(replication, "Response time by message size")
    assert [panel.title for panel in figure.panels] == ["One request at a time"]
    assert figure.data.rows[-1][2].text == "timed out"


def test_a_run_without_any_time_has_no_chart(run_of):
    replication = replicate(analyse(run_of(lambda p, rng: "failed", study="binding")))
    assert all(not e.panels for e in replication.exhibits if isinstance(e, Figure))
