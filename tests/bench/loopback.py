"""Runs trials of the real runner on this machine, against services that the caller started."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from bench_lab import LONGEST_S, said
from by_hand import Trial, jvm_options


@dataclass(frozen=True)
class LoopbackRun:
    """A run in a directory of this machine; `ids` are those of its plan, in their order."""

    directory: Path
    programs: Path  # has harness/ and clients/
    ids: tuple[str, ...]

    @classmethod
    def planned(cls, directory: Path, programs: Path, study: Mapping[str, Any]) -> LoopbackRun:
        """Plan a study by `collect`."""
        directory.mkdir(parents=True)
        file = directory / f"{study['study']}.yml"
        file.write_text(yaml.safe_dump(dict(study)))
        workers = str(study.get("servers", 1))
        plan = said([".venv/bin/collect", "plan", str(file), "--profile", "bench",
                     "--workers", workers])  # fmt: skip
        (directory / "plan.jsonl").write_bytes(plan)
        return cls(directory, programs, tuple(json.loads(li)["id"] for li in plan.splitlines()))

    def run(self, trial: str, lab: Mapping[str, Any]) -> Trial:
        """Run one trial against the services of a lab file; return the sealed trial."""
        file, opened = self.directory / f"{trial}-lab.json", self.directory / "open"
        file.write_text(json.dumps(lab))
        opened.write_text(f"{trial}\n")
        runner = subprocess.run(
            [
                *("java", *jvm_options(), "-cp", f"{self.programs}/harness/*"),
                *("org.rackbench.harness.runner.Runner", "--run", str(self.directory)),
                *("--lab", str(file), "--clients", str(self.programs / "clients")),
                *("--lock", str(self.directory / "lock"), "--group", str(opened)),
            ],
            capture_output=True,
            timeout=LONGEST_S,
            check=False,
        )
        sealed = self.directory / "trials" / trial
        if runner.returncode or not sealed.is_dir():
            raise SystemExit(f"the runner did not seal {trial}: {runner.stderr.decode()[-2000:]}")
        record = json.loads((sealed / "trial.json").read_text())
        return Trial(record, (sealed / "calls.csv").read_bytes())
