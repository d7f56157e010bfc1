"""The `collect` command."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias

from collect.errors import InputError
from collect.exchange.archive.sources import Source, beside, only, open_sources
from collect.exchange.formats import FORMATS
from collect.files import write_text
from collect.printable import console
from collect.progress import progress
from collect.run.cell import Level
from collect.run.directory import Run, open_run
from collect.run.plan import (
    PlannedTrial,
    is_planned,
    make_plan,
    plan_bytes,
    workers_to_fit,
    write_plan,
)
from collect.run.study import find_study, load_study
from collect.run.verify import KINDS, Finding
from collect.sweep.status import show_status

if TYPE_CHECKING:
    from collect.cells.analysis import Analysis

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Action: TypeAlias = Callable[[argparse.Namespace], int]

GOOD, FINDINGS, BAD_INPUT = 0, 1, 2
EXIT_CODES = "exit codes: 0 good, 1 findings, 2 bad usage or input"
_LISTED = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code; bad input is one message, not a traceback."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except InputError as error:
        print(f"collect: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GOOD
    except OSError as error:
        print(f"collect: {error.filename or 'a file'}: {error.strerror or error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        duckdb = sys.modules.get("duckdb")
        if duckdb is None or not isinstance(error, duckdb.Error):
            raise
        # For example a full disk, for which DuckDB does not raise an OSError.
        reason = str(error).partition("\n")[0]
        print(
            f"collect: the calls cannot be read or exported ({reason}); correct that and run the "
            "same command again",
            file=sys.stderr,
        )
        return BAD_INPUT
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="collect", description="Plan sweeps and analyse their results.", epilog=EXIT_CODES
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_plan(commands)
    _add_check(commands)
    _add_status(commands)
    _add_report(commands)
    _add_anova(commands)
    _add_power(commands)
    _add_look(commands)
    _add_compare(commands)
    _add_export(commands)
    _add_import(commands)
    _add_archive(commands)
    _add_rerun(commands)
    return parser


def _command(commands: Commands, run: Action, summary: str, text: str) -> argparse.ArgumentParser:
    """Register the function `_NAME` as the subcommand NAME; `text` is what follows its usage."""
    parser = commands.add_parser(
        run.__name__.strip("_"),
        help=summary,
        description=text.partition("\n\n")[0],
        epilog=f"{text.partition(chr(10) * 2)[2]}\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


_ONE_RUN = (
    "a run's directory, its name in results/, an archive (ARCHIVE.zip, ARCHIVE.zip/RUN), or "
    "a sample run of the kit (sample-sort)"
)


def _signers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--signers",
        type=Path,
        metavar="FILE",
        help="accept archives only if one of these signed them: a file of allowed signers, as "
        "ssh-keygen reads it",
    )


@contextmanager
def _sources(names: Sequence[str], options: argparse.Namespace) -> Iterator[list[Source]]:
    """Open runs and archives, and say on standard error what was proven of the archives."""
    with open_sources(names, options.signers) as sources:
        for archive in dict.fromkeys(str(one.archive) for one in sources if one.archive):
            print(archive, file=sys.stderr)
        yield sources


def _add_plan(commands: Commands) -> None:
    parser = _command(
        commands,
        _plan,
        "expand a study into its trials",
        """\
Expand a study into its trials, in randomised complete blocks. The same study,
profile, seed and number of workers give the same bytes; a plan never changes.
With --fit, levels that need more workers than --workers are left out and the
report names them; a run that began so keeps its plan when workers are added.
Several studies, each with its own -o, are planned together or not at all.

