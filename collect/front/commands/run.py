"""`rackbench run`: a sweep, attached to this terminal until Ctrl-C."""

import argparse
import re
import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from collect.commands.arguments import Commands, add_fit, command, natural
from collect.commands.exits import FINDINGS, GOOD
from collect.commands.guard import INTERRUPTED
from collect.commands.plan import planned
from collect.counts import show_count
from collect.errors import InputError
from collect.files import expanded
from collect.front.inventory import Inventory, read_inventory
from collect.front.kit import Kit, add_kit, kit_of
from collect.front.play import Course, Play, begin, explain, follow
from collect.front.process import remember, remembered, uninterrupted
from collect.front.screen import Screen
from collect.front.sweeping import Sweeping, demand_names
from collect.run.directory import check_name
from collect.run.plan import is_planned
from collect.run.study import find_study
from collect.strict_yaml import UNREADABLE
from collect.sweep.names import runs_of

RUNNER = "rackbench-runner.service"
"""What makes the trials, on the client: it goes on where nothing follows it."""
_CLOCK = re.compile(r"([01]?\d|2[0-3]):[0-5]\d")
_OPTIONS = {
    "study": "the name of the study",
    **{name: f"--{name}" for name in ("profile", "run", "seed", "fit", "rotate", "capture")},
}
"""What takes the place of a variable of the sweep that chooses its runs or their plans."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "run",
        run,
        "sweep studies",
        """\
Sweep one or more studies on machines that `rackbench site` provisioned, and write the
report. Ctrl-C detaches and the sweep goes on; the same command attaches again. A stopped run
continues where it was, and repeats no sealed trial.

examples:
  rackbench run sort
  rackbench run sort overhead --profile paper --run monday
  rackbench run sort --profile paper --fit --deadline 06:30""",
    )
    add_kit(parser)
    parser.add_argument("studies", metavar="STUDY", nargs="+", help="names of studies")
    parser.add_argument("--profile", default="demo", help="their profile (default: demo)")
    parser.add_argument("--run", dest="run_name", help="name of the run (default: STUDY-PROFILE)")
    parser.add_argument("--seed", type=natural, help="seed of the plan (default: the study's)")
    add_fit(parser)
    parser.add_argument("--rotate", action="store_true", help="rotate workers between blocks")
    parser.add_argument(
        "--capture", action="store_true", help="keep the packets of one extra call of each cell"
    )
    parser.add_argument(
        "--deadline",
        metavar="HH:MM",
        type=_deadline,
        help="start no trial after this time; a date may precede it, as in 2026-03-02T06:30",
    )
    parser.add_argument("--wait", action="store_true", help="wait for another sweep to end")
    parser.add_argument(
        "--without",
        metavar="MACHINES",
        help="skip these machines, separated by commas; `unreachable` skips those that do not "
        "answer",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    kit = kit_of(options)
    named = _runs(kit, options)
    runs = [kit.root / "results" / one["run"] for one in named]
    sweeping = Sweeping(runs)
    sweep = Play("sweep.yml", _variables(options), progress=sweeping)
    screen = Screen()
    course = None
    try:
        if process := remembered(runs):
            if process.command and process.command != tuple(sweep.command(kit)):
                raise InputError(
                    f"another process sweeps these runs: {shlex.join(process.command)}; give the "
                    f"same options to attach, or stop that sweep first: kill -INT -{process.pid}"
                )
            course = Course(sweep, process)
            screen.text(f"attached to the running sweep, process {process.pid}; log: {process.log}")
        else:
            inventory = read_inventory(kit)
            inventory.demand_bench()
            _demand_plans(options, inventory, named, runs)
            with uninterrupted():
                course = begin(kit, sweep, screen)
                remember(runs, course.process)
            screen.text("Ctrl-C detaches; the sweep goes on, and the same command attaches again")
        follow([course], screen, lambda known_s: known_s)
    except KeyboardInterrupt:
        if course is None:
            screen.text("nothing was started")
            return INTERRUPTED
        screen.text(
            f"detached; the sweep goes on as process {course.process.pid}\n"
            f"attach again: {options.again}\nstop it:      kill -INT -{course.process.pid}\n"
            f"              then, on the client: sudo systemctl stop {RUNNER}\n"
            f"log:          {course.process.log}"
        )
        return INTERRUPTED
    if not course.is_good:
        explain(course, screen, options.again)
        return FINDINGS
    if number := sweeping.remaining():
        screen.text(
            f"{show_count(number, 'open trial')} left; to continue, run the same command with a "
            "later --deadline, or without one"
        )
    several = kit.root / "results" / (options.run_name or options.profile)
    page = (runs[0] if len(runs) == 1 else several) / "report.html"
    screen.text(f"Report: {page.as_uri()}")
    return GOOD


def _runs(kit: Kit, options: argparse.Namespace) -> list[dict[str, str]]:
    """Return study and run of each, as the sweep names them; raises InputError."""
    settings = [*kit.settings, *_settings_of(kit.more)]
    set_names = {name for one in settings for name in _variables_in(one, kit.checkout)}
    for name in sorted(set_names & _OPTIONS.keys()):
        raise InputError(
            f"-e {name}=… does not choose the run of this command; use {_OPTIONS[name]}"
        )
    if options.run_name is not None:
        check_name(options.run_name)
    demand_names(kit, options.studies)
    return runs_of(",".join(options.studies), options.profile, options.run_name or "")


def _settings_of(more: Sequence[str]) -> list[str]:
    """Return the variables in further arguments of ansible-playbook."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("-e", "--extra-vars", action="append", default=[])
    settings: list[str] = parser.parse_known_args(more)[0].extra_vars
    return settings


