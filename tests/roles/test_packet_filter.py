"""What the packet filter makes of the inventory, and whom it would shut out."""

from __future__ import annotations

import base64
import ipaddress
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar, trust_as_template
from loading import ROOT, load
from rendering import Role

packets = load("roles/packet_filter/library/packet_filter.py")

ROLE = ROOT / "roles/packet_filter"
LAB = ["10.0.0.2-10.0.0.9"]
HERE = packets.Session("10.0.0.1", 22)
TEMPLATE = "{{ lookup('ansible.builtin.template', template) }}"


@pytest.fixture(scope="module", autouse=True)
def plugins() -> None:
    """Ansible's own plug-ins, which its templates need."""
    init_plugin_loader()


def rules(inventory: str = "", **given: Any) -> str:
    """The role's template, with its defaults and variables, for one node."""
    loader = DataLoader()
    values: dict[str, Any] = {
        "template": str(ROLE / "templates/packet-filter.nft.j2"),
        "inventory_dir": inventory,
    }
    for file in ("defaults", "vars"):
        path = str(ROLE / file / "main.yml")
        values |= loader.load_from_file(path, trusted_as_template=True)
    asked = {"lab": LAB, "ports": [8080]} | given
    values |= {f"packet_filter_{name}": value for name, value in asked.items()}
    found = Templar(loader=loader, variables=values).template(trust_as_template(TEMPLATE))
    return str(found)


def out(named: list[str], *peers: str, here: Any = HERE, ports: Any = (22,)) -> str:
    others = [packets.Session(peer, 22) for peer in peers]
    return "\n".join(packets.shut_out(named, here, others, list(ports)))


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
    with pytest.raises(packets.HostError, match=r"is not an address, .* takes 10\.0\.0\.5"):
        packets.bounds(text)


@pytest.mark.parametrize(
    "text", ["0.0.0.0/32", "::", "127.0.0.1", "::1", "224.0.0.1", "ff02::1", "255.255.255.255"]
)
def test_an_address_that_is_nobodys_is_refused(text: str) -> None:
    with pytest.raises(packets.HostError, match="is not the address of a machine"):
        packets.bounds(text)


def test_without_a_name_ssh_stays_open_and_with_one_it_does_not() -> None:
    to_all = "        tcp dport { @ssh_ports@ } accept\n"
    assert to_all in rules()
    assert "@ssh4" not in rules()
    named = rules(ssh_from=["10.0.0.1", "fd00::1"])
    assert to_all not in named
    assert "ip saddr @ssh4 tcp dport { @ssh_ports@ } accept" in named
    assert "ip6 saddr @ssh6 tcp dport { @ssh_ports@ } accept" in named
    assert "auto-merge; elements = { fd00::1 } }" in named
    assert "elements = { 10.0.0.1 }" in rules(ssh_from="10.0.0.1")
    assert "name your control and jump hosts" in packets.what_is_let_in(HERE, [22])
    assert 'rackbench_control: ["10.0.0.1"]' in packets.what_is_let_in(HERE, [22])


def test_who_is_there_is_told_who_would_not_get_in_again() -> None:
    assert out([], "10.0.0.7") == ""
    assert out(["10.0.0.1"], "10.0.0.1", "127.0.0.1") == ""
    assert 'add it: rackbench_control: ["10.0.0.3", "10.0.0.1"]' in out(["10.0.0.3"])
    said = out(["10.0.0.1"], "10.0.0.7", "10.0.0.8", "10.0.0.7")
    assert "SSH sessions from 10.0.0.7, 10.0.0.8 are open" in said
    assert 'add them: rackbench_control: ["10.0.0.1", "10.0.0.7", "10.0.0.8"]' in said
    assert "temporary" not in said
    assert out(["10.0.0.0/24"], "10.0.0.7") == ""
    assert "to port 22, and packet_filter_ssh_ports (2222) would close it" in out([], ports=[2222])
    assert out(["10.0.0.3"], here=None) == ""


def test_a_line_to_write_names_no_address_that_may_be_gone_tomorrow() -> None:
    temporary = "2001:db8:1:2:85a3:1d0c:4f2e:9b71"
    network = '"2001:db8:1:2::/64"'
    here = packets.Session(temporary, 22)
    for said in (
        out(["10.0.0.1"], here=here),
        out(["10.0.0.1"], temporary, "2001:db8:1:2:9::7"),
        packets.what_is_let_in(here, [22]),
    ):
        line = said.partition("rackbench_control: [")[2].partition("]")[0]
        assert line.removeprefix('"10.0.0.1", ') == network
        assert "an IPv6 address, which may be a temporary one" in said


