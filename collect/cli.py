"""The `collect` command."""

import argparse
from collections.abc import Sequence

from collect.commands.exits import EXIT_CODES
from collect.commands.guard import guarded
from collect.commands.order import COMMANDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code."""
    return guarded("collect", make_parser().parse_args(arguments))


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands, in the order of the help."""
    parser = argparse.ArgumentParser(
        prog="collect", description="Plan sweeps and analyse their results.", epilog=EXIT_CODES
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return parser
