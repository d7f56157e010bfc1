"""Runs playbooks one after another or side by side, shows their steps, and explains a failure."""

import re
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from collect.commands.exits import FINDINGS, GOOD
from collect.commands.guard import INTERRUPTED
from collect.counts import show_count
from collect.front.estimates import Estimates
from collect.front.kit import Kit
from collect.front.process import Events, Process, converse, last_words, start, uninterrupted
from collect.front.screen import Screen, clock
from collect.printable import printable
from collect.time_left import in_words

_POLL_S = 0.25
_SHORT_S = 1.0
_EXPLAINED = 10


@dataclass(frozen=True)
class Progress:
    """How far a step is, and how many seconds the rest takes where that is known."""

    text: str
    left_s: float | None


def no_progress() -> Progress | None:
    """Return nothing: what most playbooks tell of their inside."""
    return None


@dataclass(frozen=True)
class Play:
    """A playbook with its variables; `guess_s` is how long it takes the first time.

    With `counts` the end tells how many changes it made.
    """

    playbook: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    guess_s: float = 60.0
    counts: bool = False
    progress: Callable[[], Progress | None] = no_progress

    def command(self, kit: Kit) -> list[str]:
        """Return the command that runs it."""
        return kit.playbook(self.playbook, self.variables, *self.options)


@dataclass
class Course:
    """What one process has told so far. A play is a step, which the next one ends."""

    play: Play
    process: Process
    step: str = ""
    task: str = ""
    began: float = 0.0
    failed_before: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    changed: Mapping[str, int] = field(default_factory=dict)
    is_ok: bool | None = None

    def __post_init__(self) -> None:
        """Read its events from the first one."""
        self._events = Events(self.process.events)

    def read(self, screen: Screen) -> None:
        """Take in new events, and show the steps that ended."""
        for event in self._events.new():
            kind = event["event"]
            if kind in {"play", "end"}:
                self._end_step(screen, event["at"])
            if kind == "play":
                self.step, self.began, self.task = event["name"], event["at"], ""
                self.failed_before = len(self.failures)
            elif kind == "task":
                self.task = event["name"]
            elif kind == "failed":
                self.failures.append(event)
            elif kind == "said":
                self.said.append(event["text"])
            elif kind == "end":
                self.is_ok, self.changed = event["ok"], event["changed"]

    def close(self, screen: Screen) -> None:
        """Show the step that it ended in without saying so."""
        self._end_step(screen, time.time(), is_good=False)

    @property
    def is_good(self) -> bool:
        """Whether it ended well."""
        return bool(self.is_ok) and not self.process.code

    def line(self) -> str:
        """Return what it does now as one line."""
        if not self.step:
            return f"{'':6} {'':>6}  starting {self.play.playbook}"
        progress = self.play.progress()
        more = progress.text if progress else self.task
        running = clock(max(0.0, time.time() - self.began))
        told = f"{self.step}: {more}" if more else self.step
        return f"{'':6} {running:>6}  {printable(told)}"

    def _end_step(self, screen: Screen, at: float, *, is_good: bool = True) -> None:
        if self.step:
            is_good = is_good and len(self.failures) == self.failed_before
            if at - self.began >= _SHORT_S or not is_good:
                screen.step(self.step, at - self.began, is_good=is_good)
        self.step = ""


def play(kit: Kit, stages: Sequence[Sequence[Play]], again: str) -> int:
    """Run stages of playbooks until one fails; return the exit code.

    Playbooks of one stage run side by side. Ctrl-C ends what runs; `again` is the command that goes
    on from there, and from a failure that was mended.
    """
    guesses = [{shlex.join(one.command(kit)[1:]): one.guess_s for one in stage} for stage in stages]
    screen, estimates = Screen(), Estimates(guesses)
    began = time.monotonic()
    for stage in stages:
        courses: list[Course] = []
        try:
            for one in stage:
                with uninterrupted():
                    courses.append(begin(kit, one, screen))
            follow(courses, screen, estimates.left)
        except KeyboardInterrupt:
            _interrupted(courses, screen, again)
            return INTERRUPTED
        except BaseException:  # such as a closed pipe, after which nobody would see how they end
            for course in courses:
                course.process.stop()
            raise
        bad = [course for course in courses if not course.is_good]
        for course in bad:
            explain(course, screen, again)
        if bad:
            return FINDINGS
        estimates.stage_ended()
        for course in courses:
            screen.text("\n".join(course.said))
    log = courses[-1].process.log
    where = f"log: {log}" if len(stages) == len(courses) == 1 else f"logs: {log.parent}"
    changes = f"; {_changes(courses)}" if courses[-1].play.counts else ""
    screen.text(f"all done in {clock(time.monotonic() - began)}{changes}; {where}")
    return GOOD


