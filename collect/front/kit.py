"""The checkout, its Ansible, the inventory and further settings that a command works with."""

import argparse
import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collect.commands.arguments import from_here
from collect.errors import InputError
from collect.project import MARK, Project, ansible_settings, find_project, project_around

_PLAIN = re.compile(r"[\w.,:/@+-]+")
# Other repositories of Ansible have the first two as well.
_OF_A_CHECKOUT = ("ansible.cfg", "playbooks/site.yml", "roles/baseline/files/port_holders")
NO_CHECKOUT = (
    "this installation analyses results; provisioning and sweeping need the playbooks of a clone "
    "of rackbench: run `make .venv/ready` there, then its .venv/bin/rackbench"
)


@dataclass(frozen=True)
class Kit:
    """A checkout with its Ansible, and how its playbooks are to be run.

    `settings` are further variables as `-e` takes them, `more` further arguments of
    ansible-playbook. `program` starts rackbench again from this directory.
    """

    checkout: Path
    programs: Path
    project: Project | None
    inventories: tuple[str, ...]
    settings: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    is_verbose: bool = False
    program: str = "rackbench"

    @property
    def root(self) -> Path:
        """The directory whose results/ and studies count: the project's, or the checkout."""
        return self.project.root if self.project else self.checkout

    @property
    def studies(self) -> tuple[Path, ...]:
        """Where a sweep finds studies by their names, the first one first."""
        own = (self.project.studies,) if self.project else ()
        return (*own, self.checkout / "playbooks/studies")

    def command(self, program: str, *arguments: str) -> list[str]:
        """Return a command of Ansible for this inventory and these settings."""
        inventories = [word for path in self.inventories for word in ("-i", path)]
        settings = [word for one in self.settings for word in ("-e", one)]
        return [str(self.programs / program), *inventories, *arguments, *settings]

    def playbook(self, name: str, variables: Mapping[str, Any], *options: str) -> list[str]:
        """Return the command that runs a playbook with variables of its own."""
        words = [word for pair in variables.items() for word in ("-e", _setting(*pair))]
        return self.command("ansible-playbook", f"playbooks/{name}", *words, *options, *self.more)

    def environment(self) -> dict[str, str]:
        """Return the environment of Ansible: mitogen where it is installed, unless told otherwise.

        No colours: the output goes into a log.
        """
        chosen = {"ANSIBLE_NOCOLOR": "1", **os.environ, **ansible_settings(self.checkout)}
        libraries = self.programs.parent / "lib"
        if any(libraries.glob("python3*/site-packages/ansible_mitogen")):
            chosen.setdefault("ANSIBLE_STRATEGY", "mitogen_all_cores")
        if chosen.get("ANSIBLE_STRATEGY", "").startswith("mitogen"):
            chosen.setdefault("ANSIBLE_DEPRECATION_WARNINGS", "false")
        return chosen


def add_kit(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that runs playbooks."""
    parser.set_defaults(takes_more=True)
    parser.add_argument(
        "-i",
        "--inventory",
        action="append",
        metavar="PATH",
        help="inventory (default: that of the project directory, or inventory/virtual)",
    )
    parser.add_argument(
        "-e",
        dest="settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a variable for the playbooks, or @FILE from this directory; may be repeated",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="print each command that is run, and its log"
    )


def kit_of(options: argparse.Namespace) -> Kit:
    """Return what the options of a command choose; raises InputError where there is no checkout."""
    here = project = find_project()
    if options.inventory:
        project = next(filter(None, map(project_around, options.inventory)), None)
    checkout = find_checkout(project or here)
    if checkout is None:
        raise InputError(NO_CHECKOUT)
    given = options.inventory or [
        str(project.inventory if project else checkout / "inventory/virtual")
    ]
    return Kit(
        checkout=checkout,
        programs=_programs(checkout),
        project=project,
        inventories=tuple(_absolute(one) for one in given),
        settings=tuple(from_here(one) for one in options.settings),
        more=tuple(options.more),
        is_verbose=options.verbose,
        program=options.program,
    )


def find_checkout(project: Project | None) -> Path | None:
    """Return the project's checkout, the one around this directory, or that of this package.

    None where this package was installed from a wheel; raises InputError where a project names a
    checkout that is not there.
    """
    if project is not None:
        if not is_checkout(project.checkout):
            raise InputError(
                f"{project.root / MARK}: names the checkout {project.checkout}, which does not "
                "exist; write its new path into that file"
            )
        return project.checkout
    here = Path.cwd()
    places = (here, *here.parents, Path(__file__).parents[2])
    return next((place for place in places if is_checkout(place)), None)


def is_checkout(directory: Path) -> bool:
    """Return whether a directory has the playbooks of rackbench."""
    return all((directory / name).is_file() for name in _OF_A_CHECKOUT)


def _programs(checkout: Path) -> Path:
    """Return where Ansible is: in the checkout's .venv, or next to this Python."""
    places = (checkout / ".venv/bin", Path(sys.executable).parent)
    for place in places:
        if (place / "ansible-playbook").is_file():
            return place
    raise InputError(
        f"{checkout}/.venv has no Ansible; install it with: make -C {shlex.quote(str(checkout))} "
        ".venv/ready"
    )


def _absolute(inventory: str) -> str:
    path = Path(inventory)
    if path.exists():
        return str(path.absolute())
    if "," in inventory:
        return inventory
    raise InputError(f"{inventory}: there is no such inventory; give a file or a directory to -i")


def _setting(name: str, value: Any) -> str:
    """Return a variable as `-e` takes it: NAME=VALUE where that is a plain word, else JSON."""
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return f"{name}={value}"
    return json.dumps({name: value}, ensure_ascii=False)