LISTED = """\
0      0              10.77.0.11:22          10.77.0.1:53984
0      36    [::ffff:10.77.0.11]:2222  [::ffff:10.77.0.7]:53985
0      0               [fd00::1]:22          [fd00::7]:53986
0      0      [fe80::1]%host0:22    [fe80::7%host0]:53987
0      0              10.77.0.11:8080        10.77.0.9:53988
"""


def test_sessions_are_read_as_ss_lists_them() -> None:
    assert {(one.peer, one.port) for one in packets.sessions(LISTED)} == {
        ("10.77.0.1", 22),
        ("10.77.0.7", 2222),
        ("fd00::7", 22),
        ("fe80::7", 22),
        ("10.77.0.9", 8080),
    }


@pytest.mark.parametrize(
    ("table", "peers"),
    [
        ("", {"10.77.0.1", "fd00::7", "fe80::7"}),
        ("tcp dport 22 accept", {"10.77.0.1", "fd00::7", "fe80::7"}),
        ("ip saddr @ssh4 tcp dport 22 accept", {"10.77.0.1"}),
    ],
    ids=["no filter", "open to all", "narrowed"],
)
def test_only_sessions_that_could_begin_again_now_count(
    monkeypatch: pytest.MonkeyPatch, table: str, peers: set[str]
) -> None:
    monkeypatch.setattr(packets, "run", lambda *argv: LISTED)
    monkeypatch.setattr(packets, "is_member", lambda peer: peer == "10.77.0.1")
    assert {one.peer for one in packets.let_in_now(table, [22])} == peers


# `sshd -T`, of lines that count: with `Port 22`, and with `ListenAddress 10.0.0.2:2222` besides.
SSHD = "port 22\naddressfamily any\nlistenaddress 0.0.0.0:22\nlistenaddress [::]:22\n"
OTHER = (
    "port 22\nlistenaddress 10.0.0.2:2222\nlistenaddress [fd00::2]:2223 rdomain lab\nusepam yes\n"
)
SOCKET = "Listen=0.0.0.0:22 (Stream)\nListen=[::]:2200 (Stream)\nListen=/run/x (Stream)\n"


@pytest.mark.parametrize(
    ("sshd", "socket", "ports"),
    [
        (SSHD, "Listen=\nActiveState=inactive\n", [22]),
        (OTHER, None, [2222, 2223]),
        ("port 22\nport 2022\n", f"{SOCKET}ActiveState=inactive\n", [22, 2022]),
        (SSHD, f"{SOCKET}ActiveState=active\n", [22, 2200]),
        (SSHD, "Listen=22222 (Stream)\nActiveState=active\n", [22, 22222]),
        (None, f"{SOCKET}ActiveState=active\n", [22, 2200]),
        (None, None, []),
    ],
)
def test_all_ports_on_which_ssh_listens_are_let_in(
    monkeypatch: pytest.MonkeyPatch, sshd: str | None, socket: str | None, ports: list[int]
) -> None:
    told = {"/usr/sbin/sshd": sshd, "systemctl": socket}
    monkeypatch.setattr(packets, "output", lambda *argv: told[argv[0]])
    assert packets.sshd_ports() == ports


def test_further_ports_are_let_in_from_where_they_say() -> None:
    told = rules(more_ports=[{"port": 123, "protocol": "udp", "from": ["10.0.0.0/24", "fd00::1"]}])
    assert "        ip saddr { 10.0.0.0/24 } udp dport 123 accept\n" in told
    assert "        ip6 saddr { fd00::1 } udp dport 123 accept\n" in told
    told = rules(more_ports=[{"port": 9100, "from": ["10.0.0.4"]}])
    assert "{ 10.0.0.4 } tcp dport 9100 accept" in told
    assert "ip6 saddr {" not in told


def test_ports_that_let_nobody_in_are_refused() -> None:
    with pytest.raises(AnsibleError, match="packet_filter_lab is empty"):
        rules(lab=[])
    assert "@lab4 tcp" not in rules(lab=[], ports=[])
    with pytest.raises(AnsibleError, match="lets nobody reach port 123; write who may"):
        rules(more_ports=[{"port": 123, "from": []}])


