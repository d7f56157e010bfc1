"""Every port of a node of each kind, tried from this machine and from another node."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import inside
import machine
import pytest
from labs import Lab
from modules import ansible, packet_filter
from ports import open_ports
from services import BROKER, TCP_SERVER, TOMCAT

SSH = 22
UNLISTED = 8081  # in no row of the table
UNIT = "unlisted.service"

# A node of each kind, and another one to look at it from.
each_kind = pytest.mark.parametrize(
    ("node", "other"), [("client1", "worker1"), ("broker1", "client1"), ("worker1", "client1")]
)

LISTEN = """
import socket, time
tcp, udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
tcp.bind(("0.0.0.0", PORT)), tcp.listen(), udp.bind(("0.0.0.0", PORT))
open("/run/unlisted", "w").close()
open("/run/unlisted-datagram", "wb").write(udp.recv(100))
time.sleep(600)
""".replace("PORT", str(UNLISTED))


@pytest.fixture(scope="module")
def table(lab: Lab) -> dict[str, set[int]]:
    """The inventory's table of ports, a row a kind of node."""
    rows = {}
    for node in ("client1", "broker1", "worker1"):
        _, answer = ansible(lab, node, "-m", "debug", "-a", "var=packet_filter_ports")
        rows[node] = set(answer["packet_filter_ports"])
    assert all(rows.values())
    return rows


@each_kind
def test_this_machine_reaches_ssh_and_nothing_else(lab: Lab, node: str, other: str) -> None:
    assert open_ports(lab.nodes[node]) == {SSH}


@each_kind
def test_another_node_reaches_what_the_table_names_and_nothing_else(
    lab: Lab, table: dict[str, set[int]], node: str, other: str
) -> None:
    with inside.network(lab, other):
        assert open_ports(lab.nodes[node]) == table[node]


def test_no_node_listens_to_datagrams(lab: Lab) -> None:
    for node in lab.nodes:
        sockets = [line.split()[3] for line in lab.output(node, "ss -Hlun").splitlines()]
        assert [s for s in sockets if not s.startswith(("127.", "[::1]"))] == [], node


@contextmanager
def unlisted_service(lab: Lab, node: str) -> Iterator[None]:
    """A process that listens on every address of the node, for TCP and for UDP, until the end."""
    started = lab.ssh(
        node,
        f'sudo systemd-run --quiet --collect --unit={UNIT} python3 -c "$(cat)"',
        given=LISTEN.encode(),
    )
    assert started.returncode == 0
    try:
        ready = "test -e /run/unlisted && echo ready || :"
        machine.wait_for(lambda: lab.output(node, ready), "the process listens")
        yield
    finally:
        lab.output(node, f"systemctl stop {UNIT}; rm -f /run/unlisted*")


def datagram(lab: Lab, node: str) -> str:
    return lab.output(node, "cat /run/unlisted-datagram 2>/dev/null || :")


SEND = (
    "python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); "
    's.sendto(b"{text}", ("{address}", {port}))\''
)


def test_a_service_that_somebody_starts_on_a_node_is_reached_from_no_other(lab: Lab) -> None:
    address = lab.nodes["worker1"]
    nearby = range(UNLISTED - 3, UNLISTED + 3)
    with unlisted_service(lab, "worker1"):
        assert open_ports(address, nearby) == set()
        with inside.network(lab, "client1"):
            assert open_ports(address, nearby) == {8080}
        for node in ("client1", "broker1"):
            lab.output(node, SEND.format(text=node, address=address, port=UNLISTED))
        # It does listen: the node itself reaches it.
        with inside.network(lab, "worker1"):
            assert open_ports(address, nearby) == {8080, UNLISTED}
        lab.output("worker1", SEND.format(text="itself", address=address, port=UNLISTED))
        assert machine.wait_for(lambda: datagram(lab, "worker1"), "a datagram") == "itself"


