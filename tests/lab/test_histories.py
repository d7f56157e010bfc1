"""Machines with a history: each has a fault of its own, and is named with it or works.

A node that cannot work at all is refused before it is changed. Then a rack with a held port, a
port held by a socket, apt in use, an account of somebody else, a broken source of packages, and
logins that are odd but harmless: the nodes that fail are left out, each with its reason, and the
others go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import machine
import pytest
from example_inventory import fill_in
from labs import Lab, small_lab, standing
from playbook import Outcome, Player

NAME, PREFIX = "rbpast", "10.89.0"
NODES = [f"rack{number:02d}" for number in range(1, 9)]
CLIENT, BROKER, ODD_LOGIN, HELD, HELD_BY_SOCKET, APT_IN_USE, OTHERS_ACCOUNT, ROOT_ALONE = NODES
LEFT_OUT = {HELD, HELD_BY_SOCKET, APT_IN_USE, OTHERS_ACCOUNT}

pytestmark = pytest.mark.long

# Faults with which a node is refused before it is changed, and what mends each.
NO_SUDO = "mv /etc/sudoers.d/rack /var/tmp/rack.sudoers"
SUDO = "mv /var/tmp/rack.sudoers /etc/sudoers.d/rack"
HOME_OF_OTHERS = "mount --bind /home/rack /home/rack && mount -o remount,bind,ro /home/rack"
OWN_HOME = "umount /home/rack"
NO_PYTHON = "mv /usr/bin/python3 /usr/bin/python3.aside"
PYTHON = "mv /usr/bin/python3.aside /usr/bin/python3"

PRINTING = "sed -i '1i echo hello from {}' /home/rack/.bashrc"
# Logins that are odd in every way that works: a shell that prints, a strict umask, a home that is
# mounted noexec, no D-Bus.
ODD = (
    PRINTING.format("the login")
    + """
sed -i '1i umask 077' /home/rack/.bashrc
mount --bind /home/rack /home/rack
mount -o remount,bind,noexec /home/rack
systemctl mask --quiet --now dbus.socket dbus.service
"""
)
SERVER = """
systemd-run --quiet --unit=someones-metrics python3 -m http.server 9100
for wait in $(seq 50); do ss -Hltn | grep -q ':9100 ' && break; sleep 0.2; done
"""
SOCKET = """
printf '[Socket]\\nListenStream=9102\\nAccept=yes\\n' >/run/systemd/system/cockpit.socket
printf '[Service]\\nExecStart=/bin/true\\n' >/run/systemd/system/cockpit@.service
systemctl daemon-reload
systemctl start cockpit.socket
"""
UPGRADE = """
systemd-run --quiet --unit=someones-upgrade python3 -c '
import fcntl, time
locks = [open(f"/var/lib/dpkg/{name}", "w") for name in ("lock-frontend", "lock")]
[fcntl.lockf(lock, fcntl.LOCK_EX) for lock in locks]
time.sleep(9999)'
"""
# Root by key, no sudo at all, and a third party's source of packages that does not answer.
ROOT_WITHOUT_SUDO = """
install -d -m 700 ~root/.ssh
install -m 600 /home/rack/.ssh/authorized_keys ~root/.ssh/authorized_keys
sed -i -e 's/^PermitRootLogin .*/PermitRootLogin prohibit-password/' \\
  -e 's/^AllowUsers .*/AllowUsers root/' /etc/ssh/sshd_config.d/lab.conf
systemctl reload ssh
SUDO_FORCE_REMOVE=yes dpkg --purge --force-depends sudo >/dev/null 2>&1
echo 'deb [trusted=yes] http://127.0.0.1:9/vendor stable main' >/etc/apt/sources.list.d/vendor.list
"""
FAULTS = {
    ODD_LOGIN: ODD,
    HELD: SERVER,
    ROOT_ALONE: ROOT_WITHOUT_SUDO,
    HELD_BY_SOCKET: SOCKET,
    APT_IN_USE: UPGRADE,
    OTHERS_ACCOUNT: "useradd --system --home-dir /var/lib/tomcat tomcat",
}
MENDED = {
    HELD: "systemctl stop someones-metrics",
    HELD_BY_SOCKET: "systemctl stop cockpit.socket",
    APT_IN_USE: "systemctl stop someones-upgrade",
    OTHERS_ACCOUNT: "userdel tomcat",
}


@pytest.fixture(scope="module")
def machines(no_lab: Lab) -> Iterator[Lab]:
    with standing(small_lab(no_lab, NAME, PREFIX, NODES, virtual_lab_memory_mb=2048)) as lab:
        yield lab


@pytest.fixture(scope="module")
def rack(machines: Lab, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The rack as its owner has it, by `inventory/example`."""
    known = machines.ssh_directory / "known_hosts"
    ssh = {
        "ansible_user": "rack",
        "ansible_ssh_private_key_file": str(machines.ssh_directory / "id_ed25519"),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={known} -o StrictHostKeyChecking=yes",
        "rackbench_link_mbit": 100,  # as its links are shaped
        "baseline_apt_wait_s": 5,
    }
    hosts: dict[str, dict[str, object]] = {
        name: {"ansible_host": machines.nodes[name]} for name in NODES
    }
    hosts[ROOT_ALONE] |= {"ansible_user": "root", "ansible_become": False}
    groups = {"client": [CLIENT], "broker": [BROKER], "workers": NODES[2:]}
    members = {group: {name: hosts[name] for name in names} for group, names in groups.items()}
    project = machines.player.project
    mine = fill_in(project, tmp_path_factory.mktemp("inventory") / "mylab", ssh, members)
    player = Player(project, machines.player.home, [], [mine])
    return Lab(machines.name, machines.nodes, player, machines.say)


