"""Phases of roles as tags: each task has one, and a playbook can be asked for one of them."""

import re
import subprocess

import pytest
import yaml
from loading import ROOT

PHASES = {"preflight", "install", "configure", "run"}
FILES = sorted(ROOT.glob("roles/*/tasks/*.yml"))


def tagged(tasks, inherited=frozenset()):
    """Return each task of a list and of its blocks by its name, with the tags that it has."""
    for task in tasks:
        own = task.get("tags", [])
        tags = inherited | set([own] if isinstance(own, str) else own)
        inner = [task[key] for key in ("block", "rescue", "always") if key in task]
        if inner:
            yield from (pair for part in inner for pair in tagged(part, tags))
        else:
            yield task["name"], tags


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-3::2]))
def test_each_task_of_a_role_belongs_to_a_phase_and_to_the_one_it_is_named_for(file):
    for name, tags in tagged(yaml.safe_load(file.read_text())):
        assert tags & PHASES, name
        named = name.partition(" | ")[0].lower()
        assert named in tags or named not in PHASES, name


def tasks_of(playbook, *options):
    """Return the tasks that a playbook would do, each with its tags."""
    done = subprocess.run(
        [
            *(ROOT / ".venv/bin/ansible-playbook", "--list-tasks", "-i", "inventory/virtual"),
            *(f"playbooks/{playbook}", *options),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.findall(r"(?m)^      (.*\S)\s+TAGS: \[(.*)\]$", done.stdout)
    return [(name, set(tags.split(", "))) for name, tags in found]


@pytest.fixture(scope="module")
def site():
    return tasks_of("site.yml")


@pytest.mark.parametrize(
    "phase",
    [
        pytest.param(phase, marks=[] if phase == "configure" else [pytest.mark.long])
        for phase in sorted(PHASES)
    ],
)
def test_the_nodes_can_be_provisioned_by_phases(site, phase):
    asked = tasks_of("site.yml", "--tags", phase)
    assert asked == [(name, tags) for name, tags in site if tags & {phase, "always"}]
    assert any(phase in tags and "always" not in tags for _, tags in asked) or phase == "preflight"


def test_no_task_of_provisioning_is_in_no_phase_and_what_refuses_is_in_each(site):
    assert [name for name, tags in site if not tags & {*PHASES, "always"}] == []
    assert all("always" in tags for _, tags in site if tags >= {"preflight"} and len(tags) < 4)
