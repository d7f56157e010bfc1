"""SSH to the nodes: by key, not as root, and never by a password."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import machine
import pytest
from labs import Lab

DROP_IN = "/etc/ssh/sshd_config.d"
ASIDE = "/var/tmp"  # noqa: S108 - on a node of the tests' own lab


def offered(lab: Lab, node: str, account: str = "rack") -> str:
    """What sshd says to somebody who comes without a key."""
    done = subprocess.run(
        [
            *("ssh", "-F", str(lab.ssh_directory / "config"), "-o", "ControlPath=none"),
            *("-o", "BatchMode=yes", "-o", "PubkeyAuthentication=no", "-l", account, node, "true"),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 255
    return done.stderr


def listener(lab: Lab, node: str) -> str:
    """What sshd listens by, which is another after each reload; nothing while it comes back."""
    return lab.output(node, "ss --no-header --listening --tcp --extended 'sport = :22'")


def reload_sshd(lab: Lab, node: str, first: str = ":") -> None:
    """Have sshd read its files, after a command; wait until it listens by what it read."""
    before = listener(lab, node)
    lab.output(node, f"{first}; systemctl reload ssh")
    machine.wait_for(lambda: listener(lab, node) not in ("", before), f"sshd on {node} is back")


def settings(lab: Lab, node: str) -> dict[str, str]:
    """What sshd is set to, as it says itself."""
    lines = lab.output(node, "sshd -T").splitlines()
    return {name: value for name, _, value in (line.partition(" ") for line in lines)}


@pytest.mark.parametrize("node", ["client1", "broker1", "worker1"])
def test_sshd_lets_nobody_in_without_a_key(lab: Lab, node: str) -> None:
    assert "Permission denied (publickey)." in offered(lab, node)
    now = settings(lab, node)
    for word in ("passwordauthentication", "kbdinteractiveauthentication", "permitrootlogin"):
        assert now[word] == "no"


@pytest.fixture
def somebody_allows_passwords(lab: Lab) -> Iterator[None]:
    """What an image for clouds brings along, or a student's hand."""
    allow = "PasswordAuthentication yes\\nKbdInteractiveAuthentication yes\\nPermitRootLogin yes\\n"
    file = f"{DROP_IN}/50-cloud-init.conf"
    reload_sshd(lab, "worker2", f"printf '{allow}' >{file}; mv {DROP_IN}/lab.conf {ASIDE}/")
    try:
        yield
    finally:
        reload_sshd(lab, "worker2", f"rm {file}; mv {ASIDE}/lab.conf {DROP_IN}/")


def test_a_file_that_allows_passwords_does_not_open_sshd(
    lab: Lab, somebody_allows_passwords: None
) -> None:
    assert "Permission denied (publickey)." in offered(lab, "worker2")
    assert "Permission denied (publickey)." in offered(lab, "worker2", "root")
    # Without rackbench's file it would.
    ours = f"{DROP_IN}/00-rackbench.conf"
    reload_sshd(lab, "worker2", f"mv {ours} {ASIDE}/")
    try:
        assert "publickey,password" in offered(lab, "worker2")
    finally:
        reload_sshd(lab, "worker2", f"mv {ASIDE}/00-rackbench.conf {ours}")


def test_a_control_host_that_comes_by_password_is_refused_before_it_shuts_itself_out(
    lab: Lab,
) -> None:
    only = ("--limit", "worker2,localhost")
    outcome = lab.player.attempt("site.yml", {"ansible_password": "secret"}, *only)
    assert outcome.code == 2
    assert "worker2 would no longer accept passwords" in outcome.flat
    assert "authorized_keys" in outcome.flat
    assert outcome.changed == {}
