"""`collect import`: a run of what another tool measured."""

import argparse
import sys
from pathlib import Path

from collect.commands.arguments import Commands, command
from collect.commands.exits import GOOD
from collect.errors import InputError
from collect.run.cell import Level


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "import",
        run,
        "make a run from another tool's log",
        """\
Make a run from the log of another tool, so that report, compare, check and export
can read it. jtl is JMeter's CSV log: each file is a block (a replicate), and each
label in it is a trial. A label such as `transport=soap servers=3` names the levels of
its cell, as `collect export --format jtl` writes it; such a file keeps its blocks.
Any other label is a level of the factor `label`. If there is only one label, --factor
can name the cell instead. --plain-labels keeps every label as it is. A trial fails if
fewer than 90 % of its calls are ok. Each row must be one sample. Any character that is
not a letter may separate columns. Join the logs of the engines of one distributed test
under one header; Hostname and the prefix of the thread name distinguish the engines.
The command reads timeStamp as the start of a call, as JMeter writes it by default. If
it cannot use a log, the message names the file and the line, and it makes no run.

examples:
  collect import jtl monday.jtl tuesday.jtl --run jmeter
  collect import jtl soap-*.jtl --run jmeter-soap --study sort --factor transport=soap
  collect import jtl all.jtl --run orders --label 'POST /orders'""",
    )
    parser.add_argument("format", choices=("jtl",), help="format of the files")
    parser.add_argument("files", metavar="FILE.jtl", nargs="+", type=Path, help="logs of JMeter")
    parser.add_argument("--run", dest="run_name", required=True, help="name of the new run")
    parser.add_argument("--study", default="jmeter", help="name of its study (default: jmeter)")
    parser.add_argument(
        "--factor",
        metavar="NAME=LEVEL",
        type=_factor,
        action="append",
        default=[],
        help="a level of every cell; may be repeated",
    )
    parser.add_argument("--label", help="only the samples of this label")
    parser.add_argument(
        "--plain-labels",
        action="store_true",
        help="keep labels as they are, even those that name levels (transport=soap)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from collect.exchange.imported import import_jtl  # noqa: PLC0415
    from collect.exchange.jtl import read_jtl  # noqa: PLC0415 - no other command needs them

    names = [name for name, _ in options.factor]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--factor {name} is given twice; give one level")
    made = import_jtl(
        [read_jtl(path) for path in options.files],
        options.run_name,
        study=options.study,
        factors=dict(options.factor),
        label=options.label,
        is_plain=options.plain_labels,
    )
    print(
        f"{made.directory}: {made.trials} trials, {made.calls} calls, {made.cells} cells of "
        f"{', '.join(made.factors)}"
    )
    for note in made.notes:
        print(note, file=sys.stderr)
    return GOOD


def _factor(text: str) -> tuple[str, Level]:
    from collect.exchange.labels import parse_level  # noqa: PLC0415 - no other command needs it

    name, equals, level = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} does not have the form NAME=LEVEL")
    return name, parse_level(level)
