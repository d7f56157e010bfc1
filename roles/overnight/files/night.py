#!/usr/bin/env python3
"""Runs one night of sweeps, by the settings in night.json next to it.

night.py DIRECTORY         sweeps the studies in order until the night ends
night.py DIRECTORY failed  calls the hook with the reason why a night failed
night.py prove             reads settings from standard input, and reports what would fail at night

A night ends with 0 if every sweep succeeded or it is not night now, with 1 if a sweep failed, and
with 75 if another night of the same directory is running.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

Settings = Mapping[str, Any]

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SETTINGS, VARIABLES, FAILURE = "night.json", "variables.json", "failure"
UNDER_WAY = 75
EARLY_S = 60
"""A clock that is set back a little must not cost the night that has just begun."""
HOOK_S = 60
SHOWN = 400
KEPT_LINES = 200
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR")
"""Variables that a hook gets in addition to RACKBENCH_…, as in collect/sweep/hook.py."""
# An open connection of the caller would hide that a night lacks the key.
OWN_CONNECTION = {"ANSIBLE_SSH_ARGS": "-o ControlMaster=no -o ControlPath=none"}
READABLE = {"ANSIBLE_CALLBACK_RESULT_FORMAT": "json", "ANSIBLE_NOCOLOR": "1"}
ANSWER = re.compile(r"^(\S+) \| (SUCCESS|CHANGED|FAILED|UNREACHABLE)\b", re.MULTILINE)
MESSAGE = re.compile(r'"msg": ("(?:[^"\\]|\\.)*")')
NEXT_STEP = (
    "Switch on each node that does not answer. A night has no terminal and no agent, so it needs a "
    "key without a passphrase. Name one in ansible_ssh_private_key_file, in the inventory or in "
    "overnight_variables, have each node accept it (ssh-copy-id -i KEY), and run this again"
)


class Night(NamedTuple):
    """A night by the date of its beginning; it ends at `end`, in seconds since 1970."""

    date: str
    end: float

    @property
    def deadline(self) -> str:
        """The end in UTC, in the form that a sweep needs."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.end))


def moment(day: date, clock: str) -> float:
    """Return the time when this machine's clock shows HH:MM on a day, in seconds since 1970.

    A time in an hour that summer time skips moves forward with the clock. A time in an hour that
    comes twice is the first of the two.
    """
    return datetime.combine(day, clock_time.fromisoformat(clock)).timestamp()


def night_of(begin: str, end: str, days: Sequence[str], now: float) -> Night | None:
    """Return the night of `now`, None in the daytime; without `days` each day has a night."""
    today = date.fromtimestamp(now)
    for day in (today + timedelta(days=shift) for shift in (1, 0, -1)):
        until = moment(day if begin < end else day + timedelta(days=1), end)
        is_meant = not days or WEEKDAYS[day.weekday()] in days
        if is_meant and moment(day, begin) - EARLY_S <= now < until:
            return Night(day.isoformat(), until)
    return None


def run_of(settings: Settings, study: str, day: str) -> str:
    """Return the name of a night's run; of a study in a folder only the last part counts."""
    name = f"{study.rpartition('/')[2]}-{settings['profile']}"
    return f"{name}-{day}" if settings["dated"] else name


def in_turn(settings: Settings, tonight: str) -> list[str]:
    """Return the studies in order; dated ones that no night has reached for longest come first.

    A night that is started again keeps its order, because its own runs do not count.
    """
    results = Path(settings["project"]) / "results"

    def reached(study: str) -> str:
        before = run_of(settings, study, "")
        days = (path.name.removeprefix(before) for path in results.glob(f"{before}????-??-??"))
        return max((day for day in days if day < tonight), default="")

    studies = list(settings["studies"])
    return sorted(studies, key=reached) if settings["dated"] else studies


def inventories(settings: Settings) -> list[str]:
    """Return the inventories as words of a command line."""
    return [word for path in settings["inventories"] for word in ("-i", path)]


def environment(settings: Settings) -> dict[str, str]:
    """Return the environment of a night's programs, with the installer's state directory."""
    # Ansible reads no ansible.cfg from a directory that everybody may write to, unless it is named.
    # It refuses a locale that the machine lacks, and one without UTF-8.
    configuration = {"ANSIBLE_CONFIG": f"{settings['root']}/ansible.cfg", "LC_ALL": "C.UTF-8"}
    return {**os.environ, **configuration, **settings["environment"]}


