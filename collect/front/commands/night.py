"""`rackbench night`: sweeps that run every night."""

import argparse
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collect.commands.arguments import Commands, add_fit, command
from collect.errors import InputError
from collect.front.ask import demand_root
from collect.front.inventory import Inventory, read_inventory
from collect.front.kit import Kit, add_kit, kit_of
from collect.front.play import Play, play
from collect.front.sweeping import demand_names
from collect.run.study import find_study, load_study

_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DEFAULTS = {
    "overnight_begin": "22:00",
    "overnight_end": "06:30",
    "overnight_profile": "overnight",
    "overnight_fit": False,
}
"""Those of roles/overnight."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "night",
        run,
        "sweep studies every night",
        """\
Sweep these studies every night from now on, in this order. Each run is named after the date
of its night, and no trial starts after --until. The command installs a systemd timer on this
machine, which needs root; without systemd it prints a line for cron. An inventory has one
timer: another `rackbench night` replaces the studies and times of the earlier one. `--stop`
removes the timer; results stay.

examples:
  rackbench night sort overhead --from 22:00 --until 06:30
  rackbench night sort --from 20:00 --until 07:00 --days Mon,Tue,Wed,Thu
  rackbench night --stop""",
    )
    add_kit(parser)
    parser.add_argument("studies", metavar="STUDY", nargs="*", help="names of studies, in order")
    parser.add_argument(
        "--from",
        dest="begin",
        type=_time,
        metavar="HH:MM",
        help="start of the night (default: overnight_begin in lab.yml, or 22:00)",
    )
    parser.add_argument(
        "--until",
        dest="end",
        type=_time,
        metavar="HH:MM",
        help="start no trial after this time (default: overnight_end in lab.yml, or 06:30)",
    )
    parser.add_argument(
        "--profile", help="their profile (default: overnight_profile in lab.yml, or overnight)"
    )
    add_fit(parser)
    parser.add_argument(
        "--days",
        type=_days,
        help="for example Mon,Fri (default: overnight_days in lab.yml, or every day)",
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; the log shows each change"
    )
    parser.add_argument("--stop", action="store_true", help="stop sweeping at night")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    kit = kit_of(options)
    if Path("/run/systemd/system").is_dir():
        demand_root("a systemd timer")
    shown = ("--check", "--diff") if options.check else ()
    if options.stop:
        _demand_named(kit, options)
        stop = Play("overnight.yml", {"overnight_state": "absent"}, shown, guess_s=5)
        return play(kit, [[stop]], options.again)
    if not options.studies:
        raise InputError("no study is named; name at least one, such as sort, or give --stop")
    demand_names(kit, options.studies)
    _demand_named(kit, options)
    inventory = read_inventory(kit)
    inventory.demand_bench()
    given = {
        "overnight_begin": options.begin,
        "overnight_end": options.end,
        "overnight_studies": options.studies,
        "overnight_profile": options.profile,
        "overnight_days": options.days,
        "overnight_fit": options.fit or None,
    }
    variables = {name: value for name, value in given.items() if value is not None}
    _demand_nights(inventory, variables)
    return play(kit, [[Play("overnight.yml", variables, shown, guess_s=8)]], options.again)


def _demand_named(kit: Kit, options: argparse.Namespace) -> None:
    """Raise InputError where nothing but the default chose the virtual lab."""
    if options.inventory or kit.project:
        return
    inventory = read_inventory(kit)
    if inventory.is_virtual:
        raise InputError(
            "without -i, the nights would sweep the virtual lab; name it with -i "
            f"{shlex.quote(inventory.name)}, or name the inventory of your machines"
        )


def _demand_nights(inventory: Inventory, variables: Mapping[str, Any]) -> None:
    """Raise InputError for nights without length, or with a study that cannot be planned.

    What no option gives is that of the inventory, or the role's default.
    """
    control = next(iter(inventory.groups.get("control", ())), "")
    night = {**DEFAULTS, **inventory.hostvars.get(control, {}), **variables}
    begin, end = night["overnight_begin"], night["overnight_end"]
    if begin == end:
        raise InputError(f"a night from {begin} to {end} has no length; change --from or --until")
    workers = len(inventory.groups["workers"])
    fit = str(night["overnight_fit"]).lower() in {"true", "yes", "1"}
    for name in variables["overnight_studies"]:
        study = load_study(find_study(name, inventory.kit.studies))
        study.profile(str(night["overnight_profile"]), workers, fit=fit)


def _time(text: str) -> str:
    if not _TIME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time of day; write HH:MM, as in 06:30")
    return text


def _days(text: str) -> list[str]:
    days = text.split(",")
    if unknown := [day for day in days if day not in _DAYS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not a day; use {', '.join(_DAYS)}")
    return days
