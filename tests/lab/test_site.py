"""Provisioning again: nothing changes, and check mode works."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest
from labs import Lab


def test_what_a_killed_playbook_did_not_restart_is_restarted_by_the_next(
    lab: Lab, long_form: bool
) -> None:
    units = ["rackbench-tomcat", "rackbench-tcp-server", "rackbench-health.socket"]
    ask = f"systemctl show --value --property=InvocationID {' '.join(units)}"
    before = lab.output("worker1", ask).split()
    # Written, and killed before the handlers.
    files = " ".join(
        f"/etc/rackbench/{name}" for name in ("tomcat/conf/server.xml", "worker.env", "probes.json")
    )
    lab.output("worker1", f"touch --date='1980-01-01 UTC' {files}")
    again = lab.play("site.yml", None, "--limit=worker1")
    assert set(again.changed) == {"worker1"}
    assert set(before).isdisjoint(lab.output("worker1", ask).split())
    if long_form:  # else the next test says so, of all nodes
        assert lab.play("site.yml", None, "--limit=worker1").changed == {}


@pytest.mark.parametrize("stock", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_second_run_changes_nothing(lab: Lab, stock: bool) -> None:
    outcome = lab.play("site.yml", stock=stock)
    assert set(lab.nodes) <= outcome.hosts
    assert outcome.changed == {}, outcome.changed_tasks


@pytest.mark.long
def test_check_mode_works_on_a_provisioned_lab_and_reports_nothing(lab: Lab) -> None:
    outcome = lab.play("site.yml", None, "--check", "--diff")
    assert set(lab.nodes) <= outcome.hosts
    assert outcome.changed == {}, outcome.changed_tasks


def test_check_mode_of_the_lab_itself_reports_nothing(lab: Lab) -> None:
    outcome = lab.play("lab.yml", None, "--check")
    assert outcome.changed == {}, outcome.changed_tasks


# In the short form the last test of this file says so.
@pytest.mark.long
def test_the_nodes_pass_verification(lab: Lab) -> None:
    outcome = lab.play("verify.yml")
    assert set(lab.nodes) <= outcome.hosts
    assert outcome.changed == {}


ODD_PACKAGE = """
mkdir -p /tmp/odd/DEBIAN
printf '%s\\n' 'Package: odd' 'Version: 1.0' 'Architecture: all' 'Maintainer: tests <t@localhost>' \
  'Description: odd' >/tmp/odd/DEBIAN/control
