"""The load over the time of one trial of each cell: small drawings above each other."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collect.cells.cells import CellResult
from collect.cells.notation import show
from collect.costs.resources import ResourcesError, Series, SeriesOf, read_resources, spans_of
from collect.costs.usage import Busy, Mean, Usage, kind_of, usage_of_trial
from collect.logs.cell_trial import CellTrial
from collect.report.drawings.axis import Axis

WIDTH, HEIGHT = 400, 22
"""The units in which a strip is drawn; the page stretches them."""
_MOST_NODES = 8
"""Nodes that are drawn of a cell, the busiest ones."""
_MOST_POINTS = 50
"""Steps of a line; a longer series is drawn by means."""
_IDLE = 0.02
"""A node that used less of its cores, or of its link, is named and not drawn."""
_NS_A_S = 1e9
_BITS = 8

Steps = Sequence[tuple[float, float, float]]
"""From when to when, in ns, a share was; NaN where it is not known."""


@dataclass(frozen=True)
class Strip:
    """One drawing: what it shows and how busy that was, in words; an area, a line and gaps.

    `gaps` are the starts and widths, in percent, of what is not known of the measured phase.
    """

    name: str
    text: str
    area: str
    line: str
    gaps: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Timeline:
    """A cell by its trial whose mean is the median; the axis is in seconds.

    0 is the start of the measured phase, which ends at `phase`, in percent, after it began there.
    """

    cell: CellResult
    trial: CellTrial
    axis: Axis
    phase: tuple[float, float]
    strips: Sequence[Strip]
    beside: str


def timelines_of(cells: Sequence[CellResult]) -> list[Timeline]:
    """Return a drawing of each cell whose trials recorded the load."""
    found = (_timeline(cell) for cell in cells if cell.has_resources and cell.counted)
    return [one for one in found if one is not None]


def _timeline(cell: CellResult) -> Timeline | None:
    place = _typical(cell)
    item = cell.counted[place]
    sealed, first, last = item.trial.resources, *_phase(item)
    if sealed is None or last <= first:
        return None
    usage = usage_of_trial(item)
    try:
        series = read_resources(item.trial.directory, sealed)
    except ResourcesError:
        series = {}
    times = [int(t) for one in series.values() for t in (one.t_ns[0], one.t_ns[-1])]
    low, high = min([first, *times]), max([last, *times])
    axis = Axis((low - first) / _NS_A_S, (high - first) / _NS_A_S, is_log=False)
    scene = _Scene(low, high, first, last)
    has_times = len(cell.counted[place].course_ms) > 0
    of_calls = [_calls(cell, place, scene)] if has_times else []
    strips = [*of_calls, *_nodes(usage, series, scene)]
    drawn = {node for node, _ in _busiest(usage)}
    idle = [name for name in usage.machines if name not in drawn]
    beside = f"Below {100 * _IDLE:.0f} %: {', '.join(idle)}." if idle else ""
    start, end = scene.at(first), scene.at(last)
    return Timeline(cell, item, axis, (start, end - start), strips, usage.why or beside)


@dataclass(frozen=True)
class _Scene:
    """The time that is drawn, and in it the measured phase; all in ns."""

    low: int
    high: int
    first: int
    last: int

    def at(self, t_ns: float) -> float:
        return 100 * (t_ns - self.low) / (self.high - self.low)

    def x(self, t_ns: float) -> int:
        return round(self.at(t_ns) * WIDTH / 100)


def _typical(cell: CellResult) -> int:
    """Return the place of the counted trial whose mean is the median; the lower one of two."""
    means = [item.calls.mean_ms or 0.0 for item in cell.counted]
    order = sorted(range(len(means)), key=lambda place: means[place])
    return order[(len(order) - 1) // 2]


def _phase(item: CellTrial) -> tuple[int, int]:
    return item.calls.measured_from_ns or 0, item.calls.measured_to_ns or 0


def _calls(cell: CellResult, place: int, scene: _Scene) -> Strip:
    """Draw the times of the calls over the time at which they started."""
    times, starts = cell.counted[place].course_ms, cell.counted[place].course_at_ns
    parts = np.array_split(np.arange(len(times)), min(_MOST_POINTS, len(times)))
    at = [float(starts[part[0]]) for part in parts]
    ends = [*at[1:], float(scene.last)]
    top = float(times.max()) or 1.0
    steps = [
        (begin, end, float(times[part].mean()) / top)
        for begin, end, part in zip(at, ends, parts, strict=True)
    ]
    return Strip("time of a call", f"up to {show(top)} ms", "", _line(steps, scene), ())


def _nodes(usage: Usage, series: SeriesOf, scene: _Scene) -> Iterator[Strip]:
    for node, busy in _busiest(usage):
        cores = usage.machines[node].cores
        one = series.get((node, ""))
        steps = _shares(one, cores) if one else []
        told = _told(busy.cores, cores, f" of {cores:g} cores" if cores else "")
        line = ""
        service = _main_service(series, node)
        if service:
            line = _line(_shares(series[node, service], cores), scene)
            own = _told(usage.busy[node, service].cores, cores, "")
            told += f"; {service} {own}" if own != told else f", nor {service}"
        yield Strip(node, told, _area(steps, scene), line, _gaps(steps, scene))
    link = _busiest_link(usage)
    if link is not None:
        node, mbit = link
        steps = _of_link(series[node, ""], mbit)
        busy = usage.node(node)
        most = max(busy.received.value or 0, busy.sent.value or 0) * _BITS / 1e6 / mbit
        told = f"{100 * most:.0f} % of {mbit:g} Mbit/s"
        yield Strip(f"link of {node}", told, "", _line(steps, scene), _gaps(steps, scene))


def _told(mean: Mean, cores: float | None, of: str) -> str:
    if mean.value is None or not cores:
        return f"not known ({mean.why or 'the number of its cores is not recorded'})"
    return f"{100 * mean.value / cores:.0f} %{of}"


def _busiest(usage: Usage) -> list[tuple[str, Busy]]:
    """Return the nodes that are drawn, in their order: busy ones and those with gaps."""
    shares = {}
    for name, machine in usage.machines.items():
        used = usage.node(name).cores.value
        shares[name] = 1.0 if used is None else used / (machine.cores or 1.0)
    kept = sorted(shares, key=lambda name: -shares[name])[:_MOST_NODES]
    return [(name, usage.node(name)) for name in shares if name in kept and shares[name] >= _IDLE]


def _main_service(series: SeriesOf, node: str) -> str:
    """Return the service of a node that used most, without those of the bench; "" without any."""
    own = {
        service: float(np.nansum(one.amounts["cpu_cores"]))
        for (where, service), one in series.items()
        if where == node and service and kind_of(service) != "bench"
    }
    return max(own, key=lambda service: own[service], default="")


def _busiest_link(usage: Usage) -> tuple[str, float] | None:
    shares = {}
    for name, machine in usage.machines.items():
        busy = usage.node(name)
        amounts = [mean.value for mean in (busy.received, busy.sent) if mean.value is not None]
        if machine.link_mbit and amounts:
            shares[name] = max(amounts) * _BITS / 1e6 / machine.link_mbit
    name = max(shares, key=lambda node: shares[node], default="")
    if not name or shares[name] < _IDLE:
        return None
    return name, usage.machines[name].link_mbit or 0.0


def _shares(series: Series, cores: float | None) -> Steps:
    """Return the share of the cores of its node that a series used."""
    spans = spans_of(series, "cpu_cores")
    return _thinned([(begin, end, used / (cores or math.nan)) for begin, end, used in spans])


def _of_link(series: Series, mbit: float) -> Steps:
    """Return the share of a link's rate in its busier direction."""
    both = zip(spans_of(series, "rx_bytes"), spans_of(series, "tx_bytes"), strict=True)
    rate = mbit * 1e6 / _BITS / _NS_A_S
    steps = [
        (b, e, max(received, sent) / (e - b) / rate) for (b, e, received), (_, _, sent) in both
    ]
    return _thinned(steps)


