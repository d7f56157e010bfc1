"""Playbooks as a user runs them, and what came of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from project import Project

_RECAP = re.compile(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.M)
_TASK = re.compile(r"^(?:TASK|RUNNING HANDLER) \[(.*)\] \**$")
_CHANGED = re.compile(r"^changed: \[([^\]\s]+)")


@dataclass(frozen=True)
class Outcome:
    """What one ansible-playbook command left behind."""

    code: int
    text: str
    log: Path

    @property
    def flat(self) -> str:
        """The output with all white space as single blanks, so that folding does not matter."""
        return re.sub(r"\s+", " ", self.text)

    @property
    def changed(self) -> dict[str, int]:
        """Changed tasks by host, hosts without any left out."""
        return {host: int(count) for host, count, _, _ in _RECAP.findall(self.text) if int(count)}

    @property
    def hosts(self) -> set[str]:
        """The hosts that had a part in it."""
        return {row[0] for row in _RECAP.findall(self.text)}

    @property
    def changed_tasks(self) -> dict[str, set[str]]:
        """The names of the changed tasks by host."""
        tasks: dict[str, set[str]] = defaultdict(set)
        task = ""
        for line in self.text.splitlines():
            if heading := _TASK.match(line):
                task = heading.group(1)
            elif change := _CHANGED.match(line):
                tasks[change.group(1)].add(task)
        return dict(tasks)

    @property
    def excerpt(self) -> str:
        """The end of the output from the first failure on."""
        lines = self.text.splitlines()
        bad = (n for n, line in enumerate(lines) if line.startswith(("fatal:", "[ERROR]", "ERROR")))
        start = next(bad, len(lines) - 40)
        return "\n".join(lines[max(0, start - 3) :][:80])


def settings(*, stock: bool) -> dict[str, str]:
    """The environment that chooses the strategy, as the Makefile does."""
    if stock:
        return {"ANSIBLE_STRATEGY": "linear"}
    return {"ANSIBLE_STRATEGY": "mitogen_all_cores", "ANSIBLE_DEPRECATION_WARNINGS": "false"}


@dataclass(frozen=True)
class Player:
    """Runs playbooks of one project with one state directory and one set of extra variables."""

    project: Project
    home: Path
    variables: Sequence[str]
    inventory: Sequence[Path]

    def command(
        self, playbook: str, extra: Mapping[str, Any], inventory: Sequence[Path], options: list[str]
    ) -> list[str]:
        """The command line, from the project's root."""
        inventories = [f"--inventory={path}" for path in inventory or self.inventory]
        words = [*self.variables, *([json.dumps(extra)] if extra else [])]
        chosen = [word for text in words for word in ("--extra-vars", text)]
        return [
            str(self.project.playbook_command),
            *inventories,
            f"playbooks/{playbook}",
            *chosen,
            *options,
        ]

    def environment(self, *, stock: bool) -> dict[str, str]:
        """Keys, secrets and connections of the tests' own, nothing of the caller's Ansible."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")}
        return {
            **inherited,
            **settings(stock=stock),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.home / "cp"),
            "XDG_STATE_HOME": str(self.home),
        }

    def start(
        self,
        playbook: str,
        extra: Mapping[str, Any] | None = None,
        *options: str,
        inventory: Sequence[Path] = (),
        stock: bool = False,
    ) -> tuple[subprocess.Popen[bytes], Path]:
        """Start a playbook; its process, and the file that its output goes to."""
        logs = self.home / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        number = len(list(logs.iterdir())) + 1
        log = logs / f"{number:02d}-{Path(playbook).stem}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                self.command(playbook, extra or {}, inventory, list(options)),
                cwd=self.project.root,
                env=self.environment(stock=stock),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return process, log

    def attempt(
        self,
        playbook: str,
        extra: Mapping[str, Any] | None = None,
        *options: str,
        inventory: Sequence[Path] = (),
        stock: bool = False,
        timeout_s: float = 600,
    ) -> Outcome:
        """Run a playbook to its end, whatever that is."""
        process, log = self.start(playbook, extra, *options, inventory=inventory, stock=stock)
        try:
            code = process.wait(timeout_s)
        except BaseException:
            process.kill()
            process.wait()
            raise
        return Outcome(code, log.read_text(errors="replace"), log)

    def run(
        self,
        playbook: str,
        extra: Mapping[str, Any] | None = None,
        *options: str,
        inventory: Sequence[Path] = (),
        stock: bool = False,
    ) -> Outcome:
        """Run a playbook that must succeed."""
        began = time.monotonic()
        outcome = self.attempt(playbook, extra, *options, inventory=inventory, stock=stock)
        if outcome.code:
            seconds = time.monotonic() - began
            pytest.fail(
                f"{playbook} ended with {outcome.code} after {seconds:.0f} s; all of it is in "
                f"{outcome.log}\n{outcome.excerpt}",
                pytrace=False,
            )
        return outcome