def _variables_in(setting: str, checkout: Path) -> set[str]:
    """Return the names that one `-e` sets: in words NAME=VALUE, in JSON or YAML, or in a file."""
    try:
        if setting.startswith("@"):
            file = checkout / expanded(setting[1:])
            content = yaml.safe_load(file.read_text(encoding="utf-8"))
        elif setting.startswith(("{", "[")):
            content = yaml.safe_load(setting)
        else:
            content = {word.partition("=")[0]: word for word in shlex.split(setting)}
    except (OSError, *UNREADABLE):
        return set()  # Ansible refuses it, or alone can read it
    return set(map(str, content)) if isinstance(content, dict) else set()


def _demand_plans(
    options: argparse.Namespace,
    inventory: Inventory,
    named: Sequence[dict[str, str]],
    runs: Sequence[Path],
) -> None:
    """Raise InputError where a run cannot be planned so, before any machine is asked."""
    workers = len(inventory.groups["workers"])
    asked = argparse.Namespace(**{**vars(options), "workers": workers})
    for one, run in zip(named, runs, strict=True):
        plan = run / "plan.jsonl"
        study = find_study(one["study"], inventory.kit.studies)
        is_planned(plan, planned(asked, str(study), plan))
    away = set((options.without or "").split(",")) - {""}
    may_go = {node.name for node in inventory.nodes if "client" not in node.groups}
    may_go.add("unreachable")
    if unknown := sorted(away - may_go):
        raise InputError(
            f"a sweep cannot skip {', '.join(unknown)}; name some of {', '.join(sorted(may_go))}"
        )


def _variables(options: argparse.Namespace) -> dict[str, Any]:
    """Return what sweep.yml is told."""
    told = {
        "study": ",".join(options.studies),
        "profile": options.profile,
        "run": options.run_name,
        "seed": None if options.seed is None else str(options.seed),
        "deadline": options.deadline,
        "without": options.without,
    }
    for name in ("fit", "rotate", "capture", "wait"):
        told[name] = "true" if getattr(options, name) else None
    return {name: value for name, value in told.items() if value is not None}


def _deadline(text: str) -> str:
    try:
        if not _CLOCK.fullmatch(text):
            datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time; write HH:MM, or a date and time like 2026-03-02T06:00"
        ) from None
    return text
