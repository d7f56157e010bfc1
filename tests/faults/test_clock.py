"""A wall clock that is set by an hour again and again: no elapsed time may notice."""

from __future__ import annotations

import csv
import itertools
import json
import os
import subprocess
import tarfile
import time
from pathlib import Path

import machine
import pytest
from project import DIST, Project

from collect.files import unpack

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
HOUR_NS = 3600 * 10**9


def set_by(file: Path, offset: str) -> None:
    """Set the clock, for whom libfaketime reads this file: never half of it."""
    aside = file.with_suffix(".new")
    aside.write_text(offset)
    aside.rename(file)


def unpacked(project: Project, name: str, place: Path) -> Path:
    with tarfile.open(project.root / DIST / f"{name}.tar.gz") as archive:
        unpack(archive, archive, place / name)
    return place / name


@pytest.fixture
def run(project: Project, tmp_path: Path) -> Path:
    """A plan of no-op trials, each as long as a few steps of the clock."""
    run = tmp_path / "clock"
    plan = ["plan", "harness", "--profile", "clock", "--workers", "1"]
    done = project.collect(*plan, "-o", str(run / "plan.jsonl"))
    assert done.returncode == 0, done.stderr
    return run


def test_a_step_of_the_clock_is_in_no_elapsed_time(
    project: Project, run: Path, tmp_path: Path
) -> None:
    assert FAKETIME, "libfaketime is missing; make test-packages installs it"
    harness = unpacked(project, "harness", tmp_path)
    clients = unpacked(project, "clients", tmp_path)
    (tmp_path / "lab.json").write_text(json.dumps({"schema": 1, "workers": [], "broker": {}}))
    step = tmp_path / "step"
    step.write_text("+0\n")
    runner = subprocess.Popen(
        [
            *("java", "-cp", f"{harness}/*", "org.rackbench.harness.runner.Runner"),
            *("--run", run, "--lab", tmp_path / "lab.json", "--clients", clients),
            *("--lock", tmp_path / "lock"),
        ],
        env={
            **os.environ,
            "LD_PRELOAD": str(FAKETIME),
            "FAKETIME_TIMESTAMP_FILE": str(step),
            "FAKETIME_NO_CACHE": "1",
            # A clock that is set leaves the monotonic one alone.
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        began = time.monotonic_ns()
        machine.wait_for(lambda: list(run.glob("work/*/*")), "a trial begins", 120)
        # To and fro while the first trial runs, so that its calls see it; the last ends an hour on.
        for ahead in itertools.cycle(["+1h\n", "+0\n"]):
            set_by(step, ahead)
            if ahead == "+1h\n" and list(run.glob("trials/*")):
                break
            assert runner.poll() is None, "the runner ended early"
            time.sleep(0.3)
        runner.wait(240)
        lasted = time.monotonic_ns() - began
    finally:
        runner.kill()
        said = runner.communicate()[0]
    assert runner.returncode == 0, said
    records = [json.loads(file.read_text()) for file in run.glob("trials/*/trial.json")]
    assert records
    assert {record["outcome"] for record in records} == {"ok"}, said
    stamps = sorted(r[word] for r in records for word in ("started_at", "ended_at"))
    assert stamps[-1][:13] != stamps[0][:13], "the clock was not seen to step"
    for calls in run.glob("trials/*/calls.csv"):
        with calls.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert 0 <= sum(int(row["elapsed_ns"]) for row in rows) < lasted < HOUR_NS
        starts = [int(row["start_ns"]) for row in rows]
        assert starts == sorted(starts)
        assert starts[-1] < lasted
