"""Progress of a long command: a bar on a terminal, plain lines otherwise, both with time left."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from collect.time_left import in_words

Advance = Callable[[int, int], None]
"""Takes how many items are done and how many there are in all."""

_QUIET_S = 10.0


@contextmanager
def progress() -> Iterator[Callable[[str], Advance]]:
    """Show the progress of named tasks on standard error while the block runs."""
    console = Console(stderr=True)
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        yield _plain
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bars:

        def add(name: str) -> Advance:
            task = bars.add_task(name, total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield add


def _plain(name: str) -> Advance:
    """Write a line every ten seconds, so that a quick task writes none."""
    began = last = time.monotonic()

    def advance(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _QUIET_S:
            last = now
            left_s = (now - began) / max(done, 1) * (total - done)
            print(f"{name}: {done} of {total}, {in_words(left_s)} to go", file=sys.stderr)

    return advance
