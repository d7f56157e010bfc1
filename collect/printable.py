"""What is printed on a terminal: a console for tables, and text that other machines sent."""

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