def test_a_hole_in_the_filter_is_found_by_the_scan_and_mended_by_the_role(lab: Lab) -> None:
    address = lab.nodes["worker1"]
    rules = lab.output("worker1", "nft list table inet rackbench")
    with unlisted_service(lab, "worker1"):
        try:
            hole = f"nft insert rule inet rackbench input tcp dport {UNLISTED} accept"
            lab.output("worker1", hole)
            assert open_ports(address, range(UNLISTED - 3, UNLISTED + 3)) == {UNLISTED}
            assert role(lab, "--check")[1]["changed"]
            assert role(lab)[1]["changed"]
            assert open_ports(address, range(UNLISTED - 3, UNLISTED + 3)) == set()
            assert lab.output("worker1", "nft list table inet rackbench") == rules
            assert not role(lab)[1]["changed"]
        finally:
            lab.output("worker1", "systemctl reload packet-filter.service")


def test_the_filter_comes_back_after_all_rules_were_flushed(lab: Lab) -> None:
    """As Debian's own rules do when they are loaded, and its unit when it stops."""
    address, table = lab.nodes["worker1"], "nft --stateless list table inet rackbench"
    rules = lab.output("worker1", table)
    assert "flush ruleset" in lab.output("worker1", "cat /etc/nftables.conf")
    with unlisted_service(lab, "worker1"):
        for job in ("start", "reload", "restart", "stop"):
            lab.output("worker1", f"systemctl {job} nftables.service")
            assert lab.output("worker1", table) == rules, job
            assert open_ports(address, range(UNLISTED - 3, UNLISTED + 3)) == set(), job
    assert not role(lab, "--check")[1]["changed"]


STUDENT = "student"
# Tells who called, as one would who collects passwords.
COLLECT = """
import socket
server = socket.create_server(("0.0.0.0", PORT))
open("/tmp/STUDENT-listens", "w").close()
while True:
    caller, _ = server.accept()
    caller.sendall(b"collected")
"""


@contextmanager
def squatter(lab: Lab, node: str, account: str, port: int) -> Iterator[None]:
    """A process of this account that listens on this port of every address of the node."""
    text = COLLECT.replace("PORT", str(port)).replace("STUDENT", account)
    start = f"systemd-run --quiet --collect --uid={account} --unit={UNIT}"
    try:
        lab.ssh(node, f'sudo {start} python3 -c "$(cat)"', given=text.encode())
        ready = f"test -e /tmp/{account}-listens && echo ready || :"
        machine.wait_for(lambda: lab.output(node, ready), "the process listens")
        yield
    finally:
        lab.output(node, f"systemctl stop {UNIT}; rm -f /tmp/{account}-listens")


def collected(lab: Lab, caller: str, address: str, port: int) -> bytes:
    """What is said to a caller on one of the nodes; nothing where no connection comes about."""
    try:
        with (
            inside.network(lab, caller),
            socket.create_connection((address, port), timeout=3) as made,
        ):
            return made.recv(100)
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("node", "unit", "port"),
    [("worker1", TCP_SERVER, 9100), ("worker1", TOMCAT, 8080), ("broker1", BROKER, 7676)],
)
def test_a_student_who_takes_the_port_of_a_service_that_is_away_gets_no_connection(
    lab: Lab, node: str, unit: str, port: int
) -> None:
    address = lab.nodes[node]
    callers = [("client1", address), (node, address), (node, "127.0.0.1")]
    lab.output(node, f"id {STUDENT} >/dev/null 2>&1 || useradd {STUDENT}; systemctl stop {unit}")
    try:
        with squatter(lab, node, STUDENT, port):
            assert [collected(lab, *caller, port) for caller in callers] == [b"", b"", b""]
        with squatter(lab, node, "root", port):
            assert [collected(lab, *caller, port) for caller in callers] == [b"collected"] * 3
    finally:
        lab.output(node, f"systemctl start {unit}; userdel {STUDENT}")
    with inside.network(lab, "client1"):
        serves = machine.wait_for(lambda: open_ports(address, [port]), f"{unit} serves", 120)
    assert serves == {port}


UFW = "install -Dm755 /bin/true /usr/sbin/ufw; install -Dm644 /dev/null /etc/ufw/ufw.conf"


