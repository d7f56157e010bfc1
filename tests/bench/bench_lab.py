"""The bench's own lab, and timed commands in it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from row import seconds

ROOT = Path(__file__).resolve().parents[2]
NAME = "rbbench"
PREFIX = "10.79.0"
LONGEST_S = 1800  # limit of one command, which takes minutes on an idle machine
MITOGEN = {"ANSIBLE_STRATEGY": "mitogen_all_cores", "ANSIBLE_DEPRECATION_WARNINGS": "false"}


@dataclass(frozen=True)
class BenchLab:
    """A running lab: its state directory, and the environment of playbooks."""

    state: Path
    environment: dict[str, str]

    def play(self, playbook: str, *extra: str) -> float:
        """Run a playbook; return its wall time in seconds, and show its output if it fails."""
        print(f"{playbook} …", end=" ", flush=True)
        took = self.clocked([".venv/bin/ansible-playbook", f"playbooks/{playbook}.yml", *extra])
        print(seconds(took), flush=True)
        return took

    def ping(self) -> float:
        """Return the wall time in seconds of Ansible's smallest action on every node."""
        return self.clocked([".venv/bin/ansible", "nodes", "-m", "ansible.builtin.ping"])

    def clocked(self, command: list[str]) -> float:
        """Return the wall time of an Ansible command in seconds."""
        return clocked([*command, "-e", settings()], self.environment)

    def ssh(self, node: str) -> list[str]:
        """Return the command that reaches a node over a connection kept open between calls."""
        options = ["ControlMaster=auto", "ControlPersist=30", f"ControlPath={self.state}/mux-%C"]
        config = self.state / f"rackbench/{NAME}/ssh/config"
        return ["ssh", "-F", str(config), *(part for o in options for part in ("-o", o)), node]


def settings() -> str:
    """Return Ansible's variables; the nodes lack Internet, so their image has the tools."""
    tools = {"bench_client_packages": ["wrk"]}
    return json.dumps({"rackbench_lab": NAME, "virtual_lab_prefix": PREFIX, **tools})


@contextmanager
def bench_lab() -> Iterator[BenchLab]:
    """Make the lab with unprovisioned Debian nodes, and remove it in any case."""
    with tempfile.TemporaryDirectory() as state:
        environment = {
            **os.environ,
            "XDG_STATE_HOME": state,
            **MITOGEN,
        }
        lab = BenchLab(Path(state), environment)
        try:
            for playbook in ("lab_down", "build", "lab"):
                lab.play(playbook)
            yield lab
        finally:
            lab.play("lab_down")


def clocked(command: list[str], environment: dict[str, str] | None = None) -> float:
    """Return the wall time of a command in seconds; a failure ends the bench with its output."""
    begin = time.monotonic()
    said(command, environment=environment)
    return time.monotonic() - begin


def said(
    command: list[str], given: bytes = b"", environment: dict[str, str] | None = None
) -> bytes:
    """Return a command's output; one that fails or does not end ends the bench with its output."""
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            input=given,
            capture_output=True,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        sys.exit(f"{shlex.join(command)} did not end within {LONGEST_S} s")
    if done.returncode:
        output = (done.stdout[-4000:] + b"\n" + done.stderr[-2000:]).decode(errors="replace")
        sys.exit(f"{shlex.join(command)} failed:\n{output}")
    return done.stdout
