"""What is printed on a terminal: a console for tables, and text that other machines sent."""

import unicodedata

from rich.console import Console

_PIPED_WIDTH = 200


def console() -> Console:
    """Return a console for standard output; when that is no terminal, wide enough for any table."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=_PIPED_WIDTH)


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
