"""`collect status`: how far a run is."""

import argparse

from collect.commands.arguments import Commands, add_run, command, positive
from collect.commands.exits import GOOD
from collect.commands.runs import newest_run, open_given
from collect.sweep.status_lines import show_status


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "status",
        run,
        "show the progress of a run",
        """\
Show the progress of a run: trials done, failed and remaining, the running trial, and
the trials that wait for a node. Show also the remaining time, estimated from the sealed
trials, and the free disk space here and on the client.

examples:
  collect status                 # the run with the newest trials
  collect status night --watch
  collect status night --json""",
    )
    add_run(parser, is_optional=True)
    parser.add_argument("--watch", action="store_true", help="refresh until the run ends")
    parser.add_argument("--json", action="store_true", help="print one JSON object each time")
    parser.add_argument(
        "--every",
        type=positive,
        default=2,
        metavar="SECONDS",
        help="time between refreshes (default: 2)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    every_s = options.every if options.watch else None
    with open_given([options.run_name or newest_run()], options) as sources:
        for source in sources:
            ends = None if source.archive else every_s
            show_status(str(source.run.directory), ends, as_json=options.json)
    return GOOD
