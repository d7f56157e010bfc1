"""Measures the kit itself, as ratios in one run, and writes docs/benchmarks.md.

Makes a lab of its own and removes it. Run it on an otherwise idle machine: `make bench`.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAB = ["-e", "rackbench_lab=rbbench", "-e", "virtual_lab_prefix=10.79.0"]
RUN = "bench-sort"
REPEATS = 3
SSH_CALLS = 50


@dataclass(frozen=True)
class Row:
    """One line of the table: what was timed, and what it is compared with, in seconds."""

    what: str
    seconds: float
    yardstick: str
    yardstick_seconds: float
    target: str

    def line(self) -> str:
        """The row as Markdown."""
        ratio = self.seconds / self.yardstick_seconds
        return (
            f"| {self.what} | {show(self.seconds)} | {self.yardstick} | "
            f"{show(self.yardstick_seconds)} | {ratio:.2f} | {self.target} |"
        )


def show(seconds: float) -> str:
    """Seconds with a fitting unit."""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def main() -> int:
    """Run every benchmark and write the page."""
    with tempfile.TemporaryDirectory() as state, lab(state) as environment:
        rows = [*provisioning(environment), trial_cost(environment, Path(state))]
    page = ROOT / "docs/benchmarks.md"
    page.write_text(render(rows))
    print("\n".join(row.line() for row in rows))
    print(f"written to {page.relative_to(ROOT)}")
    return 0


@contextmanager
def lab(state: str) -> Iterator[dict[str, str]]:
    """Make a lab of the bench's own; it is removed whatever happens."""
    plugins = next(ROOT.glob(".venv/lib/python3*/site-packages/ansible_mitogen/plugins/strategy"))
    environment = {
        **os.environ,
        "XDG_STATE_HOME": state,
        "ANSIBLE_STRATEGY": "mitogen_linear",
        "ANSIBLE_STRATEGY_PLUGINS": str(plugins),
        "ANSIBLE_DEPRECATION_WARNINGS": "false",
    }
    try:
        for playbook in ("lab_down", "build", "lab"):
            timed(playbook, environment)
        yield environment
    finally:
        timed("lab_down", environment)


def timed(playbook: str, environment: dict[str, str], *extra: str) -> float:
    """Run a playbook; its wall time in seconds. Its output is shown when it fails."""
    print(f"{playbook} …", end=" ", flush=True)
    command = [".venv/bin/ansible-playbook", f"playbooks/{playbook}.yml", *LAB, *extra]
    seconds = clocked(command, environment)
    print(show(seconds), flush=True)
    return seconds


def clocked(command: list[str], environment: dict[str, str]) -> float:
    """Wall time of a command in seconds."""
    begin = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}")
    return time.monotonic() - begin


def provisioning(environment: dict[str, str]) -> list[Row]:
    """Time site.yml cold and again, each against a ping of all nodes."""
    cold = timed("site", environment)
    ping = [".venv/bin/ansible", "nodes", "-m", "ansible.builtin.ping", *LAB]
    again, pings = [], []
    for _ in range(REPEATS):
        again.append(timed("site", environment))
        pings.append(clocked(ping, environment))
    reached = statistics.median(pings)
    yardstick = "`ansible -m ping`"
    return [
        Row("site.yml, 7 fresh nodes", cold, yardstick, reached, ""),
        Row("site.yml again, 7 nodes", statistics.median(again), yardstick, reached, "< 20 s"),
    ]


def trial_cost(environment: dict[str, str], state: Path) -> Row:
    """Median of a trial's wall time outside its JVM, against a bare multiplexed ssh."""
    results = ROOT / "results" / RUN
    subprocess.run(["rm", "-rf", str(results)], check=True)
    timed("sweep", environment, "-e", "study=sort", "-e", f"run={RUN}")
    cost = json.loads((results / "state.json").read_text())["outside_jvm_ms_p50"] / 1e3
    config = state / "rackbench/rbbench/ssh/config"
    ssh = ["ssh", "-F", str(config), "-o", "ControlMaster=auto", "-o", "ControlPersist=30"]
    ssh += ["-o", f"ControlPath={state}/mux-%C", "client1", "true"]
    clocked(ssh, environment)
    bare = [clocked(ssh, environment) for _ in range(SSH_CALLS)]
    return Row(
        "a trial outside its JVM (median)",
        cost,
        "multiplexed `ssh true`",
        statistics.median(bare),
        "< 50 ms",
    )


def render(rows: list[Row]) -> str:
    """The page, with the machine and the date."""
    model = next(
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    lines = "\n".join(row.line() for row in rows)
    return f"""# Benchmarks of the kit itself

Written by `make bench`. Times are of one run on one machine; compare the ratios.

- Date: {datetime.datetime.now(datetime.UTC).date()}
- Machine: {os.cpu_count()} cores, {model}, Linux {platform.release()}

| what | time | compared with | time | ratio | target |
|---|---|---|---|---|---|
{lines}
"""


if __name__ == "__main__":
    sys.exit(main())
