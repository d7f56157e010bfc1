"""A rack that rackbench did not make: machines that differ as real ones do, and yet are the same.

Four virtual nodes are given what a rack of one's own may have: own host names, kernel command
lines that name their own disks, a little more or less memory, another port, another account, a jump
host, a DNS name. Then `inventory/example`, filled in, provisions them, one as broker and worker.
"""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import pytest
import yaml
from example_inventory import fill_in
from labs import Lab, small_lab, standing
from playbook import Player

NAME, PREFIX = "rbrack", "10.88.0"
# Four new machines are provisioned, which takes minutes.
pytestmark = pytest.mark.long

# By the names in the inventory, what the machines call themselves.
OWN_NAMES = {"rack01": "alder", "rack02": "birch", "rack03": "cedar", "rack04": "dogwood"}
WORKERS = ["rack02", "rack03", "rack04"]
ACCOUNTS = {"rack03": "student"}
PORTS = {"rack02": 2222}
DNS_NAME = "rack04.example.org"

# As a rack's owner would have it: an account with sudo and a key; the lab's own may not log in.
OTHER_ACCOUNT = """
useradd --create-home --shell /bin/bash --password '*' {account}
echo '{account} ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/{account}
install -d -o {account} -g {account} -m 700 /home/{account}/.ssh
install -o {account} -g {account} -m 600 /home/rack/.ssh/authorized_keys /home/{account}/.ssh/
sed -i 's/^AllowUsers .*/AllowUsers {account}/' /etc/ssh/sshd_config.d/lab.conf
echo 'Port {port}' >/etc/ssh/sshd_config.d/port.conf
systemctl restart ssh
"""
# The kernel tells all virtual nodes the same; a real machine's tells of its disks and its memory.
OTHER_MACHINE = """
mkdir /run/machine
echo '{command_line}' >/run/machine/cmdline
awk '/^MemTotal/ {{$2 = int($2 * (1 - {lost}))}} 1' /proc/meminfo >/run/machine/meminfo
mount --bind /run/machine/cmdline /proc/cmdline
mount --bind /run/machine/meminfo /proc/meminfo
"""


def place_of(name: str) -> int:
    """Which machine of the rack this is, from 1."""
    return list(OWN_NAMES).index(name) + 1


def address_of(name: str) -> str:
    return f"{PREFIX}.{10 + place_of(name)}"


def command_line(name: str, more: str = "") -> str:
    """The kernel command line of a machine whose disks, and first serial port, are its own."""
    root, swap = (uuid.uuid5(uuid.NAMESPACE_DNS, f"{name}.{disk}") for disk in ("root", "swap"))
    place = place_of(name)
    return (
        f"BOOT_IMAGE=(hd0,gpt{place})/boot/vmlinuz-6.12.57+deb13-amd64 root=UUID={root} ro quiet "
        f"console=tty0 console=ttyS{place % 2},115200n8 resume=UUID={swap}{more}"
    )


@dataclass(frozen=True)
class NamingPlayer(Player):
    """Runs playbooks where one more name is known, as a site's DNS would know it."""

    names: Path

    def command(
        self, playbook: str, extra: Mapping[str, Any], inventory: Sequence[Path], options: list[str]
    ) -> list[str]:
        known = 'mount --bind "$0" /etc/hosts && exec "$@"'
        inside = ["unshare", "--mount", "sh", "-c", known, str(self.names)]
        return [*inside, *super().command(playbook, extra, inventory, options)]


@pytest.fixture(scope="module")
def rack(no_lab: Lab) -> Iterator[Lab]:
    own = list(OWN_NAMES.values())
    with standing(small_lab(no_lab, NAME, PREFIX, own, virtual_lab_memory_mb=2048)) as lab:
        for name in OWN_NAMES:
            account, port = ACCOUNTS.get(name, "debian"), PORTS.get(name, 22)
            lost = place_of(name) / 1000
            at_console(lab, name, OTHER_ACCOUNT.format(account=account, port=port))
            line = command_line(name)
            at_console(lab, name, OTHER_MACHINE.format(command_line=line, lost=lost))
        yield lab


def at_console(rack: Lab, name: str, script: str) -> None:
    machine.at_console(rack.name, OWN_NAMES[name], script)


