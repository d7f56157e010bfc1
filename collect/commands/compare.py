"""`collect compare`: what got faster or slower between runs."""

import argparse
from pathlib import Path

from collect.commands.arguments import Commands, add_signers, command
from collect.commands.exits import FINDINGS, GOOD
from collect.commands.runs import analyse_all, open_given, print_refused
from collect.errors import InputError
from collect.files import write_text


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "compare",
        run,
        "show what got faster or slower between runs",
        """\
Compare runs of the same factors: the ratio of each cell with its interval, and other
differences (run.json, plans, JVMs).

Without --against, the command compares each run with the first one. With it, the runs
before --against form one side and those after it the other; all runs of a side must be
repetitions. --noise names repeated runs of the same systems (A/A runs); only their
spread is used.

Two nights differ even when the systems do not, so each run is one sample. The
command calls a cell faster or slower only if it knows the variance between runs: a
side has two runs, or --noise is given. Verdicts hold at 5 % over all cells (Holm).
Two single runs give ratios with the intervals of these runs, and no verdict. Five
runs a side detect far smaller differences than two.

Exit code 1: a cell exceeds its budget beyond doubt, a cell with a budget fails now,
or a trial is refused. Exit code 2: the runs cannot be compared. A difference without
a budget gives exit code 0. For two single runs, the command checks the budget against
the variance of their trials, which does not include that between nights. Choose a
budget above the difference between nights, or name repeated runs with --noise.

A budget is the largest ratio of a cell's time to that of the other side: one ratio
for all cells, or a YAML file. The last entry that matches a cell wins:

  budget: 1.10
  where:
    - cells: {transport: soap, servers: [3, 5]}
      budget: 1.5

examples:
  collect compare new1 new2 new3 --against old1 old2 old3
  collect compare monday tuesday --noise same1 same2 same3 same4
  collect compare today --against night1 night2 night3 night4 --budget 1.10 --json
  collect compare jdk17 jdk21 jdk25 -o results/jdks.html      # no verdicts""",
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="runs: directories, names, archives")
    add_signers(parser)
    parser.add_argument(
        "--against", metavar="RUN", nargs="+", default=[], help="the runs to compare with"
    )
    parser.add_argument(
        "--noise", metavar="RUN", nargs="+", default=[], help="repeated runs of the same systems"
    )
    parser.add_argument(
        "--budget",
        metavar="RATIO|FILE",
        help="the largest ratio allowed, or a YAML file of ratios",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE.html", help="write one page as well"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    # Slow to import, and no other command needs them.
    from collect.report.compare.budget import Budget, read_budget  # noqa: PLC0415
    from collect.report.compare.show import as_html, as_json, compare, labels, print_text  # noqa: PLC0415

    budget = read_budget(options.budget) if options.budget else Budget()
    first, others = options.against, options.runs
    if not first:
        first, others = others[:1], others[1:]
    if not others:
        raise InputError(
            f"nothing is compared with {first[0]}; name two runs, or others after --against"
        )
    with open_given([*first, *others, *options.noise], options) as sources:
        sides = [
            [s for s in sources if s.given in names] for names in (first, others, options.noise)
        ]
        runs = [source.run for source in sources]
        analyses = analyse_all(runs)
        named = list(zip(labels(runs), analyses, strict=True))
        ends = len(sides[0]), len(sides[0]) + len(sides[1])
        outcome = compare(
            dict(named[: ends[0]]),
            dict(named[ends[0] : ends[1]]),
            dict(named[ends[1] :]),
            budget,
            together=bool(options.against),
        )
    refused = print_refused(analyses)
    if options.output is not None:
        write_text(options.output, as_html(outcome))
    if options.json:
        print(as_json(outcome))
    else:
        print_text(outcome)
    return FINDINGS if refused or outcome.compared.over else GOOD
