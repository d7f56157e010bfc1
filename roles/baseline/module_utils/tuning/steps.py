"""What all settings of a node share: steps, and the record of how the node was found."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ansible.module_utils import host

RECORD = "etc/rackbench/found.json"
SHARED = "this node is a container and shares its host's kernel"


@dataclass(frozen=True)
class Step:
    """One change: how the node was found goes into the record before `do` is called."""

    name: str
    kind: str
    found: Mapping[str, Any]
    do: Callable[[], object]


@dataclass(frozen=True)
class Left:
    """A setting that is left as it is."""

    name: str
    reason: str


Steps = Iterator[Step | Left]
Files = dict[Path, str]
Sought = dict[str, Files | Left]
"""Files of the kernel with what they are set to, by the name of the setting."""

Back = Mapping[str, Callable[[Path, Any], object]]
"""For each kind of step what restores it, from the root and what was found."""


def in_container(root: Path) -> bool:
    """Return whether the kernel is somebody else's."""
    return (root / "run/systemd/container").exists()


def chosen(path: Path) -> str:
    """Return a kernel setting's value: the bracketed word of a choice, or all its words."""
    text = " ".join(path.read_text().split())
    bracketed = re.search(r"\[(.+?)\]", text)
    return bracketed[1] if bracketed else text


def write_all(values: Mapping[Any, str]) -> None:
    """Write each value into its file, as the kernel takes it."""
    for path, value in values.items():
        Path(path).write_text(value)


def at_boot(root: Path, file: str, lines: str) -> Iterator[Step]:
    """Yield the file by which each boot sets what is set now."""
    boot = root / file
    if lines and host.text_of(boot) != lines:
        yield Step("at boot", "at_boot", {}, partial(host.write, boot, lines))


def read_record(root: Path) -> dict[str, dict[str, Any]]:
    """Return how the node was found; empty when nothing was changed."""
    record = root / RECORD
    return json.loads(record.read_text()) if record.exists() else {}


def add_to_record(root: Path, steps: list[Step]) -> None:
    """Record how the node was found; what was found first is what the node was before the kit."""
    record = read_record(root)
    for step in steps:
        record[step.kind] = {**step.found, **record.get(step.kind, {})}
    host.write(root / RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")
