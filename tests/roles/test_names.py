"""The lab's names in /etc/hosts, in made-up trees of files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from loading import ROOT
from rendering import Role

HOSTS = {"rack03": "10.0.0.13", "rack04": "fd00::14"}
DEBIAN = b"127.0.0.1\tlocalhost\n127.0.1.1\track03.lab rack03\n# mine\n10.9.9.9 printer p1 p2\n\n"
TEMPLATE = b"## template:jinja\n{# kept #}\n127.0.1.1 {{fqdn}} {{hostname}}\n"
BEGIN = "# BEGIN rackbench: the lab's names; playbooks/reset.yml takes them out\n"
END = "# END rackbench\n"
Play = Callable[..., int]


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "etc/cloud/templates").mkdir(parents=True)
    return tmp_path / "etc"


@pytest.fixture
def play(tmp_path: Path, etc: Path) -> Play:
    """Puts the names in or takes them out; how many files changed."""
    template = etc / "cloud/templates/hosts.debian.tmpl"

    def provision(tasks: str = "names", node_name: str = "rack03", **more: Any) -> int:
        (tmp_path / "hosts.yml").write_text(
            yaml.safe_dump({"all": {"hosts": {"rack03": {"ansible_connection": "local"}}}})
        )
        fact = {"ansible.builtin.set_fact": {"nodename": node_name, "cacheable": True}}
        role = {"ansible.builtin.import_role": {"name": "baseline", "tasks_from": tasks}}
        written = {"hosts": "all", "gather_facts": False, "tasks": [fact, role]}
        (tmp_path / "play.yml").write_text(yaml.safe_dump([written]))
        extra = {
            "ansible_python_interpreter": sys.executable,
            "__baseline_etc": str(etc),
            "__baseline_there": {"stdout_lines": [str(template)] if template.exists() else []},
            "baseline_hosts": HOSTS,
            **more,
        }
        done = subprocess.run(
            [
                *(ROOT / ".venv/bin/ansible-playbook", tmp_path / "play.yml"),
                *("-i", tmp_path / "hosts.yml", "-e", json.dumps(extra)),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return int(done.stdout.rpartition("changed=")[2].split()[0])

    return provision


@pytest.mark.parametrize("own", [DEBIAN, b"127.0.0.1 localhost", b"\r\n\xff odd\n\n\n"])
def test_the_rest_is_left_byte_for_byte_and_restored(play: Play, etc: Path, own: bytes) -> None:
    (etc / "hosts").write_bytes(own)
    assert play() == 1
    block = f"{BEGIN}10.0.0.13 rack03\nfd00::14 rack04\n{END}"
    assert (etc / "hosts").read_bytes() == block.encode() + own
    assert play() == 0
    assert play(baseline_hosts={"rack03": "10.0.0.19"}) == 1
    assert f"{BEGIN}10.0.0.19 rack03\n{END}".encode() + own == (etc / "hosts").read_bytes()
    assert play("names_out") == 1
    assert (etc / "hosts").read_bytes() == own
    assert play("names_out") == 0


def test_cloud_init_s_template_has_the_block_as_well(play: Play, etc: Path) -> None:
    template = etc / "cloud/templates/hosts.debian.tmpl"
    (etc / "hosts").write_bytes(DEBIAN)
    template.write_bytes(TEMPLATE)
    assert play() == 2
    first, _, rest = TEMPLATE.decode().partition("\n")
    block = f"{BEGIN}10.0.0.13 rack03\nfd00::14 rack04\n{END}"
    assert template.read_text() == f"{first}\n{block}{rest}"
    assert play() == 0
    assert play("names_out") >= 1
    assert template.read_bytes() == TEMPLATE
    assert (etc / "hosts").read_bytes() == DEBIAN


@pytest.mark.parametrize(
    ("node_name", "also"),
    [("debian", " debian"), ("r3.lab", " r3.lab"), ("rack04", ""), ("localhost", "")],
)
def test_what_a_node_calls_itself_resolves_to_its_address(
    play: Play, etc: Path, node_name: str, also: str
) -> None:
    (etc / "hosts").write_bytes(DEBIAN)
    play(node_name=node_name)
    assert (etc / "hosts").read_text().splitlines()[1:3] == [
        f"10.0.0.13 rack03{also}",
        "fd00::14 rack04",
    ]


@pytest.mark.parametrize(
    ("node_name", "full_name", "line"),
    [
        ("debian", "debian.example.org", "10.0.0.13 debian.example.org rack03 debian"),
        ("r3.lab", "r3.lab", "10.0.0.13 r3.lab rack03"),
        ("rack03", "rack03.lab", "10.0.0.13 rack03.lab rack03"),
        ("rack03", "other.lab", "10.0.0.13 rack03"),
        ("rack03", "rack03", "10.0.0.13 rack03"),
        ("localhost", "localhost.localdomain", "10.0.0.13 rack03"),
    ],
)
def test_a_node_keeps_its_full_name(node_name: str, full_name: str, line: str) -> None:
    """As `hostname -f` tells it, which takes the first name of a line."""
    assert names(node_name, full_name) == [line, "fd00::14 rack04"]


@pytest.mark.parametrize(
    ("full_name", "line"),
    [("debian.lab", "10.0.0.13 rack03"), ("rack03.lab", "10.0.0.13 rack03.lab rack03")],
)
def test_a_node_that_takes_the_inventory_s_name_keeps_its_full_name_alone(
    full_name: str, line: str
) -> None:
    assert names("debian", full_name, baseline_set_hostname=True)[0] == line


def names(node_name: str, full_name: str, **more: Any) -> list[str]:
    """The lines of the block on a node that calls itself so."""
    role = Role(
        "baseline",
        inventory_hostname="rack03",
        ansible_facts={"nodename": node_name, "fqdn": full_name},
        baseline_hosts=HOSTS,
        **more,
    )
    text: str = role.render("{{ __baseline_names }}")
    return text.splitlines()
