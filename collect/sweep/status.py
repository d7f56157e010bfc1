"""How far a run is, from its sealed trials and the state its runner last wrote."""

import json
import sys
import time
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from collect.files import free_mb
from collect.run.cell import level_text
from collect.run.directory import Run, open_run
from collect.run.plan import PlannedTrial
from collect.run.trials import OUTCOMES, Trial, TrialError, read_trial
from collect.time_left import in_words, of_kinds

ENDED = {"finished", "failed", "deadline"}
"""The words of state.json after which a run goes on only when it is started again."""
FOLLOWED = "follow.json"
"""What the control side last saw of the client: `at` in UTC and `client_free_mb` in MiB."""
_UNHEARD = timedelta(minutes=1)


@dataclass(frozen=True)
class NodeState:
    """The state of a node when the runner last asked it, and since when it has been so.

    `state` is "up" or "away"; `services` holds the state of each service (up, silent or down) and
    since when.
    """

    state: str
    since: datetime | None
    seen: datetime | None
    disk_free_mb: int | None
    services: Mapping[str, tuple[str, datetime | None]]

    def as_json(self) -> dict[str, Any]:
        """Return the node as `collect status --json` prints it."""
        return {
            "state": self.state,
            "since": _text(self.since),
            "seen": _text(self.seen),
            "disk_free_mb": self.disk_free_mb,
            "services": {
                name: {"state": state, "since": _text(since)}
                for name, (state, since) in self.services.items()
            },
        }


@dataclass(frozen=True)
class Status:
    """A run at one moment; hashes are not checked here.

    `eta` is the time left, None until a trial is sealed. `put_off` has the reasons of trials that
    wait for a node, by trial; `thrown_away` counts the attempts that a fault of the lab spoilt.
    `nodes` are those that the runner has asked so far, by name. `client_free_mb` is what was free
    on the client when it was last seen, at `seen`.
    """

    run: str
    total: int
    outcomes: Mapping[str, int]
    unusable: int
    state: str
    reason: str
    current: PlannedTrial | None
    attempt: int | None
    since: datetime | None
    eta: timedelta | None
    put_off: Mapping[str, str]
    thrown_away: int
    nodes: Mapping[str, NodeState]
    control_free_mb: int
    client_free_mb: int | None
    seen: datetime | None
    at: datetime

    @property
    def sealed(self) -> int:
        """How many trials are sealed, whatever their outcome."""
        return sum(self.outcomes.values())

    @property
    def not_ok(self) -> int:
        """How many sealed trials did not end well."""
        return self.sealed - self.outcomes.get("ok", 0)

    @property
    def remaining(self) -> int:
        """How many planned trials are not sealed."""
        return self.total - self.sealed

    @property
    def has_ended(self) -> bool:
        """Whether no further trial will be sealed unless the sweep is started again."""
        return self.remaining == 0 or self.state in ENDED

    @property
    def is_unheard(self) -> bool:
        """Whether the run goes on, but no sweep has followed it for a minute."""
        return not self.has_ended and self.seen is not None and self.at - self.seen > _UNHEARD

    def as_json(self) -> dict[str, Any]:
        """Return the status as `collect status --json` prints it, schema 1."""
        current = self.current
        return {
            "schema": 1,
            "run": self.run,
            "at": _text(self.at),
            "state": self.state,
            "reason": self.reason,
            "total": self.total,
            "sealed": self.sealed,
            "outcomes": dict(self.outcomes),
            "remaining": self.remaining,
            "unusable": self.unusable,
            "running": current
            and {
                "id": current.id,
                "factors": dict(current.factors),
                "attempt": self.attempt,
                "since": _text(self.since),
            },
            "eta_s": None if self.eta is None else round(self.eta.total_seconds()),
            "put_off": dict(self.put_off),
            "thrown_away": self.thrown_away,
            "nodes": {name: node.as_json() for name, node in self.nodes.items()},
            "control_free_mb": self.control_free_mb,
            "client_free_mb": self.client_free_mb,
            "seen": _text(self.seen),
            "has_ended": self.has_ended,
        }