def snippets(place: Path, **texts: str) -> str:
    place.mkdir(exist_ok=True)
    for name, text in texts.items():
        (place / f"{name}.nft").write_text(text)
    return str(place)


def test_nodes_get_the_same_text_in_whatever_order_a_site_names_things(tmp_path: Path) -> None:
    here = snippets(tmp_path, b="accept", a="drop\n\n")
    one = rules(lab=["10.0.0.3", "10.0.0.2"], snippets=here)
    assert one == rules(lab=["10.0.0.2", "10.0.0.3", "10.0.0.2"], snippets=here)
    assert "elements = { 10.0.0.2, 10.0.0.3 }" in one
    assert one.index("# from a.nft\ndrop\n") < one.index("# from b.nft\naccept\n")
    assert one.index("established") < one.index("# from a.nft") < one.index("tcp dport {")


def test_the_sites_own_rules_are_found_beside_the_inventory(tmp_path: Path) -> None:
    assert "# from" not in rules(inventory=str(tmp_path))
    found = snippets(tmp_path / "nftables.d", probe="tcp dport 5666 accept\n")
    (tmp_path / "nftables.d/notes.txt").write_text("not read")
    told = rules(inventory=str(tmp_path))
    assert "# from probe.nft\ntcp dport 5666 accept\n" in told
    assert "not read" not in told
    assert rules(snippets=found) == told


def test_a_directory_that_was_named_and_holds_no_rules_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing"):
        with pytest.raises(AnsibleError, match=r"holds no \*.nft; put the rules of the site there"):
            rules(snippets=str(place))


def test_what_nftables_says_of_a_sites_own_file_is_told_with_the_line_of_that_file(
    tmp_path: Path,
) -> None:
    told = rules(snippets=snippets(tmp_path, bad="tcp dport 82 accept\ntpc oops\n"))
    at = told.splitlines().index("tpc oops") + 1
    said = packets.in_their_files(told, f"/dev/stdin:{at}:1-3: Error: syntax error")
    assert said == "bad.nft:2:1-3: Error: syntax error"
    ours = "/dev/stdin:12:1-3: Error"
    assert packets.in_their_files(told, ours) == ours
    after = f"/dev/stdin:{at + 3}:1-3: Error"
    assert packets.in_their_files(told, after) == after


def test_a_switch_that_snoops_keeps_the_way_to_a_nodes_ipv6_address() -> None:
    listeners = "mld-listener-query, mld-listener-report, mld-listener-done, mld2-listener-report"
    assert f"        icmpv6 type {{ {listeners} }} accept\n" in rules()


@pytest.mark.parametrize("ports", [[], [7676, 7678]])
def test_no_port_is_owned_unless_the_inventory_says_so(ports: list[int]) -> None:
    owned = "tcp flags & syn == syn tcp sport { 7676, 7678 }"
    told = rules(owned_ports=ports)
    assert (f"{owned} meta skuid {{ 0, 100-999, 61184-65519 }} accept\n" in told) is bool(ports)
    assert (f"        {owned} drop\n" in told) is bool(ports)
    assert ("hook output" in told) is bool(ports)
    assert "sport { 8080 } meta skuid" in rules()


