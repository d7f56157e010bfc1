"""How modules run: with which Python, and what of mitogen outlives a killed playbook."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from loading import ROOT

HOSTS = [f"node{number}" for number in range(5)]
PLAY = """\
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.file:
        path: "{{ begun }}/{{ inventory_hostname }}"
        state: touch
        mode: "0600"
    - ansible.builtin.wait_for: {timeout: 300}
"""


def marked(mark):
    """The processes that were started with a mark in their environment, by their command lines."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes():
                words = (process / "cmdline").read_bytes().split(b"\0")
                found[int(process.name)] = b" ".join(words).decode(errors="replace")[:200]
        except OSError:  # it has ended
            continue
    return found


def until(is_so, seconds):
    end = time.monotonic() + seconds
    while not (so := is_so()) and time.monotonic() < end:
        time.sleep(0.1)
    return so


@pytest.fixture
def killed(tmp_path):
    """The mark of a playbook that was killed while each node waited."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    hosts = dict.fromkeys(HOSTS, local)
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    (tmp_path / "play.yml").write_text(PLAY)
    (tmp_path / "begun").mkdir()
    mark = f"RACKBENCH_TEST={uuid.uuid4().hex}"
    name, _, value = mark.partition("=")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")}
    playing = subprocess.Popen(
        [
            *(ROOT / ".venv/bin/ansible-playbook", "-i", tmp_path / "hosts.json"),
            *(tmp_path / "play.yml", "-e", f"begun={tmp_path}/begun"),
        ],
        cwd=ROOT,
        env={
            **inherited,
            name: value,
            "ANSIBLE_STRATEGY": "mitogen_all_cores",
            "ANSIBLE_DEPRECATION_WARNINGS": "false",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    begun = until(lambda: len([*(tmp_path / "begun").iterdir()]) == len(HOSTS), 120)
    time.sleep(2)
    during = marked(mark.encode())
    playing.kill()
    playing.wait()
    yield mark.encode(), during if begun else {}
    for process in marked(mark.encode()):
        os.kill(process, signal.SIGKILL)


def test_nothing_of_mitogen_outlives_a_playbook_that_is_killed(killed):
    mark, during = killed
    assert len(during) > len(HOSTS)
    assert until(lambda: not marked(mark), 10), marked(mark)


WHICH = """\
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.setup: {gather_subset: ["!all", "!min", python]}
      delegate_to: "{{ item }}"
      loop: [localhost, "{{ inventory_hostname }}"]
      loop_control: {label: "{{ item }}"}
      register: asked
    - ansible.builtin.copy:
        content: "{{ asked.results | map(attribute=fact) | to_json }}"
        dest: "{{ told }}"
        mode: "0600"
      vars: {fact: ansible_facts.ansible_python.executable}
"""


@pytest.mark.parametrize("strategy", ["linear", "mitogen_all_cores"])
def test_a_node_with_a_newer_python_runs_modules_with_that_of_its_packages(tmp_path, strategy):
    """The control host's own modules run with the Python of Ansible."""
    (tmp_path / "play.yml").write_text(WHICH)
    newer = tmp_path / "programs/python3.14"
    for path in (newer, newer.with_name("python3.13")):
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(sys.executable)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")}
    done = subprocess.run(
        [
            *(ROOT / ".venv/bin/ansible-playbook", "-i", "rack01,", tmp_path / "play.yml"),
            *("-c", "local", "-e", f"told={tmp_path}/told"),
        ],
        cwd=ROOT,
        env={
            **inherited,
            "PATH": f"{newer.parent}:{os.environ['PATH']}",
            "ANSIBLE_STRATEGY": strategy,
            "ANSIBLE_DEPRECATION_WARNINGS": "false",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    here, there = json.loads((tmp_path / "told").read_text())
    assert os.path.realpath(here) == os.path.realpath(sys.executable)
    assert there == "/usr/bin/python3"
