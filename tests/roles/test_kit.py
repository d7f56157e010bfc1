"""The plug-in that gives every inventory the kit's variables."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

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
