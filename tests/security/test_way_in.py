"""Settings that would shut the control host out: they are refused, or the node takes them back."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import inside
import machine
import pytest
from labs import Lab
from modules import ansible, on_probation, packet_filter
from ports import open_ports

NODE = "worker2"
SSH = 22
NOBODY = ["192.0.2.7"]
# For settings that let nobody in: what a test waits. For others: what a slow machine may take.
SHORT_S, LONG_S = 4, 3600
SETTINGS = "/etc/ssh/sshd_config.d/00-rackbench.conf"
TABLE = "nft --stateless list table inet rackbench"
RULES = "/etc/rackbench/packet-filter.nft"


def gets_in(lab: Lab, node: str = NODE) -> bool:
    """Whether a new connection of the account that provisions gets through."""
    config = str(lab.ssh_directory / "config")
    done = subprocess.run(
        ["ssh", "-F", config, "-o", "ControlPath=none", "-o", "BatchMode=yes", node, "true"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=120,
    )
    return done.returncode == 0


def state(lab: Lab) -> str:
    """All that a node is shut by, in force and at its next boot."""
    return lab.output(NODE, f"{TABLE}; cat {RULES} {SETTINGS}; sshd -T; ls {RULES} {SETTINGS}")


@pytest.fixture
def as_before(lab: Lab) -> Iterator[str]:
    """The node's state, which a test must leave as it found it."""
    before = state(lab)
    assert gets_in(lab)
    yield before
    assert gets_in(lab)
    assert state(lab) == before
    assert lab.output(NODE, "systemctl list-units --all --plain --no-legend 'probation*'") == ""


def filter_on_probation(lab: Lab, seconds: int, **other: Any) -> tuple[int, dict[str, Any]]:
    return packet_filter(lab, NODE, confirm_s=seconds, **other)


def written(place: Path, **rules: str) -> str:
    """A directory with the site's own rules in files of these names."""
    for name, text in rules.items():
        (place / name).write_text(text)
    return str(place)


def sshd_on_probation(lab: Lab, seconds: int, more: str) -> tuple[int, dict[str, Any]]:
    content = lab.output(NODE, f"cat {SETTINGS}") + more
    return on_probation(lab, NODE, "sshd_settings", seconds, {"content": content})


def refused(attempt: Callable[[int], tuple[int, dict[str, Any]]], reason: str) -> str:
    """What an attempt says that fails for this reason, if it lasts until a connection was tried.

    On a busy machine the node may have gone back before the first one, or while it was tried.
    """
    for seconds in (SHORT_S, 4 * SHORT_S, 16 * SHORT_S):
        code, answer = attempt(seconds)
        assert code == 2
        said = str(answer["msg"])
        if reason in said:
            break
    assert reason in said
    return said


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        pytest.param(
            {"ssh_from": NOBODY, "shut_out": True},
            "Connection refused",
            id="the control host named wrongly",
        ),
        pytest.param(
            {"snippets": {"50-site.nft": "tcp dport 22 drop\n"}},
            "Connection timed out",
            id="a site's own rule",
        ),
    ],
)
def test_a_filter_that_shuts_out_the_control_host_is_taken_back(
    lab: Lab, as_before: str, tmp_path: Path, wrong: dict[str, Any], reason: str
) -> None:
    if "snippets" in wrong:
        wrong = {"snippets": written(tmp_path, **wrong["snippets"])}
    said = refused(lambda seconds: filter_on_probation(lab, seconds, **wrong), reason)
    assert "packet filter did not let a new connection in within" in said
    assert "The node rolled back to the previous filter" in said
    assert "orrect rackbench_control" in said


def test_sshd_that_does_not_admit_the_account_any_more_is_set_back(
    lab: Lab, as_before: str
) -> None:
    said = refused(
        lambda seconds: sshd_on_probation(lab, seconds, "\nDenyUsers rack\n"), "Permission denied"
    )
    assert "sshd did not let a new connection in within" in said
    assert "The node rolled back to sshd's previous settings" in said


def test_settings_that_sshd_does_not_take_are_refused(lab: Lab, as_before: str) -> None:
    code, answer = sshd_on_probation(lab, LONG_S, "\nNoSuchWord yes\n")
    assert code == 2
    assert "/usr/sbin/sshd -t -f /dev/stdin failed: " in answer["msg"]
    assert "NoSuchWord" in answer["msg"]


def test_settings_that_let_the_control_host_in_are_kept(lab: Lab, as_before: str) -> None:
    before = lab.output(NODE, f"cat {SETTINGS}")
    code, answer = sshd_on_probation(lab, LONG_S, "\nMaxAuthTries 5\n")
    assert (code, answer["changed"]) == (0, True)
    try:
        assert "maxauthtries 5" in lab.output(NODE, "sshd -T")
        assert lab.ssh(NODE, f"mountpoint {SETTINGS}", check=False).returncode
        assert not sshd_on_probation(lab, LONG_S, "")[1]["changed"]
    finally:
        code, answer = on_probation(lab, NODE, "sshd_settings", LONG_S, {"content": before})
    assert (code, answer["changed"]) == (0, True)


