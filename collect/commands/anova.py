"""`collect anova`: analysis of variance of any CSV."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from collect.commands.arguments import Commands, command
from collect.commands.exits import GOOD
from collect.errors import InputError
from collect.printable import console, print_table

if TYPE_CHECKING:
    from collect.stats.anova import Observations


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "anova",
        run,
        "analysis of variance of a tidy CSV",
        """\
Analysis of variance of any CSV with one observation per line: one factor, or two
with replication and their interaction. Share is the part of the total sum of
squares that a source explains. With --block, the differences between blocks are
removed from the error term. With --whole-plot, a factor is tested against the
variance between whole plots. Use it for a factor that was set once for all
observations of its level in a block, such as a setting of the nodes. The output then
names the error term of each stratum and lists the differences between levels with
their intervals. Such a factor needs at least 3 blocks for a verdict. The column
whole_plot, which exported trials have, names the plots. Differences between plots that
the given factors do not explain then have a row of their own. Sums of squares are of
type II: where cells have unequal numbers of observations, the shares need not add up
to 100 %. Blanks around names and levels are ignored. If a column has the name of
another row of the table, that row gets the suffix (no column). --json prints a list of
the rows; with --whole-plot, each has its error term, and the differences between levels.

examples:
  collect anova times.csv --response time_ms --factor protocol
  collect anova times.csv --response time_ms --factor bytes --factor protocol --json
  collect anova times.csv --response time_ms --factor protocol --block block
  collect anova times.csv --response time_ms --factor link_mbit --factor protocol \\
      --block block --whole-plot link_mbit""",
    )
    parser.add_argument("file", metavar="FILE.csv", type=Path, help="a CSV file with a header line")
    name = str.strip  # as in the header, where blanks around names are ignored
    parser.add_argument(
        "--response", required=True, type=name, metavar="COL", help="the column of numbers"
    )
    parser.add_argument(
        "--factor",
        required=True,
        type=name,
        action="append",
        metavar="COL",
        help="a column of levels; may be repeated once",
    )
    parser.add_argument(
        "--block", type=name, metavar="COL", help="the column with the block of each line"
    )
    parser.add_argument(
        "--whole-plot",
        type=name,
        metavar="COL",
        action="append",
        default=[],
        help="a factor that is constant within a whole plot, such as a setting of the nodes",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    columns = [options.response, *options.factor, *([options.block] if options.block else [])]
    if len(options.factor) > 2 or len(set(columns)) < len(columns):
        raise InputError(
            "more than two factors are given, or a column is named twice; "
            "name one or two factors, and each column once"
        )
    from collect.cells.plots import COLUMN  # noqa: PLC0415 - slow
    from collect.stats.anova import anova, as_rows, as_table, read_observations  # noqa: PLC0415 - slow

    read = read_observations(options.file, options.response, options.factor, options.block, COLUMN)
    if read.plots:
        _check_plots(options, read)
    if not options.whole_plot:
        table = anova(read)
    else:
        from collect.stats import split_plot  # noqa: PLC0415 - slow

        table = split_plot.split_plot(read, options.whole_plot)
        if options.json and (why := split_plot.too_few(read)):
            print(f"collect: {why}", file=sys.stderr)
    if options.json:
        whole = options.whole_plot
        rows = split_plot.as_rows_and_differences(read, whole, table) if whole else as_rows(table)
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return GOOD
    print_table(as_table(table))
    if options.whole_plot:
        for line in split_plot.strata(read, options.whole_plot, table):
            console().print(line, highlight=False, markup=False)
        found = split_plot.level_differences(read, options.whole_plot, table)
        if found:
            print_table(split_plot.as_table(found))
    return GOOD


def _check_plots(options: argparse.Namespace, read: "Observations") -> None:
    """Refuse to test a factor of an exported run as if it did not lie in whole plots."""
    from collect.cells.plots import COLUMN  # noqa: PLC0415 - slow
    from collect.stats.split_plot import decided, parted  # noqa: PLC0415 - slow

    settings = read.plots
    undecided = {}
    for factor, own in zip(read.factors, read.levels, strict=True):
        if parted(own, settings):
            raise InputError(
                f"{options.file}: some levels of {factor} share a whole plot (column {COLUMN}) and "
                "others do not, so no single error term fits; analyse the levels of one setting "
                "alone, or one level of each setting"
            )
        if factor not in options.whole_plot and decided(own, settings):
            raise InputError(
                f"{options.file}: {factor} differs only between whole plots (column {COLUMN}), so "
                "the variance between trials is the wrong error term; add --block block "
                f"--whole-plot {factor}"
            )
        if not decided(own, settings):
            undecided[factor] = own
    combined = [str(levels) for levels in zip(*undecided.values(), strict=True)]
    if len(undecided) > 1 and parted(combined, settings):
        raise InputError(
            f"{options.file}: some combinations of {' and '.join(undecided)} share a whole plot "
            f"(column {COLUMN}) and others do not, so no single error term fits; analyse the "
            "combinations of one setting alone"
        )
