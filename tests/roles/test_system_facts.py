"""The few facts that the roles read, against those that Ansible itself gathers."""

import json
import subprocess
import sys

import pytest
import yaml
from loading import ROOT, load

FACTS = load("roles/baseline/action_plugins/system_facts.py")
PYTHON = f"ansible_python_interpreter={sys.executable}"
ADHOC = [ROOT / ".venv/bin/ansible", "localhost", "-i", "localhost,", "-c", "local", "-e", PYTHON]


def told(*words):
    """Return the facts that a module tells of this machine."""
    done = subprocess.run(
        [*ADHOC, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return yaml.safe_load(done.partition("=>")[2])["ansible_facts"]


def test_the_facts_of_this_machine_are_those_that_ansible_gathers():
    subset = ["!all", "!min", "distribution", "platform"]
    theirs = told("setup", "-a", json.dumps({"gather_subset": subset}))
    asked = subprocess.run(
        ["sh", "-c", FACTS.QUESTION], capture_output=True, text=True, check=False
    )
    ours = FACTS.facts_of(FACTS.parsed(asked.stdout.splitlines()))
    for name in ("distribution", "distribution_major_version", "architecture", "nodename"):
        assert ours[name] == theirs[f"ansible_{name}"]


@pytest.mark.parametrize(
    ("detected", "kind"),
    [
        ("none", "NA"),
        ("kvm", "kvm"),
        ("systemd-nspawn", "systemd-nspawn"),
        ("container-other", "container"),
    ],
)
def test_virtualization_has_the_name_that_ansible_gives_it(detected, kind):
    said = ["ID=ubuntu", "VERSION_ID=24.04", "init=systemd", f"virtualization={detected}"]
    facts = FACTS.facts_of(FACTS.parsed([*said, "machine=aarch64", "nodename=rack03"]))
    assert facts == {
        "distribution": "Ubuntu",
        "distribution_version": "24.04",
        "distribution_major_version": "24",
        "service_mgr": "systemd",
        "architecture": "aarch64",
        "nodename": "rack03",
        "virtualization_type": kind,
    }
