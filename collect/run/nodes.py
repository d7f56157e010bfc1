"""The nodes as a sweep found them at each snapshot, and what changed in between."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from collect.errors import InputError
from collect.run import differences
from collect.run.differences import Row
from collect.run.fields import Fields
from collect.run.fingerprint import ABSENT, READINGS, WHILE_RUNNING, are_close, flat, kind_of
from collect.strict_json import parse_json

LOOKS = "nodes.jsonl"
_OF_THE_MOMENT = READINGS | {"failed_units"}
"""Items that change while a node stays the same."""


@dataclass(frozen=True)
class Node:
    """A node in one snapshot; `recorded` holds everything that was recorded of it."""

    name: str | None
    groups: tuple[str, ...]
    recorded: Mapping[str, Any]

    @classmethod
    def parse(cls, record: Fields) -> Self:
        """Read one node."""
        name = str(record.all["name"]) if "name" in record.all else None
        return cls(name, record.texts("groups"), record.all)

    @cached_property
    def items(self) -> Mapping[str, str]:
        """Everything that was recorded, item by item."""
        return flat(self.recorded)


@dataclass(frozen=True)
class Snapshot:
    """A snapshot of the nodes; `at` as recorded, in UTC.

    `without` are the nodes that the sweep skipped.
    """

    at: str
    nodes: tuple[Node, ...]
    without: frozenset[str]

    @classmethod
    def parse(cls, record: Fields) -> Self:
        """Read one line of nodes.jsonl; raises ValueError."""
        record.required("nodes", list)
        nodes = tuple(map(Node.parse, record.each("nodes")))
        return cls(record.required("at", str), nodes, frozenset(record.texts("without")))

    @cached_property
    def items(self) -> Mapping[str, Mapping[str, str]]:
        """The items of each named node, without those of the moment."""
        return {
            node.name: {i: value for i, value in node.items.items() if i not in _OF_THE_MOMENT}
            for node in self.nodes
            if node.name is not None
        }


@dataclass(frozen=True)
class Change:
    """An item of a node that was not the same in two snapshots."""

    node: str
    item: str
    before: str
    after: str
    at: str


def read_snapshots(run: Path, first: Snapshot) -> list[Snapshot]:
    """Return the snapshot in run.json, then those of nodes.jsonl, one a line, oldest first.

    Snapshots that saw no node are left out. Raises InputError for a line that is no snapshot.
    """
    snapshots = [first]
    path = run / LOOKS
    lines = path.read_bytes().splitlines() if path.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            snapshots.append(Snapshot.parse(Fields(parse_json(line))))
        except ValueError as error:
            raise InputError(
                f"{path}: line {number} is not a snapshot of the nodes ({error}); restore the file"
            ) from error
    return [snapshot for snapshot in snapshots if snapshot.items]


def changes_between(
    snapshots: Sequence[Snapshot], tolerance: float, varied: tuple[str, ...] = ()
) -> list[Change]:
    """Return what differs from the first snapshot: each item of a node once, when it did.

    A node that a sweep skipped is not reported as absent; it is compared from its own first
    snapshot. Memory that differs by at most `tolerance`, a part of it, counts as equal. Items that
    begin as one of `varied`, which the run itself changes, are left out.
    """
    changes: dict[tuple[str, str], Change] = {}
    first = dict(snapshots[0].items) if snapshots else {}
    for snapshot in snapshots[1:]:
        for node in sorted({*first, *snapshot.items}):
            if node in snapshots[0].without and node in snapshot.items:
                first.setdefault(node, snapshot.items[node])
            before, after = first.get(node), snapshot.items.get(node)
            if after is None and node in snapshot.without:
                continue
            if before is None or after is None:
                was, now = ("there" if side is not None else ABSENT for side in (before, after))
                changes.setdefault((node, ""), Change(node, "the node", was, now, snapshot.at))
                continue
            for item in sorted({*before, *after}):
                old, new = before.get(item, ABSENT), after.get(item, ABSENT)
                down = kind_of(item) in WHILE_RUNNING and ABSENT in (old, new)
                if item.startswith(varied):
                    continue
                if not down and not are_close(item, new, old, tolerance):
                    changes.setdefault((node, item), Change(node, item, old, new, snapshot.at))
    return list(changes.values())


def by_directory(changes: Sequence[Change]) -> list[Change]:
    """Return the changes with many files of one directory of a node gathered into one change."""
    gathered = []
    for at in dict.fromkeys(change.at for change in changes):
        rows = [Row(c.item, c.node, c.after, c.before) for c in changes if c.at == at]
        gathered += [
            Change(r.node, r.item, r.others, r.value, at) for r in differences.by_directory(rows)
        ]
    return gathered


def not_seen_again(snapshots: Sequence[Snapshot]) -> list[str]:
    """Return the names of nodes that were seen before and are absent at the last snapshot."""
    before = {node for snapshot in snapshots[:-1] for node in snapshot.items}
    return sorted(before & snapshots[-1].without) if snapshots else []


def first_seen(snapshots: Sequence[Snapshot]) -> list[Node]:
    """Return every named node as it was at the first snapshot that saw it."""
    first: dict[str, Node] = {}
    for node in (node for snapshot in snapshots for node in snapshot.nodes):
        if node.name is not None:
            first.setdefault(node.name, node)
    return list(first.values())