# In a network of its own: an account listens on an owned port, and a client there calls.
ATTEMPT = """
import os, socket, subprocess, sys
given, place = sys.stdin.buffer.read(), (sys.argv[1], 8080)
subprocess.run("ip link set lo up && nft --file -", shell=True, check=True, input=given)
family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
for account in map(int, sys.argv[2:]):
    ready, told = os.pipe()
    listener = os.fork()
    if not listener:
        os.setgid(account)
        os.setuid(account)
        server = socket.create_server(place, family=family)
        os.write(told, b"x")
        server.accept()[0].sendall(b"hello")
    os.read(ready, 1)
    try:
        answer = socket.create_connection(place, 0.3).recv(5).decode()
    except OSError:
        answer = "nothing"
    os.kill(listener, 9)
    os.waitpid(listener, 0)
    print(account, answer)
"""


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nft"), reason="needs root's networks and nftables"
)
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_an_ordinary_account_gets_no_connection_on_a_services_port(address: str) -> None:
    students, services = (33, 1000, 60001, 65534, 70000), (0, 100, 999, 61184)
    done = subprocess.run(
        [
            *("unshare", "--net", sys.executable, "-c", ATTEMPT, address),
            *map(str, (*students, *services)),
        ],
        input=rules().replace("@ssh_ports@", "22").encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    answers = dict(line.split() for line in done.stdout.decode().splitlines())
    assert {answers[str(account)] for account in students} == {"nothing"}
    assert {answers[str(account)] for account in services} == {"hello"}


BEFORE = "table inet rackbench {\n\tchain input {\n\t}\n}\n"


class Probation:
    """Stands in for systemd's timer: what takes the settings back, and when it was armed."""

    def __init__(self, place: Path, steps: list[str]) -> None:
        self.directory = place / "probation"
        self.steps = steps

    def clear(self) -> None:
        self.directory.mkdir()

    @contextmanager
    def armed(self, seconds: int, undo: str) -> Iterator[None]:
        self.steps.append(f"after {seconds} s: {undo}")
        yield

    def keep(self) -> None:
        self.steps.append("kept")

    def wait(self, seconds: int) -> None:
        self.steps.append("waited")

    def end(self) -> None:
        self.steps.append("ended")


class Node:
    """A node whose commands are written down, and whose kernel holds `held`."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place, self.steps, self.held = place, list[str](), BEFORE
        monkeypatch.setattr(packets, "RULES", place / "rules.nft")
        monkeypatch.setattr(packets, "UNITS", place / "units")
        (place / "units").mkdir()
        shared = sys.modules[packets.OnProbation.__module__]
        monkeypatch.setattr(shared, "Probation", lambda kind: Probation(place, self.steps))
        monkeypatch.setattr(packets, "held", lambda: self.held)
        monkeypatch.setattr(packets, "succeeds", lambda *argv: True)
        monkeypatch.setattr(packets, "sshd_ports", lambda: [2222])
        monkeypatch.setattr(packets, "ssh_session", lambda: HERE)
        monkeypatch.setattr(packets, "run", self.run)

    def run(self, *argv: str, stdin: str = "") -> str:
        if argv[0] == "unshare":
            return f"listing of {stdin}"
        self.steps.append(" ".join(argv))
        return ""

    def filter(self, **given: Any) -> Any:
        asked = {"places": LAB, "ssh_from": ["10.0.0.1"], "ssh_ports": [], "shut_out": False}
        units = {"packet-filter.service": "[Unit]\n", "nftables.service.d/ours.conf": "[Service]\n"}
        fixed = {"rules": "dport { @ssh_ports@ }\n", "units": units, "seconds": 30}
        params = {**asked, **fixed, **given}
        return packets.Filter(SimpleNamespace(params=params, check_mode=given.get("check", False)))


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(tmp_path, monkeypatch)


@pytest.mark.parametrize("before", ["", BEFORE], ids=["no filter", "a filter"])
def test_a_filter_on_probation_is_taken_back_whole_and_lies_where_no_boot_finds_it(
    node: Node, before: str
) -> None:
    node.held = before
    answer = node.filter().tried()
    assert (answer["changed"], answer["pending"]) == (True, True)
    back, tried = (node.place / "probation" / name for name in ("before", "new"))
    # Without the second line the old rules would be added to those that let nobody in.
    room = "table inet rackbench\ndelete table inet rackbench\n"
    assert back.read_text() == room + before
    assert tried.read_text() == "dport { 22, 2222 }\n"
    assert node.steps[-2:] == [f"after 30 s: nft --file {back}", f"nft --file {tried}"]
    assert not packets.RULES.exists()
    assert list(packets.UNITS.iterdir()) == []
    assert node.filter().undone() == {
        "changed": False,
        "before": "the previous filter" if before else "no filter",
    }
    tried.write_text("dport { 22, 2222 }\n")
    assert node.filter().kept() == {"changed": True}
    assert packets.RULES.read_text() == "dport { 22, 2222 }\n"
    assert (packets.UNITS / "nftables.service.d/ours.conf").read_text() == "[Service]\n"
    assert node.steps[-2:] == ["systemctl reload-or-restart packet-filter.service", "ended"]


def test_a_node_that_did_not_go_back_is_told(node: Node) -> None:
    node.filter().tried()
    node.held = "table inet rackbench {\n}\n"
    with pytest.raises(packets.HostError, match="neither the tried rules nor the old ones"):
        node.filter().undone()


def test_nothing_is_done_where_kernel_and_files_are_as_asked(node: Node) -> None:
    node.filter(seconds=0).tried()
    node.held = "listing of dport { 22, 2222 }\n"
    node.steps.clear()
    assert node.filter().tried()["changed"] is False
    assert node.steps == []
    (packets.UNITS / "nftables.service.d/ours.conf").unlink()
    assert node.filter(check=True).tried()["changed"] is True
    assert node.steps == []


def test_a_unit_of_that_name_that_somebody_else_made_is_left_alone(node: Node) -> None:
    theirs = packets.UNITS / "packet-filter.service"
    theirs.write_text("[Service]\nExecStart=/usr/local/sbin/filter\n")
    with pytest.raises(packets.HostError, match="rackbench did not make it"):
        node.filter(seconds=0).tried()
    assert "/usr/local/sbin/filter" in theirs.read_text()
    assert node.steps == []


@pytest.mark.parametrize("given", [{"places": ["rack01"]}, {"ssh_from": ["rack01"]}])
def test_a_name_where_an_address_should_be_is_refused_before_anything_is_loaded(
    node: Node, given: dict[str, Any]
) -> None:
    with pytest.raises(packets.HostError, match="'rack01' is not an address"):
        node.filter(**given).tried()
    assert node.steps == []


def test_rules_that_nftables_does_not_take_are_refused(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*argv: str, stdin: str) -> str:
        raise packets.HostError("unshare … failed: /dev/stdin:1:1-5: Error: syntax error")

    monkeypatch.setattr(packets, "run", refuse)
    with pytest.raises(packets.HostError, match=r"nothing was loaded; correct .*: /dev/stdin:1:"):
        node.filter().tried()


def test_check_mode_passes_where_nftables_is_to_be_installed_first(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*argv: str, stdin: str = "") -> str:
        raise packets.HostError("unshare … failed: sh: 1: nft: not found")

    monkeypatch.setattr(packets, "run", refuse)
    monkeypatch.setattr(packets, "succeeds", lambda *argv: argv != ("nft", "--version"))
    answer = node.filter(check=True).tried()
    assert (answer["changed"], answer["pending"]) == (True, False)
    with pytest.raises(packets.HostError, match="is not an address"):
        node.filter(check=True, places=["rack01"]).tried()
    with pytest.raises(packets.HostError, match="nft: not found"):
        node.filter().tried()
    assert not packets.RULES.exists()


PREFLIGHT = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.import_role: {name: packet_filter, tasks_from: preflight}
"""


@pytest.mark.parametrize(
    ("found", "beside", "said"),
    [
        ([], [], ""),
        (["Welcome to rack01!"], [], ""),
        (["ufw"], [], "Disable it (sudo ufw disable), or let it admit SSH and the table of"),
        (["firewalld"], [], "systemctl disable --now firewalld"),
        (
            ["docker"],
            [],
            "opens the ports that containers publish, which the bench's own filter does",
        ),
        (["ufw", "docker"], [], 'packet_filter_beside: ["docker", "ufw"] for rack01 into'),
        (["ufw", "docker"], ["docker"], 'packet_filter_beside: ["ufw"] for rack01 into'),
        (["ufw"], ["ufw"], ""),
        (
            ["table ip filter"],
            [],
            "The table ip filter drops every packet to this host, or from it,",
        ),
        (["table ip filter"], [], "(sudo nft delete table ip filter, and what loads it at boot)"),
        (["table ip filter", "ufw"], ["ufw"], 'packet_filter_beside: ["table ip filter"] for'),
        (["table ip filter"], ["table ip filter"], ""),
    ],
)
def test_another_packet_filter_is_refused_with_the_next_step(
    found: list[str], beside: list[str], said: str
) -> None:
    answer = {"__packet_filter_asked": {"stdout_lines": found}, "packet_filter_beside": beside}
    role = Role("packet_filter", inventory_hostname="rack01", **answer)
    refusal = role.of_task("preflight", "that the bench does not know")
    assert role.holds(refusal["when"]) is bool(said)
    assert said in " ".join(role.render(refusal["ansible.builtin.fail"]["msg"]).split())


@pytest.mark.parametrize(("found", "said"), [([], ""), (["ufw"], "ufw is active and drops every")])
def test_a_play_ends_at_another_packet_filter(tmp_path: Path, found: list[str], said: str) -> None:
    (tmp_path / "play.yml").write_text(PREFLIGHT)
    answer = {"__packet_filter_asked": {"stdout_lines": found}}
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("ansible-playbook"), "--inventory", "rack01,"),
            *("--connection", "local", "-e", json.dumps(answer)),
            tmp_path / "play.yml",
        ],
        env=os.environ
        | {"ANSIBLE_ROLES_PATH": str(ROOT / "roles"), "ANSIBLE_PYTHON_INTERPRETER": sys.executable},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    told = " ".join(done.stdout.replace("\\", "").split())
    assert done.returncode == (2 if said else 0), told
    assert said in told