examples:
  collect plan sort --profile demo --workers 5
  collect plan sort --profile paper --workers 2 --fit
  collect plan my.yml --profile paper --workers 5 --seed 7 -o results/night/plan.jsonl""",
    )
    parser.add_argument(
        "studies",
        metavar="STUDY",
        nargs="+",
        help="a study file, or a name in playbooks/studies",
    )
    parser.add_argument("--profile", required=True, help="one of the profiles of the study file")
    parser.add_argument(
        "--workers", required=True, type=_positive, help="number of workers in the inventory"
    )
    parser.add_argument(
        "--seed", type=_natural, help="seed of the run (default: that of the study file)"
    )
    parser.add_argument(
        "--fit", action="store_true", help="leave out the levels that need more workers"
    )
    parser.add_argument(
        "--rotate",
        action="store_true",
        help="give each worker's part to the next worker from block to block",
    )
    parser.add_argument(
        "--capture",
        action="store_true",
        help="add a trial of each cell whose packets are kept; it never counts",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        action="append",
        help="write plan.jsonl here, once for each study (default: standard output)",
    )


def _plan(options: argparse.Namespace) -> int:
    outputs: list[Path] = options.output or []
    if outputs and len(outputs) != len(options.studies):
        raise InputError(
            f"{len(options.studies)} studies but {len(outputs)} outputs; give each study one -o"
        )
    if not outputs and len(options.studies) > 1:
        raise InputError("several studies make several plans; give each study one -o")
    plans = [_planned(options, *pair) for pair in zip_longest(options.studies, outputs)]
    if not outputs:
        sys.stdout.write(plan_bytes(plans[0]).decode())
        return GOOD
    for output, trials in zip(outputs, plans, strict=True):
        is_planned(output, trials)  # of all of them, before the first is written
    for output, trials in zip(outputs, plans, strict=True):
        fresh = write_plan(output, trials)
        cells = len({trial.factors for trial in trials})
        profiled = sum(trial.profiled for trial in trials)
        captured = sum(trial.captured for trial in trials)
        blocks = max(trial.block for trial in trials if trial.counts)
        print(
            f"{output}: {len(trials)} trials ({cells} cells x {blocks} blocks"
            f"{f' and {profiled} with a profiler' if profiled else ''}"
            f"{f' and {captured} whose packets are kept' if captured else ''}), "
            f"{'written' if fresh else 'unchanged'}"
        )
    return GOOD


def _planned(options: argparse.Namespace, name: str, output: Path | None) -> list[PlannedTrial]:
    study = load_study(find_study(name))
    workers = workers_to_fit(output, options.workers, fit=options.fit)
    profile = study.profile(options.profile, workers, fit=options.fit)
    rotate = workers if options.rotate else 0
    return make_plan(profile, options.seed, rotate, capture=options.capture)


def _add_check(commands: Commands) -> None:
    parser = _command(
        commands,
        _check,
        "prove that a run is complete and unchanged",
        """\
Prove a run: its plan is the one it began with; every planned trial is sealed once,
with the right hash, row count and rows; no other trial is counted; the nodes were
the same from start to end; cells.csv follows from the trials. Each finding says
what is wrong, why, and what to do. No file is changed.

examples:
  collect check demo-sort
  collect check results/demo-sort
  collect check night --set-aside     # then the same sweep again""",
    )
    parser.add_argument("run_name", metavar="RUN", help=_ONE_RUN)
    _signers(parser)
    parser.add_argument(
        "--set-aside",
        action="store_true",
        help="move refused, stray and copied trials to RUN/refused; the next sweep repeats them",
    )


def _check(options: argparse.Namespace) -> int:
    with _sources([options.run_name], options) as sources:
        if options.set_aside and sources[0].archive:
            raise InputError(f"{options.run_name}: an archive never changes; leave --set-aside out")
        return max(_prove(source, is_set_aside=options.set_aside) for source in sources)


def _prove(source: Source, *, is_set_aside: bool) -> int:
    from collect.report.check import SET_ASIDE, prove, set_aside  # noqa: PLC0415 - slow to import

    run = source.run
    with progress() as show:
        proof = prove(run, show(f"{run.name}: trials verified"))
    _print_findings(proof.findings, sys.stdout)
    if is_set_aside:
        for name, target in set_aside(run, proof.findings).items():
            print(f"set aside: {name} is now {target}")
    elif source.archive is None and any(finding.kind in SET_ASIDE for finding in proof.findings):
        print(f"to set these trials aside: collect check {source.given} --set-aside")
    print(
        f"{run.name}: {proof.whole} of {len(run.all_trials)} trials sealed and verified; "
        f"{len(proof.findings) or 'no'} finding{'' if len(proof.findings) == 1 else 's'}"
    )
    return FINDINGS if proof.findings else GOOD


