"""run.json: what a run was swept with, parsed once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from collect.errors import InputError, quoted
from collect.run.fields import Fields
from collect.run.fingerprint import MEMORY_TOLERANCE
from collect.run.nodes import Node, Snapshot
from collect.strict_json import parse_json

SCHEMA = 1
_SHOWN = 60
_KINDS: Mapping[str, tuple[type, str]] = {
    **dict.fromkeys(("lab", "git", "versions", "served"), (dict, "an object")),
    **dict.fromkeys(("nodes", "deviations", "exceptions"), (list, "a list")),
    **dict.fromkeys(("run", "study", "profile", "study_file"), (str, "a text")),
}


@dataclass(frozen=True)
class Lab:
    """Where a run was measured."""

    name: str | None
    kind: str | None
    link_mbit: str | float | None

    @property
    def keeps_links(self) -> bool:
        """Whether sweeps leave the links as they are: those of virtual labs alone are set."""
        return self.kind not in (None, "virtual")


@dataclass(frozen=True)
class Declared:
    """A difference of a node that was declared before the run, with its reason."""

    node: str
    item: str
    reason: str


@dataclass(frozen=True)
class Provenance:
    """What run.json records; None or empty where it does not. `recorded` holds the whole file.

    `served` has the node settings that further servers take, by service.
    """

    recorded: Mapping[str, Any]
    study: str | None
    profile: str | None
    seed: int | None
    plan_sha256: str | None
    study_file: str
    commit: str | None
    is_dirty: bool
    is_imported: bool
    lab: Lab
    versions: Mapping[str, Any]
    served: Mapping[str, tuple[str, ...]]
    deviations: tuple[str, ...]
    exceptions: tuple[Declared, ...]
    memory_tolerance: float
    snapshot: Snapshot

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes as they were when the run began."""
        return self.snapshot.nodes

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Read the content of run.json; raises ValueError that says what is wrong with it."""
        if not isinstance(value, dict):
            raise ValueError("is not a JSON object")  # noqa: TRY004 - as every other fault of it
        for name, (kind, word) in _KINDS.items():
            own = value.get(name)
            if own is not None and not isinstance(own, kind):
                raise ValueError(f"{name} is {quoted(own)[:_SHOWN]}, not {word}")
        record = Fields(value)
        if len(record.each("nodes")) != len(value.get("nodes") or ()):
            raise ValueError("nodes holds an entry that is not an object")
        lab, git, served = map(record.fields, ("lab", "git", "served"))
        tolerance = record.fields("tolerances").scalar("memory")
        nodes = tuple(map(Node.parse, record.each("nodes")))
        return cls(
            recorded=value,
            study=record.text("study"),
            profile=record.text("profile"),
            seed=record.whole("seed"),
            plan_sha256=record.text("plan_sha256"),
            study_file=record.text("study_file") or "",
            commit=git.text("commit"),
            is_dirty=bool(git.all.get("dirty")),
            is_imported="imported" in value,
            lab=Lab(lab.text("name"), lab.text("kind"), lab.scalar("link_mbit")),
            versions=record.fields("versions").all,
            served={service: served.texts(service) for service in served.all},
            deviations=tuple(map(_text, value.get("deviations") or ())),
            exceptions=tuple(
                Declared(*(str(one.all.get(name)) for name in ("node", "item", "reason")))
                for one in record.each("exceptions")
            ),
            memory_tolerance=MEMORY_TOLERANCE if tolerance is None else float(tolerance),
            snapshot=Snapshot(
                str(record.text("started_at")), nodes, frozenset(record.texts("without"))
            ),
        )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


NOTHING = Provenance.parse({})
"""The provenance of a run without a run.json."""


def read_provenance(path: Path) -> Provenance:
    """Read a run.json; nothing is recorded where there is none. Raises InputError."""
    try:
        content = parse_json(path.read_bytes())
    except FileNotFoundError:
        return NOTHING
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be used ({error}); restore or remove it") from error
    try:
        return Provenance.parse(content)
    except ValueError as error:
        raise InputError(f"{path}: {error}; restore or remove it") from error
