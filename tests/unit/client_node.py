"""A client node for tests: a directory with the runner's files, and stubs of its commands."""

import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

from collect.run.plan import read_plan
from collect.sweep.follow import NodeSilentError

STUBS = {
    "systemctl": 'cat "$NODE/active"',
    "df": 'echo Avail; cat "$NODE/free"',
    "journalctl": 'echo "last words"',
}


class Client:
    """A client node: a directory with the runner's files, and commands that act on it."""

    def __init__(self, directory: Path, stubs: Path) -> None:
        self.directory, self.stubs = directory, stubs
        self.silent = False
        stubs.mkdir()
        for name, body in STUBS.items():
            (stubs / name).write_text(f"#!/bin/sh\n{body}\n")
            (stubs / name).chmod(0o755)
        self.put(active="active", free=5000)
        self.state(state="running", reason="")

    def put(self, **values) -> None:
        for name, value in values.items():
            (self.directory / name).write_text(f"{value}\n")

    def state(self, **values) -> None:
        (self.directory / "state.json").write_text(json.dumps(values))

    def end(self, word="finished", reason="") -> None:
        self.state(state=word, reason=reason)
        self.put(active="inactive")

    @property
    def trials(self) -> set[str]:
        return {path.name for path in (self.directory / "trials").iterdir()}

    def __call__(self, command: str) -> bytes:
        if self.silent:
            raise NodeSilentError("no route to host")
        path = f"{self.stubs}:{os.environ['PATH']}"
        environment = {**os.environ, "NODE": str(self.directory), "PATH": path}
        shell = ["sh", "-c", f"{{ {command}; }} 2>/dev/null"]
        return subprocess.run(shell, env=environment, capture_output=True, check=False).stdout


def planned_of(run):
    return {trial.id: trial for trial in read_plan(run / "plan.jsonl")}


def archive(node, names):
    """A tar.gz as the node makes it."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for name in names:
            tar.add(node / "trials" / name, arcname=name)
    return content.getvalue()
