"""Runs of the runner on the client node without a sweep around it."""

from __future__ import annotations

import io
import json
import shlex
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from bench_lab import BenchLab, clocked, said

CLIENT = "client1"
RUNS = "/var/lib/rackbench/runs"


@dataclass(frozen=True)
class Trial:
    """A sealed trial: trial.json, and the text of calls.csv."""

    record: Mapping[str, Any]
    calls: bytes

    @property
    def end(self) -> str:
        """How it ended, for a message."""
        return f"{self.record['id']} {self.record['outcome']}: {self.record['reason']}"


@dataclass(frozen=True)
class HandRun:
    """A run on the client node; `ids` are those of its plan, in their order."""

    lab: BenchLab
    name: str
    ids: tuple[str, ...]

    @classmethod
    def planned(
        cls, lab: BenchLab, name: str, study: Mapping[str, Any], workers: int = 1
    ) -> HandRun:
        """Plan a study of the bench by `collect`, and put the plan on the node."""
        file = lab.state / f"{study['study']}.yml"
        file.write_text(yaml.safe_dump(dict(study)))
        command = [".venv/bin/collect", "plan", str(file), "--profile", "bench"]
        command += ["--workers", str(workers)]
        plan = said(command)
        run = cls(lab, name, tuple(json.loads(line)["id"] for line in plan.splitlines()))
        run.on_node(f"rm -rf {run.path} && mkdir {run.path} && cat > {run.path}/plan.jsonl", plan)
        return run

    @property
    def path(self) -> str:
        """Return its directory on the node."""
        return f"{RUNS}/{self.name}"

    def run(self, ids: Iterable[str], lab_file: str = "/etc/rackbench/lab.json") -> float:
        """Run these trials; return the runner's wall time in seconds, including ssh."""
        self.on_node(f"cat > {self.path}/open", "".join(f"{i}\n" for i in ids).encode())
        return clocked(self._command(self._runner(lab_file)))

    def trial(self, block: int, *levels: object) -> Trial:
        """Run the trial of this block whose id ends with these levels, and fetch it."""
        begin, end = f"b{block:02d}-", "".join(f"-{level}" for level in levels)
        (name,) = (i for i in self.ids if i.startswith(begin) and i.endswith(end))
        self.run([name])
        (sealed,) = self.trials([name])
        return sealed

    def trials(self, ids: Iterable[str]) -> list[Trial]:
        """Fetch sealed trials."""
        directory = f"{self.path}/trials"
        archive = self.on_node(f"tar -cf - -C {directory} {shlex.join(ids)}")
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            files = {m.name: tar.extractfile(m) for m in tar.getmembers() if m.isfile()}
            texts = {name: file.read() for name, file in files.items() if file}
        names = [name for name in texts if name.endswith("/trial.json")]
        return [
            Trial(json.loads(texts[name]), texts[str(Path(name).with_name("calls.csv"))])
            for name in names
        ]

    def copy_sealed(self, template: str, ids: Iterable[str]) -> None:
        """Seal these trials as copies of a sealed one."""
        self.on_node(
            f"cd {self.path}/trials && xargs -I ID cp -r {template} ID",
            "".join(f"{i}\n" for i in ids).encode(),
        )

    def on_node(self, script: str, given: bytes = b"") -> bytes:
        """Run a shell script on the client as the account of the runs; return its output."""
        return said(self._command(f"bash -euc {shlex.quote(script)}"), given)

    def _command(self, command: str) -> list[str]:
        return [*self.lab.ssh(CLIENT), f"sudo -u rackbench {command}"]

    def _runner(self, lab_file: str) -> str:
        return (
            f"java {' '.join(jvm_options())} -cp '/opt/rackbench/harness/*' "
            f"org.rackbench.harness.runner.Runner --run {self.path} --lab {lab_file} "
            f"--clients /opt/rackbench/clients:/opt/rackbench/programs --lock {self.path}/lock "
            f"--group {self.path}/open"
        )


def jvm_options() -> Sequence[str]:
    """Return the options of the runner's JVM in a sweep."""
    variables = yaml.safe_load(Path("roles/sweep/vars/main.yml").read_text())
    command: list[str] = variables["__sweep_runner_command"]
    return command[command.index("/opt/rackbench/jdk/bin/java") + 1 : command.index("-cp")]


def study(name: str, clients: str | Mapping[str, str], **settings: Any) -> dict[str, Any]:
    """Return a study file with one factor, `concurrency`; `settings` add or replace keys."""
    return {
        "schema": 1,
        "study": name,
        "title": "A benchmark of rackbench",
        "factors": {"concurrency": [1]},
        "domains": {"concurrency": {"type": "integer", "minimum": 1, "maximum": 500}},
        "clients": clients,
        "constants": {"client_heap_mb": 256},
        "replicates": 1,
        "calls": 1,
        "warmup": 0,
        "threads": "concurrency",
        "timeout_s": 120,
        "seed": 1,
        "profiles": {"bench": {}},
    } | settings
