"""`collect power`: a night planned from a pilot run."""

import argparse

from collect.commands.arguments import Commands, add_run, command, hours, share
from collect.commands.exits import FINDINGS, GOOD
from collect.commands.runs import analyse_all, open_given, print_refused
from collect.exchange.archive.sources import only


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "power",
        run,
        "plan a night from a pilot run",
        """\
Plan a night from a pilot run. The command prints the variance between blocks, forks
and calls, and the cost of each in seconds. It then prints how many blocks reach the
half width in every cell, and how long they take. It does this for the present number
of calls and for the best one. For --hours it prints the best plan and its smallest
detectable difference. These estimates hold in 80 % of nights. A pilot needs at least
2 blocks; 5 are better. For a run with several node settings, the command also prints the
variance between whole plots and the cost of changing settings. It adds the number of
blocks that each such factor needs.

examples:
  collect power pilot
  collect power pilot --half-width 0.02 --hours 12
  collect power pilot --contrast transport --profile paper --json
  collect power load --refine""",
    )
    add_run(parser)
    parser.add_argument(
        "--half-width",
        type=share,
        default=0.05,
        metavar="SHARE",
        help="wanted half width of the 95 %% intervals, as a share of the mean (default: 0.05)",
    )
    parser.add_argument("--hours", type=hours, default=8.0, help="length of the night (default: 8)")
    parser.add_argument(
        "--contrast",
        metavar="FACTOR",
        help="plan for the ratios of two levels of this factor within blocks, not for the cells",
    )
    parser.add_argument(
        "--profile", help="plan this profile of the study (default: the pilot's own)"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print JSON instead of tables")
    output.add_argument(
        "--refine",
        action="store_true",
        help="write a profile with finer rates around the capacity into the study file, instead "
        "of planning (only for a study with `capacity`)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from collect.planning.night import Wish, plan_night  # noqa: PLC0415 - slow to import
    from collect.planning.outlook import as_json, print_text  # noqa: PLC0415
    from collect.planning.pilot import read_pilot  # noqa: PLC0415 - slow to import

    with open_given([options.run_name], options) as sources:
        run = only(sources).run
        (analysis,) = analyse_all([run])
        if options.refine:
            from collect.planning.refine import refine  # noqa: PLC0415 - slow to import

            print(refine(analysis))
            return FINDINGS if print_refused([analysis]) else GOOD
        wish = Wish(options.half_width, options.hours, options.contrast)
        outlook = plan_night(run, read_pilot(analysis), wish, options.profile)
    refused = print_refused([analysis])
    if options.json:
        print(as_json(outlook))
    else:
        print_text(outlook)
    return FINDINGS if refused else GOOD