def test_another_packet_filter_on_a_node_is_refused_by_its_name(lab: Lab) -> None:
    words = ("-m", "include_role", "-a", "name=packet_filter tasks_from=preflight")
    assert ansible(lab, "worker1", *words)[0] == 0
    try:
        lab.output("worker1", UFW)
        assert ansible(lab, "worker1", *words)[0] == 0  # it is installed, and off
        lab.output("worker1", "echo ENABLED=yes >/etc/ufw/ufw.conf")
        lab.output("worker1", "ip link add docker0 type bridge")
        code, answer = ansible(lab, "worker1", *words)
        assert code == 2
        assert "ufw is active" in answer["msg"]
        assert "Docker is there" in answer["msg"]
        assert 'packet_filter_beside: ["docker", "ufw"] for worker1' in answer["msg"]
    finally:
        lab.output("worker1", "rm -rf /usr/sbin/ufw /etc/ufw; ip link del docker0 || :")


def test_a_table_that_drops_incoming_packets_is_refused_by_its_name(lab: Lab) -> None:
    words = ("-m", "include_role", "-a", "name=packet_filter tasks_from=preflight")
    strict = (
        "add table ip strict; "
        "add chain ip strict input { type filter hook input priority 10; policy drop; }; "
        "add rule ip strict input tcp dport 22 accept"
    )
    try:
        lab.output("worker1", f"nft '{strict}'")
        code, answer = ansible(lab, "worker1", *words)
        assert code == 2
        assert "The table ip strict drops every packet to this host, or from it" in answer["msg"]
    finally:
        lab.output("worker1", "nft delete table ip strict")


def role(lab: Lab, *options: str, **other: Any) -> tuple[int, dict[str, Any]]:
    """What the role does, alone and on one node."""
    return packet_filter(lab, "worker1", *options, **other)


def test_rules_that_would_shut_out_who_comes_are_refused(lab: Lab) -> None:
    rules = lab.output("worker1", "nft list table inet rackbench")
    control = lab.nodes["worker1"].rpartition(".")[0] + ".1"
    for wrong in ({"ssh_from": ["192.0.2.7"]}, {"ssh_ports": [2222]}):
        code, answer = role(lab, **wrong)
        assert code == 2
        assert re.search(
            rf"your session comes from {re.escape(control)} to port 22\b.*; add it\b", answer["msg"]
        )
    assert lab.output("worker1", "nft list table inet rackbench") == rules


def test_without_a_control_host_ssh_is_not_restricted_and_that_is_said(lab: Lab) -> None:
    control = lab.nodes["worker1"].rpartition(".")[0] + ".1"
    _, answer = role(lab, "--check", ssh_from=[])
    assert "        tcp dport { 22 } accept\n" in answer["rules"]
    assert "SSH (port 22) is open to all addresses" in answer["notes"][0]
    assert f'rackbench_control: ["{control}"]' in answer["notes"][0]
    assert answer["changed"]
    assert not role(lab, "--check")[1]["changed"]


def test_a_connection_older_than_the_filter_stays_and_a_new_one_is_refused(lab: Lab) -> None:
    place = (lab.nodes["client1"], UNLISTED)
    lab.output("client1", "nft delete table inet rackbench")
    try:
        with inside.network(lab, "client1"):
            server = socket.create_server(place)
        with inside.network(lab, "worker1"):
            older = socket.create_connection(place, timeout=10)
        with server, older:
            answering, _ = server.accept()
            with answering:
                lab.output("client1", "systemctl reload packet-filter.service")
                older.sendall(b"still here")
                answering.settimeout(10)
                assert answering.recv(10) == b"still here"
                with pytest.raises(ConnectionRefusedError), inside.network(lab, "worker1"):
                    socket.create_connection(place, timeout=10)
    finally:
        lab.output("client1", "systemctl reload packet-filter.service")


def test_an_address_that_is_none_is_refused(lab: Lab) -> None:
    code, answer = role(lab, ssh_from=["10.0.0.0/8/8"])
    assert code == 2
    assert "is not an address, network or range" in answer["msg"]


def test_the_filter_is_there_before_the_network(lab: Lab) -> None:
    for node in lab.nodes:
        said = lab.output(node, "systemctl show -P Before -P UnitFileState packet-filter.service")
        assert "network-pre.target" in said
        assert "enabled" in said
