"""The profiles of trials that ran with a profiler: processor time of a call by its stack."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from collect.run.cell import Cell
from collect.run.directory import Run
from collect.run.trials import Trial
from collect.run.verify import Finding

# Numbers that change at every JVM start; they would split one frame into two.
_NUMBERED = re.compile(r"[$./]?0x[0-9a-f]+|(?<=\$\$Lambda)[$/]\d+|(?<=Accessor)\d+")

_OF_JVM = {
    "CompileBroker::": "(JIT compiler)",
    "GCTaskThread::": "(garbage collector)",
    "GangWorker::": "(garbage collector)",
    "WorkerThread::run": "(garbage collector)",
}
"""The threads of a JVM by a part of their stacks."""
_METHOD = re.compile(r"[\w$]+(\.[\w$<>]+)+")

Stacks = Mapping[tuple[str, ...], float]
"""Processor time in ms a call by stack; the first frame is the program."""


@dataclass(frozen=True)
class Link:
    """The files of one JVM in one trial: its flame graph, and its recording where there is one."""

    text: str
    trial: str
    file: str
    recording: str | None


@dataclass(frozen=True)
class CellProfile:
    """What the profiled trials of a cell say: ms a call by stack, files, and gaps with reasons."""

    cell: Cell
    stacks: Stacks
    calls: int
    events: tuple[str, ...]
    links: tuple[Link, ...]
    gaps: tuple[str, ...]

    @property
    def totals(self) -> Mapping[str, float]:
        """Processor time of each program, in ms a call, the most first."""
        totals: dict[str, float] = defaultdict(float)
        for stack, time in self.stacks.items():
            totals[stack[0]] += time
        return dict(sorted(totals.items(), key=lambda one: -one[1]))


def profiles_of(run: Run, trials: Sequence[Trial]) -> list[CellProfile]:
    """Return the profile of each cell from the trials of a run that had a profiler.

    None at all for a run that planned no such trials.
    """
    if not run.profiled:
        return []
    cell_of = {planned.id: planned.factors for planned in run.profiled}
    by_cell: dict[Cell, list[Trial]] = defaultdict(list)
    for trial in trials:
        by_cell[cell_of[trial.id]].append(trial)
    return [_of_cell(cell, by_cell[cell]) for cell in run.cells]


def _of_cell(cell: Cell, trials: Sequence[Trial]) -> CellProfile:
    """Read the profiles of a cell's trials; what cannot be read is a gap."""
    read: list[tuple[Trial, str, str]] = []
    events, links, gaps = [], [], []
    calls = sum(trial.calls_rows for trial in trials if trial.outcome != "failed")
    if not trials:
        gaps.append("its trial with a profiler is not sealed")
    for trial in trials:
        if not trial.calls_rows:
            gaps.append(f"{trial.id}: {trial.outcome}, no calls ({trial.reason})")
            continue
        if trial.outcome == "failed":
            gaps.append(f"{trial.id}: failed ({trial.reason})")
            continue
        for profile in trial.profiles:
            who = f"{profile.service} on {profile.node}"
            if profile.missing:
                gaps.append(f"{who}: {profile.missing}")
                continue
            if changed := [finding.text for finding in changed_profiles(trial, profile.service)]:
                gaps.extend(changed)
                continue
            events.append(profile.event)
            names = {
                kind: name
                for kind, (name, _) in profile.files.items()
                if (trial.directory / name).exists()
            }
            if "page" in names:
                links.append(Link(who, trial.id, names["page"], names.get("recording")))
            program = "client" if profile.role == "client" else profile.service
            read.append((trial, program, profile.files["stacks"][0]))
    return CellProfile(
        cell,
        _stacks(read),
        calls,
        tuple(sorted(set(events))),
        tuple(links),
        tuple(dict.fromkeys(gaps)),
    )


def _stacks(read: Sequence[tuple[Trial, str, str]]) -> Stacks:
    """Return the time a call by stack, from trials, each with a program and the file of its stacks.

    Of a program only the calls count of trials that have its stacks.
    """
    calls: Counter[str] = Counter()
    rows = {(trial.id, program): trial.calls_rows for trial, program, _ in read}
    for (_, program), number in rows.items():
        calls[program] += number
    stacks: dict[tuple[str, ...], float] = defaultdict(float)
    for trial, program, name in read:
        for stack, time_ns in collapsed((trial.directory / name).read_text(errors="replace")):
            stacks[program, *stack] += time_ns / 1e6 / calls[program]
    return stacks


def changed_profiles(trial: Trial, service: str | None = None) -> Iterator[Finding]:
    """Find profiles that are not as they were sealed; a recording may have been removed."""
    for profile in trial.profiles:
        if service not in (None, profile.service):
            continue
        if not profile.missing and "stacks" not in profile.files:
            text = f"{trial.id}: names no stacks of {profile.service} on {profile.node}"
            yield Finding("refused", trial.id, f"{text}; set it aside and sweep again")
        for kind, (name, sha256) in profile.files.items():
            path = trial.directory / name
            if kind == "recording" and not path.exists():
                continue  # nothing is computed from it, and it is most of an archive
            if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
                yield Finding(
                    "refused",
                    trial.id,
                    f"{trial.id}: {name} is missing or not as it was sealed; "
                    "set it aside and sweep again",
                )


def collapsed(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield each stack, the caller first, with its count; a line that is none is left out.

    What the JVM does on its own is one frame for all of it.
    """
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        if stack and count.isdecimal():
            of_jvm = next((name for part, name in _OF_JVM.items() if part in stack), None)
            yield (of_jvm,) if of_jvm else tuple(map(_frame, stack.split(";"))), int(count)


def _frame(name: str) -> str:
    """Return a frame as people write it; a library, of which no symbol is known, in brackets."""
    if name.startswith("/"):
        return f"[{name.rpartition('/')[2]}]"
    return _NUMBERED.sub("", name.replace("/", "."))


def own_times(stacks: Stacks) -> Mapping[tuple[str, str], float]:
    """Return the time in each frame itself, by program and frame.

    What native code and the kernel do is time of the method that asked for it.
    """
    times: dict[tuple[str, str], float] = defaultdict(float)
    for stack, time in stacks.items():
        methods = (frame for frame in reversed(stack[1:]) if _METHOD.fullmatch(frame))
        times[stack[0], next(methods, stack[-1])] += time
    return times
