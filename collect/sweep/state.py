"""state.json: how a run goes on the client, as its runner last wrote it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from collect.run.fields import Fields
from collect.strict_json import parse_json


def utc(instant: datetime | None) -> datetime | None:
    """Return a moment with its time zone, which is UTC where none is given."""
    return instant if instant is None or instant.tzinfo else instant.replace(tzinfo=UTC)


def utc_text(instant: datetime | None) -> str | None:
    """Return a moment as JSON holds it."""
    return None if instant is None else f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True)
class NodeState:
    """How a node was when the runner last asked it; `since` is when it was first found so.

    `state` is "up" or "away", `services` holds the state of each service (up, silent or down)
    and since when, room is in MiB.
    """

    state: str
    since: datetime | None
    seen: datetime | None
    disk_free_mb: int | None
    services: Mapping[str, tuple[str, datetime | None]]

    @classmethod
    def parse(cls, node: Fields) -> Self:
        """Read one of `nodes`."""
        return cls(
            state=str(node.text("state")),
            since=utc(node.instant("since")),
            seen=utc(node.instant("seen")),
            disk_free_mb=node.whole("disk_free_mb"),
            services={
                name: (str(service.text("state")), utc(service.instant("since")))
                for name, service in node.by_name("services").items()
            },
        )

    def as_json(self) -> dict[str, Any]:
        """Return the node as `collect status --json` prints it."""
        return {
            "state": self.state,
            "since": utc_text(self.since),
            "seen": utc_text(self.seen),
            "disk_free_mb": self.disk_free_mb,
            "services": {
                name: {"state": state, "since": utc_text(since)}
                for name, (state, since) in self.services.items()
            },
        }


@dataclass(frozen=True)
class RunnerState:
    """What the runner says of itself; `state` is None before it first did.

    `running` is the id of the trial that runs, with its attempt since when; `put_off` has the
    reasons of the trials that wait for a node, `thrown_away` counts attempts that a fault of the
    lab spoilt. `nodes` are those that the runner has asked so far, by name.
    """

    state: str | None
    reason: str
    running: str | None
    attempt: int | None
    since: datetime | None
    put_off: Mapping[str, str]
    thrown_away: int
    nodes: Mapping[str, NodeState]

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Read a state.json; raises ValueError for what is no JSON."""
        record = Fields(parse_json(content))
        return cls(
            state=record.text("state"),
            reason=record.text("reason") or "",
            running=record.text("running"),
            attempt=record.whole("attempt"),
            since=utc(record.instant("since")),
            put_off={
                str(one.text("id")): one.text("reason") or "no reason"
                for one in record.each("put_off")
            },
            thrown_away=record.whole("thrown_away") or 0,
            nodes={
                name: NodeState.parse(node)
                for name, node in sorted(record.by_name("nodes").items())
            },
        )


UNHEARD = RunnerState.parse(b"{}")
"""The state of a run whose runner wrote nothing yet."""


def put_off(runs: Sequence[Mapping[str, str]], root: str | Path) -> list[str]:
    """Return why trials are deferred, a text for each run with such; named if there are several.

    The runs are below `results` of `root`. One without a state that can be read has no such trials.
    """
    reasons = {}
    for run in runs:
        with suppress(OSError, ValueError):
            file = Path(root) / "results" / run["run"] / "state.json"
            if (state := RunnerState.parse(file.read_bytes())).put_off:
                reasons[run["run"]] = state.reason
    if len(runs) == 1:
        return list(reasons.values())
    return [f"{run}: {reason}" for run, reason in reasons.items()]