def _thinned(steps: Steps) -> Steps:
    """Return at most _MOST_POINTS steps, each the mean over its time; one that is NaN stays so."""
    if len(steps) <= _MOST_POINTS:
        return steps
    parts = np.array_split(np.arange(len(steps)), _MOST_POINTS)
    return [_joined([steps[place] for place in part]) for part in parts]


def _joined(steps: Steps) -> tuple[float, float, float]:
    spans: NDArray[np.float64] = np.array([end - begin for begin, end, _ in steps])
    values = np.array([value for _, _, value in steps])
    return steps[0][0], steps[-1][1], float((spans * values).sum() / spans.sum())


def _line(steps: Steps, scene: _Scene) -> str:
    """Draw a line in steps; it breaks off where a share is not known."""
    path: list[str] = []
    pen = height = -1
    for begin, end, share in steps:
        if math.isnan(share):
            continue
        x, to, y = scene.x(begin), scene.x(end), _y(share)
        if to <= x:
            continue
        if x == pen and y == height:
            path.pop()
        else:
            path.append(f"V{y}" if x == pen else f"M{x} {y}")
        path.append(f"H{to}")
        pen, height = to, y
    return "".join(path)


def _area(steps: Steps, scene: _Scene) -> str:
    """Draw the area below each stretch of a line."""
    line = _line(steps, scene)
    areas = []
    for stretch in line.split("M")[1:]:
        start = stretch.split(" ", 1)[0]
        areas.append(f"M{stretch}V{HEIGHT}H{start}Z")
    return "".join(areas)


def _gaps(steps: Steps, scene: _Scene) -> list[tuple[float, float]]:
    """Return what no share is known of in the measured phase, as start and width in percent."""
    gaps, until = [], float(scene.first)
    known = [(begin, end) for begin, end, share in steps if not math.isnan(share)]
    for begin, end in [*known, (scene.last, scene.last)]:
        if begin > until and min(begin, scene.last) > until:
            start, stop = scene.at(until), scene.at(min(begin, scene.last))
            gaps.append((start, stop - start))
        until = max(until, end)
    return gaps


def _y(share: float) -> int:
    return round(HEIGHT * (1 - min(share, 1.0)))