@pytest.mark.parametrize(
    ("playbook", "sought"),
    [
        ("lab.yml", ["ufw", "firewalld", "docker"]),  # it forwards packets of the nodes
        ("netboot.yml", ["ufw", "firewalld"]),
        ("site.yml", ["ufw", "firewalld"]),  # where it serves time
    ],
)
def test_a_control_host_that_serves_is_asked_for_other_packet_filters_first(
    playbook: str, sought: list[str]
) -> None:
    plays = yaml.safe_load((ROOT / "playbooks" / playbook).read_text())
    (play,) = (play for play in plays if play.get("hosts") == "control")
    task, *_ = play.get("pre_tasks", play.get("tasks"))
    (called,) = (task[kind] for kind in task if kind.endswith(("import_role", "include_role")))
    assert called == {"name": "packet_filter", "tasks_from": "preflight"}
    assert task["vars"]["packet_filter_sought"] == sought


TABLE = """table {name} {{
	set known {{
		type ipv4_addr
	}}
	chain input {{
		type filter hook {hook} priority filter; policy {policy};
		ct state established accept
		ct state invalid drop
		{last}
	}}
	chain other {{
		drop
	}}
}}
"""


@pytest.mark.parametrize(
    ("name", "hook", "policy", "last", "drops"),
    [
        ("inet filter", "input", "drop", "", True),
        (
            "ip filter",
            "input",
            "accept",
            "counter packets 7 bytes 42 reject with icmp type 3",
            True,
        ),
        ("inet filter", "input", "accept", "drop", True),
        ("inet filter", "input", "accept", 'log prefix "odd: " level info drop', True),
        ("inet filter", "input", "accept", 'drop comment "the rest"', True),
        ("inet filter", "input", "accept", "ip saddr @known drop", False),
        ("inet filter", "output", "drop", "", True),
        ("inet filter", "output", "accept", "jump other", True),
        ("inet filter", "input", "accept", "goto other", True),
        ("inet filter", "input", "accept", "tcp dport 25 goto other", False),
        ("inet filter", "forward", "drop", "jump other", False),
        ("inet filter", "forward", "drop", "", False),
        ("inet rackbench", "input", "drop", "", False),
        ("ip raw", "prerouting", "drop", "", True),
        ("ip raw", "prerouting", "accept", "jump other", True),
        ("ip nat", "prerouting", "accept", "fib daddr type local jump other", False),
        ("netdev filter", 'ingress device "eth0"', "drop", "", True),
        ("netdev filter", 'ingress device "eth0"', "accept", "ip saddr 192.0.2.7 drop", False),
    ],
)
def test_a_table_that_drops_what_no_rule_lets_in_is_found(
    name: str, hook: str, policy: str, last: str, drops: bool
) -> None:
    listed = TABLE.format(name=name, hook=hook, policy=policy, last=last)
    listed += TABLE.format(name="inet after", hook="input", policy="accept", last="accept")
    assert dropping(listed) == ([f"table {name}"] if drops else [])


