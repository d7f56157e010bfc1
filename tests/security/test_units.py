"""Every unit of rackbench on each node: its account, sandbox, and what it may write and execute."""

from __future__ import annotations

import re
from dataclasses import dataclass

import inside
import pytest
from labs import Lab

MOST_EXPOSURE = 3.0
# They run for a moment, as root, and nobody reaches them.
MOMENTARY = {"packet-filter", "rackbench-restart", "rackbench-profile"}
CAPTURE = "rackbench-capture"  # for a moment as well, on the client, with an account of its own
NET_RAW = 1 << 13
HEALTH = 9102
PLACES = (
    *("/", "/etc", "/etc/rackbench", "/home", "/opt", "/opt/rackbench", "/root", "/run", "/srv"),
    *("/usr", "/usr/bin", "/var", "/var/lib", "/var/lib/rackbench", "/var/log"),
)
DATA = {
    "rackbench-broker": {"/var/lib/rackbench-broker"},
    "rackbench-tomcat": {"/var/lib/rackbench-tomcat", "/var/log/rackbench-tomcat"},
}
KINDS = {
    "client": {"rackbench-health"},
    "broker": {"rackbench-health", "rackbench-broker"},
    "worker": {
        *("rackbench-health", "rackbench-tomcat", "rackbench-sort-worker"),
        *("rackbench-matrix-worker", "rackbench-hello-listener", "rackbench-tcp-server"),
    },
}

# For each unit a line: account, capabilities, whether it executes a shell, where it writes.
LOOK = """
cd /etc/systemd/system
for unit in rackbench-*.service; do
  unit=${unit%.service}
  pid=$(systemctl show -P MainPID $unit.service)
  [ $pid -gt 0 ] || continue
  root=/proc/$pid/root
  rooms=
  for place in PLACES /var/lib/$unit /var/log/$unit; do
    [ -d $root$place ] || continue
    if touch $root$place/tried 2>/dev/null; then
      rm -f $root$place/tried; rooms=$rooms,$place
    fi
  done
  shell=none
  $root/bin/sh -c true 2>/dev/null && shell=shell
  cp /bin/true $root/tmp/tried
  $root/tmp/tried 2>/dev/null && shell=shell
  rm $root/tmp/tried
  echo unit $unit $(stat -c %u /proc/$pid) \
    $(sed -n 's/^CapBnd:.//p' /proc/$pid/status) $shell ${rooms:-,}
done
systemd-analyze security --no-pager rackbench-*.service packet-filter.service |
  sed -n 's/.*Overall exposure level for \\(.*\\).service: \\([0-9.]*\\) .*/exposure \\1 \\2/p'
getent passwd
""".replace("PLACES", " ".join(PLACES))


@dataclass(frozen=True)
class Unit:
    """What a unit's process may do."""

    account: int
    capabilities: int
    shell: str
    rooms: frozenset[str]


@dataclass(frozen=True)
class Node:
    """rackbench's units on a node, and how exposed systemd finds each."""

    units: dict[str, Unit]
    exposures: dict[str, float]
    shells: dict[int, str]


@pytest.fixture(scope="module")
def nodes(lab: Lab) -> dict[str, Node]:
    """Every node of the lab, looked at once."""
    return {node: _look(lab, node) for node in lab.nodes}


def _look(lab: Lab, node: str) -> Node:
    inside.session(lab).get(f"http://{lab.nodes[node]}:{HEALTH}/", timeout=20)  # starts it
    said = lab.ssh(node, "sudo sh -s", given=LOOK.encode()).stdout.decode()
    return Node(
        {
            name: Unit(int(uid), int(mask, 16), shell, frozenset(filter(None, rooms.split(","))))
            for name, uid, mask, shell, rooms in re.findall(
                r"^unit (\S+) (\d+) (\S+) (\S+) (\S+)$", said, re.M
            )
        },
        {name: float(value) for name, value in re.findall(r"^exposure (\S+) (\S+)$", said, re.M)},
        {int(uid): shell for uid, shell in re.findall(r"^\w\S*?:x:(\d+):.*:(\S+)$", said, re.M)},
    )