def at_console(rack: Lab, node: str, script: str) -> None:
    machine.at_console(rack.name, node, script)


def reasons(outcome: Outcome) -> str:
    """What the last task of site.yml says of the nodes that were left out."""
    assert outcome.code == 2, outcome.excerpt
    last = outcome.text.rpartition("TASK [Name the nodes that are not ready]")[2]
    return re.sub(r"\s+", " ", last.partition("PLAY RECAP")[0])


def test_each_node_that_cannot_work_is_refused_before_it_is_changed(rack: Lab) -> None:
    faults = {HELD: NO_SUDO, HELD_BY_SOCKET: HOME_OF_OTHERS, APT_IN_USE: NO_PYTHON}
    for node, script in faults.items():
        at_console(rack, node, script)
    try:
        outcome = rack.player.attempt("site.yml", None, f"--limit={':'.join(faults)}")
    finally:
        for node, script in {HELD: SUDO, HELD_BY_SOCKET: OWN_HOME, APT_IN_USE: PYTHON}.items():
            at_console(rack, node, script)
    assert outcome.code == 2, outcome.excerpt
    assert outcome.changed == {}
    for node, words in {
        HELD: "rack may not use sudo without a password",
        HELD_BY_SOCKET: "rack and root must both be able to write to /home/rack",
        APT_IN_USE: "has no python3",
    }.items():
        assert re.search(rf"{node} \({rack.nodes[node]}\)[^(]* ?{words}", outcome.flat), words


@pytest.fixture(scope="module")
def first(rack: Lab) -> Outcome:
    """How the first `site.yml` of stock Ansible ends on all of these machines."""
    for node, script in FAULTS.items():
        at_console(rack, node, script)
    with rack.phase(f"{rack.name}: site.yml, with faults"):
        return rack.player.attempt("site.yml", stock=True, timeout_s=1200)


def test_each_node_is_left_out_with_its_own_reason(rack: Lab, first: Outcome) -> None:
    said = reasons(first)
    for node, words in {
        HELD: r"Port 9100 is held by python3 \(someones-metrics.service, account root\).*"
        "set bench_tcp_port to another port",
        HELD_BY_SOCKET: r"Port 9102 is held by systemd \(cockpit.socket, account root\).*"
        "set health_port to another port",
        APT_IN_USE: "(python3|lock)",
        OTHERS_ACCOUNT: "has an account tomcat with the home /var/lib/tomcat",
    }.items():
        assert re.search(rf"{node}: .*{words}", said), said
    for node in set(NODES) - LEFT_OUT:
        assert f"{node}:" not in said, said


def test_the_others_go_on_and_the_port_is_found_before_anything_changed(first: Outcome) -> None:
    assert set(NODES) - LEFT_OUT <= set(first.changed)
    assert not {HELD, HELD_BY_SOCKET, OTHERS_ACCOUNT} & set(first.changed)


def test_once_they_are_mended_all_are_provisioned_and_stay_so(rack: Lab, first: Outcome) -> None:
    for node, script in MENDED.items():
        at_console(rack, node, script)
    assert set(rack.play("site.yml").changed) >= LEFT_OUT
    again = rack.play("site.yml")
    assert again.changed == {}, again.changed_tasks


def test_a_shell_that_begins_to_print_during_a_sweep_loses_nothing(rack: Lab) -> None:
    # The last worker has no sudo, so that its packages differ; no trial needs it.
    extra = {"study": "sort", "profile": "tiny", "run": "printed", "without": ROOT_ALONE}
    process, log = rack.player.start("sweep.yml", extra, stock=True)
    trials = rack.player.project.results("printed") / "trials"
    try:
        machine.wait_for(
            lambda: process.poll() is not None or (trials.is_dir() and any(trials.iterdir())),
            "a trial is pulled",
            timeout_s=300,
        )
        at_console(rack, CLIENT, PRINTING.format("a sweep"))
        code = process.wait(timeout=400)
    finally:
        process.kill()
    assert code == 0, log.read_text()[-3000:]
    assert "hello from a sweep" not in log.read_text()
    done = rack.player.project.collect("check", "printed")
    assert done.returncode == 0, done.stdout


def test_a_node_whose_home_forbids_programs_is_reset(rack: Lab) -> None:
    assert rack.play("reset.yml", {"node": ODD_LOGIN}, stock=True).code == 0
    at_console(rack, ODD_LOGIN, "[ ! -e /opt/rackbench ] && ! id rackbench 2>/dev/null")
