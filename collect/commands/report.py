"""`collect report`: one page over runs."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from collect.commands.arguments import ONE_RUN, Commands, add_signers, command
from collect.commands.exits import FINDINGS, GOOD
from collect.commands.runs import analyse_all, open_given, print_refused
from collect.errors import InputError
from collect.exchange.archive.sources import beside
from collect.run.directory import Run


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "report",
        run,
        "write one report over one or more runs",
        """\
Write one self-contained HTML file over one or more runs of any studies, and
cells.csv and charts (SVG, PDF) into each run's directory. The command does not read
again logs that an earlier report has read. Refused trials are findings. With --audience
student, each exhibit also states its question, hints where to look, and asks
questions. Their answers go into a separate file for the teacher, REPORT-answers.md.

examples:
  collect report demo-sort
  collect report demo-sort --audience student
  collect report demo-sort demo-mtom -o results/demo.html""",
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help=ONE_RUN)
    add_signers(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="the HTML file (default: report.html in the run, or next to the runs if several; "
        "ARCHIVE.html next to an archive; in results/ for a sample run)",
    )
    parser.add_argument(
        "--each", action="store_true", help="write report.html in each run's directory as well"
    )
    parser.add_argument(
        "--audience",
        choices=("researcher", "student"),
        default="researcher",
        help="readers of the report (default: researcher)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from collect.report.page import write_report  # noqa: PLC0415 - slow to import

    with open_given(options.runs, options) as sources:
        archived = [source.archive for source in sources if source.archive]
        if archived and options.each:
            raise InputError(f"{archived[0].path}: an archive never changes; omit --each")
        runs = [source.run for source in sources]
        output = options.output or (
            beside(archived[0].path, ".html") if archived else _default_report(runs)
        )
        analyses = analyse_all(runs)
        is_lesson = options.audience == "student"
        if options.each:
            for run, analysis in zip(runs, analyses, strict=True):
                write_report([analysis], _default_report([run]), is_lesson=is_lesson)
        answers = write_report(analyses, output, is_lesson=is_lesson)
        refused = print_refused(analyses)
    if answers is not None:
        print(answers)
    # A terminal opens a link; a script wants the path.
    print(output.absolute().as_uri() if "link" in options else output)
    return FINDINGS if refused else GOOD


def _default_report(runs: Sequence[Run]) -> Path:
    first = runs[0].directory
    return (first if len(runs) == 1 else first.parent) / "report.html"
