"""How a command is registered, and the arguments that several of them take."""

import argparse
import textwrap
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from collect.commands.exits import EXIT_CODES
from collect.errors import InputError
from collect.files import expanded

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Action: TypeAlias = Callable[[argparse.Namespace], int]

ONE_RUN = (
    "a run's directory, its name in results/, an archive (ARCHIVE.zip, ARCHIVE.zip/RUN), or "
    "a sample run of rackbench (sample-sort)"
)


class HelpText(argparse.RawDescriptionHelpFormatter):
    """Keeps examples as they are, and wraps prose where the terminal is narrower than its lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        filled: list[str] = []
        for is_kept, lines in groupby(text.splitlines(), _is_kept):
            block = list(lines)
            if is_kept or all(len(line) <= width for line in block):
                filled += block
            else:
                filled += textwrap.wrap(" ".join(block), width, break_on_hyphens=False)
        return "".join(f"{indent}{line}\n" for line in filled)


def _is_kept(line: str) -> bool:
    """Return whether a line is an example, or empty."""
    return not line or line[0].isspace()


def command(
    commands: Commands, name: str, run: Action, summary: str, text: str
) -> argparse.ArgumentParser:
    """Register `run` as the command `name`; `text` is what follows its usage."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=text.partition("\n\n")[0],
        epilog=f"{text.partition(chr(10) * 2)[2]}\n\n{EXIT_CODES}",
        formatter_class=HelpText,
    )
    parser.set_defaults(run=run)
    return parser


def add_run(parser: argparse.ArgumentParser, *, is_optional: bool = False) -> None:
    """Add the run that a command is about, which may be in an archive."""
    parser.add_argument("run_name", metavar="RUN", help=ONE_RUN, nargs="?" if is_optional else None)
    add_signers(parser)


def add_fit(parser: argparse.ArgumentParser) -> None:
    """Add `--fit`, which every command has that plans for a lab."""
    parser.add_argument(
        "--fit",
        action="store_true",
        help="skip levels that need more workers than the inventory has",
    )


def from_here(setting: str) -> str:
    """Return a variable as `-e` takes it; a file of variables is named from this directory.

    Playbooks run in the checkout. Raises InputError where there is no such file.
    """
    if not setting.startswith("@"):
        return setting
    path = expanded(setting[1:])
    if not path.is_file():
        raise InputError(f"-e {setting}: there is no such file; correct its path")
    return f"@{path.absolute()}"


def add_signers(parser: argparse.ArgumentParser) -> None:
    """Add `--signers`, which every command has that opens archives."""
    parser.add_argument(
        "--signers",
        type=Path,
        metavar="FILE",
        help="accept an archive only if someone in this file signed it (allowed signers, in the "
        "format of ssh-keygen)",
    )


def positive(text: str) -> int:
    """Return a whole number of at least 1."""
    return _at_least(text, 1)


def natural(text: str) -> int:
    """Return a whole number of at least 0."""
    return _at_least(text, 0)


def share(text: str) -> float:
    """Return a number between 0 and 1."""
    return _between(text, 0, 1, "a share between 0 and 1, such as 0.05 for 5 %")


def hours(text: str) -> float:
    """Return a number of hours."""
    return _between(text, 0, 10_000, "a number of hours above 0")


def _between(text: str, low: float, high: float, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = low
    if not low < value < high:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return value


def _at_least(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return value
