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
        "make the interim analysis that is due",
        """\
Make the interim analysis of a run whose study has a rule `stop`, once all trials up to
it are sealed. The command decides whether the run stops, records the decision in
looks.json and prints all decisions. The sweep does this by itself. The study declares
the analyses (looks); there are no others.

example:
  collect look night""",
    )
    parser.add_argument(
        "run_name", metavar="RUN", help="a run's directory, or its name in results/"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from collect.planning.interim import due_analyses  # noqa: PLC0415 - slow to import

    run = open_run(options.run_name)
    if run.stop is None:
        raise InputError(f"{run.name}: its study has no rule `stop`, so it has no interim analysis")
    for one in due_analyses(run.directory):
        width = "no interval" if one.widest is None else run.stop.show(one.widest)
        what = "the run stops" if one.stops else "not narrow enough, the run continues"
        print(f"after {one.blocks} blocks: widest interval {width} ({one.cell}): {what}")
    print(f"{run.name}: {run.stop}")
    return GOOD
