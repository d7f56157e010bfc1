"""How far a long command is: a bar with the time left on a terminal, plain lines when piped."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Advance = Callable[[int, int], None]
"""Is told how many of how many are done."""

_QUIET_S = 10.0


@contextmanager
def progress() -> Iterator[Callable[[str], Advance]]:
    """Show the progress of named tasks on standard error while the block runs."""
    if not sys.stderr.isatty():
        yield _plain
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bars:

        def add(name: str) -> Advance:
            task = bars.add_task(name, total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield add


def _plain(name: str) -> Advance:
    """Write a line when the task takes long: every ten seconds, and never for a quick one."""
    last = time.monotonic()

    def advance(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _QUIET_S:
            last = time.monotonic()
            print(f"{name}: {done} of {total}", file=sys.stderr)

    return advance
