"""The numbers of servers that studies name, also outside a profile and without any check."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from collect.strict_yaml import UNREADABLE

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def numbers_of_servers(studies: Path) -> list[int]:
    """Return all values of `servers` in the studies of a directory, in order.

    An unreadable file adds none; a sweep of it reports why.
    """
    found: set[int] = set()
    for file in studies.glob("*.y*ml"):
        with suppress(OSError, *UNREADABLE):
            found.update(_servers_in(yaml.load(file.read_bytes(), Loader=_LOADER)))  # noqa: S506 - a safe one
    return sorted(found)


def _servers_in(node: Any) -> Iterator[int]:
    if isinstance(node, list):
        yield from (n for item in node for n in _servers_in(item))
    elif isinstance(node, dict):
        levels = node.get("servers")
        for level in levels if isinstance(levels, list) else [levels]:
            if type(level) is int and level > 0:
                yield level
        yield from _servers_in(list(node.values()))
