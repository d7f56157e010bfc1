"""Who else is at work is told, and nothing else touches the nodes of a sweep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from interrupted import InterruptedRun
from labs import Lab


@pytest.fixture(scope="module")
def busy(lab: Lab) -> Iterator[InterruptedRun]:
    """A run in its first trial, which lasts longer than all that is tried meanwhile."""
    run = InterruptedRun(lab, "busy", "busy", study="load")
    try:
        run.runs_a_trial()
        yield run
    finally:
        run.stop()


def test_a_second_sweep_is_refused_and_told_who_holds_the_lab(busy: InterruptedRun) -> None:
    refused = busy.lab.player.attempt("sweep.yml", busy.words(run="second"))
    assert refused.code == 2
    assert "run busy" in refused.flat
    assert "since" in refused.flat
    assert not busy.lab.player.project.results("second").exists()


@pytest.mark.parametrize(
    ("playbook", "extra"),
    [
        ("site.yml", {"tomcat_heap_mb": 100}),
        ("verify.yml", {}),
        # tests/roles/test_at_work.py plays what they ask first.
        pytest.param("rotate_secrets.yml", {}, marks=pytest.mark.long),
        pytest.param("reset.yml", {"node": "worker1"}, marks=pytest.mark.long),
    ],
)
def test_nothing_else_touches_the_nodes_meanwhile(
    busy: InterruptedRun, playbook: str, extra: dict[str, Any]
) -> None:
    refused = busy.lab.player.attempt(playbook, extra)
    assert refused.code == 2
    assert "client1 is busy: rackbench run busy for" in refused.flat
    assert refused.changed == {}
