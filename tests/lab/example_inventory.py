"""`inventory/example`, copied and filled in as its first lines say, for racks of the tests."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from project import Project


def fill_in(
    project: Project,
    target: Path,
    settings: Mapping[str, Any],
    groups: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> Path:
    """Copy the example to `target` and write the rack into its hosts.yml; lab.yml is left alone.

    `settings` are those of all nodes, among them how they are reached; `groups` holds the variables
    of each host of each group.
    """
    shutil.copytree(project.root / "inventory/example", target)
    hosts = yaml.safe_load((target / "hosts.yml").read_text())
    nodes = hosts["all"]["children"]["nodes"]
    nodes["vars"] |= settings
    for group, members in groups.items():
        nodes["children"][group]["hosts"] = {name: dict(given) for name, given in members.items()}
    (target / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False))
    return target
