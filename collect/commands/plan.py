"""`collect plan`: a study becomes its trials."""

import argparse
import sys
from collections.abc import Sequence
from itertools import groupby, zip_longest
from pathlib import Path

from collect.commands.arguments import Commands, add_fit, command, natural, positive
from collect.commands.exits import GOOD
from collect.counts import show_count
from collect.errors import InputError
from collect.files import write_bytes
from collect.run.plan import (
    PlannedTrial,
    is_planned,
    make_plan,
    plan_bytes,
    workers_to_fit,
)
from collect.run.setting import setting_key, setting_of
from collect.run.study import find_study, load_study


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "plan",
        run,
        "expand a study into its trials",
        """\
Expand a study into its trials, in randomised complete blocks. The same study,
profile, seed and number of workers give the same bytes; a plan never changes.
With --fit, the plan skips levels that need more workers than --workers, and the report
names them. Such a run keeps its plan when workers are added later. The command plans
several studies, each with its own -o, together or not at all.

examples:
  collect plan sort --profile demo --workers 5
  collect plan sort --profile paper --workers 2 --fit
  collect plan my.yml --profile paper --workers 5 --seed 7 -o results/night/plan.jsonl""",
    )
    parser.add_argument(
        "studies",
        metavar="STUDY",
        nargs="+",
        help="the name of a study, or a study file",
    )
    parser.add_argument("--profile", required=True, help="one of the profiles of the study file")
    parser.add_argument(
        "--workers", required=True, type=positive, help="number of workers in the inventory"
    )
    parser.add_argument(
        "--seed", type=natural, help="seed of the run (default: that of the study file)"
    )
    add_fit(parser)
    parser.add_argument(
        "--rotate",
        action="store_true",
        help="rotate the workers between blocks",
    )
    parser.add_argument(
        "--capture",
        action="store_true",
        help="add one trial of each cell that keeps its packets; it is excluded from all results",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        action="append",
        help="write plan.jsonl here, once for each study (default: standard output)",
    )
    parser.add_argument(
        "--draft",
        type=Path,
        metavar="DIRECTORY",
        help="write new plans to DIRECTORY/RUN/plan.jsonl; the sweep moves them when it starts",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    outputs: list[Path] = options.output or []
    if outputs and len(outputs) != len(options.studies):
        raise InputError(
            f"{len(options.studies)} studies but {len(outputs)} outputs; give each study one -o"
        )
    if not outputs and len(options.studies) > 1:
        raise InputError("several studies make several plans; give each study one -o")
    if options.draft and not outputs:
        raise InputError("a draft needs the name of its run; add -o results/RUN/plan.jsonl")
    plans = [planned(options, *pair) for pair in zip_longest(options.studies, outputs)]
    if not outputs:
        sys.stdout.write(plan_bytes(plans[0]).decode())
        return GOOD
    # All are compared before the first is written.
    are_new = [not is_planned(*pair) for pair in zip(outputs, plans, strict=True)]
    for output, trials, is_new in zip(outputs, plans, are_new, strict=True):
        place = output
        if is_new and options.draft:
            place = options.draft / output.absolute().parent.name / output.name
        if is_new:
            write_bytes(place, plan_bytes(trials))
        cells = len({trial.factors for trial in trials})
        profiled = sum(trial.profiled for trial in trials)
        captured = sum(trial.captured for trial in trials)
        blocks = max(trial.block for trial in trials if trial.counts)
        print(
            f"{place}: {len(trials)} trials ({cells} cells x {blocks} blocks"
            f"{f' and {profiled} with a profiler' if profiled else ''}"
            f"{f' and {captured} whose packets are kept' if captured else ''}"
            f"{_settings_of(trials)}), "
            f"{'written' if is_new else 'unchanged'}"
        )
    return GOOD


def _settings_of(trials: Sequence[PlannedTrial]) -> str:
    """Return in words how often a sweep sets the nodes between trials; nothing if it need not."""
    keys = [setting_key(setting_of(trial)) for trial in trials]
    if len(set(keys)) < 2:
        return ""
    changes = len(list(groupby(keys))) - 1
    return f", {len(set(keys))} settings of the nodes with {show_count(changes, 'change')}"


def planned(options: argparse.Namespace, name: str, output: Path | None) -> list[PlannedTrial]:
    """Return the plan of one study for `output`, where it may be already; raises InputError."""
    study = load_study(find_study(name))
    workers = workers_to_fit(output, options.workers, fit=options.fit)
    profile = study.profile(options.profile, workers, fit=options.fit)
    rotate = workers if options.rotate else 0
    return make_plan(profile, options.seed, rotate, capture=options.capture)