def _print_findings(findings: Sequence[Finding], stream: TextIO) -> None:
    for kind in KINDS:
        found = [finding for finding in findings if finding.kind == kind]
        for finding in found[:_LISTED]:
            print(f"{kind}: {finding.text}", file=stream)
        if len(found) > _LISTED:
            print(f"{kind}: … and {len(found) - _LISTED} more", file=stream)


def _add_report(commands: Commands) -> None:
    parser = _command(
        commands,
        _report,
        "write one report over one or more runs",
        """\
Write one self-contained HTML file over one or more runs of any studies, and
cells.csv and charts (SVG, PDF) into each run's directory. Logs that an earlier
report has read are not read again. Refused trials are findings. With --audience
student each exhibit also says what it asks and what to look for, with questions;
the answers go into a separate file for the teacher, REPORT-answers.md.

examples:
  collect report demo-sort
  collect report demo-sort --audience student
  collect report demo-sort demo-mtom -o results/demo.html""",
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help=_ONE_RUN)
    _signers(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="the HTML file (default: report.html in the run, or beside the runs if several)",
    )
    parser.add_argument(
        "--each", action="store_true", help="write report.html in each run's directory as well"
    )
    parser.add_argument(
        "--audience",
        choices=("researcher", "student"),
        default="researcher",
        help="who will read it (default: researcher)",
    )


def _report(options: argparse.Namespace) -> int:
    from collect.report.page import write_report  # noqa: PLC0415 - slow to import

    with _sources(options.runs, options) as sources:
        archived = [source.archive for source in sources if source.archive]
        if archived and options.each:
            raise InputError(f"{archived[0].path}: an archive never changes; leave --each out")
        runs = [source.run for source in sources]
        output = options.output or (
            beside(archived[0].path, ".html") if archived else _default_report(runs)
        )
        analyses = _analyse(runs)
        is_lesson = options.audience == "student"
        if options.each:
            for run, analysis in zip(runs, analyses, strict=True):
                write_report([analysis], _default_report([run]), is_lesson=is_lesson)
        unpacked = {source.run.name for source in sources if source.archive}
        answers = write_report(analyses, output, is_lesson=is_lesson, unlinked=unpacked)
        refused = _print_refused(analyses)
    if answers is not None:
        print(answers)
    print(output)
    return FINDINGS if refused else GOOD


def _analyse(runs: Sequence[Run]) -> list["Analysis"]:
    from collect.cells.analysis import analyse  # noqa: PLC0415 - slow to import

    with progress() as show:
        return [analyse(run, show(f"{run.name}: trials verified")) for run in runs]


def _print_refused(analyses: Sequence["Analysis"]) -> bool:
    """Print the findings that are not missing trials; return whether there is one."""
    findings = [f for a in analyses for f in a.findings if f.kind != "missing"]
    _print_findings(findings, sys.stderr)
    return bool(findings)


def _default_report(runs: Sequence[Run]) -> Path:
    first = runs[0].directory
    return (first if len(runs) == 1 else first.parent) / "report.html"


def _add_status(commands: Commands) -> None:
    parser = _command(
        commands,
        _status,
        "show how far a run is",
        """\
Show how far a run is: trials done, failed and remaining; what is running now; how
long the rest will take, estimated from the sealed trials; which trials wait for a
node; and the free disk space here and on the client.

examples:
  collect status night
  collect status night --watch
  collect status night --json""",
    )
    parser.add_argument("run_name", metavar="RUN", help=_ONE_RUN)
    _signers(parser)
    parser.add_argument("--watch", action="store_true", help="show it again until the run ends")
    parser.add_argument("--json", action="store_true", help="print one JSON object each time")
    parser.add_argument(
        "--every", type=_positive, default=2, metavar="SECONDS", help="how often (default: 2)"
    )


def _status(options: argparse.Namespace) -> int:
    every_s = options.every if options.watch else None
    with _sources([options.run_name], options) as sources:
        for source in sources:
            ends = None if source.archive else every_s
            show_status(str(source.run.directory), ends, as_json=options.json)
    return GOOD


