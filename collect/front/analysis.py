"""The commands of `collect` under the name `rackbench`."""

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import ModuleType

from collect.commands import (
    archive,
    check,
    compare,
    export,
    import_log,
    power,
    report,
    rerun,
    status,
)
from collect.commands.arguments import Commands
from collect.commands.guard import INTERRUPTED
from collect.commands.order import COMMANDS
from collect.front.inventory import read_inventory
from collect.front.kit import Kit, kit_of
from collect.front.play import Play, no_progress, play
from collect.front.sweeping import Sweeping
from collect.project import find_project

FOLLOWING: tuple[ModuleType, ...] = (status, check, report, compare, power)
KEEPING: tuple[ModuleType, ...] = (archive, rerun, export, import_log)
FURTHER = tuple(module for module in COMMANDS if module not in (*FOLLOWING, *KEEPING))

_COLLECT = re.compile(r"\bcollect (?=[a-z])")


def add(commands: Commands, module: ModuleType) -> None:
    """Add a command of `collect`."""
    before = set(commands.choices)
    module.add(commands)
    (name,) = set(commands.choices) - before
    parser: argparse.ArgumentParser = commands.choices[name]
    parser.description = _COLLECT.sub("rackbench ", parser.description or "")
    parser.epilog = _COLLECT.sub("rackbench ", parser.epilog or "")
    parser.add_argument("--verbose", action="store_true", help="print the command that is run")
    parser.set_defaults(run=_shown(parser.get_default("run")))
    if module is report:
        parser.set_defaults(link=True)
    if module is rerun:
        parser.set_defaults(run=_rerun)


def _shown(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Return what runs a command, after printing it where that is asked for."""

    def shown(options: argparse.Namespace) -> int:
        _tell_command(options)
        return run(options)

    return shown


def _tell_command(options: argparse.Namespace, *added: str) -> None:
    """Print the command of `collect` where that is asked for, with the words that were `added`."""
    if options.verbose:
        words = [word for word in options.words if word != "--verbose"]
        print(shlex.join(["collect", *words, *added]), file=sys.stderr)


def _rerun(options: argparse.Namespace) -> int:
    """Measure an archived run again: on the project's machines, where there is a project."""
    given = [options.inventory] if options.inventory else None
    asked = {"inventory": given, "settings": options.extra, "more": []}
    kit = kit_of(argparse.Namespace(**{**vars(options), **asked}))
    if find_project() is not None:
        options.inventory = kit.inventories[0]
    if options.inventory:
        read_inventory(kit).demand_bench()
    is_added = options.inventory and not given
    _tell_command(options, *(("--inventory", options.inventory) if is_added else ()))
    if options.inventory is None:
        kit = replace(kit, inventories=())  # that of ansible.cfg, as for the number of workers
    options.play = _player(kit, options.again)
    return rerun.run(options)


def _player(kit: Kit, again: str) -> Callable[[str, Mapping[str, str]], int]:
    """Return what runs a playbook with its steps and a log; Ctrl-C is a KeyboardInterrupt."""

    def played(playbook: str, variables: Mapping[str, str]) -> int:
        name = variables.get("run")
        progress = Sweeping([kit.root / "results" / name]) if name else no_progress
        code = play(kit, [[Play(playbook, variables, progress=progress)]], again)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        return code

    return played