def one_line(text: str) -> str:
    """Return a text on one line, shortened if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def sweep(directory: Path) -> int:
    """Sweep the present night; return the exit code.

    If the next night has begun when its last trial ends, sweep that one as well: a timer that
    elapses while its service is active does nothing. The exit code is that of the last night.
    """
    file = directory / SETTINGS
    settings = json.loads(file.read_text())
    with (directory / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another night of {directory} is running; this one ends here", file=sys.stderr)
            return UNDER_WAY
        (directory / FAILURE).unlink(missing_ok=True)
        night, swept, failed = present(settings), "", list[str]()
        if night is None:
            begin, end = settings["begin"], settings["end"]
            print(f"it is not night now: nights are from {begin} to {end}; nothing is swept")
        while night and night.date > swept:
            if failed:
                tell(directory)  # systemd does so only when this program has ended
            failed = [f"{run}: {reason}" for run, reason in failures(settings, directory, night)]
            if failed:
                (directory / FAILURE).write_text("; ".join(failed))
                print("these runs failed:", *failed, sep="\n  ", file=sys.stderr)
            swept = night.date
            # Somebody may have changed or removed the nights meanwhile.
            settings = json.loads(file.read_text()) if file.exists() else {}
            night = present(settings) if settings else None
    return 1 if failed else 0


def present(settings: Settings) -> Night | None:
    """Return the night that it is now, None in the daytime."""
    return night_of(settings["begin"], settings["end"], settings["days"], time.time())


def failures(settings: Settings, directory: Path, night: Night) -> Iterator[tuple[str, str]]:
    """Sweep the studies in order; yield each run that failed, with the reason."""
    results = Path(settings["project"]) / "results"
    for study in in_turn(settings, night.date):
        run = run_of(settings, study, night.date)
        if (results / run / "report.html").exists() and remaining(settings, run) == 0:
            print(f"{run} is finished", flush=True)
        elif time.time() >= night.end:
            print(f"the night is over before {run}", flush=True)
        else:
            print(f"{time.strftime('%F %T')} {run} until {night.deadline}", flush=True)
            words = [f"study={study}", f"profile={settings['profile']}", f"run={run}"]
            words += [f"deadline={night.deadline}", "without=unreachable"]
            reason = played(settings, directory, words)
            if not reason and not (results / run / "report.html").exists():
                reason = "no report was written; check that the inventory has a control host"
            if reason:
                yield run, reason


def remaining(settings: Settings, run: str) -> int | None:
    """Return the number of a run's open trials, None if it is unknown."""
    with suppress(OSError, ValueError, KeyError):
        told = subprocess.run(
            [f"{settings['root']}/.venv/bin/collect", "status", run, "--json"],
            cwd=settings["project"],
            capture_output=True,
            check=False,
        )
        return int(json.loads(told.stdout)["remaining"])
    return None


