"""Flame graphs of the trials that ran with a profiler: of each cell, and of what differs in two."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from collect.cells.analysis import Analysis
from collect.cells.notation import name_of, show
from collect.run.cell import Cell
from collect.run.trials import Trial
from collect.run.verify import Finding

LEAST_SHARE = 0.005
"""A frame with less of a graph than this is not drawn."""
MOST_GRAPHS = 24
"""So many graphs of cells, and so many of pairs, are drawn in the page."""
_ROW = 16
_LETTERS_OF_PERCENT = 1.45
_LEAST_LETTERS = 4
_MOST_CHANGES = 10
_SAME = 0.99
"""A frame that passes so much of its time on to one other is drawn in one row with it."""
_OURS = "org.rackbench."
# What a JVM numbers anew at every start would make a frame of two profiles two frames.
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


@dataclass
class Frame:
    """A frame under its callers: the time in it and below, in ms a call, in one or two cells."""

    name: str
    times: list[float]
    callees: dict[str, "Frame"] = field(default_factory=dict)

    @property
    def both(self) -> float:
        """Its time in all cells together, by which it is drawn as wide."""
        return sum(self.times)


@dataclass(frozen=True)
class Box:
    """A frame as it is drawn: places in percent of the width, `row` in pixels from the top.

    `callers` are those drawn in one row with it. `change` is from -1, all of it in the first cell,
    to 1, all of it in the second, against the larger cell; None in the graph of one cell.
    """

    name: str
    x: float
    width: float
    row: int
    text: str
    label: str
    change: float | None

    @property
    def is_ours(self) -> bool:
        """Whether it is code of the kit."""
        return self.name.startswith(_OURS)


@dataclass(frozen=True)
class Graph:
    """Boxes from the root at the top to the leaves; `height` is in pixels."""

    boxes: Sequence[Box]
    height: int


@dataclass(frozen=True)
class Link:
    """The files of one JVM in one trial: its flame graph, and its recording where there is one."""

    text: str
    trial: str
    file: str
    recording: str | None


@dataclass(frozen=True)
class Profiled:
    """What the profiled trials of a cell say: ms a call by stack, files, and gaps with reasons."""

    cell: Cell
    stacks: Stacks
    calls: int
    events: tuple[str, ...]
    links: tuple[Link, ...]
    gaps: tuple[str, ...]

    @property
    def title(self) -> str:
        """The levels of the cell."""
        return name_of(self.cell)

    @property
    def totals(self) -> Mapping[str, float]:
        """Processor time of each program, in ms a call, the most first."""
        totals: dict[str, float] = defaultdict(float)
        for stack, time in self.stacks.items():
            totals[stack[0]] += time
        return dict(sorted(totals.items(), key=lambda one: -one[1]))

    @cached_property
    def graph(self) -> Graph:
        """The graph of all its programs, one beside the other."""
        return draw(tree_of([self.stacks]))


@dataclass(frozen=True)
class Change:
    """The time in a method itself, not in methods that it calls, in two cells, in ms a call."""

    program: str
    frame: str
    first: float
    second: float

    @property
    def by(self) -> float:
        """How much more it is in the second."""
        return self.second - self.first


@dataclass(frozen=True)
class Difference:
    """Two cells that differ in one factor."""

    first: Profiled
    second: Profiled
    factor: str

    @property
    def title(self) -> str:
        """What differs, and the levels in common."""
        levels = f"{self.first.cell[self.factor]} → {self.second.cell[self.factor]}"
        rest = name_of(self.first.cell.without(self.factor))
        return f"{self.factor} {levels}" + (f" at {rest}" if rest else "")

    @cached_property
    def graph(self) -> Graph:
        """The graph of both, each frame as wide as its time in both together."""
        return draw(tree_of([self.first.stacks, self.second.stacks]))

    @cached_property
    def changes(self) -> list[Change]:
        """The frames whose own time differs most."""
        own = [own_times(one.stacks) for one in (self.first, self.second)]
        found = [
            Change(*key, *(times.get(key, 0.0) for times in own)) for key in {**own[0], **own[1]}
        ]
        return sorted(found, key=lambda change: (-abs(change.by), change.frame))[:_MOST_CHANGES]


@dataclass(frozen=True)
class Flames:
    """The profiles of a run."""

    cells: Sequence[Profiled]
    differences: Sequence[Difference]
    planned: int

    @property
    def shown(self) -> Sequence[Profiled]:
        """The cells whose graphs are in the page."""
        return [cell for cell in self.cells if cell.stacks][:MOST_GRAPHS]


def flames_of(analysis: Analysis, factor: str | None) -> Flames | None:
    """Return the profiles of a run; None of one that has no trials with a profiler.

    Two cells are compared that differ in `factor` alone; without one, in any factor alone.
    """
    run = analysis.run
    if not run.profiled:
        return None
    cell_of = {planned.id: planned.factors for planned in run.profiled}
    trials: dict[Cell, list[Trial]] = defaultdict(list)
    for trial in analysis.profiled:
        trials[cell_of[trial.id]].append(trial)
    cells = [profiled(cell, trials[cell]) for cell in run.cells]
    with_stacks = [cell for cell in cells if cell.stacks]
    pairs = (
        Difference(first, second, name)
        for first, second in combinations(with_stacks, 2)
        for name in ([factor] if factor and factor in first.cell else first.cell)
        if first.cell.without(name) == second.cell.without(name)
    )
    return Flames(cells, list(pairs)[:MOST_GRAPHS], len(run.profiled))


def profiled(cell: Cell, trials: Sequence[Trial]) -> Profiled:
    """Read the profiles of a cell's trials; what cannot be read is a gap."""
    stacks: dict[tuple[str, ...], float] = defaultdict(float)
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
            names = {kind: name for kind, (name, _) in profile.files.items()}
            if "page" in names:
                links.append(Link(who, trial.id, names["page"], names.get("recording")))
            text = (trial.directory / profile.files["stacks"][0]).read_text(errors="replace")
            program = "client" if profile.role == "client" else profile.service
            for stack, time_ns in collapsed(text):
                stacks[program, *stack] += time_ns / 1e6 / calls
    return Profiled(
        cell, stacks, calls, tuple(sorted(set(events))), tuple(links), tuple(dict.fromkeys(gaps))
    )


