"""The cells of the sort study and what the paper prints of them."""

from collections.abc import Sequence

from collect.replication.evidence import Evidence, Published, levels_of, load_published
from collect.run.cell import Cell

TRANSPORTS = ("jms", "soap")
SERVERS = (1, 3, 5)
SIZES = (500, 5000, 50000, 100000)
NAMES = {"jms": "JMS", "soap": "SOAP"}


def cell_of(transport: str, servers: int, integers: int) -> Cell:
    """Return the cell with these levels."""
    return Cell.of(transport=transport, servers=servers, integers=integers)


def published() -> Published:
    """Return the cells of the paper."""
    return load_published("sort", {"transport": str, "servers": int, "integers": int})


def cells_of(transports: Sequence[str], *evidence: Evidence) -> list[Cell]:
    """Return every combination of these transports with the levels there are."""
    return [
        cell_of(transport, servers, size)
        for transport in transports
        for servers in levels_of("servers", *evidence)
        for size in levels_of("integers", *evidence)
    ]


def servers_text(count: int) -> str:
    """Return a number of servers in words."""
    return "1 server" if count == 1 else f"{count} servers"
