"""A sweep that begins while a node is away: what does not need it runs, the rest is deferred."""

from __future__ import annotations

import json

import machine
import pytest
from faults import cut_link
from interrupted import InterruptedRun
from labs import RUNNER, Lab


@pytest.mark.long
@pytest.mark.journal(RUNNER, "client1")
def test_a_sweep_begins_without_a_node_that_is_away(lab: Lab) -> None:
    sweep = InterruptedRun(lab, "without", "without", {"ansible_timeout": 6})
    try:
        with cut_link(lab, "worker3"):
            refused = lab.player.attempt("sweep.yml", sweep.words())
            assert refused.code == 2
            assert "worker3" in refused.flat
            assert "or skip it: -e without=worker3" in refused.flat
            assert sweep.sealed == 0

            begun = lab.player.attempt("sweep.yml", sweep.words(without="unreachable"))
        assert begun.code == 2
        assert "1 of 2 trials are deferred" in begun.flat
        assert "worker3 is left out of this sweep" in begun.flat
        assert [record["factors"]["servers"] for record in sweep.records] == [1]
        before = sweep.hashes
        lab.hang_up()

        lab.play("sweep.yml", sweep.words())
        assert before.items() <= sweep.hashes.items()
        sweep.prove()
        looks = [json.loads(line) for line in (sweep.results / "nodes.jsonl").open()]
        assert [look["without"] for look in looks] == [["worker3"]] * 2 + [[]] * 2
    finally:
        sweep.stop()


@pytest.mark.long
@pytest.mark.journal(RUNNER, "client1")
def test_a_node_that_goes_away_during_a_sweep_is_told_in_the_report(lab: Lab) -> None:
    patience = {"mitogen_ssh_keepalive_interval": 2, "mitogen_ssh_keepalive_count": 2}
    sweep = InterruptedRun(lab, "gone", "one-server", patience)
    try:
        sweep.runs_a_trial()
        with cut_link(lab, "worker3"):
            machine.wait_for(lambda: not sweep.running(), "the sweep ends", 240)
        (ended,) = sweep.ended
        assert ended.code == 2, ended.excerpt
        assert "worker3 did not answer after the trials" in ended.flat
        page = (sweep.results / "report.html").read_text()
        assert "did not answer at the end may have changed during the run: worker3" in page
        lab.hang_up()

        lab.play("sweep.yml", sweep.words())
        sweep.prove()
    finally:
        sweep.stop()


def test_what_cannot_be_left_out_is_refused(lab: Lab) -> None:
    sweep = InterruptedRun(lab, "without-nothing", "without")
    refused = lab.player.attempt("sweep.yml", sweep.words(without="client1,worker9"))
    assert refused.code == 2
    assert "A sweep cannot skip client1, worker9" in refused.flat
    assert not sweep.results.exists()
