"""What Tomcat, Axis and the broker refuse, asked by another node of the lab."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

import inside
import machine
import pytest
from labs import Lab
from probe import Probe
from services import BROKER, TOMCAT

LOGS = "/var/log/rackbench-tomcat"


def said(lab: Lab, request: bytes, port: int = 8080, node: str = "worker1") -> bytes:
    """What comes back for these bytes, until the server hangs up."""
    with (
        inside.network(lab),
        socket.create_connection((lab.nodes[node], port), timeout=30) as connection,
    ):
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


def status(answer: bytes) -> int:
    return int(answer.split(maxsplit=2)[1])


def asked(line: str, *headers: str) -> bytes:
    return "\r\n".join([line, "Host: worker", "Connection: close", *headers, "", ""]).encode()


# Tomcat


@pytest.mark.journal(TOMCAT, "worker1")
@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        (["X: " + "x" * 8000], 200),
        (["X: " + "x" * 17_000], 400),
        ([f"X{number}: x" for number in range(40)], 200),
        ([f"X{number}: x" for number in range(60)], 400),
    ],
)
def test_headers_have_a_size_and_a_number(lab: Lab, headers: list[str], wanted: int) -> None:
    assert status(said(lab, asked("GET /axis/byte HTTP/1.1", *headers))) == wanted


@pytest.mark.parametrize("method", ["TRACE", "PUT", "DELETE", "CONNECT"])
def test_methods_that_no_client_needs_are_refused(lab: Lab, method: str) -> None:
    answer = said(lab, asked(f"{method} /axis/byte HTTP/1.1"))
    assert status(answer) in (400, 403, 405, 501)
    assert b"Apache" not in answer


def test_no_directory_is_listed(lab: Lab) -> None:
    for path in ("/axis/", "/axis/WEB-INF/", "/mtom/", "/mtom/WEB-INF/", "/"):
        answer = said(lab, asked(f"GET {path} HTTP/1.1"))
        assert status(answer) in (403, 404), path
        assert b"Directory" not in answer, path


@pytest.mark.parametrize("path", ["/nowhere", "/axis/nowhere", "/axis/services/nowhere", "/%"])
def test_an_error_tells_no_version(lab: Lab, path: str) -> None:
    answer = said(lab, asked(f"GET {path} HTTP/1.1")).decode()
    assert not re.search(r"Tomcat|Apache/|\d+\.\d+\.\d+|\.java:\d+", answer), answer


def test_the_shutdown_word_shuts_nothing_down(lab: Lab) -> None:
    before = lab.output("worker1", f"systemctl show -P MainPID {TOMCAT}")
    # 8005 is the shutdown port where there is one.
    with pytest.raises(ConnectionRefusedError), inside.network(lab, "worker1"):
        socket.create_connection((lab.nodes["worker1"], 8005), timeout=5)
    assert status(said(lab, b"SHUTDOWN\r\n\r\n")) == 400
    assert lab.output("worker1", f"systemctl show -P MainPID {TOMCAT}") == before


def access_log(lab: Lab) -> str:
    return lab.output("worker1", f"cat {LOGS}/access*.log")


def test_the_access_log_tells_who_asked_for_what(lab: Lab) -> None:
    said(lab, asked("GET /axis/who-was-it HTTP/1.1"))
    line = rf"^{re.escape(lab.nodes['client1'])} \S+ \"GET /axis/who-was-it HTTP/1.1\" 404 "
    machine.wait_for(lambda: re.search(line, access_log(lab), re.M), "the line is written", 60)
    assert lab.output("worker1", f"stat -c '%U %a' {LOGS}") == "tomcat 750"
    other = lab.output("worker1", f"runuser -u nobody -- cat {LOGS}/access*.log 2>&1 || :")
    assert "Permission denied" in other
    assert "who-was-it" not in other


@pytest.fixture
def full_log(lab: Lab) -> Iterator[int]:
    """Tomcat with no room left in its log: the limit of a file is what the log has now."""
    pid = lab.output("worker1", f"systemctl show -P MainPID {TOMCAT}")
    limit = lab.output("worker1", f"systemctl show -P LimitFSIZE {TOMCAT}")
    assert int(limit) <= 2**27
    size = max(int(n) for n in lab.output("worker1", f"stat -c %s {LOGS}/access*.log").split())
    change = f"runuser -u tomcat -- prlimit --pid {pid} --fsize="
    lab.output("worker1", f"{change}{size}:")
    yield size
    lab.output("worker1", f"{change}{limit}:")


def test_an_access_log_that_is_full_is_not_written_on_and_tomcat_serves(
    lab: Lab, full_log: int
) -> None:
    web = inside.session(lab)
    url = f"http://{lab.nodes['worker1']}:8080/axis/byte"
    for _ in range(200):  # more than the log's buffer holds
        assert web.get(url, timeout=20).status_code == 200
    assert web.get(url, timeout=20).status_code == 200
    sizes = lab.output("worker1", f"stat -c %s {LOGS}/access*.log").split()
    assert max(map(int, sizes)) <= full_log


# Axis


@pytest.mark.parametrize(
    "path",
    [
        *("/axis/services/AdminService?wsdl", "/axis/servlet/AdminServlet", "/axis/AdminServlet"),
        *("/axis/SOAPMonitor", "/axis/SOAPMonitorApplet.java", "/axis/services/SOAPMonitor?wsdl"),
        *("/axis/happyaxis.jsp", "/axis/servlet/AxisServlet", "/axis/services/Version?wsdl"),
        *("/axis/any.jws", "/axis/any.jsp", "/axis/WEB-INF/server-config.wsdd"),
    ],
)
def test_nothing_of_axis_answers_but_the_services(lab: Lab, path: str) -> None:
    assert status(said(lab, asked(f"GET {path} HTTP/1.1"))) == 404


def test_a_deployment_is_taken_by_no_service(lab: Lab) -> None:
    wsdd = (
        '<deployment xmlns="http://xml.apache.org/axis/wsdd/" '
        'xmlns:java="http://xml.apache.org/axis/wsdd/providers/java"><service name="Mine" '
        'provider="java:RPC"><parameter name="className" value="java.util.Random"/></service>'
        "</deployment>"
    )
    envelope = (
        '<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>'
        f"{wsdd}</e:Body></e:Envelope>"
    )
    web, base = inside.session(lab), f"http://{lab.nodes['worker1']}:8080/axis"
    headers = {"Content-Type": "text/xml", "SOAPAction": '""'}
    for path in ("/services/AdminService", "/services/Sort", "/services", "/servlet/AdminServlet"):
        answer = web.post(base + path, data=envelope, headers=headers, timeout=20)
        assert answer.status_code >= 400, path
    assert web.get(f"{base}/services/Mine?wsdl", timeout=20).status_code == 404


# The broker


@pytest.mark.journal(BROKER, "broker1")
@pytest.mark.parametrize("does", ["produce", "consume", "browse"])
@pytest.mark.parametrize("queue", ["students.own", "mq.sys.dmq"])
def test_a_queue_that_is_not_the_kits_is_neither_made_nor_read(
    probe: Probe, does: str, queue: str
) -> None:
    lines = probe.ask(does, queue, user="bench", password=probe.password)
    assert lines[0] == "connected"
    assert lines[1].startswith("refused"), lines


@pytest.mark.journal(BROKER, "broker1")
def test_a_queue_of_the_kit_is_not_browsed_and_no_topic_is_made(probe: Probe) -> None:
    for does, name in (("browse", "matrix.worker3"), ("topic", "students.own")):
        lines = probe.ask(does, name, user="bench", password=probe.password)
        assert lines[1].startswith("refused"), lines
    # The same words work where they may.
    for does in ("produce", "consume"):
        lines = probe.ask(does, "matrix.worker3", user="bench", password=probe.password)
        assert lines == ["connected", "done"]


def imqcmd(lab: Lab, node: str, address: str, arguments: str) -> str:
    """What the administrator's own tool says with the right password, asked from a node."""
    tool = "IMQ_JAVAHOME=/usr sh /opt/rackbench/openmq-*/mq/bin/imqcmd"
    account = "-u admin -passfile /etc/rackbench/openmq/admin.passfile"
    return lab.output(node, f"{tool} {arguments} -b {address} {account} 2>&1 || :")