def played(settings: Settings, directory: Path, words: Sequence[str]) -> str:
    """Run sweep.yml and show its output; return why it failed, or an empty text."""
    root, last = settings["root"], deque[str](maxlen=KEPT_LINES)
    given = [word for one in (f"@{directory / VARIABLES}", *words) for word in ("-e", one)]
    try:
        with subprocess.Popen(
            [
                f"{root}/.venv/bin/ansible-playbook",
                *inventories(settings),
                "playbooks/sweep.yml",
                *given,
            ],
            cwd=root,
            env=environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as playing:
            for line in playing.stdout or ():
                print(line, end="", flush=True)
                last.append(line)
    except OSError as error:
        return f"cannot be swept: {not_started(root, error)}"
    return reason_of(list(last)) if playing.returncode else ""


def reason_of(lines: Sequence[str]) -> str:
    """Return the last failure in a playbook's output, or else its last line."""
    failed = [n for n, line in enumerate(lines) if line.startswith(("fatal:", "[ERROR]", "ERROR"))]
    said = [line for line in lines if line.strip()]
    shown = takewhile(str.strip, lines[failed[-1] :]) if failed else said[-1:]
    return one_line(" ".join(shown)) or "it printed nothing"


def tell(directory: Path) -> int:
    """Call the hook with the reason why the night failed; return the exit code."""
    settings = json.loads((directory / SETTINGS).read_text())
    failure = directory / FAILURE
    ended = [os.environ.get(f"MONITOR_{name}", "") for name in ("SERVICE_RESULT", "EXIT_STATUS")]
    reason = f"it ended with {' '.join(ended).strip() or 'an error'}"
    if failure.exists():
        reason = failure.read_text()
        failure.unlink()
    unit = settings["unit"]
    text = f"{unit} failed: {one_line(reason)}; its output is in {settings['output']}"
    print(text, flush=True)
    if not settings["hook"]:
        print("no hook is called: sweep_hook is not set", file=sys.stderr)
        return 0
    told = {"event": "failed", "run": unit, "state": "failed", "text": text}
    summary = {"schema": 1, **told, "reason": reason}
    inherited = {k: v for k, v in os.environ.items() if k in KEPT or k.startswith("RACKBENCH_")}
    own = {f"RACKBENCH_{key.upper()}": value for key, value in told.items()}
    try:
        done = subprocess.run(
            shlex.split(settings["hook"]),
            cwd=settings["root"] if Path(settings["root"]).is_dir() else directory,
            env={**inherited, **settings["hook_environment"], **own},
            input=json.dumps(summary, ensure_ascii=False).encode() + b"\n",
            timeout=HOOK_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        print(f"no hook is called: it cannot be run ({error}); correct sweep_hook", file=sys.stderr)
        return 1
    return done.returncode


def prove() -> int:
    """Plan the studies and log in to the nodes as a night does; return the exit code."""
    settings = json.load(sys.stdin)
    with TemporaryDirectory() as place:
        faults = [*unplanned(settings, Path(place)), *shut_out(settings, Path(place))]
    print("\n".join(faults))
    return 1 if faults else 0


def unplanned(settings: Settings, place: Path) -> Iterator[str]:
    """Yield the message of `collect` if a sweep's command could not plan the studies."""
    studies, variables = settings["studies"], settings["variables"]
    said = output_of(
        settings,
        settings["project"],
        [".venv/bin/collect", "plan", *studies, f"--profile={settings['profile']}"],
        f"--workers={settings['workers']}",
        *(["--fit"] if variables.get("fit") in (True, "true", "yes") else []),
        *(f"--output={place}/{number}.jsonl" for number in range(len(studies))),
    )
    if said.returncode:
        yield f"The studies {', '.join(studies)} cannot be planned: {one_line(said.stderr)}"


def shut_out(settings: Settings, place: Path) -> Iterator[str]:
    """Yield each node that a night cannot log in to, with its key and the reason."""
    variables = place / VARIABLES
    variables.touch(0o600)
    variables.write_text(json.dumps(settings["variables"]))
    words = ["nodes", "-m", "ansible.builtin.raw", "-a", "true", "-e", f"@{variables}"]
    command = [".venv/bin/ansible", *inventories(settings), *words]
    said = output_of(settings, settings["root"], command)
    answers = ANSWER.split(said.stdout)[1:]
    failed = [
        (node, answer)
        for node, state, answer in zip(*(answers[n::3] for n in range(3)), strict=True)
        if state in ("FAILED", "UNREACHABLE")
    ]
    of_nights = settings["variables"].get("ansible_ssh_private_key_file")
    for node, answer in failed:
        key = of_nights or settings["keys"].get(node)
        message = MESSAGE.search(answer)
        why = json.loads(message[1]) if message else answer.partition("\n")[2]
        told = one_line(why.removeprefix("Task failed: "))
        yield f"{node}, with {key or 'a default key of SSH'}: {told}"
    if failed:
        yield f"{NEXT_STEP}."
    elif said.returncode:
        yield f"No login could be tried: {one_line(said.stderr or said.stdout)}"


def output_of(
    settings: Settings, place: str, command: Sequence[str], *more: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of the checkout in a directory, without the connections of the caller."""
    try:
        return subprocess.run(
            [f"{settings['root']}/{command[0]}", *command[1:], *more],
            cwd=place,
            env={**environment(settings), **OWN_CONNECTION, **READABLE},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        said = not_started(settings["root"], error)
        return subprocess.CompletedProcess(command, 1, "", said)


def not_started(root: str, error: OSError) -> str:
    """Return why a program of the checkout did not start, and what to do."""
    if Path(root).is_dir() and str(error.filename).startswith(f"{root}/.venv/"):
        make = f"make -C {shlex.quote(root)} .venv/ready"
        return f"{error}; nights use the programs there: {make}"
    return f"{error}; run overnight.yml again from where the checkout is now"


if __name__ == "__main__":
    if sys.argv[1:] == ["prove"]:
        sys.exit(prove())
    sys.exit((tell if sys.argv[2:] == ["failed"] else sweep)(Path(sys.argv[1])))
