"""Follows the runner on the client node and pulls sealed trials back while it goes."""

from __future__ import annotations

import base64
import json
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from collect.plan import PlannedTrial, read_plan
from collect.pull import accept_trials
from collect.trials import TrialError
from collect.writing import write_bytes

POLL_S = 1.0
SPEAK_S = 5.0
BATCH = 100


@dataclass
class Follower:
    """How far a run is on this side, and what was said of it."""

    run: Path
    planned: dict[str, PlannedTrial]
    here: set[str]
    pulled: int = 0
    not_ok: int = 0
    state: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    spoken: float = 0.0
    said: str = ""

    @classmethod
    def of(cls, run: Path) -> Follower:
        """Begin with what was pulled by an earlier sweep."""
        planned = {trial.id: trial for trial in read_plan(run / "plan.jsonl")}
        trials = run / "trials"
        here = {path.name for path in trials.iterdir()} if trials.exists() else set()
        return cls(run, planned, here & set(planned))

    def accept(self, archive: bytes) -> None:
        """Take a batch of trials in."""
        for trial in accept_trials(archive, self.run, self.planned):
            self.here.add(trial.id)
            self.pulled += 1
            self.not_ok += trial.outcome != "ok"

    def line(self) -> str:
        """One line of progress; the ETA counts on the pace of this sweep."""
        done, total = len(self.here), len(self.planned)
        text = f"[{done}/{total} {100 * done // total:3d} %]"
        if self.not_ok:
            text += f" {self.not_ok} not ok |"
        if self.state.get("running"):
            text += f" {self.state['running']} runs |"
        if self.pulled and done < total:
            seconds = int((time.monotonic() - self.started) / self.pulled * (total - done))
            text += f" ETA {seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        return text.rstrip(" |")

    def speak(self, text: str, *, now: bool = False) -> None:
        """Say it, but not twice and not too often."""
        if text != self.said and (now or time.monotonic() - self.spoken >= SPEAK_S):
            Display().display(text)
            self.said, self.spoken = text, time.monotonic()


class ActionModule(ActionBase):
    """`follow_run`: source (the run's directory on the node), results (here), unit, stall_s."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Follow until the runner has ended; fails unless every planned trial is sealed here."""
        result = super().run(tmp, task_vars)
        stall = float(self._task.args["stall_s"])
        follower = Follower.of(Path(self._task.args["results"]))
        heard, active = time.monotonic(), True
        while active:
            try:
                active = self._look(follower)
                heard = time.monotonic()
                follower.speak(follower.line())
            except AnsibleConnectionFailure as error:
                if time.monotonic() - heard > stall:
                    raise AnsibleActionFail(
                        f"no word from the node for {stall:.0f} s ({error}); the runner may well "
                        "go on there: run the same command again to attach to it"
                    ) from error
                follower.speak("the node does not answer; asking again", now=True)
            except TrialError as error:
                raise AnsibleActionFail(str(error)) from error
            if active:
                time.sleep(POLL_S)
        follower.state.pop("running", None)
        follower.speak(follower.line(), now=True)
        missing = len(follower.planned) - len(follower.here)
        if missing:
            raise AnsibleActionFail(self._why(follower, missing))
        result.update(changed=follower.pulled > 0, pulled=follower.pulled, not_ok=follower.not_ok)
        return result

    def _look(self, follower: Follower) -> bool:
        """Ask once how the run stands and pull what is new; whether the runner still runs."""
        source = shlex.quote(self._task.args["source"])
        answer = self._node(
            f"systemctl is-active {self._task.args['unit']}; cat {source}/state.json; "
            f"echo; ls -1 {source}/trials"
        ).decode()
        active, state, *sealed = answer.splitlines()
        if state:
            follower.state = json.loads(state)
            write_bytes(follower.run / "state.json", state.encode())
        for ids in _batches(sorted(set(filter(None, sealed)) - follower.here)):
            follower.accept(
                self._node(f"tar -czf - -C {source}/trials {shlex.join(ids)} | base64 -w0")
            )
            follower.speak(follower.line())
        return active in ("active", "activating", "deactivating")

    def _node(self, command: str) -> bytes:
        """What a command prints on the node; base64 is decoded where it was asked for."""
        answer = self._low_level_execute_command(f"{{ {command}; }} 2>/dev/null")
        text: str = answer["stdout"]
        return base64.b64decode(text) if "base64" in command else text.encode()

    def _why(self, follower: Follower, missing: int) -> str:
        """Why the runner ended early, with its own last words."""
        journal = (
            self._node(f"journalctl -u {self._task.args['unit']} -n 5 -o cat").decode().strip()
        )
        reason = follower.state.get("reason") or journal or "it left no word"
        return (
            f"{missing} of {len(follower.planned)} trials are open because the runner ended: "
            f"{reason}; mend that and run the same command again, what is sealed stays"
        )


def _batches(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]
