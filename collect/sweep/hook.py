"""Calls a command of the user with the summary of a run when the run ends, stops or stalls."""

import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collect.errors import InputError
from collect.sweep.status import Status

SCHEMA = 1
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR")
_TIMEOUT_S = 60.0
_SHOWN = 300


@dataclass(frozen=True)
class Hook:
    """A command line, run in `directory` and not through a shell.

    It gets the summary as JSON on standard input, and in its environment RACKBENCH_EVENT,
    RACKBENCH_RUN, RACKBENCH_STATE, RACKBENCH_TEXT and the variables in `environment`. Of the
    caller's variables it gets those that programs need to run and those named RACKBENCH_….
    """

    command: str
    directory: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = _TIMEOUT_S

    def __post_init__(self) -> None:
        """Raise InputError for a command that is empty or cannot be split into words."""
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise InputError(
                f"sweep_hook {self.command!r}: {error}; correct its quotation marks"
            ) from error
        if not words:
            raise InputError("sweep_hook is blank; name a command or omit it")

    def call(self, summary: Mapping[str, Any]) -> str:
        """Run the command; return what went wrong, or an empty text. It never fails the sweep."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name in _KEPT or name.startswith("RACKBENCH_")
        }
        told = {f"RACKBENCH_{key.upper()}": str(summary[key]) for key in _TOLD}
        try:
            done = subprocess.run(
                shlex.split(self.command),
                cwd=self.directory,
                input=json.dumps(summary, ensure_ascii=False).encode() + b"\n",
                env={**inherited, **self.environment, **told},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=self.timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return (
                f"hook {self.command!r} was killed after {self.timeout_s:.0f} s; its message may "
                "not have been sent"
            )
        except OSError as error:
            return f"hook {self.command!r} cannot be run ({error.strerror}); no message was sent"
        if done.returncode:
            said = done.stdout.decode(errors="replace").strip()[-_SHOWN:]
            code = f"ended with exit code {done.returncode}"
            return f"hook {self.command!r} {code}: {said or 'no output'}"
        return ""


_TOLD = ("event", "run", "state", "text")


def summary_of(status: Status, event: str, reason: str) -> dict[str, Any]:
    """Return what a hook is told; `event` is ended, stopped or stalled, `text` a line for people.

    All keys but `schema`, `event`, `reason` and `text` are those of `collect status --json`.
    """
    text = f"{status.run} {event}: {status.sealed} of {status.total} trials sealed"
    if status.not_ok:
        text += f", {status.not_ok} not ok"
    if reason:
        text += f"; {reason}"
    return {
        "schema": SCHEMA,
        "event": event,
        "text": text,
        **{key: value for key, value in status.as_json().items() if key != "schema"},
        "reason": reason,
    }