def changed_profiles(trial: Trial, service: str | None = None) -> Iterator[Finding]:
    """Find profiles that are not as they were sealed."""
    for profile in trial.profiles:
        if service not in (None, profile.service):
            continue
        if not profile.missing and "stacks" not in profile.files:
            text = f"{trial.id}: names no stacks of {profile.service} on {profile.node}"
            yield Finding("refused", trial.id, f"{text}; set it aside and sweep again")
        for name, sha256 in profile.files.values():
            path = trial.directory / name
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


def tree_of(cells: Sequence[Stacks]) -> Frame:
    """Return the frames of one or two cells under one root."""
    root = Frame("all", [0.0] * len(cells))
    for number, stacks in enumerate(cells):
        for stack, time in stacks.items():
            frame = root
            frame.times[number] += time
            for name in stack:
                frame = frame.callees.setdefault(name, Frame(name, [0.0] * len(cells)))
                frame.times[number] += time
    return root


def draw(root: Frame) -> Graph:
    """Lay the frames out, without those of less than LEAST_SHARE."""
    boxes: list[Box] = []
    waiting = [(root, 0.0, 0)]
    total, larger = root.both or 1.0, max(*root.times, 0.0) or 1.0
    while waiting:
        frame, x, depth = waiting.pop()
        callers = []
        while len(frame.callees) == 1 and depth:
            (only,) = frame.callees.values()
            if only.both < _SAME * frame.both or depth == 1:
                break
            callers.append(frame.name)
            frame = only
        boxes.append(_box(frame, x / total, depth, callers, (total, larger)))
        drawn = [c for c in frame.callees.values() if c.both >= LEAST_SHARE * total]
        for callee in sorted(drawn, key=lambda callee: callee.name):
            waiting.append((callee, x, depth + 1))
            x += callee.both
    height = _ROW * (1 + max(box.row for box in boxes) // _ROW)
    return Graph(boxes, height)


def _box(
    frame: Frame, x: float, depth: int, callers: Sequence[str], of: tuple[float, float]
) -> Box:
    total, larger = of
    width = 100 * frame.both / total
    letters = int(width * _LETTERS_OF_PERCENT)
    short = frame.name.rpartition(".")[0].rpartition(".")[2]
    label = f"{short}.{frame.name.rpartition('.')[2]}" if short else frame.name
    if len(label) > letters:
        label = f"{label[: letters - 1]}…" if letters >= _LEAST_LETTERS else ""
    change = None
    if len(frame.times) == 1:
        times = f"{show(frame.times[0])} ms a call, {width:.1f} %"
    else:
        first, second = frame.times
        change = max(-1.0, min(1.0, (second - first) / larger))
        sign = "+" if second >= first else "\N{MINUS SIGN}"
        times = f"{show(first)} → {show(second)} ms a call ({sign}{show(abs(second - first))})"
    called = f"; called by {' ← '.join(reversed(callers))}" if callers else ""
    return Box(
        frame.name, 100 * x, width, depth * _ROW, f"{frame.name}: {times}{called}", label, change
    )
