"""The status of a run as lines for people, at the terminal once or again and again."""

import json
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from collect.counts import show_count
from collect.run.cell import level_text
from collect.run.directory import open_run
from collect.sweep.state import NodeState
from collect.sweep.status import Status, Watch
from collect.time_left import in_words


def show_status(name: str, every_s: int | None = None, *, as_json: bool = False) -> None:
    """Print the status of a run; with `every_s` again and again until it ends.

    JSON is one object a line.
    """
    watch = Watch(open_run(name))
    status = watch.status()
    console = Console()
    if as_json or not console.is_interactive:  # a dumb terminal draws nothing
        while True:
            text = json.dumps(status.as_json(), ensure_ascii=False) if as_json else as_text(status)
            print(text, flush=True)
            if every_s is None or status.has_ended:
                return
            time.sleep(every_s)
            status = watch.status()
    with Live(_view(status), console=console, auto_refresh=False) as live:
        while every_s is not None and not status.has_ended:
            time.sleep(every_s)
            status = watch.status()
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
    if status.profiled:
        lines.append(
            ("profiled", f"{show_count(status.profiled, 'trial')}, excluded from all results")
        )
    if status.captured:
        lines.append(
            ("captured", f"{show_count(status.captured, 'trial')}, excluded from all results")
        )
    if status.unusable:
        count = show_count(status.unusable, "directory", "directories")
        lines.append(("unusable", f"{count}; see `collect check {status.typed}`"))
    if status.current:
        factors = status.current.factors.items()
        levels = ", ".join(f"{name} {level_text(level)}" for name, level in factors)
        again = f", attempt {status.attempt}" if (status.attempt or 1) > 1 else ""
        since = f", since {_clock(status.since)}" if status.since else ""
        lines.append(("running", f"{status.current.id} ({levels}{again}{since})"))
    if status.thrown_away:
        count = show_count(status.thrown_away, "attempt")
        lines.append(("repeated", f"{count}, after faults of the lab"))
    if status.put_off:
        reasons = Counter(status.put_off.values())
        parts = (f"{show_count(n, 'trial')}: {reason}" for reason, n in reasons.most_common())
        lines.append(("deferred", "; ".join(parts)))
    lines += _analyses(status)
    if status.remaining:
        lines.append(("time left", _time_left(status.eta)))
    client = "" if status.client_free_mb is None else f", {status.client_free_mb} MiB on the client"
    lines.append(("disk free", f"{status.control_free_mb} MiB here{client}"))
    lines += [(name, _health(node)) for name, node in status.nodes.items()]
    if status.is_unheard and status.seen:
        lines.append(
            (
                "followed",
                f"not since {_clock(status.seen)}; run the same sweep command to attach",
            )
        )
    return lines


def _analyses(status: Status) -> list[tuple[str, str]]:
    """Return what the interim analyses of a rule decided, and when the next one is."""
    if status.rule is None:
        return []
    lines = [("stops at", str(status.rule))]
    for one in status.decisions:
        width = "no interval" if one.widest is None else status.rule.show(one.widest)
        what = "stopped" if one.stops else "continued"
        lines.append((f"block {one.blocks}", f"widest interval {width} ({one.cell}): {what}"))
    if ahead := status.next_look:
        left = "" if ahead.eta is None else f", {in_words(ahead.eta.total_seconds())}"
        after = show_count(ahead.blocks, "block")
        trials = show_count(ahead.remaining, "trial")
        lines.append(("next analysis", f"after {after}: {trials} left{left}"))
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
    return f" since {since.astimezone():%Y-%m-%d %H:%M:%S %Z}" if since else ""


def _clock(instant: datetime) -> str:
    """Return a time of day as the clock of the reader's time zone shows it."""
    return f"{instant.astimezone():%H:%M:%S %Z}"


def _view(status: Status) -> Group:
    table = Table.grid(padding=(0, 2))
    for name, text in lines_of(status):
        table.add_row(Text(name, style="dim"), Text(text))
    return Group(table, ProgressBar(total=status.total, completed=status.sealed, width=60))


def _time_left(left: timedelta | None) -> str:
    if left is None:
        return "unknown until a trial is sealed"
    end = datetime.now(UTC) + left
    return f"{in_words(left.total_seconds())}, until {end.astimezone():%Y-%m-%d %H:%M %Z}"
