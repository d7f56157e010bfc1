"""The project directory that a command works in, where there is one: its results and studies.

`rackbench init` makes it outside any checkout. Its file rackbench.yml names the checkout whose
playbooks it uses.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from collect.errors import InputError
from collect.strict_yaml import parse_yaml

MARK = "rackbench.yml"
"""The file by which a project directory is known."""
_RESULTS = Path("results")


def ansible_settings(checkout: Path) -> dict[str, str]:
    """Return the environment variables that each program of Ansible needs.

    Ansible takes no ansible.cfg from a directory that everybody may write to, unless named. It
    refuses a locale that the machine lacks, such as that of an SSH client, and C.
    """
    return {"ANSIBLE_CONFIG": str(checkout / "ansible.cfg"), "LC_ALL": "C.UTF-8"}


@dataclass(frozen=True)
class Project:
    """A project directory, and the checkout that it was made from."""

    root: Path
    checkout: Path

    @property
    def inventory(self) -> Path:
        """The machines: hosts.yml, and lab.yml in group_vars."""
        return self.root / "inventory"

    @property
    def studies(self) -> Path:
        """Studies of the project's own, which come before those of rackbench."""
        return self.root / "studies"


def find_project() -> Project | None:
    """Return the project directory that this directory is or lies in; raises InputError."""
    here = Path.cwd()
    for root in (here, *here.parents):
        if (root / MARK).is_file():
            return _read(root)
    return None


def project_around(inventory: str) -> Project | None:
    """Return the project directory whose root holds an inventory, a directory or a file in one.

    Playbooks write their results there, wherever they start. Raises InputError.
    """
    path = Path(os.path.abspath(inventory))  # noqa: PTH100 - Ansible follows no link either
    root = path.parent if path.is_dir() else path.parent.parent
    return _read(root) if path.exists() and (root / MARK).is_file() else None


def results() -> Path:
    """Return where runs are: results/ in the project directory, or here where there is none."""
    project = find_project()
    if project is None or project.root == Path.cwd():
        return _RESULTS
    return project.root / _RESULTS


def _read(root: Path) -> Project:
    path = root / MARK
    try:
        content = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); correct it") from error
    checkout = content.get("checkout") if isinstance(content, dict) else None
    if not isinstance(checkout, str):
        raise InputError(
            f"{path}: does not name a checkout; write into it: checkout: /path/of/the/checkout"
        )
    return Project(root, root / checkout)