def _add_anova(commands: Commands) -> None:
    parser = _command(
        commands,
        _anova,
        "analysis of variance of a tidy CSV",
        """\
Analysis of variance of any CSV with one observation per line: one factor, or two
with replication and their interaction. Share is the part of the total sum of
squares that a source explains. With --block, what the observations of a block
have in common is taken out of the error that factors are tested against. With
--whole-plot, a factor is tested against the differences between whole plots: use it
where all observations of a block that share its level were set up together, as nodes
are; the differences between levels follow, with their intervals. Sums of
squares are of type II: where cells have unequal numbers of observations, the
shares need not add up to 100 %.

examples:
  collect anova times.csv --response time_ms --factor protocol
  collect anova times.csv --response time_ms --factor bytes --factor protocol --json
  collect anova times.csv --response time_ms --factor protocol --block block
  collect anova times.csv --response time_ms --factor link_mbit --factor protocol \\
      --block block --whole-plot link_mbit""",
    )
    parser.add_argument("file", metavar="FILE.csv", type=Path, help="a CSV file with a header line")
    parser.add_argument("--response", required=True, metavar="COL", help="the column of numbers")
    parser.add_argument(
        "--factor",
        required=True,
        action="append",
        metavar="COL",
        help="a column of levels; may be given twice",
    )
    parser.add_argument("--block", metavar="COL", help="the column with the block of each line")
    parser.add_argument(
        "--whole-plot",
        metavar="COL",
        action="append",
        default=[],
        help="a factor that a block has in whole plots, such as a setting of the nodes",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _anova(options: argparse.Namespace) -> int:
    columns = [options.response, *options.factor, *([options.block] if options.block else [])]
    if len(options.factor) > 2 or len(set(columns)) < len(columns):
        raise InputError(
            "there are more than two factors, or a column is named twice; "
            "name one or two factors, and each column once"
        )
    from collect.stats.anova import anova, as_json, as_table, read_observations  # noqa: PLC0415 - slow

    read = read_observations(options.file, options.response, options.factor, options.block)
    if not options.whole_plot:
        table = anova(read)
    else:
        from collect.stats import split_plot  # noqa: PLC0415 - slow

        table = split_plot.split_plot(read, options.whole_plot)
    if options.json:
        print(as_json(table))
        return GOOD
    console().print(as_table(table))
    if options.whole_plot:
        found = split_plot.level_differences(read, options.whole_plot, table)
        console().print(split_plot.as_table(found))
    return GOOD


def _add_power(commands: Commands) -> None:
    parser = _command(
        commands,
        _power,
        "plan a night from a pilot run",
        """\
Plan a night from a pilot run: how much blocks, forks and calls vary and what each of
them costs in seconds; how many blocks give the half width in every cell, with the
calls as they stand and with the best number of calls; how long that takes; and what
the hours of --hours give at their best, with the smallest difference that they would
find. The promise holds in 80 % of nights. A pilot takes at least 2 blocks, better 5.

examples:
  collect power pilot
  collect power pilot --half-width 0.02 --hours 12
  collect power pilot --contrast transport --profile paper --json""",
    )
    parser.add_argument("run_name", metavar="RUN", help=_ONE_RUN)
    _signers(parser)
    parser.add_argument(
        "--half-width",
        type=_share,
        default=0.05,
        metavar="SHARE",
        help="wanted half width of the 95 %% intervals, as a share of the mean (default: 0.05)",
    )
    parser.add_argument(
        "--hours", type=_hours, default=8.0, help="how long the night is (default: 8)"
    )
    parser.add_argument(
        "--contrast",
        metavar="FACTOR",
        help="plan the ratios of two levels of this factor inside blocks instead of the cells",
    )
    parser.add_argument(
        "--profile", help="plan this profile of the study (default: the pilot's own)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def _power(options: argparse.Namespace) -> int:
    from collect.cells.pilot import read_pilot  # noqa: PLC0415 - slow to import
    from collect.report.power import Wish, as_json, plan_night, print_text  # noqa: PLC0415

    with _sources([options.run_name], options) as sources:
        run = only(sources).run
        (analysis,) = _analyse([run])
        wish = Wish(options.half_width, options.hours, options.contrast)
        outlook = plan_night(run, read_pilot(analysis), wish, options.profile)
    refused = _print_refused([analysis])
    if options.json:
        print(as_json(outlook))
    else:
        print_text(outlook)
    return FINDINGS if refused else GOOD


def _add_look(commands: Commands) -> None:
    parser = _command(
        commands,
        _look,
        "look whether a run may stop now",
        """\
Look at a run whose study has a rule `stop`, where all trials up to a declared look
are sealed: take the decision, record it in looks.json, and print all decisions. The
sweep does so by itself. Nothing is looked at between the declared looks.

example:
  collect look night""",
    )
    parser.add_argument(
        "run_name", metavar="RUN", help="a run's directory, or its name in results/"
    )


def _look(options: argparse.Namespace) -> int:
    from collect.cells.looks import due_looks  # noqa: PLC0415 - slow to import

    run = open_run(options.run_name)
    if run.stop is None:
        raise InputError(
            f"{run.name}: its study has no rule `stop`, so there is nothing to look at"
        )
    for one in due_looks(run.directory):
        width = "no interval" if one.widest is None else f"±{100 * one.widest:.1f} %"
        what = "the run stops" if one.stops else "not narrow enough"
        print(f"after {one.blocks} blocks: widest interval {width} ({one.cell}): {what}")
    print(f"{run.name}: {run.stop}")
    return GOOD


def _add_compare(commands: Commands) -> None:
    parser = _command(
        commands,
        _compare,
        "show what got faster or slower between runs",
        """\
Compare runs of the same factors: the ratio of each cell with its interval, and what
else differs (run.json, plans, JVMs).

Without --against each run is compared with the first one. With it, the runs before
it are one side and those after it the other, each side runs of one and the same
thing. --noise names runs of one and the same thing (A/A runs), of which only the
spread is used.

A run is a sample too: two nights differ although the systems do not. A cell is
called faster or slower, at 5 % over all cells (Holm), only where it is known how
much: where a side has two runs or --noise is given, its interval rests on the
variance between runs. Two runs alone give the ratio with the interval of these
runs, and no verdict. Five runs of a kind tell far more than two.

Exit code 1 when a cell exceeds its budget beyond doubt, when a cell with a budget
fails now, or when a trial is refused; 2 when the runs cannot be compared. A
difference without a budget is no finding: exit code 0. Of two runs alone the
budget is judged by their trials, so choose it larger than nights differ.

A budget says how many times as long as on the other side a cell may take: one ratio
for all cells, or a YAML file, where the last entry that matches a cell wins:

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
    _signers(parser)
    parser.add_argument(
        "--against", metavar="RUN", nargs="+", default=[], help="the runs to compare with"
    )
    parser.add_argument(
        "--noise", metavar="RUN", nargs="+", default=[], help="runs of one and the same thing"
    )
    parser.add_argument("--budget", metavar="RATIO|FILE", help="a ratio, or a YAML file of them")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE.html", help="write one page as well"
    )


def _compare(options: argparse.Namespace) -> int:
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
    with _sources([*first, *others, *options.noise], options) as sources:
        sides = [
            [s for s in sources if s.given in names] for names in (first, others, options.noise)
        ]
        runs = [source.run for source in sources]
        analyses = _analyse(runs)
        named = list(zip(labels(runs), analyses, strict=True))
        ends = len(sides[0]), len(sides[0]) + len(sides[1])
        outcome = compare(
            dict(named[: ends[0]]),
            dict(named[ends[0] : ends[1]]),
            dict(named[ends[1] :]),
            budget,
            together=bool(options.against),
        )
    refused = _print_refused(analyses)
    if options.output is not None:
        write_text(options.output, as_html(outcome))
    if options.json:
        print(as_json(outcome))
    else:
        print_text(outcome)
    return FINDINGS if refused or outcome.compared.over else GOOD


def _add_export(commands: Commands) -> None:
    parser = _command(
        commands,
        _export,
        "write a run for other tools",
        f"""\
Write a run for other tools, from its sealed and verified trials only; a refused
trial is a finding and is left out. The file is written completely or not at all. A
file that exists is replaced only with --force.

formats:
{_formats()}

examples:
  collect export monday --format parquet
  collect export monday --format latex -o thesis/monday.tex --force
  collect export monday --format trials -o trials.csv""",
    )
    parser.add_argument("run_name", metavar="RUN", help=_ONE_RUN)
    _signers(parser)
    parser.add_argument("--format", required=True, choices=FORMATS, help="see below")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="the file (default: named after the run, in its directory)",
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def _formats() -> str:
    return "\n".join(f"  {name:<9} {form.summary}" for name, form in FORMATS.items())


def _export(options: argparse.Namespace) -> int:
    from collect.exchange.export import export, print_export  # noqa: PLC0415 - slow to import

    with _sources([options.run_name], options) as sources:
        source = only(sources)
        (analysis,) = _analyse([source.run])
        output: Path | None = options.output
        if output is None and source.archive:
            suffix = FORMATS[options.format].suffix
            output = beside(source.archive.path.with_stem(source.run.name), suffix)
        if output == Path("-"):
            print_export(analysis, options.format, sys.stdout)
        else:
            print(export(analysis, options.format, output, replace=options.force))
        refused = _print_refused([analysis])
    return FINDINGS if refused else GOOD


def _add_import(commands: Commands) -> None:
    parser = _command(
        commands,
        _import,
        "make a run of what another tool measured",
        """\
Make a run of what another tool measured, so that report, compare, check and export
work on it. jtl is the CSV log of JMeter: each file is a block (a replicate), each
label in it a trial. A label such as `transport=soap servers=3` names the levels of
its cell, as `collect export --format jtl` writes it; any other label is a level of
the factor `label`, unless there is one label and --factor says what was measured.
timeStamp is read as the start of a call, which is what JMeter writes by default. If
a log cannot be used, the message names it and the line, and no run is made.

examples:
  collect import jtl monday.jtl tuesday.jtl --run jmeter
  collect import jtl soap-*.jtl --run jmeter-soap --study sort --factor transport=soap
  collect import jtl all.jtl --run orders --label 'POST /orders'""",
    )
    parser.add_argument("format", choices=("jtl",), help="what the files are")
    parser.add_argument("files", metavar="FILE.jtl", nargs="+", type=Path, help="logs of JMeter")
    parser.add_argument("--run", dest="run_name", required=True, help="name of the new run")
    parser.add_argument("--study", default="jmeter", help="name of its study (default: jmeter)")
    parser.add_argument(
        "--factor",
        metavar="NAME=LEVEL",
        type=_factor,
        action="append",
        default=[],
        help="a level of every cell; may be given again",
    )
    parser.add_argument("--label", help="only the samples of this label")


def _import(options: argparse.Namespace) -> int:
    from collect.exchange.imported import import_jtl  # noqa: PLC0415
    from collect.exchange.jtl import read_jtl  # noqa: PLC0415 - no other command needs them

    made = import_jtl(
        [read_jtl(path) for path in options.files],
        options.run_name,
        study=options.study,
        factors=dict(options.factor),
        label=options.label,
    )
    print(
        f"{made.directory}: {made.trials} trials, {made.calls} calls, {made.cells} cells of "
        f"{', '.join(made.factors)}"
    )
    return GOOD


def _add_archive(commands: Commands) -> None:
    parser = _command(
        commands,
        _archive,
        "pack runs into one citable file",
        """\
Pack runs into one zip file, a Process Run RO-Crate: sealed trials, plan, study,
provenance, cells.csv, one report, licence and a checklist filled from what was
recorded. Each run is proven first: one with trials that are refused, stray or
changed is not packed. The same runs give the same bytes. check, report, status,
compare, export and power take the file in place of a run; what they read is proven
first, and with --signers FILE only if one of these signed it.

With --sign, manifest.json, which has the SHA-256 of every file, is signed with a key
of SSH; the signature is manifest.json.sig in the archive.

examples:
  collect archive monday-sort -o monday.zip
  collect archive monday-sort monday-mtom -o monday.zip --sign ~/.ssh/id_ed25519
  collect check monday.zip --signers lab.signers
  collect report monday.zip""",
    )
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="a run's directory, or its name in results/"
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE.zip", help="the archive"
    )
    parser.add_argument("--sign", type=Path, metavar="KEY", help="sign it with this SSH key")
    parser.add_argument(
        "--licence", type=Path, metavar="FILE", help="licence of the data (default: Apache 2.0)"
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def _archive(options: argparse.Namespace) -> int:
    from collect.exchange.archive.pack import UnprovenRunError, write_archive  # noqa: PLC0415 - slow

    runs = [open_run(name) for name in options.runs]
    try:
        with progress() as show:
            packed = write_archive(
                runs,
                options.output,
                show,
                licence=options.licence,
                key=options.sign,
                replace=options.force,
            )
    except UnprovenRunError as error:
        _print_findings(error.findings, sys.stderr)
        print(f"collect: {error}", file=sys.stderr)
        return FINDINGS
    _print_findings(packed.findings, sys.stderr)
    megabytes = packed.bytes / 1e6
    print(f"{options.output}: {len(packed.manifest.members)} files, {megabytes:.1f} MB")
    return FINDINGS if any(one.kind != "missing" for one in packed.findings) else GOOD


def _add_rerun(commands: Commands) -> None:
    parser = _command(
        commands,
        _rerun,
        "measure an archived run again on this lab",
        """\
Measure an archived run again on this lab: the same study file, profile and seed. It
looks at the nodes, shows what differs from the lab of the archive, asks, sweeps by
playbooks/sweep.yml and compares. Stopped, the same command goes on. A lab with fewer
workers than a level needs is refused; --fit leaves such levels out.

examples:
  collect rerun monday.zip --dry-run
  collect rerun monday.zip --inventory inventory/mylab --run monday-here
  collect rerun both.zip/monday-sort --fit --yes""",
    )
    parser.add_argument(
        "archive", metavar="ARCHIVE", help="an archive of one run, or ARCHIVE.zip/RUN"
    )
    _signers(parser)
    parser.add_argument("--inventory", help="inventory of this lab (default: that of ansible.cfg)")
    parser.add_argument(
        "--run", dest="run_name", help="name of the new run (default: the archived one's, -again)"
    )
    parser.add_argument(
        "--fit", action="store_true", help="leave out the levels that need more workers"
    )
    parser.add_argument(
        "-e",
        dest="extra",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting for the playbooks; may be given again",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what differs; sweep nothing")
    parser.add_argument("--yes", action="store_true", help="sweep without asking")


def _rerun(options: argparse.Namespace) -> int:
    from collect.exchange.archive import rerun  # noqa: PLC0415 - no other command needs it

    is_asked = not (options.yes or options.dry_run)
    if is_asked and not sys.stdin.isatty():
        raise InputError("nobody can be asked here; add --yes to sweep, or --dry-run to look")
    lab = rerun.Lab(options.inventory, tuple(options.extra))
    with _sources([options.archive], options) as sources:
        source = only(sources)
        again = rerun.plan_again(source.run, options.run_name, lab.workers(), fit=options.fit)
        changes = [*again.changes, *rerun.find_changes(source.run, lab.describe())]
    if changes:
        console().print(rerun.as_table(changes))
    else:
        print("nothing that was recorded differs from the lab of the archive")
    print(f"{len(again.plan)} trials as {again.run}: {rerun.shown(again.command(lab))}", flush=True)
    if options.dry_run:
        return GOOD
    if is_asked and input("Sweep now? [y/N] ").strip().lower() not in {"y", "yes"}:
        return GOOD
    directory = again.sweep(lab)
    signers = ["--signers", str(options.signers)] if options.signers else []
    return main(["compare", source.label, str(directory), *signers])


def _factor(text: str) -> tuple[str, Level]:
    from collect.exchange.labels import parse_level  # noqa: PLC0415 - no other command needs it

    name, equals, level = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} does not have the form NAME=LEVEL")
    return name, parse_level(level)


def _positive(text: str) -> int:
    return _at_least(text, 1)


def _natural(text: str) -> int:
    return _at_least(text, 0)


def _share(text: str) -> float:
    return _between(text, 0, 1, "a share between 0 and 1, such as 0.05 for 5 %")


def _hours(text: str) -> float:
    return _between(text, 0, 10_000, "a number of hours above 0")


def _between(text: str, low: float, high: float, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = low
    if not low < value < high:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return value


def _at_least(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return value
