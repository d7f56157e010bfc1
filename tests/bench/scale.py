"""Measures how times grow with the rack: `make bench-scale` prints tables for docs/guides/scale.md.

    scale.py                     inventories of 10 to 200 nodes, without any node, then 10 real ones
    scale.py --alone 50 200      these inventories        scale.py --real 10 25   these virtual labs

Run it on an otherwise idle machine. Next to each wall time is the processor time of all processes
together, which other work on the machine hardly changes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import racks
from bench_lab import LONGEST_S, MITOGEN, ROOT

ALONE, REAL = (10, 25, 50, 100, 200), (10,)
PLAYS = ROOT / "tests/bench/scale_plays"
NAME, PREFIX = "rbscale", "10.89.0"
RUN = ROOT / "results/bench-scale"
ANSIBLE = ".venv/bin/ansible-playbook"

_RECAP = re.compile(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)", re.M)


@dataclass(frozen=True)
class Took:
    """Wall time and processor time of a command in seconds, and its output."""

    wall_s: float
    cpu_s: float
    said: str

    @property
    def changed(self) -> dict[str, int]:
        """Return the number of changed tasks by host, without hosts that have none."""
        return {host: int(count) for host, count in _RECAP.findall(self.said) if int(count)}

    def __str__(self) -> str:
        """Return the text for a cell of a table."""
        return f"{self.wall_s:.1f} ({self.cpu_s:.1f})"


def timed(command: Sequence[str], environment: dict[str, str]) -> Took:
    """Run a command from the project's root; one that fails ends the bench with its output."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-6000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(wall, cpu, done.stdout)


def environment_of(state: Path, *, mitogen: bool = False) -> dict[str, str]:
    """Return an environment with own keys, secrets and connections; stock Ansible by default."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    mine |= {"XDG_STATE_HOME": str(state), "ANSIBLE_NOCOLOR": "1"}
    if mitogen:
        mine |= MITOGEN
    return mine


def alone(sizes: Sequence[int], directory: Path) -> None:
    """Time the work that needs no node, with larger and larger inventories."""
    headings = ("three tasks", "settings of all nodes", "comparing the nodes")
    _head("nodes", *headings)
    environment = environment_of(directory / "state")
    for size in sizes:
        inventory = str(racks.inventory_alone(size, directory))
        plays = (
            [str(PLAYS / "three_tasks.yml")],
            [str(PLAYS / "settings.yml")],
            ["playbooks/verify.yml", "--start-at-task", "Compare the nodes"],
        )
        _row(size, *(timed([ANSIBLE, "-i", inventory, *play], environment) for play in plays))


def real(sizes: Sequence[int], directory: Path) -> None:
    """Provision virtual labs of these sizes, and each twice with one more worker.

    The first time is limited to the nodes that need the change.
    """
    headings = ("site.yml", "again", "again, mitogen", "verify.yml", "until a sweep's first trial")
    headings += ("one more worker, limited", "one more worker, all, mitogen", "memory")
    _head("nodes", *headings)
    for size in sizes:
        with standing(size, directory) as lab:
            cold, again = lab.play("site"), lab.play("site")
            quick, verified = lab.play("site", mitogen=True), lab.play("verify")
            _nothing_changed(again, quick)
            first = f"{lab.until_first_trial():.1f}"
            used = f"{lab.memory_mb()} MiB"
            more = lab.with_one_more()
            limited = more.play("site", limit=f"{more.rack.names[-1]}:broker:client")
            most = more.with_one_more()
            added = most.play("site", mitogen=True)
            _row(size, cold, again, quick, verified, first, limited, added, used)
            for grown, took in ((more, limited), (most, added)):
                last = grown.rack.names[-1]
                elsewhere = {name: n for name, n in took.changed.items() if name != last}
                print(f"\nchanged elsewhere with {last}: {elsewhere or 'nothing'}", flush=True)
            print()


def _nothing_changed(*runs: Took) -> None:
    for run in runs:
        if run.changed:
            sys.exit(f"a second site.yml changed {run.changed}")


@dataclass(frozen=True)
class Standing:
    """A virtual lab with small heaps."""

    rack: racks.Rack
    directory: Path

    def play(self, playbook: str, *more: str, mitogen: bool = False, limit: str = "") -> Took:
        """Run a playbook on it, with further extra variables."""
        inventory = self.directory / f"virtual{self.rack.size}"
        if not inventory.exists():
            racks.virtual_inventory(self.rack.size, self.directory)
        extra = [
            f"rackbench_lab={NAME}",
            f"virtual_lab_prefix={PREFIX}",
            "virtual_lab_memory_mb=640",
            "tomcat_heap_mb=64",
            "bench_worker_heap_mb=32",
            "openmq_heap_mb=96",
            *more,
        ]
        words = [word for setting in extra for word in ("-e", setting)]
        environment = environment_of(self.directory / "state", mitogen=mitogen)
        command = [ANSIBLE, "-i", str(inventory), f"playbooks/{playbook}.yml", *words]
        command += ["--limit", limit] if limit else []
        took = timed(command, environment)
        print(f"<!-- {self.rack.size} nodes: {playbook}.yml {took} -->", flush=True)
        return took

    def until_first_trial(self) -> float:
        """Return the seconds from a sweep's command to its first trial; the lab has one clock."""
        shutil.rmtree(RUN, ignore_errors=True)
        begin = time.time()
        self.play("sweep", "study=harness", f"run={RUN.name}")
        records = [json.loads(path.read_text()) for path in RUN.glob("trials/*/trial.json")]
        shutil.rmtree(RUN)
        first = min(record["started_at"] for record in records)
        return datetime.datetime.fromisoformat(first).timestamp() - begin

    def with_one_more(self) -> Standing:
        """Return the same lab with one more worker, booted but not provisioned."""
        more = Standing(racks.Rack(self.rack.size + 1), self.directory)
        more.play("lab")
        return more

    def memory_mb(self) -> int:
        """Return the memory that the nodes use now, in MiB."""
        used = 0
        for pattern in ("memory/*/memory.usage_in_bytes", "*/memory.current"):
            for file in Path("/sys/fs/cgroup").glob(pattern):
                if file.parent.name.startswith(f"rackbench-{NAME}-"):
                    used += int(file.read_text())
        return used >> 20


@contextmanager
def standing(size: int, directory: Path) -> Iterator[Standing]:
    """Make a lab of that size, and remove it in any case."""
    lab = Standing(racks.Rack(size), directory)
    try:
        lab.play("lab")
        yield lab
    finally:
        lab.play("lab_down")


def _head(*names: str) -> None:
    print("\nSeconds, and in brackets seconds of processor time.\n")
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)


def _row(*cells: object) -> None:
    print(f"| {' | '.join(str(cell) for cell in cells)} |", flush=True)


def main() -> None:
    """Measure the sizes of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--alone", nargs="*", type=int, metavar="N", help="inventories of N nodes")
    parser.add_argument("--real", nargs="*", type=int, metavar="N", help="virtual labs of N nodes")
    asked = parser.parse_args()
    neither = asked.alone is None and asked.real is None
    sizes = (asked.alone or [], asked.real or []) if not neither else (ALONE, REAL)
    if small := [size for size in (*sizes[0], *sizes[1]) if size < 3]:
        parser.error(f"{small[0]} nodes: a rack has a client, a broker and a worker at least")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    with tempfile.TemporaryDirectory() as directory:
        if sizes[0]:
            alone(sizes[0], Path(directory))
        if sizes[1]:
            real(sizes[1], Path(directory))


if __name__ == "__main__":
    main()
