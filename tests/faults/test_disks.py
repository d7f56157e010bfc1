"""A disk that is full, at either end: a small file system of the run's own, never the machine's."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import machine
import pytest
from interrupted import InterruptedRun
from labs import RUNNER, Lab

pytestmark = pytest.mark.long

# Room for the plan and a few trials once the filler is gone, and for none while it is there.
SIZE = "24m"
ON_CLIENT = "/var/lib/rackbench/runs"

# It gives up soon, on either side.
SETTINGS = {"sweep_reserve_mb": 2, "sweep_recover_s": 5, "sweep_silence_s": 5}

Shell = Callable[[str], object]


def on_this_machine(command: str) -> None:
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)


@contextmanager
def file_system(shell: Shell, path: Path | str) -> Iterator[None]:
    """Mount a small file system, which is gone afterwards."""
    shell(f"mkdir -p {path} && mount -t tmpfs -o size={SIZE},mode=0777 rackbench-full {path}")
    try:
        yield
    finally:
        shell(f"umount -l {path}")


def fill(shell: Shell, path: Path | str) -> None:
    """Take all the room there is."""
    shell(f"cat /dev/zero >{path}/filler 2>/dev/null || :")


def survives(sweep: InterruptedRun, shell: Shell, path: Path | str) -> None:
    """Fill the file system while the run is under way, and empty it again."""
    sweep.more(2)
    sweep.go_on()
    fill(shell, path)
    machine.wait_for(lambda: not sweep.running(), "the sweep stops", 180)
    before = sweep.hashes
    said = sweep.ended[-1]
    assert said.code == 2
    assert "No space left" in said.flat or "room" in said.flat, said.excerpt
    shell(f"rm {path}/filler")
    sweep.finish()
    assert before.items() <= sweep.hashes.items()
    sweep.prove()


@pytest.mark.journal(RUNNER, "client1")
def test_a_full_disk_on_the_client_stops_the_run_and_loses_nothing(lab: Lab) -> None:
    sweep = InterruptedRun(lab, "full-client", "disk", SETTINGS)
    path = f"{ON_CLIENT}/{sweep.run}"

    def on_client(command: str) -> str:
        return lab.output("client1", command)

    with file_system(on_client, path):
        on_client(f"chown rackbench: {path}")
        try:
            survives(sweep, on_client, path)
        finally:
            sweep.stop()


@pytest.mark.journal(RUNNER, "client1")
def test_a_full_disk_on_the_control_host_stops_the_run_and_loses_nothing(lab: Lab) -> None:
    sweep = InterruptedRun(lab, "full-control", "disk", SETTINGS)
    with file_system(on_this_machine, sweep.results):
        try:
            survives(sweep, on_this_machine, sweep.results)
        finally:
            sweep.stop()
