"""In which items a node differs from the nodes that it should equal."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from os.path import commonpath
from pathlib import PurePosixPath
from statistics import median

from collect.run.fingerprint import (
    ABSENT,
    IN_PROPORTION,
    MEMORY_TOLERANCE,
    OF_A_ROLE,
    OF_ALL_ROLES,
    WHILE_RUNNING,
    are_close,
    kind_of,
)

Values = Mapping[str, str]
"""The values of one item by node."""
Roles = Mapping[str, frozenset[str]]
"""The roles of each node."""

_FEW = 3
_FILES = "files"
_DEPTH = 3


@dataclass(frozen=True)
class Row:
    """An item in which a node differs: its own value, and that of the others."""

    item: str
    node: str
    value: str
    others: str


@dataclass(frozen=True)
class Gathered:
    """Several nodes that differ in the same way."""

    item: str
    nodes: tuple[str, ...]
    value: str
    others: str


def roles_of(groups: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """Return the groups of each node."""
    nodes = {name for members in groups.values() for name in members}
    return {name: frozenset(one for one in groups if name in groups[one]) for name in nodes}


def find_odd(
    nodes: Mapping[str, Values],
    roles: Roles,
    excused: Set[tuple[str, str]] = frozenset(),
    tolerance: float = MEMORY_TOLERANCE,
) -> list[Row]:
    """Return every item in which a node differs from most of the nodes like it.

    `nodes` are flattened fingerprints without what is never compared. `excused` are pairs of node
    and item, or node and kind of item; such a node does not count for that item. What follows from
    roles is compared between nodes that share one: a file or JVM that several of them have is the
    same, and a node has every file of the nodes with a part of its roles. What it has beyond them
    is a difference unless a role explains it that none of those nodes hold.
    """
    rows: list[Row] = []
    for item in sorted({item for values in nodes.values() for item in values}):
        kind = kind_of(item)
        values = {
            name: items.get(item, ABSENT)
            for name, items in nodes.items()
            if (name, item) not in excused and (name, kind) not in excused
        }
        if kind in OF_A_ROLE:
            rows += _odd_of_roles(item, values, roles)
        elif item in IN_PROPORTION:
            rows += _odd_numbers(item, values, tolerance)
        else:
            rows += _odd(item, values)
    return rows


def _odd(item: str, values: Values) -> Iterator[Row]:
    if len(set(values.values())) > 1:
        usual = _usual(values.values())
        for name, value in values.items():
            if value != usual:
                yield Row(item, name, value, usual)


def _odd_numbers(item: str, values: Values, tolerance: float) -> Iterator[Row]:
    known = [float(value) for value in values.values() if value != ABSENT]
    middle = f"{median(known) if known else 0:g}"
    for name, value in values.items():
        if not are_close(item, value, middle, tolerance):
            yield Row(item, name, value, f"within {100 * tolerance:g}% of {middle}")


def _usual(values: Iterable[str]) -> str:
    return Counter(values).most_common(1)[0][0]


def _odd_of_roles(item: str, values: Values, roles: Roles) -> Iterator[Row]:
    alike: dict[frozenset[str], list[str]] = defaultdict(list)
    for name in values:
        alike[roles.get(name, frozenset())].append(name)
    told = set()
    for members in _sharing(alike, whole=item.startswith(OF_ALL_ROLES)):
        held = {name: values[name] for name in members if values[name] != ABSENT}
        for row in _odd(item, held):
            if row.node not in told:
                told.add(row.node)
                yield row
    if kind_of(item) not in WHILE_RUNNING:
        yield from _odd_presence(item, values, alike)


def _sharing(alike: Mapping[frozenset[str], Sequence[str]], *, whole: bool) -> list[list[str]]:
    """Return the nodes that share a role, for each role, or with `whole` those that share all."""
    if whole:
        return [list(members) for members in alike.values()]
    by_role: dict[str, list[str]] = defaultdict(list)
    for kind, members in alike.items():
        for role in kind or {""}:
            by_role[role] += members
    return [by_role[role] for role in sorted(by_role)]


def _odd_presence(
    item: str, values: Values, alike: Mapping[frozenset[str], Sequence[str]]
) -> Iterator[Row]:
    holders = {k: [n for n in names if values[n] != ABSENT] for k, names in alike.items()}
    usually = {kind: _have_most(kind, holders, alike) for kind in alike}
    for kind, names in alike.items():
        parts = [part for part in alike if part < kind]
        is_wanted = any(usually[part] for part in parts)
        is_explained = is_wanted or frozenset().union(*parts) != kind or not parts
        if is_wanted or (usually[kind] and is_explained):
            usual = _usual(values[n] for part in [kind, *parts] for n in holders[part])
            for name in names:
                if values[name] == ABSENT:
                    yield Row(item, name, ABSENT, usual)
        else:
            for name in holders[kind]:
                yield Row(item, name, values[name], ABSENT)


def _have_most(
    kind: frozenset[str],
    holders: Mapping[frozenset[str], Sequence[str]],
    alike: Mapping[frozenset[str], Sequence[str]],
) -> bool:
    """Return whether most nodes of these roles have an item; nodes with more roles break a tie."""
    held, all_of_them = len(holders[kind]), len(alike[kind])
    above = [more for more in alike if kind < more]
    if 2 * held == all_of_them and above:
        held = sum(len(holders[more]) for more in above)
        all_of_them = sum(len(alike[more]) for more in above)
    return 2 * held >= all_of_them


def gather(rows: Sequence[Row]) -> list[Gathered]:
    """Return the rows gathered: files by directory, and nodes that differ in the same way."""
    nodes: dict[Row, list[str]] = defaultdict(list)
    for row in by_directory(rows):
        nodes[replace(row, node="")].append(row.node)
    return [Gathered(r.item, tuple(names), r.value, r.others) for r, names in nodes.items()]


def by_directory(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with many files of one directory gathered into one row.

    The rows of other items, and of a few files, stay as they are, with each value on one line.
    """
    buckets: dict[Row, list[Row]] = defaultdict(list)
    for row in rows:
        buckets[_bucket(row)].append(row)
    shown = []
    for bucket, members in buckets.items():
        if kind_of(bucket.item) == _FILES and len(members) > _FEW:
            directory = commonpath([str(_path(row).parent) for row in members])
            shown.append(replace(bucket, item=f"{len(members)} files of {directory}"))
        else:
            shown += [
                replace(row, value=_one_line(row.value), others=_one_line(row.others))
                for row in members
            ]
    return shown


def _bucket(row: Row) -> Row:
    """Return a row for the directory of a file: absent or present, or of other content."""
    if kind_of(row.item) != _FILES:
        return row
    parts = _path(row).parent.parts[: _DEPTH + 1]
    item = f"{_FILES} {PurePosixPath(*parts)}"
    if ABSENT in (row.value, row.others):
        there = [value if value == ABSENT else "(there)" for value in (row.value, row.others)]
    else:
        there = ["(other content)", "(the same content)"]
    return Row(item, row.node, *there)


def _path(row: Row) -> PurePosixPath:
    return PurePosixPath(row.item.partition(" ")[2])


def _one_line(text: str) -> str:
    return " / ".join(text.splitlines())