class Watch:
    """Reads the status of a run again and again; each sealed trial is read only once."""

    def __init__(self, run: Run) -> None:
        """Read nothing yet."""
        self._run = run
        self._planned = {trial.id: trial for trial in run.plan}
        self._sealed: dict[str, Trial] = {}

    def look(self) -> Status:
        """Look at the run; a trial that cannot be read counts as remaining."""
        run, planned = self._run, self._planned
        present = {path.name: path for path in run.directories() if path.name in planned}
        self._sealed = {name: trial for name, trial in self._sealed.items() if name in present}
        unusable = 0
        for name, directory in present.items():
            try:
                if name not in self._sealed:
                    self._sealed[name] = read_trial(directory)
            except TrialError:
                unusable += 1
        state = _object(run, "state.json")
        seen = _object(run, FOLLOWED)
        counts = Counter(trial.outcome for trial in self._sealed.values())
        remaining = [trial for trial in run.plan if trial.id not in self._sealed]
        attempt, room = state.get("attempt"), seen.get("client_free_mb")
        word = str(state.get("state", "not started" if not self._sealed else "unknown"))
        thrown = state.get("thrown_away")
        return Status(
            run=run.name,
            total=len(run.plan),
            outcomes={outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]},
            unusable=unusable,
            state=word,
            reason=str(state.get("reason") or ""),
            current=planned.get(str(state.get("running"))) if word not in ENDED else None,
            attempt=attempt if isinstance(attempt, int) else None,
            since=_instant(state.get("since")),
            eta=_eta(remaining, [(planned[name], t) for name, t in self._sealed.items()]),
            put_off=_put_off(state.get("put_off"), {trial.id for trial in remaining}),
            thrown_away=thrown if isinstance(thrown, int) else 0,
            nodes=_nodes(state.get("nodes")),
            control_free_mb=free_mb(run.directory),
            client_free_mb=room if isinstance(room, int) else None,
            seen=_instant(seen.get("at")),
            at=datetime.now(UTC),
        )

    def outcomes(self, names: Iterable[str]) -> list[str]:
        """Return the outcomes of those of the trials that are sealed here."""
        self.look()
        return [self._sealed[name].outcome for name in names if name in self._sealed]


def read_status(run: Run) -> Status:
    """Look at a run once."""
    return Watch(run).look()


def show_status(name: str, every_s: int | None = None, *, as_json: bool = False) -> None:
    """Print the status of a run; with `every_s` again and again until it ends.

    JSON is one object a line.
    """
    watch = Watch(open_run(name))
    status = watch.look()
    console = Console()
    if as_json or not console.is_terminal:
        while True:
            text = json.dumps(status.as_json(), ensure_ascii=False) if as_json else as_text(status)
            print(text, flush=True)
            if every_s is None or status.has_ended:
                return
            time.sleep(every_s)
            status = watch.look()
    with Live(_view(status), console=console, auto_refresh=False) as live:
        while every_s is not None and not status.has_ended:
            time.sleep(every_s)
            status = watch.look()
            live.update(_view(status), refresh=True)


def as_text(status: Status) -> str:
    """Return the status as plain lines."""
    return "\n".join(f"{name}: {text}" for name, text in lines_of(status))


def lines_of(status: Status) -> list[tuple[str, str]]:
    """Return the status as names and texts for people."""
    outcomes = ", ".join(f"{count} {name}" for name, count in status.outcomes.items())
    lines = [
        ("run", status.run),
        ("state", status.state + (f" ({status.reason})" if status.reason else "")),
        ("sealed", f"{status.sealed} of {status.total}" + (f" ({outcomes})" if outcomes else "")),
        ("remaining", str(status.remaining)),
    ]
    if status.unusable:
        lines.append(
            ("unusable", f"{status.unusable} directories; see `collect check {status.run}`")
        )
    if status.current:
        factors = status.current.factors.items()
        levels = ", ".join(f"{name} {level_text(level)}" for name, level in factors)
        again = f", attempt {status.attempt}" if (status.attempt or 1) > 1 else ""
        since = f", since {status.since:%H:%M:%S} UTC" if status.since else ""
        lines.append(("running", f"{status.current.id} ({levels}{again}{since})"))
    if status.thrown_away:
        lines.append(("repeated", f"{status.thrown_away} attempts that a fault of the lab spoilt"))
    if status.put_off:
        reasons = Counter(status.put_off.values())
        text = "; ".join(f"{count} trials: {reason}" for reason, count in reasons.most_common())
        lines.append(("put off", text))
    if status.remaining:
        lines.append(("time left", _time_left(status.eta)))
    client = "" if status.client_free_mb is None else f", {status.client_free_mb} MiB on the client"
    lines.append(("disk free", f"{status.control_free_mb} MiB here{client}"))
    lines += [(name, _health(node)) for name, node in status.nodes.items()]
    if status.is_unheard and status.seen:
        lines.append(
            (
                "followed",
                f"not since {status.seen:%H:%M:%S} UTC; run the same sweep command to attach",
            )
        )
    return lines


