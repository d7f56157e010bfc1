"""What is printed on a terminal: a console for tables, and text that other machines sent."""

import unicodedata
from typing import NoReturn

from rich.console import Console, RenderableType

_PIPED_WIDTH = 200


class _Output(Console):
    """A console on which a closed pipe raises BrokenPipeError, as with print()."""

    def on_broken_pipe(self) -> NoReturn:
        """Raise it: rich would end the program with the exit code 1, that of findings."""
        raise BrokenPipeError


def console() -> Console:
    """Return a console for standard output; when that is no terminal, wide enough for any table."""
    terminal = _Output()
    return terminal if terminal.is_terminal else _Output(width=_PIPED_WIDTH)


def print_table(table: RenderableType) -> None:
    """Print a table on standard output with whole numbers, however narrow the terminal is.

    On the terminal's own width, rich would cut what does not fit into a column, even digits. The
    terminal wraps longer lines instead.
    """
    out = console()
    # rich heeds a width without a height only where it knows the terminal (not TERM=dumb).
    _Output(width=max(out.width, _PIPED_WIDTH), height=out.height).print(table)


def printable(text: str, most: int = 300) -> str:
    """Return a text as one line that is safe to print.

    White space becomes single blanks, characters that would control a terminal become `?`, and a
    text of more than `most` characters is cut and ends with an ellipsis.
    """
    line = "".join(
        letter if letter.isprintable() else "?" for letter in " ".join(text[: 4 * most].split())
    )
    return line if len(line) <= most else line[: most - 1] + "…"


def as_printed(text: str) -> str:
    """Return what a reader sees of a text: the same for texts that differ in invisible ways alone.

    Those are white space at the ends, how much there is of it between words, characters without
    width, and letters that are composed of several characters.
    """
    visible = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFC", " ".join(visible.split()))
