"""What one call of each cell sent over the wire, from the trials whose packets were kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collect.costs.packets import PacketsError, Wire, wire_of
from collect.run.cell import Cell
from collect.run.directory import Run
from collect.run.recorded import CaptureSeal
from collect.run.trials import Trial

NONE_SEEN = "no packet to a service left the client's machine"


@dataclass(frozen=True)
class CellWire:
    """What a call of a cell sent; without it, `gap` says why that is not known.

    `trial` is the id of the trial whose directory has the packets.
    """

    cell: Cell
    wire: Wire | None
    gap: str
    trial: str = ""


def wires_of(run: Run, captured: Sequence[Trial]) -> list[CellWire]:
    """Return what a call of each cell sent, from the trials of a run whose packets were kept.

    Nothing of a run that was to keep no packets.
    """
    cell_of: Mapping[str, Cell] = {planned.id: planned.factors for planned in run.captured}
    trials: dict[Cell, list[Trial]] = defaultdict(list)
    for trial in captured:
        trials[cell_of[trial.id]].append(trial)
    planned = set(cell_of.values())
    return [_of_cell(cell, trials[cell]) for cell in run.cells if cell in planned]


def _of_cell(cell: Cell, trials: Sequence[Trial]) -> CellWire:
    if not trials:
        return CellWire(cell, None, "the trial that was to keep its packets is not sealed")
    trial = trials[0]
    if trial.capture is None:
        text = "the runner is of an earlier version; run site.yml and sweep under a new name"
        return CellWire(cell, None, text, trial.id)
    if gap := _gap(trial, trial.capture):
        return CellWire(cell, None, gap, trial.id)
    try:
        wire = wire_of(trial, trial.capture)
    except PacketsError as error:
        return CellWire(cell, None, f"refused: {error}", trial.id)
    return CellWire(cell, wire, "", trial.id)


def _gap(trial: Trial, sealed: CaptureSeal) -> str:
    """Return why nothing can be said of the packets of a trial's call, or ""."""
    if sealed.missing:
        return sealed.missing
    if trial.outcome != "ok":
        return f"its call was not ok: {trial.outcome} ({trial.reason})"
    return "" if sealed.packets else NONE_SEEN