def _health(node: NodeState) -> str:
    """Return in words which services of a node answer, which do not, and its free disk space."""
    if node.state != "up":
        return f"{node.state}{_since(node.since)}"
    bad = [
        f"{name} is {state}{_since(since)}"
        for name, (state, since) in node.services.items()
        if state != "up"
    ]
    good = [name for name, (state, _) in node.services.items() if state == "up"]
    well = f"{', '.join(good)} {'answers' if len(good) == 1 else 'answer'}" if good else ""
    room = "" if node.disk_free_mb is None else f"{node.disk_free_mb} MiB free"
    return "; ".join(part for part in [*bad, well, room] if part) or "up"


def _since(since: datetime | None) -> str:
    return f" since {since:%Y-%m-%d %H:%M:%S} UTC" if since else ""


def _view(status: Status) -> Group:
    table = Table.grid(padding=(0, 2))
    for name, text in lines_of(status):
        table.add_row(Text(name, style="dim"), Text(text))
    return Group(table, ProgressBar(total=status.total, completed=status.sealed, width=60))


def _time_left(left: timedelta | None) -> str:
    if left is None:
        return "unknown until a trial is sealed"
    return f"{in_words(left.total_seconds())}, until {datetime.now(UTC) + left:%Y-%m-%d %H:%M} UTC"


def _eta(
    remaining: Sequence[PlannedTrial], sealed: Sequence[tuple[PlannedTrial, Trial]]
) -> timedelta | None:
    """Return how long the rest takes: each trial what its cell took, and the usual pause."""
    taken: dict[Hashable, list[float]] = {}
    for planned, trial in sealed:
        taken.setdefault(planned.factors, []).append(trial.seconds)
    trials_s = of_kinds((trial.factors for trial in remaining), taken)
    if trials_s is None:
        return None
    ordered = sorted((trial for _, trial in sealed), key=lambda trial: trial.started_at)
    pauses = [
        (after.started_at - before.ended_at).total_seconds() for before, after in pairwise(ordered)
    ]
    # The median: a run that rested over the day is not expected to rest before every trial.
    pause_s = max(0.0, median(pauses)) if pauses else 0.0
    return timedelta(seconds=trials_s + pause_s * len(remaining))


def _object(run: Run, name: str) -> Mapping[str, Any]:
    """Read a small JSON file about the progress of a run; empty if it is missing or unusable."""
    try:
        content = json.loads((run.directory / name).read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        print(f"collect: {run.name}/{name} cannot be used ({error})", file=sys.stderr)
        return {}
    return content if isinstance(content, dict) else {}


def _put_off(listed: Any, remaining: set[str]) -> dict[str, str]:
    """Return the reasons of open trials that the runner has put off, by trial."""
    entries = [entry for entry in listed if isinstance(entry, dict)] if listed else []
    named = ((str(entry.get("id")), str(entry.get("reason") or "no reason")) for entry in entries)
    return {name: reason for name, reason in named if name in remaining}


def _nodes(told: Any) -> dict[str, NodeState]:
    """Return what the runner says of the nodes, without entries that are not nodes."""
    nodes = told if isinstance(told, dict) else {}
    return {name: _node(node) for name, node in sorted(nodes.items()) if isinstance(node, dict)}


def _node(node: Mapping[str, Any]) -> NodeState:
    services, room = node.get("services"), node.get("disk_free_mb")
    return NodeState(
        state=str(node.get("state")),
        since=_instant(node.get("since")),
        seen=_instant(node.get("seen")),
        disk_free_mb=room if isinstance(room, int) else None,
        services={
            name: (str(service.get("state")), _instant(service.get("since")))
            for name, service in (services.items() if isinstance(services, dict) else ())
            if isinstance(service, dict)
        },
    )


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _instant(text: Any) -> datetime | None:
    try:
        instant = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
