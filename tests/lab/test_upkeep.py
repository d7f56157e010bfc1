"""What becomes of nodes in time: secrets are rotated, a machine is replaced, one is taken away."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import machine
import pytest
from labs import Lab
from probe import Probe

# The node that these tests replace and reset, and what limits a playbook to it.
NODE = "worker3"
ONLY = ("--limit", f"{NODE},localhost")

# As its owner left it: Debian's line for the node's own name, and no end of the last line.
OWN_HOSTS = "127.0.0.1 localhost\n127.0.1.1 new.lab new\n10.9.9.9 printer # theirs"

# Another machine in its place: other host key and names, packages not held, one missing, none at
# hand, and a timer that upgrades.
NEW_MACHINE = f"""
rm -f /etc/ssh/ssh_host_ed25519_key* /var/cache/apt/archives/*.deb /etc/rackbench/found.json
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
dpkg --remove --force-depends unzip >/dev/null
apt-mark unhold '*' >/dev/null
systemctl unmask --quiet apt-daily.timer
systemctl enable --now --quiet apt-daily.timer
printf %s '{OWN_HOSTS}' >/etc/hosts
systemctl restart ssh
ssh-keygen -l -f /etc/ssh/ssh_host_ed25519_key.pub
"""


def test_rotated_secrets_are_everywhere_and_the_old_ones_refused_even_after_a_kill(
    lab: Lab, probe: Probe
) -> None:
    old = probe.password
    secrets = lab.ssh_directory.parent / "secrets"
    old_admin = (secrets / "broker_admin").read_text()
    process, log = lab.player.start("rotate_secrets.yml")
    machine.wait_for(lambda: "Write the broker's accounts" in log.read_text(), "the broker")
    machine.kill_group(process)
    lab.play("rotate_secrets.yml")
    assert probe.password != old
    assert probe.sort(5, "worker1", [3, 1, 2]) == ("worker1", [1, 2, 3])
    refusals = probe.ask("login", user="bench", password=old)
    assert [line.partition(" ")[0] for line in refusals] == ["refused"]
    assert (secrets / "broker_admin").read_text() != old_admin
    assert {path.stat().st_mode & 0o777 for path in secrets.iterdir()} == {0o600}
    for node in ["client1", *lab.workers]:
        assert lab.output(node, "cat /etc/rackbench/broker.password") == probe.password


@pytest.fixture(scope="module")
def bundle(lab: Lab) -> Path:
    """Packages for nodes without Internet; few, as all of them take longer to fetch."""
    lab.play("bundle.yml", {"bundle_packages": ["procps", "unzip"]})
    made = lab.player.project.root / "bundle/trixie.tar"
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    assert made.with_name("trixie.tar.sha256").read_text() == f"{digest}  trixie.tar\n"
    return made


@pytest.fixture(scope="module")
def new_machine(lab: Lab) -> Iterator[str]:
    """A new machine at the node's address; its host key's fingerprint, as its console shows it."""
    shown = lab.output(NODE, NEW_MACHINE)
    lab.hang_up()
    return shown.split()[1]


@pytest.mark.long
def test_a_new_machine_is_not_trusted_and_the_reason_and_next_step_are_told(
    lab: Lab, new_machine: str
) -> None:
    known = (lab.ssh_directory / "known_hosts").read_bytes()
    outcome = lab.player.attempt("validate.yml", None, *ONLY)
    assert outcome.code != 0
    assert f"{NODE} ({lab.nodes[NODE]}): ssh refuses its host key" in outcome.flat
    assert f"replace_node.yml -e node={NODE} -e fingerprint=SHA256:" in outcome.flat
    wrong = f"SHA256:{'A' * 43}"
    outcome = lab.player.attempt("replace_node.yml", {"node": NODE, "fingerprint": wrong}, *ONLY)
    assert outcome.code != 0
    assert f"shows the host key {new_machine} and not {wrong}" in outcome.flat
    assert (lab.ssh_directory / "known_hosts").read_bytes() == known


@pytest.mark.long
def test_a_new_machine_is_provisioned_without_internet_once_its_key_is_proven(
    lab: Lab, new_machine: str, bundle: Path
) -> None:
    extra = {"node": NODE, "fingerprint": new_machine, "baseline_bundle": str(bundle)}
    outcome = lab.play("replace_node.yml", extra, *ONLY)
    assert set(outcome.changed) == {NODE, "localhost"}
    assert "governor is left as it is: this node is a container" in outcome.flat
    known = (lab.ssh_directory / "known_hosts").read_text()
    assert known.count(f"{lab.nodes[NODE]} ") == 1
    assert lab.output(NODE, "ip -4 route show default") == ""
    assert lab.ssh(NODE, "cat /etc/hosts").stdout.decode().endswith(f"# END rackbench\n{OWN_HOSTS}")
    assert lab.nodes[NODE] in lab.output("client1", f"getent ahosts {NODE}")
    assert "install ok installed" in lab.output(NODE, "dpkg -s unzip").replace("hold", "install")


@pytest.mark.long
def test_a_repair_limited_to_the_node_does_that_and_says_what_it_left_out(
    lab: Lab, new_machine: str
) -> None:
    alone = ("--limit", NODE)
    lab.output(NODE, "rm /etc/rackbench/jndi/.bindings /etc/rackbench/broker.password")
    assert lab.play("site.yml", None, *alone).changed.keys() == {NODE}
    assert lab.play("site.yml", None, *alone).changed == {}
    outcome = lab.play("verify.yml", None, *alone)
    others = ", ".join(node for node in lab.nodes if node != NODE)
    assert f"--limit leaves them out: {others}" in outcome.flat


# As another program would that installs something.
HOLD_APT = """
import fcntl, time
with open("/var/lib/dpkg/lock-frontend", "r+") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    time.sleep(600)
"""


@pytest.mark.long
def test_where_apt_is_in_use_the_process_is_named(lab: Lab, new_machine: str, bundle: Path) -> None:
    from_bundle = {"baseline_bundle": str(bundle)}
    lab.output(NODE, "dpkg --remove --force-depends unzip")
    hold = f"systemd-run --quiet --collect --unit=odd-apt python3 -c '{HOLD_APT}'"
    lab.ssh(NODE, "sudo sh -s", given=hold.encode())
    try:
        outcome = lab.player.attempt("site.yml", {"baseline_apt_wait_s": 2}, "--limit", NODE)
        assert outcome.code != 0
        assert "It is in use by python3 (" in outcome.flat
        assert "wait for its end or stop it there" in outcome.flat
    finally:
        lab.output(NODE, "systemctl stop odd-apt")
    lab.play("site.yml", from_bundle, "--limit", NODE)
    assert lab.play("site.yml", from_bundle, "--limit", NODE).changed == {}


@pytest.mark.long
def test_its_packages_are_held_and_nothing_upgrades_them(lab: Lab, new_machine: str) -> None:
    held = lab.output(NODE, "apt-mark showhold").splitlines()
    installed = lab.output(NODE, "dpkg-query -W -f '${db:Status-Status}\\n'").splitlines()
    assert len(held) == installed.count("installed")
    assert (
        lab.ssh(NODE, "systemctl is-enabled apt-daily.timer", check=False).stdout == b"disabled\n"
    )
    assert lab.ssh(NODE, "systemctl is-active apt-daily.timer", check=False).stdout == b"inactive\n"


@pytest.mark.long
def test_a_node_that_is_taken_away_is_as_it_was_found(lab: Lab, new_machine: str) -> None:
    others = {node: _pids(lab, node) for node in ("worker2", "broker1")}
    outcome = lab.play("reset.yml", {"node": NODE})
    assert set(outcome.changed) == {NODE}
    assert lab.output(NODE, "apt-mark showhold") == ""
    assert lab.output(NODE, "systemctl is-enabled apt-daily.timer") == "enabled"
    assert lab.output(NODE, "systemctl is-active apt-daily.timer") == "active"
    places = "/opt/rackbench /etc/rackbench /etc/systemd/system/rackbench-* /var/log/rackbench-*"
    assert lab.output(NODE, f"ls -d {places} 2>/dev/null || true") == ""
    assert lab.output(NODE, "ss -Hltn 'sport != :22'") == ""
    assert lab.output(NODE, "getent passwd rackbench tomcat || true") == ""
    assert lab.ssh(NODE, "cat /etc/hosts").stdout.decode() == OWN_HOSTS
    assert lab.play("reset.yml", {"node": NODE}).changed == {}
    assert {node: _pids(lab, node) for node in others} == others


@pytest.mark.long
def test_check_mode_works_on_a_bare_node_and_leaves_it_so(lab: Lab, new_machine: str) -> None:
    outcome = lab.play("site.yml", None, "--check", "--diff", "--limit", NODE)
    assert set(outcome.changed) == {NODE}
    assert lab.output(NODE, "ls -d /opt/rackbench /etc/rackbench 2>/dev/null || true") == ""


@pytest.mark.long
def test_what_the_kit_did_not_make_is_refused_and_not_removed(lab: Lab, new_machine: str) -> None:
    theirs = "/opt/rackbench/theirs"
    lab.output(NODE, f"useradd --system --home-dir /var/lib/tomcat tomcat; mkdir -p {theirs}")
    outcome = lab.player.attempt("site.yml", None, "--limit", NODE)
    assert outcome.code != 0
    assert f"{NODE} has an account tomcat with the home /var/lib/tomcat" in outcome.flat
    assert "It has a directory /opt/rackbench, which rackbench did not make" in outcome.flat
    assert lab.play("reset.yml", {"node": NODE}).changed == {}
    left = lab.output(NODE, f"getent passwd tomcat; ls -d {theirs}")
    assert left.endswith(theirs)
    assert left.startswith("tomcat:")
    lab.output(NODE, f"userdel tomcat; rmdir {theirs} /opt/rackbench")


def test_no_node_is_reset_unless_it_is_named(lab: Lab) -> None:
    for extra in {}, {"node": "worker9"}:
        outcome = lab.player.attempt("reset.yml", extra)
        assert outcome.code != 0
        assert "add -e node=NAME with one of client1, broker1" in outcome.flat


def _pids(lab: Lab, node: str) -> str:
    return lab.output(node, "systemctl show -P MainPID 'rackbench-*.service'")
