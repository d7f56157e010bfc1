"""`collect look`: whether a run may stop now."""

import argparse

from collect.commands.arguments import Commands, command
from collect.commands.exits import GOOD
from collect.errors import InputError
from collect.run.directory import open_run


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "look",
        run,
        "look whether a run may stop now",
        """\
Snapshot at a run whose study has a rule `stop`, where all trials up to a declared look
are sealed: take the decision, record it in looks.json, and print all decisions. The
sweep does so by itself. Nothing is looked at between the declared looks.

example:
  collect look night""",
    )
    parser.add_argument(
        "run_name", metavar="RUN", help="a run's directory, or its name in results/"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from collect.planning.interim import due_looks  # noqa: PLC0415 - slow to import

    run = open_run(options.run_name)
    if run.stop is None:
        raise InputError(
            f"{run.name}: its study has no rule `stop`, so there is nothing to look at"
        )
    for one in due_looks(run.directory):
        width = "no interval" if one.widest is None else f"±{100 * one.widest:.1f} %"
        what = "the run stops" if one.stops else "not narrow enough"
        print(f"after {one.blocks} blocks: widest interval {width} ({one.cell}): {what}")
    print(f"{run.name}: {run.stop}")
    return GOOD