def test_the_administrators_service_is_on_the_broker_itself_alone(lab: Lab) -> None:
    assert "no.such.queue" not in imqcmd(lab, "broker1", "mqtcp://127.0.0.1:7678/admin", "list dst")
    for port in (7676, 7677):
        said = imqcmd(lab, "broker1", f"mqtcp://{lab.nodes['broker1']}:{port}/admin", "list dst")
        assert "sort.pool1" not in said
    with pytest.raises(ConnectionRefusedError), inside.network(lab):
        socket.create_connection((lab.nodes["broker1"], 7678), timeout=5)


def test_jmx_rmi_and_the_other_services_of_the_broker_are_off(lab: Lab) -> None:
    services = imqcmd(lab, "broker1", "mqtcp://127.0.0.1:7678/admin", "list svc")
    states = dict(re.findall(r"(?m)^(\w+) +(?:\d+ \(\w+\)|-) +(\w+)", services))
    running = {name for name, state in states.items() if state == "RUNNING"}
    assert running == {"jms", "admin"}, services
    # The port mapper tells every port that the broker has.
    told = said(lab, b"101\n", 7676, "broker1").decode()
    ports = dict(re.findall(r"(?m)^(\w+) tcp \w+ (\d+)", told))
    assert {name: port for name, port in ports.items() if port != "0"} == {
        "portmapper": "7676",
        "jms": "7677",
        "admin": "7678",
    }, told
    assert not re.search(r"rmi|jmx|http|stomp", told), told


def test_the_brokers_secrets_are_its_own(lab: Lab) -> None:
    files = {
        "/var/lib/rackbench-broker/instances/rackbench/etc/passwd": "openmq 600",
        "/etc/rackbench/openmq/admin.passfile": "root 600",
    }
    for file, wanted in files.items():
        assert lab.output("broker1", f"stat -c '%U %a' {file}") == wanted
    accounts = lab.output("broker1", f"cut -d: -f1,3,4 {next(iter(files))}").split()
    assert sorted(accounts) == ["admin:admin:1", "bench:user:1"]
    assert lab.output("client1", "stat -c '%U %G %a' /etc/rackbench/broker.password") == (
        "root rackbench 640"
    )
