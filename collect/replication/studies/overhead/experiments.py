"""The cells of the overhead study: three experiments, and what the paper prints of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from collect.cells.notation import show_level
from collect.replication.evidence import (
    Evidence,
    Published,
    load_published,
    read_published,
)
from collect.run.cell import Cell, Level, level_text
from collect.stats.anova import Source

SIZES = (1, 100, 500, 1500, 3000, 4500, 5000, 10000, 15000, 20000)
NAMES = {"tcp": "TCP", "soap": "SOAP/HTTP"}
_FACTORS = {"Protocol": "protocol", "Size": "reply_bytes", "Elements": "elements"}


@dataclass(frozen=True)
class Experiment:
    """One of the three experiments; `factors` of its table in the paper's words."""

    name: str
    figure: str
    factors: tuple[str, ...]

    def cells(self, evidence: Evidence) -> list[Cell]:
        """Return the cells of the experiment, of the protocols that the paper has."""
        return [
            cell
            for cell in evidence.keys
            if cell["experiment"] == self.name and cell["protocol"] in NAMES
        ]

    def of_columns(self, columns: Collection[str]) -> list[str]:
        """Return the table's factors that are these columns of the study."""
        return [name for name in self.factors if _FACTORS[name] in columns]

    def levels(self, cell: Cell) -> tuple[str, ...]:
        """Return the levels of the table's factors."""
        return tuple(level_text(cell[_FACTORS[name]]) for name in self.factors)


LABELS = {"one-byte": "one byte", "size": "sizes", "elements": "elements"}
ONE_BYTE = Experiment("one-byte", "3", ("Protocol",))
SIZE = Experiment("size", "6", ("Size", "Protocol"))
ELEMENTS = Experiment("elements", "7", ("Elements",))
EXPERIMENTS = (ONE_BYTE, SIZE, ELEMENTS)


def published() -> Published:
    """Return the paper's cells with its three analyses of variance."""
    cells = load_published(
        "overhead", {"experiment": str, "protocol": str, "reply_bytes": int, "elements": int}
    )
    return replace(cells, tables={e.name: _printed_table(e.name) for e in EXPERIMENTS})


def in_bytes(size: Level) -> str:
    """Return the size of a reply with its unit, as text."""
    return f"{show_level(size)} {'byte' if size == 1 else 'bytes'}"


def cell_of(protocol: str, size: int) -> Cell:
    """Return the cell of the experiment on sizes."""
    return Cell.of(experiment="size", protocol=protocol, reply_bytes=size, elements=1)


def one_byte(protocol: str) -> Cell:
    """Return the cell of the experiment on one byte."""
    return Cell.of(experiment="one-byte", protocol=protocol, reply_bytes=1, elements=1)


def cells_of(experiment: Experiment, *evidence: Evidence) -> list[Cell]:
    """Return the cells of an experiment by bytes, elements and protocol, TCP first."""
    return sorted({c for source in evidence for c in experiment.cells(source)}, key=_rank)


def _rank(cell: Cell) -> tuple[int, int, int]:
    return (
        int(cell["reply_bytes"]),
        int(cell["elements"]),
        list(NAMES).index(str(cell["protocol"])),
    )


def _printed_table(experiment: str) -> list[Source]:
    def number(row: Mapping[str, str], column: str) -> float | None:
        return float(row[column]) if row[column] else None

    rows = [
        r for r in read_published("overhead", "published-anova") if r["experiment"] == experiment
    ]
    total = float(rows[-1]["ss"])
    return [
        Source(
            source=row["source"],
            ss=float(row["ss"]),
            df=int(row["df"]),
            ms=number(row, "ms"),
            f=number(row, "f"),
            p_value=number(row, "p_value"),
            f_crit=number(row, "f_crit"),
            share=None if row["source"] == "Total" else float(row["ss"]) / total,
        )
        for row in rows
    ]