def test_the_units_of_each_node_are_those_of_its_kind_and_no_more(nodes: dict[str, Node]) -> None:
    for name, node in nodes.items():
        assert set(node.units) == KINDS[name.rstrip("12345")], name
        on_demand = {*MOMENTARY, *([CAPTURE] if name.startswith("client") else [])}
        assert set(node.exposures) == {*node.units, *on_demand}, name


def test_no_unit_is_exposed_more_than_three_of_ten(nodes: dict[str, Node]) -> None:
    worst = {
        f"{unit} on {name}": exposure
        for name, node in nodes.items()
        for unit, exposure in node.exposures.items()
        if exposure > MOST_EXPOSURE
    }
    assert worst == {}


def test_each_unit_has_an_account_of_its_own_that_nobody_logs_in_to(
    nodes: dict[str, Node],
) -> None:
    for name, node in nodes.items():
        accounts = [unit.account for unit in node.units.values()]
        assert 0 not in accounts, name
        assert len(set(accounts)) == len(accounts), name
        assert node.shells[0] == "/bin/bash", "accounts are read wrongly"
        for account in accounts:  # one that is made at the start is in no list
            assert node.shells.get(account, "/usr/sbin/nologin").endswith("/nologin"), name


def test_no_unit_has_a_capability_or_executes_what_it_likes(nodes: dict[str, Node]) -> None:
    for name, node in nodes.items():
        for unit, can in node.units.items():
            assert (can.capabilities, can.shell) == (0, "none"), f"{unit} on {name}"


def test_a_unit_writes_its_data_and_nothing_else(nodes: dict[str, Node]) -> None:
    for name, node in nodes.items():
        for unit, can in node.units.items():
            assert can.rooms == DATA.get(unit, set()), f"{unit} on {name}"


def test_a_unit_without_the_sandbox_is_told_from_one_with_it(lab: Lab) -> None:
    unit = "somebodys.service"
    script = LOOK.replace("rackbench-*.service", unit).replace("packet-filter.service", "")
    start = f"printf '[Service]\\nExecStart=sleep 600\\n' >/etc/systemd/system/{unit}"
    lab.output("client1", f"{start}; systemctl daemon-reload; systemctl start {unit}")
    try:
        said = lab.ssh("client1", "sudo sh -s", given=script.encode()).stdout.decode()
    finally:
        end = f"systemctl stop {unit}; rm /etc/systemd/system/{unit}; systemctl daemon-reload"
        lab.output("client1", end)
    found = re.search(r"^unit somebodys 0 (\S+) shell (\S+)$", said, re.M)
    assert found, said
    assert int(found[1], 16) > 0
    assert {"/etc", "/opt/rackbench", "/usr/bin"} <= set(found[2].split(","))
    exposure = re.search(r"^exposure somebodys (\S+)$", said, re.M)
    assert exposure, said
    assert float(exposure[1]) > MOST_EXPOSURE


# As root, who may connect, and so has the unit run: its account and capabilities, then its answer.
HELD = f"""
import re, socket, subprocess
line = socket.socket(socket.AF_UNIX)
line.connect("/run/{CAPTURE}.socket")
said = line.recv(100)
show = ["systemctl", "show", "-P", "MainPID", "{CAPTURE}.service"]
pid = subprocess.run(show, capture_output=True, check=True).stdout.decode().strip()
status = open(f"/proc/{{pid}}/status").read()
print(*re.findall(r"^(?:Uid:|Cap(?:Bnd|Eff):)\\s(\\w+)", status, re.M), said.decode(), sep=",")
"""


def test_what_keeps_packets_has_an_account_without_other_rights_and_serves_the_runner_alone(
    lab: Lab,
) -> None:
    said = lab.ssh("client1", "sudo python3 -", given=HELD.encode()).stdout.decode()
    account, effective, bounding, answer = said.strip().split(",")
    assert int(account) > 0
    assert (int(effective, 16), int(bounding, 16)) == (NET_RAW, NET_RAW)
    assert answer == '{"missing": ""}'
    socket = lab.output("client1", f"stat -c '%a %U %G' /run/{CAPTURE}.socket")
    assert socket.strip() == "660 root rackbench"
