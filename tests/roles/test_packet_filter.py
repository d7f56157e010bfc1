"""What the packet filter makes of the inventory, and whom it would shut out."""

from __future__ import annotations

import ipaddress
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError
from loading import load

load("roles/probation/module_utils/probation.py", "ansible.module_utils.probation")
load("roles/probation/module_utils/ssh_session.py", "ansible.module_utils.ssh_session")
packets = load("roles/packet_filter/library/packet_filter.py")
lookup = load("roles/packet_filter/lookup_plugins/snippets.py")

LAB = ["10.0.0.2-10.0.0.9"]
HERE = packets.Connection("10.0.0.1", 22)


def rules(**given: Any) -> str:
    asked = {"lab": LAB, "ports": [8080], "ssh_from": [], "more_ports": [], "snippets": {}}
    return packets.rules_of({**asked, **given}, given.pop("ssh_ports", [22]))


def out(named: list[str], *peers: str, here: Any = HERE, ports: Any = (22,)) -> str:
    others = [packets.Connection(peer, 22) for peer in peers]
    return "\n".join(packets.shut_out({"ssh_from": named}, here, others, list(ports)))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("10.0.0.5", "10.0.0.5", "10.0.0.5"),
        ("10.0.0.0/24", "10.0.0.0", "10.0.0.255"),
        ("10.0.0.5-10.0.0.9", "10.0.0.5", "10.0.0.9"),
        ("fd00::/120", "fd00::", "fd00::ff"),
        ("fd00::5 - fd00::9", "fd00::5", "fd00::9"),
        ("::/0", "::", str(ipaddress.IPv6Address(2**128 - 1))),
    ],
)
def test_addresses_networks_and_ranges_of_both_families(text: str, first: str, last: str) -> None:
    assert [str(end) for end in packets.bounds(text)] == [first, last]


@pytest.mark.parametrize(
    "text",
    [
        *("rack01", "gateway.example.org", "", "10.0.0.5/24", "10.0.0.0/8/8", "10.0.0.300"),
        *("10.0.0.9-10.0.0.5", "10.0.0.5-fd00::9", "fe80::1%eth0", "{'a': 1}", "None"),
    ],
)
def test_what_is_no_address_is_refused_with_what_is_one(text: str) -> None:
    with pytest.raises(packets.FilterError, match=r"is no address, .* takes 10\.0\.0\.5"):
        packets.bounds(text)


@pytest.mark.parametrize(
    "text", ["0.0.0.0/32", "::", "127.0.0.1", "::1", "224.0.0.1", "ff02::1", "255.255.255.255"]
)
def test_an_address_that_is_nobodys_is_refused(text: str) -> None:
    with pytest.raises(packets.FilterError, match="is the address of no machine"):
        packets.bounds(text)


def test_without_a_name_ssh_stays_open_and_with_one_it_does_not() -> None:
    assert "        tcp dport { 22 } accept\n" in rules()
    assert "@ssh" not in rules()
    named = rules(ssh_from=["10.0.0.1", "fd00::1"])
    assert "        tcp dport { 22 } accept\n" not in named
    assert "ip saddr @ssh4 tcp dport { 22 } accept" in named
    assert "ip6 saddr @ssh6 tcp dport { 22 } accept" in named
    assert "elements = { fd00::1 }" in named
    assert "name your control and jump hosts" in packets.what_is_let_in(HERE, [22])
    assert 'rackbench_control: ["10.0.0.1"]' in packets.what_is_let_in(HERE, [22])


def test_who_is_there_is_told_who_would_not_get_in_again() -> None:
    assert out([], "10.0.0.7") == ""
    assert out(["10.0.0.1"], "10.0.0.1", "127.0.0.1") == ""
    assert 'add it: rackbench_control: ["10.0.0.3", "10.0.0.1"]' in out(["10.0.0.3"])
    said = out(["10.0.0.1"], "10.0.0.7", "fd00::7", "10.0.0.7")
    assert "there are SSH sessions from 10.0.0.7, fd00::7" in said
    assert 'add them: rackbench_control: ["10.0.0.1", "10.0.0.7", "fd00::7"]' in said
    assert out(["10.0.0.0/24"], "10.0.0.7") == ""
    assert "to port 22, and packet_filter_ssh_ports (2222) would shut it" in out([], ports=[2222])
    assert out(["10.0.0.3"], here=None) == ""


