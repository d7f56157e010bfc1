"""A playbook that runs in the background: its process, its log and its events."""

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collect.front.kit import Kit

_KEPT_LOGS = 50
_PATIENCE_S = 15.0


def state_directory() -> Path:
    """Return where this account keeps logs and what runs; it is made if need be."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    directory = Path(base) / "rackbench"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@dataclass
class Process:
    """One playbook that was started, perhaps by an earlier command.

    `born` tells it from another process that got the same number later.
    """

    pid: int
    born: str
    log: Path
    events: Path
    popen: "subprocess.Popen[bytes] | None" = None
    command: tuple[str, ...] = ()

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs, or when an earlier command started it."""
        return self.popen.returncode if self.popen else None

    def is_alive(self) -> bool:
        """Return whether it still runs."""
        if self.popen is not None:
            return self.popen.poll() is None
        return bool(self.born) and _born(self.pid) == self.born

    def stop(self) -> None:
        """Interrupt it and what it started, and wait for its end."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if not self.is_alive():
                return
            try:
                os.killpg(self.pid, number)
                self._wait(_PATIENCE_S)
            except ProcessLookupError:
                return
            except KeyboardInterrupt:
                continue  # asked again, so more firmly

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self.is_alive() and time.monotonic() < end:
            time.sleep(0.1)


def start(kit: Kit, command: Sequence[str], name: str) -> Process:
    """Start a playbook in a session of its own, its output into a new log."""
    log = _new_log(name)
    events = log.with_suffix(".jsonl")
    with log.open("ab") as output:
        popen = subprocess.Popen(
            command,
            cwd=kit.checkout,
            env={**kit.environment(), "RACKBENCH_EVENTS": str(events)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Process(popen.pid, _born(popen.pid), log, events, popen, tuple(command))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C, and what is treated like it, until the end of the block."""
    ending = [n for n in signal.Signals if signal.getsignal(n) is signal.default_int_handler]
    came: list[int] = []
    for number in ending:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt


def converse(kit: Kit, command: Sequence[str], name: str) -> Process:
    """Run a playbook that asks at this terminal, until it ends; the log has all of it."""
    log = _new_log(name)
    events = log.with_suffix(".jsonl")
    told = {
        "RACKBENCH_EVENTS": str(events),
        "ANSIBLE_LOG_PATH": str(log),
        "ANSIBLE_DISPLAY_OK_HOSTS": "false",
        "ANSIBLE_DISPLAY_FAILED_STDERR": "true",  # a failure is explained from its event
    }
    with log.open("ab") as output:
        popen = subprocess.Popen(
            command, cwd=kit.checkout, env={**kit.environment(), **told}, stderr=output
        )
        try:
            popen.wait()
        except KeyboardInterrupt:
            popen.wait()  # the terminal interrupted it as well
            raise
    return Process(popen.pid, "", log, events, popen)


def _new_log(name: str) -> Path:
    logs = state_directory() / "logs"
    logs.mkdir(exist_ok=True)
    _forget(logs)
    return logs / f"{time.strftime('%Y%m%d-%H%M%S')}-{Path(name).stem}-{os.getpid()}.log"


class Events:
    """Reads the events of a process as they come, each once."""

    def __init__(self, path: Path) -> None:
        """Begin with the first one."""
        self._path, self._read = path, 0

    def new(self) -> Iterator[dict[str, Any]]:
        """Yield the events that came since the last time; a line that is not whole has to wait."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                content = file.read()
        except FileNotFoundError:
            return
        for line in content.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                return
            self._read += len(line)
            yield json.loads(line)


def last_words(log: Path) -> str:
    """Return the last line of a log that says something."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def remember(runs: Sequence[Path], process: Process) -> None:
    """Note which process sweeps these runs, so that the same command finds it again."""
    note = {"pid": process.pid, "born": process.born, "command": process.command}
    note |= {"log": str(process.log), "events": str(process.events)}
    _note(runs).parent.mkdir(exist_ok=True)
    _note(runs).write_text(json.dumps(note), encoding="utf-8")


def remembered(runs: Sequence[Path]) -> Process | None:
    """Return the process that sweeps these runs; None where none does."""
    try:
        note = json.loads(_note(runs).read_text(encoding="utf-8"))
        log, events = Path(note["log"]), Path(note["events"])
        command = tuple(note.get("command", ()))
        process = Process(note["pid"], note["born"], log, events, command=command)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if process.is_alive():
        return process
    _note(runs).unlink(missing_ok=True)
    return None


def _note(runs: Sequence[Path]) -> Path:
    # Several paths together may be longer than the name of a file.
    paths = os.fsencode("\n".join(str(run.absolute()) for run in runs))
    return state_directory() / "sweeps" / f"{hashlib.sha256(paths).hexdigest()}.json"


def _born(pid: int) -> str:
    """Return when a process began, in ticks since the machine did; empty for one that ended."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if words[0] == "Z" else words[19]


def _forget(logs: Path) -> None:
    """Remove the oldest logs with their events, but not those of a sweep that may still run."""
    notes = "".join(note.read_text() for note in (logs.parent / "sweeps").glob("*.json"))
    for log in sorted(logs.glob("*.log"))[:-_KEPT_LOGS]:
        if log.name in notes:
            continue
        log.unlink(missing_ok=True)
        log.with_suffix(".jsonl").unlink(missing_ok=True)
