"""Which systems a node may run: others are refused by name, with the next step."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from loading import ROOT

SYSTEMS = {
    "trixie": ("Debian", "13", "13.2", "systemd"),
    "noble": ("Ubuntu", "24", "24.04", "systemd"),
    "bookworm": ("Debian", "12", "12.12", "systemd"),
    "jammy": ("Ubuntu", "22", "22.04", "systemd"),
    "oracular": ("Ubuntu", "24", "24.10", "systemd"),
    "forty": ("Fedora", "40", "40", "systemd"),
    "sysv": ("Debian", "13", "13.2", "sysvinit"),
}
# Nodes of a lab may live on this machine, below a directory that it has then.
NO_LAB_HERE = ["--extra-vars", json.dumps({"__baseline_directories": []})]
# A container keeps no clock of its own.
OF_ALL = {"virtualization_type": "container", "nodename": "{{ inventory_hostname }}"}
NAMES = ("distribution", "distribution_major_version", "distribution_version", "service_mgr")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the preflight says to a node of each system: nothing, or why it is refused."""
    place = tmp_path_factory.mktemp("systems")
    facts = {name: dict(zip(NAMES, values, strict=True)) for name, values in SYSTEMS.items()}
    own = {name: "{{ facts[inventory_hostname]['" + name + "'] }}" for name in NAMES}
    task = {
        "block": [
            {"ansible.builtin.set_fact": {"cacheable": True, **own, **OF_ALL}},
            {"ansible.builtin.import_role": {"name": "baseline", "tasks_from": "preflight"}},
        ],
        "rescue": [{"ansible.builtin.set_fact": {"refusal": "{{ ansible_failed_result.msg }}"}}],
    }
    write = {
        "ansible.builtin.copy": {"content": "{{ told | to_json }}", "dest": str(place / "told")},
        "vars": {"told": "{{ dict(ansible_play_hosts | zip(refusals)) }}"},
        "run_once": True,
    }
    refusals = "{{ ansible_play_hosts | map('extract', hostvars) | map(attribute='refusal',"
    variables = {
        "facts": facts,
        "refusals": refusals + " default='') | list }}",
    }
    play = {"hosts": "all", "gather_facts": False, "vars": variables, "tasks": [task, write]}
    (place / "play.yml").write_text(yaml.safe_dump([play | {"connection": "local"}]))
    command = [Path(sys.executable).with_name("ansible-playbook"), "--forks", "1"]
    done = subprocess.run(
        [*command, "--inventory", f"{','.join(SYSTEMS)},", *NO_LAB_HERE, place / "play.yml"],
        env=os.environ
        | {"ANSIBLE_ROLES_PATH": str(ROOT / "roles"), "ANSIBLE_PYTHON_INTERPRETER": sys.executable},
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((place / "told").read_text())


def test_the_first_page_names_each_of_them():
    defaults = yaml.safe_load((ROOT / "roles/baseline/defaults/main.yml").read_text())
    readme = (ROOT / "README.md").read_text()
    assert [name for name in defaults["baseline_systems"] if name not in readme] == []


@pytest.mark.parametrize("name", ["trixie", "noble"])
def test_a_system_that_brings_what_is_needed_is_taken(answers, name):
    assert answers[name] == ""


@pytest.mark.parametrize(
    ("name", "system"),
    [
        ("bookworm", "Debian 12 with systemd"),
        ("jammy", "Ubuntu 22.04 with systemd"),
        ("oracular", "Ubuntu 24.10 with systemd"),
        ("forty", "Fedora 40 with systemd"),
        ("sysv", "Debian 13 with sysvinit"),
    ],
)
def test_any_other_is_refused_by_name_with_what_to_install(answers, name, system):
    assert answers[name].startswith(f"{name} runs {system}; nodes need Debian 13 or Ubuntu 24.04")
    assert "remove the node from the inventory" in answers[name]