@pytest.fixture(scope="module")
def inventory(rack: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`inventory/example`, filled in for the rack."""
    mine = tmp_path_factory.mktemp("inventory") / "mylab"
    known, jump = _ssh_files(rack, mine)
    ssh = {
        "ansible_user": "debian",
        "ansible_ssh_private_key_file": str(rack.ssh_directory / "id_ed25519"),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={known} -o StrictHostKeyChecking=yes",
        "rackbench_link_mbit": 100,  # as its links are shaped
    }
    hosts: dict[str, dict[str, Any]] = {
        name: {"ansible_host": address_of(name)} for name in OWN_NAMES
    }
    hosts["rack02"] |= {"ansible_port": PORTS["rack02"]}
    hosts["rack03"] |= {
        "ansible_user": ACCOUNTS["rack03"],
        "ansible_ssh_common_args": f"-F {jump} -o ProxyJump=debian@{address_of('rack01')}",
    }
    hosts["rack04"] = {"ansible_host": DNS_NAME}
    groups = {"client": ["rack01"], "broker": ["rack02"], "workers": WORKERS}
    members = {group: {name: hosts[name] for name in names} for group, names in groups.items()}
    return fill_in(rack.player.project, mine, ssh, members)


def _ssh_files(rack: Lab, directory: Path) -> tuple[Path, Path]:
    """The nodes' host keys as read at their consoles, and settings for the way over a jump host."""
    known = directory.parent / "known_hosts"
    lines = (rack.ssh_directory / "known_hosts").read_text().splitlines()
    keys = dict(line.split(maxsplit=1) for line in lines)
    lines += [
        f"[{address_of(name)}]:{port} {keys[address_of(name)]}" for name, port in PORTS.items()
    ]
    lines += [f"{DNS_NAME} {keys[address_of('rack04')]}", ""]
    known.write_text("\n".join(lines))
    jump = directory.parent / "ssh_config"
    jump.write_text(
        f"Host *\n  IdentityFile {rack.ssh_directory}/id_ed25519\n"
        f"  UserKnownHostsFile {known}\n  StrictHostKeyChecking yes\n"
    )
    return known, jump


@pytest.fixture(scope="module")
def provisioned(rack: Lab, inventory: Path) -> Lab:
    names = inventory.parent / "hosts"
    names.write_text(f"{Path('/etc/hosts').read_text()}\n{address_of('rack04')} {DNS_NAME}\n")
    player = NamingPlayer(rack.player.project, rack.player.home, [], [inventory], names)
    owner = Lab(rack.name, rack.nodes, player, rack.say)
    outcome = owner.play("site.yml")
    assert set(outcome.changed) == set(OWN_NAMES)
    return owner


def test_a_filled_in_example_provisions_and_a_second_run_changes_nothing(provisioned: Lab) -> None:
    again = provisioned.play("site.yml")
    assert set(OWN_NAMES) <= again.hosts
    assert again.changed == {}, again.changed_tasks


def test_its_nodes_are_alike_and_nothing_had_to_be_declared(
    provisioned: Lab, inventory: Path
) -> None:
    settings = yaml.safe_load((inventory / "group_vars/all/lab.yml").read_text())
    assert settings["fingerprint_exceptions"] == []
    outcome = provisioned.play("verify.yml")
    assert set(OWN_NAMES) <= outcome.hosts
    assert outcome.changed == {}


def test_a_sweep_on_it_has_every_trial_sealed_and_verified(provisioned: Lab) -> None:
    extra = {"study": "sort", "profile": "three-servers", "run": "rack"}
    provisioned.play("sweep.yml", extra)
    done = provisioned.player.project.collect("check", "rack")
    assert done.returncode == 0, done.stdout


@contextmanager
def altered(rack: Lab) -> Iterator[None]:
    """A boot parameter on one machine and a kernel setting on another that do matter."""
    write = "cat >/run/machine/cmdline <<'.'\n{}\n.\n"
    network = f"rackbench-{rack.name}-{OWN_NAMES['rack04']}"
    set_sysctl = ["ip", "netns", "exec", network, "sysctl", "--quiet", "--write"]
    at_console(rack, "rack03", write.format(command_line("rack03", " mitigations=off")))
    subprocess.run([*set_sysctl, "net.ipv4.tcp_sack=0"], check=True)
    try:
        yield
    finally:
        at_console(rack, "rack03", write.format(command_line("rack03")))
        subprocess.run([*set_sysctl, "net.ipv4.tcp_sack=1"], check=True)


def test_a_boot_parameter_and_a_sysctl_that_differ_are_found_and_nothing_else(
    provisioned: Lab,
) -> None:
    with altered(provisioned):
        outcome = provisioned.player.attempt("verify.yml")
    assert outcome.code != 0
    table = outcome.text.partition("\nfatal: ")[2].partition("\nPLAY RECAP ")[0]
    words = {frozenset(line.split()) for line in table.splitlines()}
    rows = [row for row in words if row & set(OWN_NAMES)]
    assert [row for row in rows if {"kernel_command_line", "rack03"} <= row], table
    assert [row for row in rows if {"net.ipv4.tcp_sack", "rack04"} <= row], table
    assert "mitigations=off" in table, table
    assert len(rows) == 2, table