dpkg-deb --build /tmp/odd /tmp/odd.deb >/dev/null && dpkg --install /tmp/odd.deb >/dev/null
"""
JAR = "$(ls /opt/rackbench/workers-*/tcp-server/*.jar | head -n 1)"
UNIT = "/etc/systemd/system/rackbench-tcp-server.service"
RESTART = (
    "systemctl daemon-reload && systemctl restart rackbench-tcp-server && "
    "until [ -e /run/rackbench-tcp-server/ready ]; do sleep 0.2; done"
)


@pytest.fixture
def odd_nodes(lab: Lab) -> Iterator[dict[str, str]]:
    """Four things altered on three workers: each item that verification must name, and its node."""
    lab.output("worker2", ODD_PACKAGE)
    lab.output("worker3", f"cp {JAR} /tmp/whole && echo >>{JAR}")
    # Not in its unit's own file: that a sweep would set again.
    sides = "[Service]\\nUnsetEnvironment=\\nEnvironment=JAVA_TOOL_OPTIONS=-Xss2m\\n"
    write = f'mkdir -p {UNIT}.d && printf "{sides}" >{UNIT}.d/zz.conf'
    lab.output("worker1", f"{write} && {RESTART}")
    slow_start = "net.ipv4.tcp_slow_start_after_idle"
    _set_sysctl(lab, "worker1", f"{slow_start}=0")
    try:
        yield {
            f"sysctls {slow_start}": "worker1",
            "jvms rackbench-tcp-server flags": "worker1",
            "packages odd": "worker2",
            "files /opt/rackbench/workers-": "worker3",
        }
    finally:
        _set_sysctl(lab, "worker1", f"{slow_start}=1")
        lab.output("worker2", "dpkg --purge odd")
        lab.output("worker3", f"cp /tmp/whole {JAR}")
        lab.output("worker1", f"rm -rf {UNIT}.d && {RESTART}")


def test_a_node_that_differs_is_named_and_no_sweep_begins(
    lab: Lab, odd_nodes: dict[str, str]
) -> None:
    extra = {"study": "sort", "profile": "one-server", "run": "odd"}
    for outcome in lab.player.attempt("verify.yml"), lab.player.attempt("sweep.yml", extra):
        assert outcome.code != 0
        for item, node in odd_nodes.items():
            assert re.search(rf"{re.escape(item)}\S* +{node} ", outcome.text), outcome.excerpt
    assert not lab.player.project.results("odd").exists()


def _set_sysctl(lab: Lab, node: str, setting: str) -> None:
    """From outside, as nobody on the node did it."""
    network = f"rackbench-{lab.name}-{node}"
    command = ["ip", "netns", "exec", network, "sysctl", "--quiet", "--write", setting]
    subprocess.run(command, check=True)


SETTINGS = f"{UNIT}.d"
FLAG = "-XX:TieredStopAtLevel=1"
KEPT_LOGIN = "/etc/rackbench/broker.password"
OTHER_JDK = "/usr/lib/jvm/other-jdk"
ODD_SSHD = "/etc/ssh/sshd_config.d/00-aaa.conf"


@pytest.fixture
def otherwise(lab: Lab) -> Iterator[dict[str, str]]:
    """Nodes that run otherwise than declared, most of them alike: item of each, and its nodes."""
    sides = "[Service]\\nUnsetEnvironment=\\nEnvironment=JAVA_TOOL_OPTIONS="
    reuse = "net.ipv4.tcp_tw_reuse"
    for worker in ("worker1", "worker3"):
        _set_sysctl(lab, worker, f"{reuse}=2")
    for worker in lab.workers:
        write = f'mkdir -p {SETTINGS} && printf "{sides}{FLAG}\\n" >{SETTINGS}/zz.conf'
        lab.output(worker, f"{write} && {RESTART}")
    link = "/opt/rackbench/jdk"
    jdk = lab.output("worker2", f"readlink {link}")
    lab.output("worker2", f"cp -al {jdk} {OTHER_JDK} && ln -sfn {OTHER_JDK} {link} && {RESTART}")
    lab.output("worker2", f"ln -sfn {jdk} {link}")
    lab.output("worker3", f"cp -p {KEPT_LOGIN} /var/tmp/kept && echo wrong >{KEPT_LOGIN}")
    lab.output("worker3", "systemctl restart rackbench-sort-worker")
    lab.output("broker1", "nft delete table inet rackbench")
    lab.output("client1", f"echo PasswordAuthentication yes >{ODD_SSHD}")
    try:
        yield {
            "jvms rackbench-tcp-server flags": ", ".join(lab.workers),
            "units rackbench-tcp-server.service": ", ".join(lab.workers),
            "jvms rackbench-tcp-server executable": "worker2",
            f"sysctls {reuse}": "worker1, worker3",
            "packet_filter": "broker1",
            "sshd passwordauthentication": "client1",
        }
    finally:
        # The JVMs still run with what they were started with.
        for worker in ("worker1", "worker3"):
            _set_sysctl(lab, worker, f"{reuse}=1")
        for worker in lab.workers:
            lab.output(worker, f"rm -rf {SETTINGS} && systemctl daemon-reload")
        lab.output("worker3", f"cp -p /var/tmp/kept {KEPT_LOGIN} && rm /var/tmp/kept")
        lab.output("worker3", "systemctl restart rackbench-sort-worker")
        lab.output("broker1", "systemctl reload packet-filter")
        lab.output("client1", f"rm -f {ODD_SSHD}")


def test_what_is_in_force_is_compared_with_what_was_declared(
    lab: Lab, otherwise: dict[str, str], long_form: bool
) -> None:
    verified = lab.player.attempt("verify.yml")
    outcomes = [verified]
    if long_form:  # in the short form the nodes above refuse a sweep
        extra = {"study": "sort", "profile": "one-server", "run": "otherwise"}
        outcomes.append(lab.player.attempt("sweep.yml", extra))
    for outcome in outcomes:
        assert outcome.code != 0
        for item, nodes in otherwise.items():
            assert re.search(rf"{re.escape(item)} +{nodes} ", outcome.text), outcome.excerpt
        assert FLAG in outcome.text
        assert f"{OTHER_JDK}/bin/java" in outcome.text
        assert ODD_SSHD in outcome.text
    assert "worker3: sort-worker does not answer" in verified.flat
    assert not lab.player.project.results("otherwise").exists()


def test_site_restarts_services_that_run_otherwise(lab: Lab) -> None:
    """As the test above leaves them: their units are as before, their JVMs are not."""
    changed = lab.play("site.yml").changed_tasks
    assert set(changed) == set(lab.workers)
    assert all(any("Restart the services" in task for task in changed[w]) for w in changed)
    lab.output("worker2", f"rm -rf {OTHER_JDK}")
    verified = lab.play("verify.yml")
    assert set(lab.nodes) <= verified.hosts
    assert verified.changed == {}
