"""One run, and everything that may happen to it on the way."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from faults import FAULTS, Fault, cut_link
from labs import RUNNER, Lab
from night import Night


@pytest.fixture(scope="module")
def night(lab: Lab) -> Iterator[Night]:
    night = Night(lab, "faults")
    try:
        yield night
    finally:
        night.stop()


@pytest.mark.journal(RUNNER, "client1")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_a_run_goes_on_after(night: Night, fault: Fault) -> None:
    night.more()
    before = night.hashes
    assert 0 < night.sealed < len(night.planned), "the run is not under way; give it more trials"
    night.go_on()
    fault.strike(night)
    night.more()
    assert before.items() <= night.hashes.items()


def test_a_second_sweep_is_refused_and_told_who_holds_the_lab(night: Night) -> None:
    night.more(1)
    night.runs_a_trial()
    refused = night.lab.player.attempt("sweep.yml", night.words(run="second"))
    assert refused.code == 2
    assert "faults" in refused.flat
    assert "since" in refused.flat
    assert not (night.lab.player.project.results("second") / "trials").exists()


def test_a_runner_that_is_asked_to_stop_ends_its_trial_first(night: Night) -> None:
    night.more(1)
    night.runs_a_trial()
    night.lab.ssh("client1", f"sudo systemctl stop {RUNNER}")
    assert night.runner_pid() == 0
    left = night.lab.output(
        "client1", f"ls /var/lib/rackbench/runs/{night.run}/work 2>/dev/null || :"
    )
    assert left == "", "the trial that ran was not sealed"


@pytest.mark.long
def test_a_link_may_be_cut_for_a_minute(night: Night) -> None:
    night.more()
    with cut_link(night.lab, "worker1"):
        time.sleep(60)
    night.more()


@pytest.mark.journal(RUNNER, "client1")
def test_in_the_morning_every_trial_is_there_once(night: Night) -> None:
    before = night.hashes
    night.finish()
    night.prove()
    assert before.items() <= night.hashes.items()


def test_no_fault_of_the_lab_is_a_trials_outcome(night: Night) -> None:
    """Only the trial whose own JVM was killed (128 + 9) may have failed, and it says so."""
    bad = [(r["id"], r["reason"]) for r in night.records if r["outcome"] != "ok"]
    assert [(name, why) for name, why in bad if "status 137" not in why] == []
    assert len(bad) <= 1
    assert sum(record["attempt"] > 1 for record in night.records) >= 3
