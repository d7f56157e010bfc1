"""How far a run is, from its sealed trials and the state its runner last wrote."""

import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import mean, median
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from collect.plan import PlannedTrial
from collect.run import Run, open_run
from collect.trials import OUTCOMES, Trial, TrialError, read_trial

_ENDED = {"finished", "failed"}


@dataclass(frozen=True)
class Status:
    """A run at one moment; `eta` is None until a trial is sealed. Hashes are not checked here."""

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

    @property
    def sealed(self) -> int:
        """How many trials are sealed, whatever their outcome."""
        return sum(self.outcomes.values())

    @property
    def remaining(self) -> int:
        """How many planned trials are not sealed."""
        return self.total - self.sealed

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come without a new start."""
        return self.remaining == 0 or self.state in _ENDED


def read_status(run: Run) -> Status:
    """Look at a run; a trial that cannot be read counts as remaining."""
    sealed: dict[str, Trial] = {}
    unusable = 0
    planned = {trial.id: trial for trial in run.plan}
    for directory in run.directories():
        try:
            if directory.name in planned:
                sealed[directory.name] = read_trial(directory)
        except TrialError:
            unusable += 1
    state = _state(run)
    counts = Counter(trial.outcome for trial in sealed.values())
    remaining = [trial for trial in run.plan if trial.id not in sealed]
    attempt = state.get("attempt")
    return Status(
        run=run.name,
        total=len(run.plan),
        outcomes={outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]},
        unusable=unusable,
        state=str(state.get("state", "not started" if not sealed else "unknown")),
        reason=str(state.get("reason") or ""),
        current=planned.get(str(state.get("running"))) if state.get("state") == "running" else None,
        attempt=attempt if isinstance(attempt, int) else None,
        since=_instant(state.get("since")),
        eta=_eta(remaining, [(planned[name], trial) for name, trial in sealed.items()]),
    )


def show_status(name: str, every_s: int | None = None) -> None:
    """Print the status of a run; with `every_s` again and again until it ends."""
    console = Console()
    if not console.is_terminal:
        while True:
            status = read_status(open_run(name))
            print(as_text(status), flush=True)
            if every_s is None or status.has_ended:
                return
            time.sleep(every_s)
    status = read_status(open_run(name))
    with Live(_view(status), console=console, auto_refresh=False) as live:
        while every_s is not None and not status.has_ended:
            time.sleep(every_s)
            status = read_status(open_run(name))
            live.update(_view(status), refresh=True)


def as_text(status: Status) -> str:
    """Give the status as plain lines."""
    return "\n".join(f"{name}: {text}" for name, text in _lines(status))


def _lines(status: Status) -> list[tuple[str, str]]:
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
        levels = ", ".join(f"{name} {level}" for name, level in status.current.factors.items())
        again = f", attempt {status.attempt}" if (status.attempt or 1) > 1 else ""
        since = f", since {status.since:%H:%M:%S} UTC" if status.since else ""
        lines.append(("running", f"{status.current.id} ({levels}{again}{since})"))
    if status.remaining:
        lines.append(("time left", _duration(status.eta)))
    return lines


def _view(status: Status) -> Group:
    table = Table.grid(padding=(0, 2))
    for name, text in _lines(status):
        table.add_row(Text(name, style="dim"), Text(text))
    return Group(table, ProgressBar(total=status.total, completed=status.sealed, width=60))


def _duration(left: timedelta | None) -> str:
    if left is None:
        return "unknown until a trial is sealed"
    minutes, seconds = divmod(round(left.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    end = datetime.now(UTC) + left
    return f"about {hours}:{minutes:02}:{seconds:02}, until {end:%Y-%m-%d %H:%M} UTC"


def _eta(
    remaining: list[PlannedTrial], sealed: list[tuple[PlannedTrial, Trial]]
) -> timedelta | None:
    """Expect of each trial what its cell has taken so far, and the usual pause before it."""
    if not sealed:
        return None
    by_cell: dict[Any, list[float]] = {}
    for planned, trial in sealed:
        by_cell.setdefault(planned.cell, []).append(trial.seconds)
    overall = mean(trial.seconds for _, trial in sealed)
    ordered = sorted((trial for _, trial in sealed), key=lambda trial: trial.started_at)
    pauses = [
        (after.started_at - before.ended_at).total_seconds() for before, after in pairwise(ordered)
    ]
    # The median: a run that rested over the day is not expected to rest before every trial.
    pause = max(0.0, median(pauses)) if pauses else 0.0
    return timedelta(
        seconds=sum(mean(by_cell.get(trial.cell, [overall])) + pause for trial in remaining)
    )


def _state(run: Run) -> Mapping[str, Any]:
    try:
        state = json.loads((run.directory / "state.json").read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        print(f"collect: {run.name}/state.json cannot be used ({error})", file=sys.stderr)
        return {}
    return state if isinstance(state, dict) else {}


def _instant(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
