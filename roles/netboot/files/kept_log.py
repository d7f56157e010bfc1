"""A log of other machines' messages, of bounded size."""

from __future__ import annotations

import threading
from pathlib import Path

from collect.printable import printable

FILE_BYTES = 8 << 20
LINE_LETTERS = 1000


class KeptLog:
    """Keeps the newest lines in a file, and as many before them in another, `….1`."""

    def __init__(self, path: Path) -> None:
        """Continue with the lines of the file."""
        self.path = path
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Start over."""
        with self._lock:
            self.path.unlink(missing_ok=True)
            self._before.unlink(missing_ok=True)

    def add(self, text: str) -> None:
        """Add one line, without control characters for a terminal."""
        with self._lock:
            if self.path.exists() and self.path.stat().st_size >= FILE_BYTES:
                self.path.replace(self._before)
            with self.path.open("a") as file:
                file.write(printable(text, LINE_LETTERS) + "\n")

    @property
    def _before(self) -> Path:
        return self.path.with_name(self.path.name + ".1")
