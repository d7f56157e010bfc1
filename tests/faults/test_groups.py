"""A run of several settings of its nodes: killed within and between groups, and proven."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import pytest
from faults import kill_unit
from interrupted import InterruptedRun
from labs import RUNNER, Lab

BROKEN_LINK = "sudo tc qdisc replace dev host0 root tbf rate 7mbit burst 32kb latency 100ms"


@pytest.fixture(scope="module")
def sweep(lab: Lab, long_form: bool) -> Iterator[InterruptedRun]:
    profile = "groups-long" if long_form else "groups"
    sweep = InterruptedRun(lab, "groups", profile, {"study": "link"})
    try:
        yield sweep
    finally:
        sweep.stop()


@pytest.mark.journal(RUNNER, "client1")
def test_a_run_of_several_settings_goes_on_wherever_it_is_killed(
    sweep: InterruptedRun, long_form: bool
) -> None:
    if long_form:  # within the first group, as test_open_loop.py does within the only one
        sweep.runs_a_trial()
        sweep.kill()
    sweep.more(2)  # the group's end: the sweep is about to set the nodes
    sweep.kill()
    before = sweep.hashes
    # While nobody looks, the nodes change.
    sweep.lab.ssh("worker1", BROKEN_LINK)
    sweep.more(3)
    kill_unit(sweep.lab, "client1", RUNNER)
    sweep.finish()
    assert before.items() <= sweep.hashes.items()
    sweep.prove()


def test_each_trial_ran_under_its_planned_setting(sweep: InterruptedRun) -> None:
    assert len(sweep.records) == len(sweep.planned)
    for record in sweep.records:
        rate, heap = (record["factors"][name] for name in ("link_mbit", "heap"))
        read = record["settings"]
        assert read["node on client1"] == {"link_mbit": rate}, record["id"]
        if record["factors"]["transport"] == "soap":
            assert read["node on worker1"] == {"link_mbit": rate}, record["id"]
            assert f"-Xmx{heap}m" in read["tomcat on worker1"]["options"], record["id"]


def test_trials_of_one_setting_stand_together_in_a_block(sweep: InterruptedRun) -> None:
    for _, block in groupby(sweep.records, key=lambda record: record["block"]):
        began = sorted(block, key=lambda record: record["started_at"])
        settings = [tuple(sorted(record["node"].items())) for record in began]
        assert len([key for key, _ in groupby(settings)]) == len(set(settings))
