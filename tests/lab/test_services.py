"""The services as their clients use them, and as an attacker would."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import inside
import machine
import pytest
import zeep
from labs import WORKERS, Lab
from probe import Probe
from services import (
    BROKER,
    LISTENER,
    MATRIX_WORKER,
    SORT_WORKER,
    TCP_SERVER,
    TOMCAT,
    serves,
)
from transfer import assert_shaped

SERVICES = [("broker1", BROKER), ("worker1", TOMCAT), ("worker1", SORT_WORKER)]
OTHERS = [MATRIX_WORKER, LISTENER, TCP_SERVER]
HEALTH = "9102"

on_each_service = pytest.mark.parametrize(
    ("node", "unit"), [*SERVICES, *(("worker1", unit) for unit in OTHERS)]
)


def soap_sort(lab: Lab, node: str, values: list[int]) -> list[int]:
    """Sort through the deployed WSDL with a client that is not ours."""
    soap: Any = zeep  # without type hints of its own
    url = f"http://{lab.nodes[node]}:8080/axis/services/Sort?wsdl"
    client = soap.Client(url, transport=soap.Transport(session=inside.session(lab)))
    array = client.get_type("{urn:rackbench:sort}ArrayOfInt")
    item = soap.xsd.Element("item", soap.xsd.Int())
    return list(client.service.sort(array([soap.xsd.AnyObject(item, v) for v in values])))


def integers(count: int) -> list[int]:
    draw = random.Random(count)  # noqa: S311 - data, not a secret
    return [draw.randint(-(2**31), 2**31 - 1) for _ in range(count - 2)] + [2**31 - 1, -(2**31)]


def listening(lab: Lab, node: str) -> set[str]:
    """Address and port of every TCP socket on which something of ours or Debian listens."""
    return {line.split()[3] for line in lab.output(node, "ss -Hltn").splitlines()}


# Before anybody used them: later tests leave their refusals in the journals.


@on_each_service
def test_a_service_logs_no_error_while_starting(lab: Lab, node: str, unit: str) -> None:
    # Of its present start: one before it may have lost the broker, which a test restarted.
    start = lab.output(node, f"systemctl show --property=InvocationID --value {unit}")
    journal = lab.output(node, f"journalctl _SYSTEMD_INVOCATION_ID={start} -o cat")
    assert journal
    assert not re.search(r"SEVERE|ERROR|Exception", journal), journal


# SOAP


@pytest.mark.journal(TOMCAT, *WORKERS)
@pytest.mark.parametrize("node", WORKERS)
def test_an_independent_soap_client_sorts_on_every_worker(lab: Lab, node: str) -> None:
    values = integers(200)
    assert soap_sort(lab, node, values) == sorted(values)


@pytest.mark.journal(TOMCAT, "worker1")
def test_the_soap_service_sorts_nothing_and_equal_values_too(lab: Lab) -> None:
    assert soap_sort(lab, "worker1", [7, 7, -7, 7]) == [-7, 7, 7, 7]
    assert soap_sort(lab, "worker1", [0]) == [0]


@pytest.mark.journal(TOMCAT, "worker1")
def test_a_wrong_request_is_a_fault_without_a_stack_trace(lab: Lab) -> None:
    answer = inside.session(lab).post(
        f"http://{lab.nodes['worker1']}:8080/axis/services/Sort",
        data="<Envelope/>",
        headers={"Content-Type": "text/xml", "SOAPAction": '""'},
        timeout=20,
    )
    assert answer.status_code == 500
    assert "Fault" in answer.text
    assert not re.search(r"\.java:\d+|stackTrace|\tat ", answer.text)


# Tomcat


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/manager/html", "/host-manager/html", "/docs/", "/examples/", "/ROOT/"),
        *("/axis/servlet/AdminServlet", "/axis/services/AdminService?wsdl"),
        *("/axis/services/Version?wsdl", "/axis/happyaxis.jsp", "/axis/EchoHeaders.jws"),
        *("/axis/WEB-INF/server-config.wsdd", "/axis/WEB-INF/web.xml", "/axis/"),
    ],
)
def test_nothing_but_the_services_answers(lab: Lab, path: str) -> None:
    answer = inside.session(lab).get(f"http://{lab.nodes['worker1']}:8080{path}", timeout=20)
    assert answer.status_code in (403, 404)
    told = answer.text + str(answer.headers)
    assert not re.search(r"Tomcat|\d+\.\d+\.\d+\.?\d*|\.java:\d+", told), told


@pytest.mark.parametrize("node", WORKERS)
def test_a_worker_listens_where_its_clients_are_told_and_nowhere_else(lab: Lab, node: str) -> None:
    told = json.loads(lab.output("client1", "cat /etc/rackbench/lab.json"))
    about = told["endpoints"][node]
    ports = {str(value) for value in about.values() if isinstance(value, int)}
    ports.add(str(told["health_port"]))
    ports |= set(re.findall(r"http://[^/]*:(\d+)", json.dumps(about)))
    assert "8080" in ports
    sockets = {s for s in listening(lab, node) if not s.startswith(("127.", "[::1]"))}
    ours = {s for s in sockets if not s.endswith(":22")}
    assert {s.rpartition(":")[2] for s in ours} == ports
    assert [s for s in ours if lab.nodes[node] not in s] == [], "not on the lab's network alone"


def test_the_client_node_listens_for_ssh_and_health_alone(lab: Lab) -> None:
    assert {s.rpartition(":")[2] for s in listening(lab, "client1")} == {"22", HEALTH}


# Broker and JMS worker


@pytest.mark.journal(BROKER, "broker1")
def test_the_broker_listens_on_its_three_ports_alone(lab: Lab) -> None:
    address = lab.nodes["broker1"]
    java = lab.output("broker1", "ss -Hltnp | grep java")
    sockets = {re.sub(r"\[::ffff:|\]", "", line.split()[3]) for line in java.splitlines()}
    assert sockets == {f"{address}:7676", f"{address}:7677", "127.0.0.1:7678"}
    assert {s.rpartition(":")[2] for s in listening(lab, "broker1")} == {
        *("22", "7676", "7677", "7678", HEALTH)
    }


@pytest.mark.journal(BROKER, "broker1")
@pytest.mark.parametrize(
    ("user", "password"), [("guest", "guest"), ("admin", "admin"), ("bench", "wrong")]
)
def test_default_accounts_and_wrong_passwords_are_refused(
    probe: Probe, user: str, password: str
) -> None:
    lines = probe.ask("login", user=user, password=password)
    assert len(lines) == 1
    assert lines[0].startswith("refused")


@pytest.mark.journal(BROKER, "broker1")
def test_the_generated_password_is_accepted(probe: Probe) -> None:
    assert len(probe.password) == 24
    assert probe.ask("login", user="bench", password=probe.password) == ["connected", "done"]


@pytest.mark.journal(BROKER, "broker1")
@pytest.mark.parametrize("queue", ["no.such.queue", "mq.sys.dmq", "sort.pool99"])
def test_a_queue_that_is_not_the_kits_is_refused(probe: Probe, queue: str) -> None:
    lines = probe.ask("produce", queue, user="bench", password=probe.password)
    assert lines[0] == "connected"
    assert lines[1].startswith("refused")


def test_the_administrator_needs_the_generated_password(lab: Lab) -> None:
    command = (
        "umask 077; echo imq.imqcmd.password=admin >/run/wrong; IMQ_JAVAHOME=/usr sh "
        "/opt/rackbench/openmq-*/mq/bin/imqcmd list dst -b mqtcp://127.0.0.1:7678/admin "
        "-u admin -passfile /run/wrong; echo code $?; rm /run/wrong"
    )
    said = lab.output("broker1", f"({command}) 2>&1")
    assert "Login failed" in said
    assert "code 1" in said


@pytest.mark.journal(SORT_WORKER, *WORKERS)
@pytest.mark.parametrize(("servers", "worker"), [(1, "worker3"), (3, "worker2"), (5, "worker1")])
def test_the_worker_that_is_named_sorts_over_jms(probe: Probe, servers: int, worker: str) -> None:
    values = integers(300)
    assert probe.sort(servers, worker, values) == (worker, sorted(values))


# Units


@on_each_service
def test_a_service_has_a_capped_heap(lab: Lab, node: str, unit: str) -> None:
    pid = lab.output(node, f"systemctl show -P MainPID {unit}")
    command = lab.output(node, f"cat /proc/{pid}/cmdline")
    heap = re.search(r"-Xmx(\d+)m", command)
    assert heap
    assert int(heap.group(1)) <= 512


@pytest.mark.parametrize(("node", "unit"), SERVICES)
def test_a_killed_service_comes_back(lab: Lab, probe: Probe, node: str, unit: str) -> None:
    before = lab.output(node, f"systemctl show -P MainPID {unit}")
    lab.output(node, f"kill -9 {before}")

    def again() -> bool:
        pid = lab.output(node, f"systemctl show -P MainPID {unit}")
        return pid not in ("0", before)

    machine.wait_for(again, f"{unit} on {node} restarts")
    values = integers(50)
    if unit == TOMCAT:
        answers = serves(lambda: soap_sort(lab, node, values) == sorted(values))
    else:
        answers = serves(lambda: probe.sort(1, "worker1", values) == ("worker1", sorted(values)))
    machine.wait_for(answers, f"{unit} on {node} serves again")


@pytest.mark.journal(TOMCAT, "worker3")
@pytest.mark.journal(SORT_WORKER, "worker3")
def test_a_rebooted_worker_serves_again(lab: Lab, probe: Probe) -> None:
    identity = "cat /proc/sys/kernel/random/boot_id; stat -c %Y /proc/1"
    before = lab.output("worker3", identity)
    filtered = lab.output("worker3", "nft list table inet rackbench")

    def rebooted() -> bool:
        done = lab.ssh("worker3", f"sudo sh -c '{identity}'", check=False)
        return done.returncode == 0 and done.stdout.decode().strip() != before

    try:
        lab.ssh("worker3", "sudo systemctl --no-block reboot", check=False)
        machine.wait_for(rebooted, "worker3 reboots", 60)
        assert lab.output("worker3", "nft list table inet rackbench") == filtered
        values = integers(50)
        soap = serves(lambda: soap_sort(lab, "worker3", values) == sorted(values))
        machine.wait_for(soap, "worker3 serves SOAP again")
        jms = serves(lambda: probe.sort(5, "worker3", values) == ("worker3", sorted(values)))
        machine.wait_for(jms, "worker3 serves JMS again")
        assert_shaped(lab, "worker3")
    finally:
        # Whatever came of it, the other tests get a whole lab.
        lab.play("lab.yml")
