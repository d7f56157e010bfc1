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


def imported(tasks, given=""):
    """Return each role that plays or tasks import, with the variables that it gets, as text."""
    for task in tasks:
        known = f"{given} {task.get('vars', '')}"
        import_role = task.get("ansible.builtin.import_role")
        for role in [*task.get("roles", []), *([import_role] if import_role else [])]:
            yield role, f"{known} {role}"
        for part in ("tasks", "block", "rescue", "always"):
            yield from imported(task.get(part, []), known)


def test_a_role_that_takes_a_result_is_not_validated_where_its_tags_leave_that_out():
    """Ansible gives the validation of an imported role the tag `always`."""
    texts = [file.read_text() for file in [*ROOT.glob("playbooks/**/*.yml"), *FILES]]
    results = set(re.findall(r"register: (\w+)", " ".join(texts)))
    of_tasks = [tasks for text in texts if isinstance(tasks := yaml.safe_load(text), list)]
    roles = [pair for tasks in of_tasks for pair in imported(tasks)]
    taking = [role for role, given in roles if results & set(re.findall(r"\w+", given))]
    assert taking != []
    assert [role for role in taking if role.get("rolespec_validate") is not False] == []


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
