"""Factors of the kernel, the broker and the workers' JVMs in one run, which a rule stops early."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from interrupted import InterruptedRun
from labs import RUNNER, Lab

pytestmark = pytest.mark.long

SYNC = "-Dimq.persist.file.sync.enabled="
SOMAXCONN = "sysctl.net.core.somaxconn"


@pytest.fixture(scope="module")
def sweep(lab: Lab) -> Iterator[InterruptedRun]:
    sweep = InterruptedRun(lab, "mixed", "mixed", {"without": "worker3"}, study="link")
    try:
        yield sweep
    finally:
        sweep.stop()


@pytest.mark.journal(RUNNER, "client1")
def test_a_run_of_mixed_factors_that_is_killed_between_groups_is_stopped_by_its_rule(
    sweep: InterruptedRun,
) -> None:
    for _ in range(3):
        sweep.more(1)
        sweep.kill()
    sweep.finish()
    to_the_first_look = {name for name in sweep.planned if name < "b06-"}
    assert {record["id"] for record in sweep.records} == to_the_first_look < set(sweep.planned)
    done = sweep.lab.player.project.collect("check", sweep.run)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_trial_ran_under_its_own_mix(sweep: InterruptedRun) -> None:
    assert sweep.records
    for record in sweep.records:
        factors, read = record["factors"], record["settings"]
        for node in ("client1", "broker1", "worker1"):
            assert read[f"node on {node}"][SOMAXCONN] == str(factors["backlog"]), record["id"]
        is_synced = str(factors["stored"] == "synced").lower()
        assert f"{SYNC}{is_synced}" in read["broker on broker1"]["options"], record["id"]
        assert factors["stack"] in read["sort-worker on worker1"]["options"], record["id"]
