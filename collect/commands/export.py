"""`collect export`: a run for other tools."""

import argparse
import sys
from pathlib import Path

from collect.commands.arguments import Commands, add_run, command
from collect.commands.exits import FINDINGS, GOOD
from collect.commands.runs import analyse_all, open_given, print_refused
from collect.exchange.archive.sources import beside, only
from collect.exchange.formats import FORMATS


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "export",
        run,
        "write a run for other tools",
        f"""\
Write a run for other tools, from its sealed and verified trials only. The command
skips a refused trial and reports it as a finding. It writes the file completely or
not at all, and replaces an existing file only with --force.

formats:
{_formats()}

examples:
  collect export monday --format parquet
  collect export monday --format latex -o thesis/monday.tex --force
  collect export monday --format trials -o trials.csv""",
    )
    add_run(parser)
    parser.add_argument(
        "--format", required=True, choices=FORMATS, help="format, as described below"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="the file (default: named after the run, in its directory)",
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def _formats() -> str:
    return "\n".join(f"  {name:<11} {form.summary}" for name, form in FORMATS.items())


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from collect.exchange.export import (  # noqa: PLC0415 - slow to import
        destination,
        export,
        print_export,
    )

    with open_given([options.run_name], options) as sources:
        source = only(sources)
        output: Path | None = options.output
        if output is None and source.archive:
            suffix = FORMATS[options.format].suffix
            output = beside(source.archive.path.with_stem(source.run.name), suffix)
        if output != Path("-"):  # refused before the long work
            output = destination(source.run, options.format, output, replace=options.force)
        (analysis,) = analyse_all([source.run])
        if output == Path("-"):
            print_export(analysis, options.format, sys.stdout)
        else:
            export(analysis, options.format, output)
            print(output)
        refused = print_refused([analysis])
    return FINDINGS if refused else GOOD