def dropping(listed: str) -> list[str]:
    """What the role's program finds in a listing; Debian's and Ubuntu's awk is mawk."""
    variables = yaml.safe_load((ROOT / "roles/packet_filter/vars/main.yml").read_text())
    command = [shutil.which("mawk") or "awk", variables["__packet_filter_dropping"]]
    done = subprocess.run(command, input=listed, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


COUNT = "counter packets 7 bytes 420"


def test_a_table_that_leads_every_packet_to_a_drop_is_found() -> None:
    """As iptables' recipe for a log of dropped packets has it, over one more chain."""
    listed = f"""\
table ip filter {{
	chain LOGGING {{
		limit rate 2/minute burst 5 packets {COUNT} log prefix "no: " level debug
		{COUNT} drop
	}}
	chain REST {{
		{COUNT} goto REST comment "round and round"
		{COUNT} goto LOGGING comment "the rest"
	}}
	chain INPUT {{
		type filter hook input priority filter; policy accept;
		tcp dport 22 {COUNT} accept
		{COUNT} jump REST
	}}
}}
"""
    assert dropping(listed) == ["table ip filter"]
    conditional = listed.replace(f"{COUNT} jump REST", "tcp dport 22 jump REST")
    assert dropping(conditional) == []
    # A chain of that name in another table is another chain.
    assert dropping(conditional.replace("table ip", "table ip6") + listed) == ["table ip filter"]


def test_a_table_that_drops_some_packets_alone_is_none() -> None:
    """As Docker, fail2ban, libvirt and Kubernetes leave them."""
    assert (
        dropping(f"""\
table ip filter {{
	chain DOCKER-USER {{
		{COUNT} return
	}}
	chain LIBVIRT_INP {{
		iifname "virbr0" udp dport 53 {COUNT} accept
	}}
	chain KUBE-FIREWALL {{
		meta mark & 0x00008000 == 0x00008000 {COUNT} drop
	}}
	chain f2b-sshd {{
		ip saddr 192.0.2.7 {COUNT} reject
		{COUNT} return
	}}
	chain DOCKER-ISOLATION-STAGE-2 {{
		oifname "docker0" {COUNT} drop
		{COUNT} return
	}}
	chain INPUT {{
		type filter hook input priority filter; policy accept;
		tcp dport 22 {COUNT} jump f2b-sshd
		{COUNT} jump LIBVIRT_INP
		{COUNT} jump KUBE-FIREWALL
	}}
	chain FORWARD {{
		type filter hook forward priority filter; policy drop;
		{COUNT} jump DOCKER-USER
		{COUNT} drop
	}}
	chain OUTPUT {{
		type filter hook output priority filter; policy accept;
		{COUNT} jump KUBE-FIREWALL
	}}
}}
table inet f2b-table {{
	set addr-set-sshd {{
		type ipv4_addr
		elements = {{ 192.0.2.7 }}
	}}

	chain f2b-chain {{
		type filter hook input priority filter - 1; policy accept;
		tcp dport {{ 22 }} ip saddr @addr-set-sshd reject
	}}
}}
""")
        == []
    )


RULES = "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp --dport 22 -j ACCEPT\n{last}\nCOMMIT\n"


@pytest.mark.parametrize(
    ("last", "drops"),
    [
        ("-A INPUT -j REJECT --reject-with icmp-host-prohibited", True),
        (":INPUT DROP [0:0]", True),
        ("-A INPUT -s 10.0.0.9/32 -j DROP", False),
        (":OUTPUT DROP [0:0]", True),
        (":FORWARD DROP [0:0]", False),
        ("COMMIT\n*raw\n:PREROUTING DROP [0:0]", True),
        ("COMMIT\n*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -j DROP", False),
        ('-A INPUT -j REST\n-A REST -m comment --comment "the rest" -g LOG\n-A LOG -j DROP', True),
        ("-A INPUT -j REST\n-A REST -s 10.0.0.9/32 -j DROP\n-A REST -j RETURN", False),
        ("-A INPUT -p tcp -j REST\n-A REST -j DROP", False),
    ],
)
def test_where_nft_is_not_installed_iptables_is_asked(
    tmp_path: Path, last: str, drops: bool
) -> None:
    (tasks, _) = yaml.safe_load((ROOT / "roles/packet_filter/tasks/preflight.yml").read_text())
    variables = yaml.safe_load((ROOT / "roles/packet_filter/vars/main.yml").read_text())
    awk = base64.b64encode(variables["__packet_filter_dropping"].encode()).decode()
    encoded = "{{ __packet_filter_dropping | b64encode }}"
    script = tasks["ansible.builtin.raw"].replace(encoded, awk)
    for name in ("awk", "base64", "grep", "cat"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    (tmp_path / "rules").write_text(RULES.format(last=last))
    stub = tmp_path / "iptables-save"
    stub.write_text(f"#!/bin/sh\nexec cat {tmp_path}/rules\n")
    stub.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ("iptables" in done.stdout.split()) == drops
