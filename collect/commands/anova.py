"""`collect anova`: analysis of variance of any CSV."""

import argparse
from pathlib import Path

from collect.commands.arguments import Commands, command
from collect.commands.exits import GOOD
from collect.errors import InputError
from collect.printable import console


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
squares that a source explains. With --block, what the observations of a block
have in common is taken out of the error that factors are tested against. With
--whole-plot, a factor is tested against the differences between whole plots: use it
where all observations of a block that share its level were set up together, as nodes
are. Each stratum is named with its error, fewer than 3 blocks give no verdict on
such a factor, and the differences between levels follow, with their intervals.
Sums of squares are of type II: where cells have unequal numbers of observations, the
shares need not add up to 100 %. Blanks around names and levels are ignored. A row
of the table that would have the name of a column is called, say, Within (no column).

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
        help="a column of levels; may be given twice",
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
        help="a factor that a block has in whole plots, such as a setting of the nodes",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    columns = [options.response, *options.factor, *([options.block] if options.block else [])]
    if len(options.factor) > 2 or len(set(columns)) < len(columns):
        raise InputError(
            "there are more than two factors, or a column is named twice; "
            "name one or two factors, and each column once"
        )
    from collect.stats.anova import anova, as_json, as_table, read_observations  # noqa: PLC0415 - slow

    read = read_observations(options.file, options.response, options.factor, options.block)
    if not options.whole_plot:
        _check_plots(options)
        table = anova(read)
    else:
        from collect.stats import split_plot  # noqa: PLC0415 - slow

        table = split_plot.split_plot(read, options.whole_plot)
    if options.json:
        print(as_json(table))
        return GOOD
    console().print(as_table(table))
    if options.whole_plot:
        for line in split_plot.strata(read, options.whole_plot, table):
            console().print(line, highlight=False, markup=False)
        found = split_plot.level_differences(read, options.whole_plot, table)
        if found:
            console().print(split_plot.as_table(found))
    return GOOD


def _check_plots(options: argparse.Namespace) -> None:
    """Refuse to test a factor of an exported run as if it did not lie in whole plots."""
    from collect.cells.plots import COLUMN  # noqa: PLC0415 - slow
    from collect.stats.anova import has_column, read_observations  # noqa: PLC0415 - slow
    from collect.stats.split_plot import decided  # noqa: PLC0415 - slow

    if COLUMN in options.factor or not has_column(options.file, COLUMN):
        return
    read = read_observations(options.file, options.response, [*options.factor, COLUMN])
    *levels, settings = read.levels
    for factor, own in zip(options.factor, levels, strict=True):
        if decided(own, settings):
            raise InputError(
                f"{options.file}: {factor} is decided by the whole plots (column {COLUMN}), whose "
                f"error no single trial has; add --block block --whole-plot {factor}"
            )
