"""A run under way, whose sweep command is started again whenever it has ended."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import machine
import sealed
from labs import RUNNER, Lab
from playbook import Outcome


@dataclass
class InterruptedRun:
    """One run of a study on a lab that things happen to."""

    lab: Lab
    run: str
    profile: str = "interrupted"
    settings: dict[str, Any] = field(default_factory=dict)
    study: str = "sort"
    process: subprocess.Popen[bytes] | None = None
    log: Path = Path("/dev/null")
    ended: list[Outcome] = field(default_factory=list)

    @property
    def results(self) -> Path:
        """Where the run's trials arrive."""
        return self.lab.player.project.results(self.run)

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of every file of the trials that are sealed here, by path."""
        return sealed.hashes(self.results / "trials") if self.sealed else {}

    @property
    def sealed(self) -> int:
        """How many trials are sealed here."""
        trials = self.results / "trials"
        return len(list(trials.iterdir())) if trials.is_dir() else 0

    @property
    def planned(self) -> list[str]:
        """The ids of the run's trials, in the plan's order."""
        lines = (self.results / "plan.jsonl").read_text().splitlines()
        return [json.loads(line)["id"] for line in lines]

    @property
    def records(self) -> list[dict[str, Any]]:
        """What trial.json of every sealed trial says."""
        files = sorted((self.results / "trials").glob("*/trial.json"))
        return [json.loads(file.read_text()) for file in files]

    def words(self, **more: Any) -> dict[str, Any]:
        """The extra variables of the sweep command."""
        names = {"study": self.study, "profile": self.profile, "run": self.run}
        return {**names, **self.settings, **more}

    def running(self) -> bool:
        """Whether the command runs; how an ended one ended is kept."""
        if self.process is None:
            return False
        code = self.process.poll()
        if code is None:
            return True
        self.ended.append(Outcome(code, self.log.read_text(errors="replace"), self.log))
        self.process = None
        return False

    def go_on(self) -> None:
        """Start the command, unless it still runs."""
        if not self.running():
            self.process, self.log = self.lab.player.start("sweep.yml", self.words())

    def until(self, reached: Callable[[], bool], what: str, timeout_s: float = 240) -> None:
        """Go on, starting the command again whenever it ended, until something is reached."""
        begun, deadline = len(self.ended), time.monotonic() + timeout_s
        while not reached():
            self.go_on()
            late = time.monotonic() > deadline
            if late or len(self.ended) - begun > 8:
                tail = "\n".join(outcome.excerpt for outcome in self.ended[-2:])
                raise AssertionError(f"{what}: {'too late' if late else 'ended too often'}\n{tail}")
            time.sleep(0.2)

    def more(self, trials: int = 2) -> None:
        """Go on until so many more trials are sealed here, or all of them."""
        goal = min(self.sealed + trials, len(self.planned) if self.sealed else trials)
        self.until(lambda: self.sealed >= goal, f"{trials} more trials")

    def runs_a_trial(self) -> None:
        """Go on until the runner has a trial's JVM."""
        self.until(lambda: self.trial_pid() > 0, "a trial's JVM")

    def finish(self) -> Outcome:
        """Go on until the command has ended well, and give that."""
        self.until(lambda: not self.running() and self._well(), "the run's end", 480)
        return self.ended[-1]

    def _well(self) -> bool:
        return bool(self.ended) and self.ended[-1].code == 0

    def stop(self) -> None:
        """End whatever still runs of this run, at both ends."""
        self.kill()
        self.lab.ssh("client1", f"sudo systemctl kill -s KILL {RUNNER}", check=False)
        machine.wait_for(lambda: self.runner_pid() == 0, "the runner ends")

    def kill(self) -> None:
        """Kill -9 the command with all its children."""
        if self.running() and self.process:
            machine.kill_group(self.process)
        self.process = None

    def runner_pid(self) -> int:
        """The runner's process on the client node; 0 when there is none."""
        done = self.lab.ssh("client1", f"systemctl show -P MainPID {RUNNER}", check=False)
        return int(done.stdout.decode().strip() or 0)

    def trial_pid(self) -> int:
        """The process of the trial's JVM on the client node; 0 when there is none now."""
        ask = f'pgrep -n -P "$(systemctl show -P MainPID {RUNNER})" java'
        found = self.lab.ssh("client1", ask, check=False)
        return int(found.stdout.decode().strip() or 0)

    def prove(self) -> None:
        """Every planned trial once, whole, and collect's own proof of it."""
        assert {record["id"] for record in self.records} == set(self.planned)
        done = self.lab.player.project.collect("check", self.run)
        assert done.returncode == 0, done.stdout + done.stderr
