"""Starts or stops the profiler in JVMs of rackbench's services, for the health service.

systemd starts it as root when the request in ASKED changes. It loads the profiler's library into
the running JVM by the JVM's own attach protocol; the profiler writes to the private /tmp of the
service. A failure becomes an answer with its reason.
"""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socket
import stat
import time
from pathlib import Path

ASKED = Path("/run/rackbench-health/profile")
ROOM = Path("/run/rackbench-profile")
INVOCATIONS = Path("/run/systemd/units")
LIBRARY = Path("/usr/lib/rackbench/libasyncProfiler.so")
EVENTS = ("ctimer", "itimer")  # the units' sandboxes forbid perf events
INTERVAL_NS = 2_000_000
STACKS = "/tmp/rackbench-profile.collapsed"  # noqa: S108 - in the service's private /tmp
PAGE = "/tmp/rackbench-profile.html"  # noqa: S108
RECORDING = "/tmp/rackbench-profile.jfr"  # noqa: S108
LOG = "/tmp/rackbench-profile.log"  # noqa: S108
STOPPED_AFTER_S = 7200  # if nobody stops it
MOST_BYTES = 8 << 20  # of all profiles of a node together, because the runner has a small heap
TOO_LONG = "its profile has more than {} MiB"
ATTACH_S = 5.0
COMMAND_S = 20.0
PAUSE_S = 0.05
PROTOCOL = b"1"
UNIT = re.compile(r"rackbench-[\w-]+")


class RefusedError(Exception):
    """There is no profile of a unit; the message has the reason."""


def main() -> None:
    """Carry out ASKED and write the answer next to the marks of the JVMs that had a profiler."""
    wish, said = json.loads(ASKED.read_text()), ROOM / "answer"
    if said.exists() and json.loads(said.read_text())["id"] == wish["id"]:
        return  # systemd may start this twice for one change
    starts = wish["starts"]
    most = MOST_BYTES // max(1, len(starts))
    done = {unit: answer(wish["action"], unit, start, most) for unit, start in starts.items()}
    new = ROOM / "answer.new"
    new.write_text(json.dumps({"id": wish["id"], "units": done}))
    new.chmod(0o644)
    new.replace(said)


def answer(action: str, unit: str, start: str, most: int) -> dict[str, object]:
    """Start or stop the profiler in the JVM of a unit and return the entry of its profile.

    A profile may have `most` bytes.
    """
    found: dict[str, object] = {"event": "", "interval_ns": INTERVAL_NS, "missing": ""}
    try:
        pid = process(unit, start)
        if action == "start":
            begin(unit, start, pid)
        elif action == "stop":
            found |= end(unit, pid, most)
    except (RefusedError, OSError, ValueError) as error:
        found["missing"] = str(error)
    return found


def begin(unit: str, start: str, pid: int) -> None:
    """Start the profiler with the first event that works; raises RefusedError."""
    if not LIBRARY.exists():
        raise RefusedError(f"{LIBRARY}: no such file; run site.yml again")
    (ROOM / f"{unit}.event").unlink(missing_ok=True)
    mark(ROOM / unit, start)  # first, so that no JVM with the library lacks its mark
    more = f"interval={INTERVAL_NS},timeout={STOPPED_AFTER_S},file={RECORDING},log={LOG}"
    for event in EVENTS:
        why_not = load(pid, f"start,jfr,event={event},{more}")
        if not why_not:
            mark(ROOM / f"{unit}.event", event)
            return
    raise RefusedError(why_not)


def end(unit: str, pid: int, most: int) -> dict[str, object]:
    """Stop the profiler; return its files: stacks in nanoseconds, page, and recording in base64."""
    event = ROOM / f"{unit}.event"
    if not event.exists():
        raise RefusedError("the profiler did not start in it; see journalctl -u rackbench-profile")
    for options in (
        f"stop,collapsed,total,file={STACKS},log={LOG}",
        f"dump,flamegraph,total,file={PAGE},log={LOG}",
    ):
        if why_not := load(pid, options):
            raise RefusedError(why_not)
    parts = {
        "stacks": taken(pid, STACKS).decode(errors="replace"),
        "page": taken(pid, PAGE).decode(errors="replace"),
        "recording": base64.b64encode(taken(pid, RECORDING)).decode(),
    }
    if sum(map(len, parts.values())) > most:
        raise RefusedError(TOO_LONG.format(most >> 20))
    return {"event": event.read_text(), **parts}


