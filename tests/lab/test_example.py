"""Machines that virtual_lab did not configure: other names, another account, port and a jump host.

Three virtual nodes are given what a rack of one's own may have; then `inventory/example`, filled
in, provisions them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from labs import Lab, small_lab, standing

NAME, PREFIX = "rbrack", "10.83.0"
NODES = ["rack01", "rack02", "rack03"]
ACCOUNT, PORT = "debian", 2222

# As a rack's owner would have it: an account with sudo and a key; the lab's own may not log in.
OTHER_ACCOUNT = f"""
useradd --create-home --shell /bin/bash --password '*' {ACCOUNT}
echo '{ACCOUNT} ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/{ACCOUNT}
install -d -o {ACCOUNT} -g {ACCOUNT} -m 700 /home/{ACCOUNT}/.ssh
install -o {ACCOUNT} -g {ACCOUNT} -m 600 /home/rack/.ssh/authorized_keys /home/{ACCOUNT}/.ssh/
sed -i 's/^AllowUsers .*/AllowUsers {ACCOUNT}/' /etc/ssh/sshd_config.d/lab.conf
"""
OTHER_PORT = f"echo 'Port {PORT}' >/etc/ssh/sshd_config.d/port.conf"


@pytest.fixture(scope="module")
def rack(no_lab: Lab) -> Iterator[Lab]:
    with standing(small_lab(no_lab, NAME, PREFIX, NODES, virtual_lab_memory_mb=1024)) as lab:
        for node in NODES:
            script = OTHER_ACCOUNT + (OTHER_PORT if node == "rack02" else "")
            lab.ssh(node, "sudo sh -eu", given=f"{script}\nsystemctl restart ssh\n".encode())
        lab.hang_up()
        yield lab


@pytest.fixture(scope="module")
def inventory(rack: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`inventory/example`, copied and filled in as its first lines say."""
    mine = tmp_path_factory.mktemp("inventory") / "mylab"
    shutil.copytree(rack.player.project.root / "inventory/example", mine)
    hosts = yaml.safe_load((mine / "hosts.yml").read_text())
    nodes = hosts["all"]["children"]["nodes"]
    known, jump = _ssh_files(rack, mine)
    nodes["vars"] |= {
        "ansible_user": ACCOUNT,
        "ansible_ssh_private_key_file": str(rack.ssh_directory / "id_ed25519"),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={known} -o StrictHostKeyChecking=yes",
    }
    groups = nodes["children"]
    groups["client"]["hosts"] = {"rack01": {"ansible_host": f"{PREFIX}.11"}}
    groups["broker"]["hosts"] = {"rack02": {"ansible_host": f"{PREFIX}.12", "ansible_port": PORT}}
    groups["workers"]["hosts"] = {
        "rack03": {
            "ansible_host": f"{PREFIX}.13",
            "ansible_ssh_common_args": f"-F {jump} -o ProxyJump={ACCOUNT}@{PREFIX}.11",
        }
    }
    (mine / "hosts.yml").write_text(yaml.safe_dump(hosts))
    return mine


def _ssh_files(rack: Lab, directory: Path) -> tuple[Path, Path]:
    """The nodes' host keys as read at their consoles, and settings for the way over a jump host."""
    known = directory.parent / "known_hosts"
    lines = (rack.ssh_directory / "known_hosts").read_text().splitlines()
    named = dict(line.split(maxsplit=1) for line in lines)
    key = named[f"{PREFIX}.12"]
    known.write_text("\n".join([*lines, f"[{PREFIX}.12]:{PORT} {key}", ""]))
    jump = directory.parent / "ssh_config"
    jump.write_text(
        f"Host *\n  IdentityFile {rack.ssh_directory}/id_ed25519\n"
        f"  UserKnownHostsFile {known}\n  StrictHostKeyChecking yes\n"
    )
    return known, jump


@pytest.fixture(scope="module")
def provisioned(rack: Lab, inventory: Path) -> Lab:
    owner = Lab(
        rack.name,
        rack.nodes,
        type(rack.player)(rack.player.project, rack.player.home, [], [inventory]),
        rack.say,
    )
    outcome = owner.play("site.yml")
    assert set(outcome.changed) == set(NODES)
    return owner


def test_a_filled_in_example_provisions_and_a_second_run_changes_nothing(provisioned: Lab) -> None:
    again = provisioned.play("site.yml")
    assert set(NODES) <= again.hosts
    assert again.changed == {}, again.changed_tasks


def test_its_nodes_are_alike(provisioned: Lab) -> None:
    assert set(NODES) <= provisioned.play("verify.yml").hosts


def test_a_sweep_runs_there(provisioned: Lab) -> None:
    extra = {"study": "sort", "profile": "one-server", "run": "rack"}
    provisioned.play("sweep.yml", extra)
    done = provisioned.player.project.collect("check", "rack")
    assert done.returncode == 0, done.stdout
