"""The parts of a call as stacked bars, the systems compared side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collect.cells.cells import CellResult
from collect.costs.part_means import REST, PartMeans
from collect.costs.parts import PARTS
from collect.report.drawings.axis import Axis
from collect.report.drawings.settings import by_setting, name_of_system


@dataclass(frozen=True)
class Piece:
    """A part in a bar: from where and how wide it is, in percent, and its mean in ms."""

    name: str
    start: float
    width: float
    mean_ms: float


@dataclass(frozen=True)
class Bar:
    """One cell; it has no pieces where its parts are not known."""

    cell: CellResult
    system: str
    parts: PartMeans
    pieces: Sequence[Piece]

    @property
    def untold(self) -> list[str]:
        """The parts that the client cannot tell from others."""
        return [part for part in PARTS if part not in self.parts.parts]


@dataclass(frozen=True)
class Bars:
    """The cells that differ in the system alone, on one axis of times in ms from 0 on."""

    name: str
    axis: Axis
    bars: Sequence[Bar]


def bars_of(
    cells: Sequence[CellResult], system: str | None, names: Mapping[str, str]
) -> list[Bars]:
    """Return the bars of the cells whose clients set marks."""
    marked = [cell for cell in cells if cell.parts is not None]
    found = []
    for name, members in by_setting(marked, system):
        known = [(cell, cell.parts) for cell in members if cell.parts is not None]
        most = max((parts.total for _, parts in known), default=0.0)
        axis = Axis(0.0, most or 1.0, is_log=False)
        bars = [
            Bar(cell, name_of_system(cell.cell, system, names), parts, _pieces(parts, axis))
            for cell, parts in known
        ]
        found.append(Bars(name, axis, bars))
    return found


def _pieces(parts: PartMeans, axis: Axis) -> list[Piece]:
    if not parts.parts:
        return []
    pieces, start = [], 0.0
    for name, mean_ms in {**parts.parts, REST: parts.rest}.items():
        end = axis.place(start + mean_ms)
        pieces.append(Piece(name, axis.place(start), end - axis.place(start), mean_ms))
        start += mean_ms
    return pieces