def load(pid: int, options: str) -> str:
    """Make a JVM load the profiler with these options; return why that failed, or nothing."""
    said = command(pid, "load", str(LIBRARY), "true", options)
    try:
        words = taken(pid, LOG).decode(errors="replace").strip()
    except OSError:
        words = ""
    if re.fullmatch(r"0\s+(return code: )?0\s*", said):
        return ""
    print(f"{pid} {options}: {said} {words}", flush=True)
    return f"the profiler says: {words or said.strip()}"


def command(pid: int, *words: str) -> str:
    """Return a JVM's answer to a command of the attach protocol; raises RefusedError."""
    inside = re.findall(r"^NSpid:.*\s(\d+)$", Path(f"/proc/{pid}/status").read_text(), re.M)[0]
    listener = seen_by(pid, f"/tmp/.java_pid{inside}")  # noqa: S108
    if not is_socket(listener):
        ask_to_listen(pid, inside, listener)
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(COMMAND_S)
        line.connect(str(listener))
        line.sendall(b"\0".join([PROTOCOL, *map(str.encode, words), b""]))
        parts = []
        while part := line.recv(4096):
            parts.append(part)
    return b"".join(parts).decode(errors="replace")


def ask_to_listen(pid: int, inside: str, listener: Path) -> None:
    """Make a JVM open its socket: on SIGQUIT it looks for a file of this name."""
    if not str(Path(f"/proc/{pid}/exe").readlink()).endswith("/java"):
        raise RefusedError("it is not a JVM")
    trigger = seen_by(pid, f"/tmp/.attach_pid{inside}")  # noqa: S108
    trigger.unlink(missing_ok=True)
    # The service owns this /tmp, so root follows no link there.
    os.close(os.open(trigger, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    try:
        os.kill(pid, signal.SIGQUIT)
        until = time.monotonic() + ATTACH_S
        while not is_socket(listener):
            if time.monotonic() > until:
                raise RefusedError(f"its JVM does not listen within {ATTACH_S:.0f} s")
            time.sleep(PAUSE_S)
    finally:
        trigger.unlink(missing_ok=True)


def taken(pid: int, path: str) -> bytes:
    """Return a file that the profiler wrote to the service's /tmp, and remove it there."""
    place = seen_by(pid, path)
    try:
        with os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RefusedError(f"{path} is no file")
            content = file.read(MOST_BYTES + 1)
    finally:
        place.unlink(missing_ok=True)
    if len(content) > MOST_BYTES:
        raise RefusedError(TOO_LONG.format(MOST_BYTES >> 20))
    return content


def seen_by(pid: int, path: str) -> Path:
    """Return the path on this node of a process's path; the process has a /tmp of its own."""
    return Path(f"/proc/{pid}/root{path}")


def is_socket(path: Path) -> bool:
    """Return whether the path is a socket itself, not a link to one."""
    try:
        return stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def mark(path: Path, text: str) -> None:
    """Write a small file that the health service may read."""
    path.write_text(text)
    path.chmod(0o644)


def process(unit: str, start: str) -> int:
    """Return the process of this start of a unit; raises RefusedError if it is gone."""
    if not UNIT.fullmatch(unit):
        raise RefusedError("it is not a unit of rackbench")
    if str((INVOCATIONS / f"invocation:{unit}.service").readlink()) != start:
        raise RefusedError("this start of it is gone")
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            if re.search(rf"/{unit}\.service$", path.read_text(), re.M):
                return int(path.parent.name)
        except OSError:
            continue
    raise RefusedError("it does not run")


if __name__ == "__main__":
    main()
