"""One run, and everything that may happen to it on the way."""

from __future__ import annotations

import time
from collections.abc import Iterator

import machine
import pytest
from faults import FAULTS, Fault, cut_link
from interrupted import InterruptedRun
from labs import RUNNER, Lab


@pytest.fixture(scope="module")
def sweep(lab: Lab, long_form: bool) -> Iterator[InterruptedRun]:
    sweep = InterruptedRun(lab, "faults", "interrupted-long" if long_form else "interrupted")
    try:
        yield sweep
    finally:
        sweep.stop()


@pytest.mark.journal(RUNNER, "client1")
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(
            fault,
            id=fault.name.replace(" ", "-"),
            marks=[pytest.mark.long] if fault.long else [],
        )
        for fault in FAULTS
    ],
)
def test_no_sealed_trial_is_lost_and_the_run_goes_on_after(
    sweep: InterruptedRun, fault: Fault
) -> None:
    sweep.more()
    before = sweep.hashes
    assert 0 < sweep.sealed < len(sweep.planned), "the run is not under way; give it more trials"
    sweep.go_on()
    fault.strike(sweep)
    sweep.more()
    assert before.items() <= sweep.hashes.items()


def test_a_runner_that_is_asked_to_stop_ends_its_trial_first(sweep: InterruptedRun) -> None:
    sweep.more(1)
    sweep.runs_a_trial()
    sweep.lab.ssh("client1", f"sudo systemctl stop {RUNNER}")
    assert sweep.runner_pid() == 0
    left = sweep.lab.output(
        "client1", f"ls /var/lib/rackbench/runs/{sweep.run}/work 2>/dev/null || :"
    )
    assert left == "", "the trial that ran was not sealed"
    # The command tells that from a runner that ended.
    machine.wait_for(lambda: not sweep.running(), "the command's end", 120)
    assert sweep.ended[-1].code == 2
    assert "the runner was stopped before trial" in sweep.ended[-1].flat


@pytest.mark.long
def test_a_link_may_be_cut_for_a_minute(sweep: InterruptedRun) -> None:
    sweep.more()
    with cut_link(sweep.lab, "worker1"):
        time.sleep(60)
    sweep.more()


@pytest.mark.journal(RUNNER, "client1")
def test_after_all_faults_every_planned_trial_is_there_once(sweep: InterruptedRun) -> None:
    before = sweep.hashes
    sweep.finish()
    sweep.prove()
    assert before.items() <= sweep.hashes.items()


def test_no_fault_of_the_lab_is_a_trials_outcome(sweep: InterruptedRun, long_form: bool) -> None:
    """Not even the trial whose own JVM was killed has failed: it was repeated."""
    assert [(r["id"], r["reason"]) for r in sweep.records if r["outcome"] != "ok"] == []
    assert any("SIGKILL ended" in str(r["earlier_attempts"]) for r in sweep.records)
    assert sum(record["attempt"] > 1 for record in sweep.records) >= (3 if long_form else 1)
