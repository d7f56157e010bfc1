"""An open-loop run whose playbook and runner are killed while a trial runs."""

from __future__ import annotations

import csv
from pathlib import Path

import machine
import pytest
from faults import kill_unit
from interrupted import InterruptedRun
from labs import RUNNER, Lab

NEW = ("offered_per_s", "response_mean_ms", "response_p50_ms", "response_p99_ms", "waited_share")


@pytest.mark.journal(RUNNER, "client1")
def test_a_killed_open_loop_goes_on_and_check_knows_its_columns(lab: Lab, long_form: bool) -> None:
    profile = "interrupted-long" if long_form else "interrupted"
    sweep = InterruptedRun(lab, "open-loop", profile, study="load")
    try:
        sweep.more(1)
        sweep.runs_a_trial()
        before = sweep.hashes
        assert 0 < sweep.sealed < len(sweep.planned), "the run is not under way"
        sweep.kill()
        kill_unit(lab, "client1", RUNNER)
        machine.wait_for(lambda: sweep.runner_pid() == 0, "the runner ends")

        sweep.finish()
        sweep.prove()
        assert before.items() <= sweep.hashes.items()
        assert len(sweep.records) == len(sweep.planned)
        for record in sweep.records:
            # A machine that is busy with others may start calls late; that is no lost trial.
            assert record["outcome"] == "ok" or "could not keep the rate" in record["reason"]
            assert record["arrival"]["late_p99_ns"] >= 0
            assert len(counted(sweep.results / "trials" / record["id"])) == 8 * 5
        check_knows(sweep)
    finally:
        sweep.stop()


def counted(trial: Path) -> list[dict[str, str]]:
    """The measured calls of a trial; each says when it was due."""
    with (trial / "calls.csv").open(newline="") as file:
        calls = [row for row in csv.DictReader(file) if row["phase"] == "measure"]
    assert all(int(row["intended_ns"]) <= int(row["start_ns"]) for row in calls)
    return calls


def check_knows(sweep: InterruptedRun) -> None:
    """Changed numbers in the columns of the open loop are findings of `collect check`."""
    table = sweep.results / "cells.csv"
    header, *rows = csv.reader(table.read_text().splitlines())
    assert set(NEW) <= set(header)
    place = header.index("offered_per_s")
    assert {row[place] for row in rows} == {"20", "40"}
    changed = [
        ["777" if name in NEW else value for name, value in zip(header, row, strict=True)]
        for row in rows
    ]
    table.write_text("\n".join(map(",".join, [header, *changed])) + "\n")
    done = sweep.lab.player.project.collect("check", sweep.run)
    assert done.returncode == 1, done.stdout + done.stderr
    assert [name for name in NEW if f"{name} 777" not in done.stdout] == []
