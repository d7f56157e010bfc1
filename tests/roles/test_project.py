"""An inventory in a project directory: runs go there, and its studies count."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
from pathlib import Path

import pytest
import yaml
from loading import ROOT

from collect.front.commands.init import hosts_text


def variables_of(project: Path, *names: str, without: str = "") -> dict[str, object]:
    """What a play on the control host has for these variables, `without` one of the environment."""
    play = [
        {
            "hosts": "control",
            "gather_facts": False,
            "tasks": [
                {
                    "name": "Write them",
                    "ansible.builtin.copy": {
                        "content": "{{ {"
                        + ", ".join(f"'{name}': {name} | default('')" for name in names)
                        + "} | to_json }}",
                        "dest": str(project / "told.json"),
                    },
                }
            ],
        }
    ]
    (project / "play.yml").write_text(yaml.safe_dump(play))
    subprocess.run(
        [ROOT / ".venv/bin/ansible-playbook", "-i", project / "inventory", project / "play.yml"],
        cwd=ROOT,
        env={
            key: value
            for key, value in os.environ.items()
            if not key.startswith("ANSIBLE_") and key != without
        },
        capture_output=True,
        check=True,
    )
    told: dict[str, object] = json.loads((project / "told.json").read_text())
    return told


def make(project: Path) -> None:
    (project / "inventory").mkdir(parents=True)
    (project / "studies").mkdir()
    hosts = hosts_text("192.0.2.1", "192.0.2.1", ["192.0.2.2", "192.0.2.3"], "me", "~/.ssh/key")
    (project / "inventory/hosts.yml").write_text(hosts)
    (project / "studies/own.yml").write_text("constants: {servers: 41}\n")


def test_a_deadline_without_quotes_is_a_text(tmp_path: Path) -> None:
    """YAML 1.1 reads 22:00 as 1320."""
    make(tmp_path)
    lab = tmp_path / "inventory/group_vars/all/lab.yml"
    lab.parent.mkdir(parents=True, exist_ok=True)
    lab.write_text("deadline: 22:00\n")
    assert variables_of(tmp_path, "sweep_deadline") == {"sweep_deadline": "1320"}


def test_runs_go_to_the_project_around_the_inventory(tmp_path: Path) -> None:
    make(tmp_path)
    names = ("rackbench_project", "sweep_root", "sweep_kit", "study_servers")
    told = variables_of(tmp_path, *names)
    assert told["sweep_root"] == str(ROOT) == told["sweep_kit"]
    assert told["rackbench_project"] == ""
    assert isinstance(told["study_servers"], list)
    assert 41 not in told["study_servers"]
    (tmp_path / "rackbench.yml").write_text(f"checkout: {ROOT}\n")
    told = variables_of(tmp_path, *names)
    assert told["sweep_root"] == told["rackbench_project"] == str(tmp_path)
    assert told["sweep_kit"] == str(ROOT)
    assert isinstance(told["study_servers"], list)
    assert {1, 41} <= set(told["study_servers"])


def test_without_home_the_state_and_the_archives_lie_below_that_of_the_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit of systemd, or env -i."""
    make(tmp_path)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    defaults = yaml.safe_load((ROOT / "roles/netboot/defaults/main.yml").read_text())
    lab = tmp_path / "inventory/group_vars/all/lab.yml"
    lab.parent.mkdir(parents=True)
    given = {"rackbench_lab": "mylab", "netboot_cache": defaults["netboot_cache"]}
    lab.write_text(yaml.safe_dump(given))
    home = pwd.getpwuid(os.getuid()).pw_dir
    assert variables_of(tmp_path, "rackbench_state_dir", "netboot_cache", without="HOME") == {
        "rackbench_state_dir": f"{home}/.local/state/rackbench/mylab",
        "netboot_cache": f"{home}/.cache/rackbench/archives",
    }
