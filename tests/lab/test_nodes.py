"""The nodes as machines: booted, reachable, shaped, capped, and known by name."""

from __future__ import annotations

import subprocess
from pathlib import Path

import machine
import pytest
from labs import NODES, Lab
from transfer import assert_shaped

MEMORY_MIB = 2048

every_node = pytest.mark.parametrize("node", NODES)


@every_node
def test_a_node_is_a_booted_systemd_with_its_own_name_and_address(lab: Lab, node: str) -> None:
    assert lab.output(node, "systemctl is-system-running") == "running"
    assert lab.output(node, "cat /proc/1/comm") == "systemd"
    assert lab.output(node, "hostname") == node
    addresses = lab.host(node).interface("host0").addresses
    assert lab.nodes[node] in addresses
    assert not set(addresses) & (set(lab.nodes.values()) - {lab.nodes[node]})


def test_nodes_do_not_share_their_identity(lab: Lab) -> None:
    ids = {lab.output(node, "cat /etc/machine-id") for node in lab.nodes}
    keys = {lab.output(node, "cat /etc/ssh/ssh_host_ed25519_key.pub") for node in lab.nodes}
    assert len(ids) == len(keys) == len(lab.nodes)


@every_node
def test_the_host_key_is_known_before_the_first_contact(lab: Lab, node: str) -> None:
    shown = subprocess.run(
        ["ssh-keyscan", "-t", "ed25519", lab.nodes[node]],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    known = (lab.ssh_directory / "known_hosts").read_text().splitlines()
    assert " ".join(shown[-3:]) in known


def test_a_node_with_another_host_key_is_refused(lab: Lab, tmp_path: Path) -> None:
    other = next(
        line.split(maxsplit=1)[1]
        for line in (lab.ssh_directory / "known_hosts").read_text().splitlines()
        if line.startswith(f"{lab.nodes['worker1']} ")
    )
    forged = tmp_path / "known_hosts"
    forged.write_text(f"{lab.nodes['worker2']} {other}\n")
    done = subprocess.run(
        [
            *("ssh", "-F", str(lab.ssh_directory / "config"), "-o", "BatchMode=yes"),
            *("-o", f"UserKnownHostsFile={forged}", "worker2", "true"),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 255
    assert "Host key verification failed" in done.stderr


def test_secrets_are_readable_by_their_owner_alone(lab: Lab) -> None:
    secrets = [lab.ssh_directory / "id_ed25519"]
    secrets += list((lab.ssh_directory.parent / "secrets").iterdir())
    assert len(secrets) >= 3
    assert [path for path in secrets if path.stat().st_mode & 0o077] == []


@every_node
def test_the_client_knows_all_names_and_the_others_no_other_worker(lab: Lab, node: str) -> None:
    known = {n: a for n, a in lab.nodes.items() if node == "client1" or n not in lab.workers}
    known[node] = lab.nodes[node]
    answer = lab.output(node, f"getent ahostsv4 {' '.join(lab.nodes)} | grep STREAM")
    # A name that stands twice in the file has a second line, without the name.
    found = {
        name: address
        for address, _, *names in map(str.split, answer.splitlines())
        for name in names
    }
    assert found == known
    assert {line.split()[0] for line in answer.splitlines()} == set(known.values())


@every_node
def test_a_node_opens_connections_from_the_declared_ports_and_reuses_them(
    lab: Lab, node: str
) -> None:
    names = "net.ipv4.ip_local_port_range net.ipv4.tcp_tw_reuse"
    assert lab.output(node, f"sysctl -n {names}").split() == ["10240", "65535", "1"]


@every_node
def test_the_link_is_shaped_in_both_directions(lab: Lab, node: str) -> None:
    assert_shaped(lab, node)


@every_node
def test_the_memory_cap_is_set(lab: Lab, node: str) -> None:
    groups = Path(f"/proc/{machine.first_process(lab.name, node)}/cgroup").read_text().splitlines()
    limits = []
    for hierarchy, controllers, group in (line.split(":", 2) for line in groups):
        if hierarchy == "0" or "memory" in controllers.split(","):
            limits += _limits_above(Path("/sys/fs/cgroup", "memory" * (hierarchy != "0")), group)
    assert min(limits) == MEMORY_MIB * 1024 * 1024


def test_a_process_that_takes_more_than_the_cap_is_ended_and_the_node_is_not(lab: Lab) -> None:
    grab = f"python3 -c 'b = [bytes([1]) * 2**20 for _ in range({MEMORY_MIB})]; print(len(b))'"
    done = lab.ssh("client1", grab, check=False)
    assert done.returncode != 0
    assert done.stdout == b""
    assert lab.output("client1", "systemctl is-system-running") == "running"


@every_node
def test_a_node_has_the_same_packages_as_the_others(lab: Lab, node: str) -> None:
    listing = "dpkg-query -W -f '${Package} ${Version}\\n'"
    assert lab.output(node, listing) == lab.output("client1", listing)


def test_a_node_has_no_way_out_of_the_lab(lab: Lab) -> None:
    assert lab.output("worker1", "ip -4 route show default") == ""


def _limits_above(root: Path, group: str) -> list[int]:
    """The memory limits of a control group and of those that hold it."""
    found = []
    for directory in [root / group.lstrip("/"), *(root / group.lstrip("/")).parents]:
        for name in ("memory.max", "memory.limit_in_bytes"):
            limit = directory / name
            if limit.is_file() and limit.read_text().strip() != "max":
                found.append(int(limit.read_text()))
    return found
