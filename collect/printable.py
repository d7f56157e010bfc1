"""Text of other machines, made fit for a terminal."""


def printable(text: str, most: int = 300) -> str:
    """One line of it: white space as single blanks, `?` for what would steer a terminal.

    What is longer than `most` characters is cut, and ends with an ellipsis then.
    """
    line = "".join(
        letter if letter.isprintable() else "?" for letter in " ".join(text[: 4 * most].split())
    )
    return line if len(line) <= most else line[: most - 1] + "…"
