"""What the nodes were at each look a sweep took at them, and what changed in between."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collect.errors import InputError
from collect.run import differences
from collect.run.differences import Row
from collect.run.fingerprint import ABSENT, READINGS, WHILE_RUNNING, are_close, flat, kind_of

LOOKS = "nodes.jsonl"
_OF_THE_MOMENT = READINGS | {"failed_units"}
"""What is of the moment, not of the node."""


@dataclass(frozen=True)
class Look:
    """One look at the nodes; `at` as recorded, in UTC, `nodes` their flattened items by name.

    `without` are the nodes that the sweep went on without, `recorded` is what was flattened.
    """

    at: str
    nodes: Mapping[str, Mapping[str, str]]
    without: frozenset[str]
    recorded: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Change:
    """An item of a node that was not the same at two looks."""

    node: str
    item: str
    before: str
    after: str
    at: str


def read_looks(run: Path, provenance: Mapping[str, Any]) -> list[Look]:
    """Give the look in run.json, then those of nodes.jsonl: one line a look, oldest first.

    Raises InputError for a line that is no look.
    """
    looks = [
        _look(provenance.get("started_at"), provenance.get("nodes"), provenance.get("without"))
    ]
    path = run / LOOKS
    lines = path.read_bytes().splitlines() if path.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            looks.append(_look(record["at"], record["nodes"], record.get("without")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path}: line {number} is no look at the nodes ({error}); restore the file"
            ) from error
    return [look for look in looks if look.nodes]


def changes_between(looks: Sequence[Look], tolerance: float) -> list[Change]:
    """List what differs from the first look, each item of a node once, at the first look it did.

    A node that a sweep went on without is not missed there; it is compared from its own first look.
    Memory that differs by no more than this part of it is the same: a kernel that boots anew may
    find a page more or less.
    """
    changes: dict[tuple[str, str], Change] = {}
    first = dict(looks[0].nodes) if looks else {}
    for look in looks[1:]:
        for node in sorted({*first, *look.nodes}):
            if node in looks[0].without and node in look.nodes:
                first.setdefault(node, look.nodes[node])
            before, after = first.get(node), look.nodes.get(node)
            if after is None and node in look.without:
                continue
            if before is None or after is None:
                was, now = ("there" if side is not None else ABSENT for side in (before, after))
                changes.setdefault((node, ""), Change(node, "the node", was, now, look.at))
                continue
            for item in sorted({*before, *after}):
                old, new = before.get(item, ABSENT), after.get(item, ABSENT)
                down = kind_of(item) in WHILE_RUNNING and ABSENT in (old, new)
                if not down and not are_close(item, new, old, tolerance):
                    changes.setdefault((node, item), Change(node, item, old, new, look.at))
    return list(changes.values())


def by_directory(changes: Sequence[Change]) -> list[Change]:
    """Make one change of many files of a directory of a node that changed in the same way."""
    gathered = []
    for at in dict.fromkeys(change.at for change in changes):
        rows = [Row(c.item, c.node, c.after, c.before) for c in changes if c.at == at]
        gathered += [
            Change(r.node, r.item, r.others, r.value, at) for r in differences.by_directory(rows)
        ]
    return gathered


def not_seen_again(looks: Sequence[Look]) -> list[str]:
    """Name the nodes that were seen before and went away until the last look."""
    before = {node for look in looks[:-1] for node in look.nodes}
    return sorted(before & looks[-1].without) if looks else []


def first_records(looks: Sequence[Look]) -> list[Mapping[str, Any]]:
    """Give what was recorded of every node at the first look that saw it."""
    first: dict[str, Mapping[str, Any]] = {}
    for node in (node for look in looks for node in look.recorded):
        first.setdefault(str(node["name"]), node)
    return list(first.values())


def _look(at: Any, nodes: Any, without: Any) -> Look:
    named = [node for node in nodes if "name" in node] if isinstance(nodes, list) else []
    return Look(
        str(at),
        {str(node["name"]): _of_the_node(node) for node in named},
        frozenset(map(str, without)) if isinstance(without, list) else frozenset(),
        tuple(named),
    )


def _of_the_node(record: Mapping[str, Any]) -> dict[str, str]:
    return {item: value for item, value in flat(record).items() if item not in _OF_THE_MOMENT}
