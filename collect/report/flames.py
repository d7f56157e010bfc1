"""Flame graphs of the trials that ran with a profiler: of each cell, and of what differs in two."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from collect.cells.analysis import Analysis
from collect.cells.notation import name_of, show
from collect.costs.profiles import CellProfile, Stacks, own_times, profiles_of

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
        """Whether it is code of rackbench."""
        return self.name.startswith(_OURS)


@dataclass(frozen=True)
class Graph:
    """Boxes from the root at the top to the leaves; `height` is in pixels."""

    boxes: Sequence[Box]
    height: int


@dataclass(frozen=True)
class Flame:
    """The profile of a cell, and its graph."""

    profile: CellProfile

    @property
    def title(self) -> str:
        """The levels of the cell."""
        return name_of(self.profile.cell)

    @cached_property
    def graph(self) -> Graph:
        """The graph of all its programs, one next to the other."""
        return draw(tree_of([self.profile.stacks]))


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

    first: CellProfile
    second: CellProfile
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

    cells: Sequence[Flame]
    differences: Sequence[Difference]
    planned: int

    @property
    def drawable(self) -> Sequence[Flame]:
        """The cells of which a stack is known."""
        return [cell for cell in self.cells if cell.profile.stacks]

    @property
    def shown(self) -> Sequence[Flame]:
        """The cells whose graphs are in the page."""
        return self.drawable[:MOST_GRAPHS]


def flames_of(analysis: Analysis, factor: str | None) -> Flames | None:
    """Return the profiles of a run; None of one that has no trials with a profiler.

    Two cells are compared that differ in `factor` alone; without one, in any factor alone.
    """
    profiles = profiles_of(analysis.run, analysis.profiled)
    if not profiles:
        return None
    pairs = (
        Difference(first, second, name)
        for first, second in combinations((one for one in profiles if one.stacks), 2)
        for name in ([factor] if factor and factor in first.cell else first.cell)
        if first.cell.without(name) == second.cell.without(name)
    )
    flames = [Flame(profile) for profile in profiles]
    return Flames(flames, list(pairs)[:MOST_GRAPHS], len(analysis.run.profiled))


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
