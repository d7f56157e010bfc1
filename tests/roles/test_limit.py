"""What --limit leaves out is said, and a sweep of a part of the nodes refused."""

import os
import re
import subprocess

import pytest
from loading import ROOT

# Nodes that stand for this machine; nothing is changed on them.
INVENTORY = """
all:
  vars:
    rackbench_lab: limit
    rackbench_lab_kind: physical
    rackbench_network: 192.0.2.0/24
    rackbench_control: ""
    rackbench_link_mbit: 1000
    ansible_connection: local
  children:
    control: {hosts: {localhost: {}}}
    nodes:
      children:
        client: {hosts: {client1: {ansible_host: 192.0.2.1}}}
        broker: {hosts: {broker1: {ansible_host: 192.0.2.2}}}
        workers: {hosts: {worker1: {ansible_host: 192.0.2.3}, worker2: {ansible_host: 192.0.2.4}}}
"""


def play(tmp_path, playbook, limit, **extra):
    """Run a playbook with --limit; its exit status and what it said, on one line."""
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    given = [word for item in extra.items() for word in ("-e", "=".join(map(str, item)))]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")}
    done = subprocess.run(
        [
            *(ROOT / ".venv/bin/ansible-playbook", "--inventory", tmp_path, "--limit", limit),
            *(*given, f"playbooks/{playbook}"),
        ],
        cwd=ROOT,
        env={**inherited, "ANSIBLE_NOCOLOR": "1", "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, re.sub(r"\s+", " ", done.stdout)


@pytest.mark.parametrize(
    ("limit", "left_out"),
    [
        ("worker1", {"localhost", "client1", "broker1", "worker2"}),
        ("worker1,localhost", {"client1", "broker1", "worker2"}),
        ("all:!worker2", {"worker2"}),
    ],
)
def test_a_sweep_of_a_part_of_the_nodes_is_refused_and_names_the_others(tmp_path, limit, left_out):
    code, said = play(tmp_path, "sweep.yml", limit, study="sort")
    assert code == 2
    names = re.search(r"--limit leaves out (.*?), and a sweep", said).group(1)
    assert set(names.split(", ")) == left_out
    assert "add -e without=NODE" in said


def test_a_node_that_is_not_ready_is_refused_although_the_control_host_is_left_out(tmp_path):
    code, said = play(tmp_path, "validate.yml", "worker1", validate_free_mb=10**9)
    assert code == 2
    assert "worker1 (192.0.2.3) has" in said
    assert "1000000000 are needed" in said
    assert "worker2" not in said
