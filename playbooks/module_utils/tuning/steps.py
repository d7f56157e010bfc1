"""The common parts of all settings: steps, and the record of a node's original state."""

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
    """One change; the original state goes into the record before the call of `do`."""

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
"""Files of the kernel with their new values, by the name of the setting."""

Back = Mapping[str, Callable[[Path, Any], object]]
"""For each kind of step the function that restores it, from the root and the original state."""


def in_container(root: Path) -> bool:
    """Return whether this is a container, whose kernel belongs to its host."""
    return (root / "run/systemd/container").exists()


def chosen(path: Path) -> str:
    """Return a kernel setting's value: the bracketed word of a choice, or all its words."""
    text = " ".join(path.read_text().split())
    bracketed = re.search(r"\[(.+?)\]", text)
    return bracketed[1] if bracketed else text


def write_all(values: Mapping[Any, str]) -> None:
    """Write each value into its file, in the kernel's form.

    Raises a HostError that names the file, which the kernel's own refusal does not.
    """
    for path, value in values.items():
        try:
            Path(path).write_text(value)
        except OSError as error:
            reason = error.strerror or error
            raise host.HostError(f"{path} does not take {value!r}: {reason}") from error


def write_back(_: Path, found: Mapping[str, str]) -> None:
    """Write the original values into those files of the kernel that still exist."""
    write_all({path: was for path, was in found.items() if Path(path).exists()})


def at_boot(root: Path, file: str, lines: str) -> Iterator[Step]:
    """Yield a step for the file that applies the present settings at each boot."""
    boot = root / file
    if lines and host.text_of(boot) != lines:
        yield Step("at boot", "at_boot", {}, partial(host.write, boot, lines))


def read_record(root: Path) -> dict[str, dict[str, Any]]:
    """Return the node's original state; empty if nothing was changed."""
    record = root / RECORD
    return json.loads(record.read_text()) if record.exists() else {}


def add_to_record(root: Path, *found: tuple[str, Mapping[str, Any]]) -> None:
    """Record the node's original state by kind; the first record wins, as it precedes rackbench."""
    record = read_record(root)
    for kind, state in found:
        record[kind] = {**state, **record.get(kind, {})}
    write_record(root, record)


def write_record(root: Path, record: Mapping[str, Mapping[str, Any]]) -> None:
    """Replace the record of the node's original state."""
    host.write(root / RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")
