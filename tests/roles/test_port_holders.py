"""Ports that somebody else holds: who it is, and which variable sets another port."""

import os
import pwd
import socket
import subprocess

import pytest
from loading import ROOT

SCRIPT = (ROOT / "roles/baseline/files/port_holders").read_text()
ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture
def busy():
    """A port of 127.0.0.1 on which this process listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def holders(*sockets, programs=None):
    path = os.environ["PATH"]
    done = subprocess.run(
        ["sh", "-c", SCRIPT, "port_holders", *sockets],
        env=os.environ | {"PATH": f"{programs}:{path}" if programs else path},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def programs_of(tmp_path, **texts):
    for name, text in texts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def test_a_port_is_told_with_who_holds_it(busy):
    free = busy - 1
    (line,) = holders(f"127.0.0.1:{busy}", f"127.0.0.1:{free}")
    word, port, process, _, account = line.split()
    assert (word, port, account) == ("held", str(busy), ME)
    assert process.startswith("py")


def test_a_listener_on_another_address_holds_nothing(busy):
    assert holders(f"192.0.2.7:{busy}") == []


LISTED = f"""\
LISTEN 0 128 0.0.0.0:9100 0.0.0.0:* users:(("node_exporter",pid={os.getpid()},fd=3))
LISTEN 0 128 *:8080 *:* users:(("tmux: server",pid={os.getpid()},fd=3))
LISTEN 0 128 127.0.0.1%lo:7678 0.0.0.0:* users:(("java",pid={os.getpid()},fd=3))
LISTEN 0 128 [::1]:7676 [::]:* users:(("java",pid={os.getpid()},fd=3))
LISTEN 0 128 10.0.0.1:9102 0.0.0.0:* users:(("systemd",pid=1,fd=40))
LISTEN 0 128 10.0.0.1:7677 0.0.0.0:*"""


@pytest.mark.parametrize(
    ("unit", "socket_line"),
    [
        ("rackbench-health.socket", []),
        ("cockpit.socket", ["held 9102 systemd cockpit.socket root"]),
    ],
)
def test_each_kind_of_listener_is_read_as_ss_prints_it(tmp_path, unit, socket_line):
    sockets = f"10.0.0.1:9102 {unit} some.service"
    programs = programs_of(tmp_path, ss=LISTED, systemctl=sockets)
    wanted = [f"10.0.0.1:{port}" for port in (9100, 8080, 9102, 7676, 7677)] + ["127.0.0.1:7678"]
    found = [" ".join(line.split()[:3]) for line in holders(*wanted, programs=programs)]
    assert found == [
        "held 9100 node_exporter",
        "held 8080 tmux:_server",
        "held 7678 java",
        *(" ".join(line.split()[:3]) for line in socket_line),
        "held 7677 kernel",
    ]


@pytest.mark.parametrize(
    ("group", "told"),
    [
        ("rackbench-tomcat.service", []),
        ("rackbench-broker.service/child", []),
        ("node-exporter.service", ["held 7678 java node-exporter.service"]),
        ("", ["held 7678 java none"]),
    ],
)
def test_services_of_the_kit_hold_their_ports_rightly(tmp_path, monkeypatch, group, told):
    monkeypatch.setenv("PROC", str(tmp_path / "proc"))
    (tmp_path / f"proc/{os.getpid()}").mkdir(parents=True)
    groups = f"8:pids:/\n0::/system.slice/{group}\n"
    (tmp_path / f"proc/{os.getpid()}/cgroup").write_text(groups)
    programs = programs_of(tmp_path, ss=LISTED)
    found = holders("127.0.0.1:7678", programs=programs)
    assert [line.rpartition(" ")[0] for line in found] == told


PLAY = """
- hosts: rack03
  connection: local
  gather_facts: false
  vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}"}
  tasks:
    - ansible.builtin.import_role: {name: baseline, tasks_from: ports}
      vars:
        baseline_sockets: {tomcat_port: "127.0.0.1:PORT", health_port: "127.0.0.1:1"}
"""


def test_the_refusal_names_port_holder_and_variable(tmp_path, busy):
    (tmp_path / "play.yml").write_text(PLAY.replace("PORT", str(busy)))
    done = subprocess.run(
        [ROOT / ".venv/bin/ansible-playbook", "--inventory", "rack03,", tmp_path / "play.yml"],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")}
        | {"ANSIBLE_ROLES_PATH": str(ROOT / "roles"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = " ".join(done.stdout.split())
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"Port {busy} is held by py" in said
    assert f"account {ME})" in said
    assert "or set tomcat_port to another port" in said
    assert "health_port" not in said