def begin(kit: Kit, one: Play, screen: Screen) -> Course:
    """Start a playbook; print its command where that is asked for."""
    command = one.command(kit)
    process = start(kit, command, one.playbook)
    _tell_command(kit, command, screen)
    if kit.is_verbose:
        screen.text(f"log: {process.log}", "dim")
    return Course(one, process)


def ask(kit: Kit, one: Play, again: str) -> int:
    """Run a playbook that asks at this terminal; return the exit code."""
    screen, command = Screen(), one.command(kit)
    _tell_command(kit, command, screen)
    try:
        course = Course(one, converse(kit, command, one.playbook))
    except KeyboardInterrupt:
        screen.text(f"\ninterrupted; to continue, run {again}")
        raise
    course.read(screen)
    course.close(screen)
    if course.is_good:
        return GOOD
    explain(course, screen, again)
    return FINDINGS


def _tell_command(kit: Kit, command: Sequence[str], screen: Screen) -> None:
    if kit.is_verbose:
        screen.text(f"cd {kit.checkout}; {shlex.join(command)}", "dim")


def follow(
    courses: Sequence[Course], screen: Screen, left: Callable[[float | None], float | None]
) -> None:
    """Show the steps of processes until all have ended; KeyboardInterrupt leaves them running.

    `left` returns how many seconds all the rest takes, given what a playbook says of itself.
    """
    with screen:
        while True:
            alive = [course for course in courses if course.process.is_alive()]
            for course in courses:  # after that question, so that no last words are lost
                course.read(screen)
            if not alive:
                break
            known = [one.left_s for course in alive if (one := course.play.progress())]
            rest = left(known[0] if known else None)
            words = "" if rest is None else f"{'':6} {'':>6}  {in_words(rest)} to go"
            screen.now([*(course.line() for course in alive), *([words] if words else [])])
            time.sleep(_POLL_S)
        for course in courses:
            course.close(screen)


def explain(course: Course, screen: Screen, again: str) -> None:
    """Say which task failed on which node, why, what to do next, and where the log is."""
    log = course.process.log
    failures = _distinct(course.failures)
    if not failures:
        reason = f"{_end_of(course.process)}: {last_words(log)}"
        failures = [{"task": course.play.playbook, "node": "", "reason": reason}]
    for failure in failures[:_EXPLAINED]:
        screen.text("")
        screen.text(f"task:   {failure['task']}", "bold red")
        if failure["node"]:
            screen.text(f"node:   {failure['node']}")
        screen.text("reason: " + failure["reason"].replace("\n", "\n        "))
    if len(failures) > _EXPLAINED:
        screen.text(f"{len(failures) - _EXPLAINED} more failures are in the log")
    screen.text(f"next:   correct that, then run the same command again: {again}")
    screen.text(f"log:    {log}")


def _end_of(process: Process) -> str:
    if process.code is None:  # an earlier command started it
        return "ended"
    return "was killed" if process.code < 0 else f"ended with exit code {process.code}"


def _interrupted(courses: Sequence[Course], screen: Screen, again: str) -> None:
    running = [course for course in courses if course.process.is_alive()]
    try:
        names = ", ".join(course.play.playbook for course in running)
        screen.text(f"stopping {names or 'now'} …")
    finally:  # also where the terminal is gone
        for course in running:
            course.process.stop()
    where = ", ".join(course.step or course.play.playbook for course in courses)
    screen.text(f"stopped in: {where or 'the first step'}\ncontinue with: {again}")
    for course in courses:
        screen.text(f"log: {course.process.log}")


def _distinct(failures: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return failures without those that only repeat the reasons of earlier ones.

    A playbook that skips a node repeats the reason in its last play. Nodes share one failure if
    their reasons in the same task differ only by the node's name.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for failure in failures:
        reason = _flat(failure["reason"])
        if any(_flat(one["reason"]) in reason for one in found.values()):
            continue
        node = failure["node"]
        key = failure["task"], re.sub(rf"\b{re.escape(node)}\b", "", reason) if node else reason
        if key in found:
            found[key]["node"] += f", {node}"
        else:
            found[key] = dict(failure)
    return list(found.values())


def _flat(text: str) -> str:
    return " ".join(text.split())


def _changes(courses: Sequence[Course]) -> str:
    hosts = {host for course in courses for host in course.changed}
    number = sum(sum(course.changed.values()) for course in courses)
    if not hosts:
        return "nothing was changed"
    return f"{number} changes on {show_count(len(hosts), 'machine')}"
