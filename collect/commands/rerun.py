"""`collect rerun`: an archived run, measured again on this lab."""

import argparse
import sys

from collect.commands import compare
from collect.commands.arguments import Commands, add_fit, add_signers, command, from_here
from collect.commands.confirm import is_confirmed
from collect.commands.exits import GOOD
from collect.commands.runs import open_given
from collect.errors import InputError
from collect.exchange.archive.sources import only
from collect.printable import console


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "rerun",
        run,
        "measure an archived run again on this lab",
        """\
Measure an archived run again on this lab, with the same study file, profile and seed.
The command takes a snapshot of the nodes, shows their differences from the archived
lab and asks before it sweeps. It sweeps with playbooks/sweep.yml and then compares
both runs. If it is interrupted, run the same command again to continue. It refuses a
lab that has fewer workers than a level needs; --fit skips such levels.

examples:
  collect rerun monday.zip --dry-run
  collect rerun monday.zip --inventory inventory/mylab --run monday-here
  collect rerun both.zip/monday-sort --fit --yes""",
    )
    parser.add_argument(
        "archive", metavar="ARCHIVE", help="an archive of one run, or ARCHIVE.zip/RUN"
    )
    add_signers(parser)
    parser.add_argument(
        "-i",
        "--inventory",
        help="inventory of this lab (default: that of ansible.cfg, or of the project directory "
        "with rackbench)",
    )
    parser.add_argument(
        "--run",
        dest="run_name",
        help="name of the new run (default: that of the archived run, with -again)",
    )
    add_fit(parser)
    parser.add_argument(
        "-e",
        dest="extra",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a variable for the playbooks, or @FILE from this directory; may be repeated",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the differences only")
    parser.add_argument("--yes", action="store_true", help="sweep without asking")
    parser.set_defaults(play=None)


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from collect.exchange.archive import rerun  # noqa: PLC0415 - no other command needs it

    is_asked = not (options.yes or options.dry_run)
    if is_asked and not sys.stdin.isatty():
        raise InputError(
            "standard input is not a terminal, so nobody can confirm; add --yes to sweep, or "
            "--dry-run for the differences only"
        )
    lab = rerun.Lab(options.inventory, tuple(map(from_here, options.extra)), options.play)
    with open_given([options.archive], options) as sources:
        source = only(sources)
        again = rerun.plan_again(
            source.run, options.run_name, lab.workers(), fit=options.fit, studies=lab.studies()
        )
        changes = [*again.changes, *rerun.find_changes(source.run, lab.describe())]
    if changes:
        console().print(rerun.as_table(changes))
    else:
        print("no recorded item differs from the archived lab")
    print(f"{len(again.plan)} trials as {again.run}: {rerun.shown(again.command(lab))}", flush=True)
    if options.dry_run:
        return GOOD
    if is_asked and not is_confirmed("Sweep now?"):
        return GOOD
    directory = again.sweep(lab)
    both = {"runs": [source.given, str(directory)], "against": [], "noise": [], "budget": None}
    shown = {"signers": options.signers, "json": False, "output": None}
    return compare.run(argparse.Namespace(**both, **shown))
