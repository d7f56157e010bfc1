"""`inventory/example`, copied and filled in as its first lines say, for racks of the tests."""

from __future__ import annotations

import json
import re
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
    """Copy the example to `target` and write the rack into its hosts.yml.

    `settings` are those of all nodes, among them how they are reached; lab.yml changes only where
    it sets one of them, because group variables of files come before those of hosts.yml. `groups`
    holds the variables of each host of each group.
    """
    shutil.copytree(project.root / "inventory/example", target)
    lab = target / "group_vars/all/lab.yml"
    text = lab.read_text()
    for name in yaml.safe_load(text).keys() & settings.keys():
        text = re.sub(rf"(?m)^{name}: .*$", f"{name}: {json.dumps(settings[name])}", text)
    lab.write_text(text)
    hosts = yaml.safe_load((target / "hosts.yml").read_text())
    nodes = hosts["all"]["children"]["nodes"]
    nodes["vars"] |= settings
    for group, members in groups.items():
        nodes["children"][group]["hosts"] = {name: dict(given) for name, given in members.items()}
    (target / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False))
    return target
