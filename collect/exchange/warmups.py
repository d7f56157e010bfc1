"""Exports how each cell warmed up, and how its measured phase begins."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collect.cells.analysis import Analysis
from collect.cells.cells import CellResult
from collect.exchange.tables import write_with_levels
from collect.logs.first_calls import Typical, beginning_of
from collect.logs.warmth import warmth_of

_SAID = ("what", "median", "most", "unit")


def write_warmups(analysis: Analysis, path: Path) -> None:
    """Write CSV rows for each cell: `what` it is, its median and maximum over trials, its unit.

    What no trial recorded has no row.
    """
    rows = ((cell.cell, row) for cell in analysis.cells for row in _rows(cell))
    write_with_levels(analysis.run, path, _SAID, rows)


def _rows(cell: CellResult) -> Iterator[list[Any]]:
    warmth = warmth_of(trial.trial for trial in cell.counted)
    beginning = beginning_of(trial.first for trial in cell.counted)
    found: list[tuple[str, Typical | None, str]] = [
        ("first call over the others", beginning.over_others, ""),
        ("pause before the first call", beginning.gap_ms, "ms"),
        ("pause over the usual gap", beginning.over_usual, ""),
    ]
    if warmth:
        found += [
            ("warm-up", warmth.seconds, "s"),
            ("compiler in the warm-up", warmth.compiling, ""),
            ("compiler while measured", warmth.still_compiling, ""),
            ("classes loaded while measured", warmth.classes, ""),
            ("collections while measured", warmth.collections, ""),
        ]
    for what, number, unit in found:
        if number is not None:
            yield [what, f"{number.median:.6g}", f"{number.most:.6g}", unit]
