"""What a long command shows: a line for each step that ended, and what runs now.

On a terminal the running steps are drawn again and again; elsewhere, and on a dumb terminal, there
is a plain line a minute.
"""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from collect.printable import printable

_QUIET_S = 60.0
_CUT = 2000


class Screen:
    """Standard output while playbooks run."""

    def __init__(self, console: Console | None = None) -> None:
        """Begin with nothing shown; rich heeds NO_COLOR."""
        self.console = console or Console(highlight=False, markup=False)
        self._live: Live | None = None
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        """Begin to draw."""
        if self.console.is_interactive:  # a dumb terminal, such as that of Emacs, draws nothing
            self._live = Live(console=self.console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Draw no more."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def step(self, name: str, seconds: float, *, is_good: bool) -> None:
        """Say that a step ended."""
        word, style = ("done", "green") if is_good else ("failed", "bold red")
        self._say(Text.assemble((f"{word:<6}", style), f" {clock(seconds):>6}  {printable(name)}"))

    def now(self, lines: Sequence[str]) -> None:
        """Show what runs now."""
        if self._live is not None:
            drawn = Text("\n".join(lines), no_wrap=True, overflow="ellipsis", style="dim")
            self._live.update(drawn, refresh=True)
        elif time.monotonic() - self._said >= _QUIET_S:
            self._say(Text(f"{'':14} {'; '.join(line.strip() for line in lines)}"))

    def text(self, text: str, style: str = "") -> None:
        """Say a text of several lines, none of which is cut or can control the terminal."""
        for line in text.splitlines():
            self._say(Text(printable_line(line), style=style))

    def _say(self, text: Text) -> None:
        self._said = time.monotonic()
        self.console.print(text, soft_wrap=True)
        self.console.file.flush()


def printable_line(line: str) -> str:
    """Return a line with its blanks, so that tables stay tables, and without control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in line[:_CUT])


def clock(seconds: float) -> str:
    """Return a duration such as 0:41 or 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