def test_sessions_are_read_as_the_kernel_writes_them() -> None:
    table = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0B004D0A:0016 01004D0A:D2F0 01 00000000:00000000 00:00000000 00000000     0        0 1
   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2
   2: 0000000000000000FFFF00000B004D0A:08AE 0000000000000000FFFF000007004D0A:D2F1 01 0:0 00:0 0 0
   3: 000000FD000000000000000001000000:0016 000000FD000000000000000007000000:D2F1 01 0:0 00:0 0 0
"""
    if sys.byteorder != "little":
        pytest.skip("the table is written down as a little-endian machine has it")
    found = [(one.peer, one.port) for one in packets.sessions(table)]
    assert found == [("10.77.0.1", 22), ("10.77.0.7", 2222), ("fd00::7", 22)]


def test_further_ports_are_let_in_from_where_they_say() -> None:
    told = rules(more_ports=[{"port": 123, "protocol": "udp", "from": ["10.0.0.0/24", "fd00::1"]}])
    assert "ip saddr { 10.0.0.0-10.0.0.255 } udp dport 123 accept" in told
    assert "ip6 saddr { fd00::1 } udp dport 123 accept" in told
    assert "{ 10.0.0.4 } tcp dport 9100 accept" in rules(
        more_ports=[{"port": 9100, "from": ["10.0.0.4"]}]
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"port": 0, "from": ["10.0.0.4"]}, "0 is no port"),
        ({"port": 65536, "from": ["10.0.0.4"]}, "65536 is no port"),
        ({"port": "ntp", "from": ["10.0.0.4"]}, "'ntp' is no port"),
        ({"port": True, "from": ["10.0.0.4"]}, "True is no port"),
        ({"port": 123, "from": []}, "lets nobody reach port 123"),
        ({"port": 123}, "lets nobody reach port 123"),
        ({"port": 123, "from": "10.0.0.4"}, "as a list"),
        ({"port": 123, "from": ["rack01"]}, "'rack01' is no address"),
        ({"port": 123, "from": [None]}, "'None' is no address"),
        ({"port": 123, "protocol": "icmp", "from": ["10.0.0.4"]}, "'icmp' is not tcp or udp"),
        ({"port": 123, "form": ["10.0.0.4"]}, "write it as {port: 123"),
        ({"from": ["10.0.0.4"]}, "write it as {port: 123"),
    ],
)
def test_a_further_port_that_is_none_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(packets.FilterError, match=said):
        rules(more_ports=[wrong])


def test_services_without_a_lab_and_ports_that_are_none_are_refused() -> None:
    with pytest.raises(packets.FilterError, match="packet_filter_lab is empty"):
        rules(lab=[])
    with pytest.raises(packets.FilterError, match="70000 is no port"):
        rules(ports=[70000])
    assert "@lab4 tcp" not in rules(lab=[], ports=[])


def test_nodes_get_the_same_text_in_whatever_order_a_site_names_things() -> None:
    one = rules(lab=["10.0.0.3", "10.0.0.2"], snippets={"b.nft": "accept", "a.nft": "drop\n\n"})
    assert one == rules(lab=["10.0.0.2", "10.0.0.3"], snippets={"a.nft": "drop", "b.nft": "accept"})
    assert one.index("# from a.nft\ndrop\n") < one.index("# from b.nft\naccept\n")
    assert one.index("established") < one.index("# from a.nft") < one.index("tcp dport { 22 }")


def read(named: str, inventory: str) -> dict[str, str]:
    found: dict[str, str] = lookup.LookupModule().run([named, inventory])[0]
    return found


def test_the_sites_own_rules_are_found_beside_the_inventory(tmp_path: Path) -> None:
    assert read("", "") == read("", str(tmp_path)) == {}
    place = tmp_path / "nftables.d"
    place.mkdir()
    assert read("", str(tmp_path)) == {}
    (place / "10-probe.nft").write_text("tcp dport 5666 accept\n")
    (place / "notes.txt").write_text("not read")
    found = {"10-probe.nft": "tcp dport 5666 accept\n"}
    assert read("", str(tmp_path)) == read(str(place), "") == found


def test_a_directory_that_was_named_and_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AnsibleError, match="is no directory; name the one"):
        read(str(tmp_path / "missing"), str(tmp_path))
    with pytest.raises(AnsibleError, match=r"holds no \*.nft"):
        read(str(tmp_path), str(tmp_path))
    (tmp_path / "nftables.d").write_text("a file")
    with pytest.raises(AnsibleError, match="is no directory"):
        read("", str(tmp_path))
    (tmp_path / "wrong.nft").write_bytes(b"\xff\xfe")
    with pytest.raises(AnsibleError, match="make its files readable text"):
        read(str(tmp_path), "")
