"""Exports what a call cost: its parts, its processor time, its packets, and the methods it ran."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from collect.cells.analysis import Analysis
from collect.cells.cells import CellResult
from collect.costs.packets import Wire
from collect.costs.part_means import REST
from collect.costs.profiles import own_times, profiles_of
from collect.costs.wire import wires_of
from collect.exchange.tables import write_with_levels
from collect.run.cell import Cell


def write_spent(analysis: Analysis, path: Path) -> None:
    """Write CSV rows for each cell: `what` it is, `of` whom, the `value` a call, and its `unit`.

    What is not known has no row.
    """
    wires = {one.cell: one.wire for one in wires_of(analysis.run, analysis.captured) if one.wire}
    rows = ((cell.cell, row) for cell in analysis.cells for row in _spent(cell, wires))
    write_with_levels(analysis.run, path, ("what", "of", "value", "unit"), rows)


def _spent(cell: CellResult, wires: Mapping[Cell, Wire]) -> Iterator[tuple[Any, ...]]:
    if cell.parts and cell.parts.parts:
        for name, mean_ms in {**cell.parts.parts, REST: cell.parts.rest}.items():
            yield "part", name, f"{mean_ms:.6g}", "ms"
    for name, mean in cell.cpu_a_call.items():
        if mean.value is not None:
            yield "processor", name, f"{mean.value:.6g}", "ms"
    if wire := wires.get(cell.cell):
        least = "at least" if wire.is_part else ""
        for name in ("packets", "round_trips", "connections", "sent", "received", "headers"):
            unit = "bytes" if name in {"sent", "received", "headers"} else ""
            yield "wire", name, getattr(wire, name), " ".join(filter(None, (unit, least)))
    if cell.limit.by:
        yield "limit", cell.limit.by, "", cell.limit.text


def write_frames(analysis: Analysis, path: Path) -> None:
    """Write a CSV row for each method that a profiler met in a cell, the longest times first.

    `ms_a_call` is processor time in the method itself, not in those that it calls.
    """
    rows = (
        (profile.cell, (program, frame, f"{time:.6g}"))
        for profile in profiles_of(analysis.run, analysis.profiled)
        for (program, frame), time in sorted(
            own_times(profile.stacks).items(), key=lambda one: (-one[1], one[0])
        )
    )
    write_with_levels(analysis.run, path, ("program", "frame", "ms_a_call"), rows)