def test_a_power_cut_before_a_new_connection_boots_what_was_before(
    lab: Lab, as_before: str
) -> None:
    planned = packet_filter(lab, NODE, "--check", ssh_from=NOBODY, shut_out=True)[1]["rules"]
    wrong = {"rules": planned, "units": {}, "shut_out": True, "seconds": LONG_S}
    content = f"{lab.output(NODE, f'cat {SETTINGS}')}\nDenyUsers rack\n"
    for module, arguments in (
        ("packet_filter", wrong),
        ("sshd_settings", {"content": content, "seconds": LONG_S}),
    ):
        code, answer = ansible(lab, NODE, "-m", module, "-a", json.dumps(arguments))
        assert (code, answer["pending"]) == (0, True)
    assert "denyusers rack" in lab.output(NODE, "sshd -T")
    assert open_ports(lab.nodes[NODE], [SSH]) == set()
    machine.kill_node(lab.name, NODE)
    lab.hang_up()
    lab.play("lab.yml")
    serves = f"systemctl is-active --quiet rackbench-tomcat && {TABLE} >/dev/null"
    machine.wait_for(
        lambda: lab.ssh(NODE, f"sudo sh -c '{serves}'", check=False).returncode == 0,
        f"{NODE} serves again",
        180,
    )


def test_who_is_there_from_elsewhere_is_not_shut_out_unasked(lab: Lab, as_before: str) -> None:
    address = lab.nodes["client1"]
    assert packet_filter(lab, NODE, ssh_from=[])[1]["changed"]
    try:
        with inside.network(lab, "client1"):
            session = socket.create_connection((lab.nodes[NODE], SSH), timeout=30)
        with session:
            code, answer = packet_filter(lab, NODE)
            assert code == 2
            assert f"SSH sessions from {address} are open" in answer["msg"]
            assert f'"{address}"]' in answer["msg"]
            code, answer = packet_filter(lab, NODE, shut_out=True)
            assert (code, answer["changed"]) == (0, True)
            assert f"SSH sessions from {address} are open" in answer["notes"][0]
    finally:
        packet_filter(lab, NODE, shut_out=True)


def test_the_sites_own_ports_and_rules_are_let_in_and_compared(
    lab: Lab, as_before: str, tmp_path: Path
) -> None:
    control = lab.nodes[NODE].rpartition(".")[0] + ".1"
    probe = {"10-probe.nft": f"ip saddr {control} tcp dport 8080 counter accept\n"}
    site = {
        "more_ports": [{"port": 123, "protocol": "udp", "from": [f"{control}/32", "fd00::/64"]}],
        "snippets": written(tmp_path, **probe),
    }
    assert open_ports(lab.nodes[NODE], [8080]) == set()
    code, answer = filter_on_probation(lab, LONG_S, **site)
    assert (code, answer["changed"]) == (0, True)
    try:
        assert open_ports(lab.nodes[NODE], [8080]) == {8080}
        assert "udp dport 123 accept" in lab.output(NODE, TABLE)
        # The rule has counted by now, and is the same.
        assert not filter_on_probation(lab, LONG_S, **site)[1]["changed"]
    finally:
        packet_filter(lab, NODE)


def test_a_sites_own_rule_that_is_none_is_refused_by_its_name(
    lab: Lab, as_before: str, tmp_path: Path
) -> None:
    wrong = {
        "10-good.nft": "tcp dport 81 accept\n",
        "20-bad.nft": "tcp dport 82 accept\ntpc oops\n",
    }
    code, answer = filter_on_probation(lab, LONG_S, snippets=written(tmp_path, **wrong))
    assert code == 2
    assert "20-bad.nft:2:" in answer["msg"]
    assert "nothing was loaded" in answer["msg"]


def test_in_check_mode_nothing_is_armed(lab: Lab, as_before: str) -> None:
    code, answer = packet_filter(lab, NODE, "--check", ssh_from=[], confirm_s=LONG_S)
    assert (code, answer["changed"], answer["pending"]) == (0, True, False)


def test_a_node_that_is_reached_without_ssh_needs_no_new_connection(lab: Lab) -> None:
    wanted = {"lab": ["10.0.0.2"], "ports": [8080], "ssh_from": NOBODY, "ssh_ports": [SSH]}
    code, answer = packet_filter(lab, "localhost", "--check", **wanted, shut_out=True)
    assert (code, answer["changed"]) == (0, True)
    assert "no new connection is needed, as this node is reached by local" in answer["msg"]
