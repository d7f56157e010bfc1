"""The plug-in that gives every inventory rackbench's variables."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from loading import ROOT

NODES = ["rack01", "rack02", "rack03", "rack04"]


def test_what_is_a_nodes_own_is_worked_out_once_however_many_nodes_there_are(
    tmp_path: Path,
) -> None:
    asked = tmp_path / "asked"
    own = {name: {"number": number} for number, name in enumerate(NODES, 1)}
    note = f"echo ' ~ inventory_hostname ~ ' >>{asked}; echo 192.0.2.' ~ (10 + number)"
    common = {
        "node_address": f"{{{{ lookup('ansible.builtin.pipe', '{note}) }}}}",
        "ansible_ssh_private_key_file": "/keys/{{ inventory_hostname }}",
    }
    inventory = {"all": {"children": {"nodes": {"hosts": own, "vars": common}}}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(inventory))
    command = [ROOT / ".venv/bin/ansible-inventory", "-i", tmp_path / "hosts.yml", "--list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    # What a lookup gave is marked as such.
    bare = re.sub(r'{\s*"__ansible_unsafe": ("[^"]*")\s*}', r"\1", done.stdout)
    hosts = json.loads(bare)["_meta"]["hostvars"]
    expected = {name: f"192.0.2.{10 + number}" for number, name in enumerate(NODES, 1)}
    assert {name: hosts[name]["node_address"] for name in NODES} == expected
    assert hosts["rack01"]["node_addresses"] == expected
    keys = {name: f"/keys/{name}" for name in NODES}
    assert {name: hosts[name]["ansible_ssh_private_key_file"] for name in NODES} == keys
    assert "ansible_ssh_common_args" not in hosts["rack01"]
    assert sorted(asked.read_text().split()) == NODES


@pytest.mark.parametrize("address", ["192.0.2..7", f"{'a' * 64}.example.org"])
def test_an_address_that_no_machine_can_have_is_left_as_it_is(tmp_path: Path, address: str) -> None:
    hosts = {"rack01": {"ansible_host": address, "node_address": address}}
    inventory = {"all": {"children": {"nodes": {"hosts": hosts}}}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(inventory))
    command = [ROOT / ".venv/bin/ansible-inventory", "-i", tmp_path / "hosts.yml", "--list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert address in json.dumps(json.loads(done.stdout)["_meta"]["hostvars"]["rack01"])


@pytest.mark.parametrize(
    ("where", "mode", "said"),
    [
        (".", 0o777, "everybody may write to {root}; chmod o-w {root}"),
        ("..", 0o755, "it runs in {above}; start it in {root}"),
    ],
)
def test_a_playbook_without_the_settings_ends_in_one_sentence(
    tmp_path: Path, where: str, mode: int, said: str
) -> None:
    """A world-writable checkout, or another working directory."""
    root = tmp_path / "checkout"
    for part in ("ansible.cfg", "playbooks", "roles", "inventory"):
        (root / part).parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, root / part)
    root.chmod(mode)
    done = subprocess.run(
        [ROOT / ".venv/bin/ansible-playbook", "--list-tasks", root / "playbooks/verify.yml"],
        cwd=root / where,
        env={k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")},
        capture_output=True,
        text=True,
        check=False,
    )
    why = said.format(root=root, above=tmp_path)
    first = f"Ansible does not read {root}/ansible.cfg, as {why}, or first: export ANSIBLE_CONFIG="
    assert done.returncode == 1
    assert first in done.stderr
    assert "was not found" not in done.stderr
    with_config = os.environ | {"ANSIBLE_CONFIG": str(root / "ansible.cfg")}
    again = subprocess.run(
        done.args, cwd=root / where, env=with_config, capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stderr
