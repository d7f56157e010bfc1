"""Every service by a client that is not ours: zeep, requests, sockets, curl, imqcmd, plain JMS."""

from __future__ import annotations

import base64
import random
import re
import socket
import string
import struct
import subprocess
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import inside
import pytest
import requests
import zeep
from labs import WORKERS, Lab
from messages import (
    Matrix,
    body,
    decoded,
    dime_message,
    dime_parts,
    encoded,
    envelope,
    floats,
    multipart,
    multipart_type,
    serialised,
)
from probe import Probe
from services import BROKER, LISTENER, MATRIX_WORKER, TCP_SERVER, TOMCAT

SOAP: Any = zeep  # without type hints of its own
TCP_PORT = 9100
BOUNDARY = "of-no-part"
TEXT = "Hello, Grüße, 你好 & <hello/>"


def url(lab: Lab, path: str, node: str = "worker1") -> str:
    return f"http://{lab.nodes[node]}:8080/{path}"


def client(lab: Lab, path: str, node: str = "worker1", **options: Any) -> Any:
    """Zeep on what the service itself says of itself."""
    options.setdefault("transport", SOAP.Transport(session=inside.session(lab)))
    return SOAP.Client(url(lab, path, node) + "?wsdl", **options)


def matrix(n: int) -> Matrix:
    """Numbers of any size that a float can hold; the last byte is none that ends a line."""
    draw = random.Random(n)  # noqa: S311 - data, not a secret
    bits = [[draw.getrandbits(24) / 2 ** draw.randint(0, 100) for _ in range(n)] for _ in range(n)]
    bits[-1][-1] = -0.5
    return bits


def letters(count: int) -> str:
    """What the reply services answer: the alphabet over and over."""
    return "".join(string.ascii_lowercase[i % 26] for i in range(count))


def get_matrix(lab: Lab, service: str, values: Matrix) -> requests.Response:
    """Ask for a matrix as standard SOAP, in XML that zeep has no words for."""
    request = envelope(
        f'<m:getMatrix xmlns:m="urn:rackbench:matrix">{encoded(values)}</m:getMatrix>'
    )
    return posted(lab, service, request, "text/xml; charset=utf-8")


def posted(lab: Lab, service: str, request: bytes, kind: str) -> requests.Response:
    answer = inside.session(lab).post(
        url(lab, f"axis/services/{service}"),
        data=request,
        headers={"Content-Type": kind, "SOAPAction": '""'},
        timeout=30,
    )
    assert answer.status_code == 200, answer.text
    return answer


# SOAP


@pytest.mark.journal(TOMCAT, *WORKERS)
@pytest.mark.parametrize("node", WORKERS)
def test_zeep_is_told_hello(lab: Lab, node: str) -> None:
    assert client(lab, "axis/services/Hello", node).service.hello(TEXT) == TEXT


@pytest.mark.journal(TOMCAT, "worker1")
@pytest.mark.parametrize(("size", "elements"), [(1, 1), (1000, 1), (1000, 7), (20000, 20)])
def test_zeep_gets_so_many_bytes_in_so_many_elements(lab: Lab, size: int, elements: int) -> None:
    pieces = client(lab, "axis/services/Reply").service.reply("x", size, elements)
    assert len(pieces) == elements
    assert "".join(pieces) == letters(size)


@pytest.mark.journal(TOMCAT, "worker1")
@pytest.mark.parametrize(
    ("size", "elements"), [(0, 1), (10, 0), (3, 4), (-1, 1), (2**20 + 1, 1), (20_000, 10_001)]
)
def test_what_no_reply_can_be_is_a_fault_that_says_so(lab: Lab, size: int, elements: int) -> None:
    service = client(lab, "axis/services/Reply").service
    with pytest.raises(SOAP.exceptions.Fault, match=r"not within 1 to \d+; ask for another"):
        service.reply("x", size, elements)


@pytest.mark.journal(TOMCAT, "worker1")
@pytest.mark.parametrize("n", [1, 10, 50])
def test_a_matrix_comes_back_bit_for_bit_as_standard_soap(lab: Lab, n: int) -> None:
    values = matrix(n)
    answer = get_matrix(lab, "Matrix", values)
    assert floats(decoded(answer.content)) == floats(values)
    assert b"multiRef" not in answer.content
    assert b'xsi:type="xsd:float"' not in answer.content


@pytest.mark.journal(TOMCAT, "worker1")
def test_a_matrix_comes_back_bit_for_bit_in_multi_references(lab: Lab) -> None:
    values = matrix(10)
    answer = get_matrix(lab, "MatrixMultiRef", values)
    assert floats(decoded(answer.content)) == floats(values)
    assert answer.content.count(b"<multiRef ") == 10 * 10


class Attaching(SOAP.Transport):  # type: ignore[misc]
    """Sends one attachment with each request, as SOAP messages with attachments do."""

    def __init__(self, lab: Lab, attachment: bytes) -> None:
        super().__init__(session=inside.session(lab), timeout=30, operation_timeout=30)
        self.attachment = attachment

    def post(self, address: str, message: bytes, headers: dict[str, str]) -> requests.Response:
        sent = multipart(BOUNDARY, "text/xml", message, self.attachment, "matrix")
        kind = multipart_type(BOUNDARY, "text/xml")
        answer: requests.Response = super().post(address, sent, {**headers, "Content-Type": kind})
        return answer


@pytest.mark.journal(TOMCAT, "worker1")
@pytest.mark.parametrize("n", [1, 10, 50])
def test_zeep_gets_the_bytes_of_its_mime_attachment_back(lab: Lab, n: int) -> None:
    sent = serialised(matrix(n))
    assert len(sent) == 4 * n * n + 10 * n + 41
    soap = client(lab, "axis/services/MatrixAttachment", transport=Attaching(lab, sent))
    handler = soap.get_type("{http://xml.apache.org/xml-soap}DataHandler")
    pack = soap.service.getMatrix(handler(href="cid:matrix"))
    assert [attachment.content for attachment in pack.attachments] == [sent]


def asks_for_attachment(reference: str) -> bytes:
    return envelope(
        f'<m:getMatrix xmlns:m="urn:rackbench:matrix"><matrix href="{reference}"/></m:getMatrix>'
    )


@pytest.mark.journal(TOMCAT, "worker1")
@pytest.mark.parametrize("n", [1, 10, 50, 600])  # over a MiB the last, which Axis cuts in chunks
def test_a_dime_attachment_comes_back_byte_for_byte(lab: Lab, n: int) -> None:
    sent = serialised(matrix(n))
    request = dime_message(asks_for_attachment("cid:matrix"), sent, "matrix")
    answer = posted(lab, "MatrixAttachment", request, "application/dime")
    assert answer.headers["Content-Type"].startswith("application/dime")
    soap, attachment = dime_parts(answer.content)
    assert b"getMatrixResponse" in soap
    assert attachment == sent


@pytest.mark.journal(TOMCAT, "worker1")
@pytest.mark.parametrize("sent", [b"", b"no object", serialised(matrix(2))[:-3]])
def test_an_attachment_that_is_no_matrix_is_a_fault(lab: Lab, sent: bytes) -> None:
    soap = client(lab, "axis/services/MatrixAttachment", transport=Attaching(lab, sent))
    handler = soap.get_type("{http://xml.apache.org/xml-soap}DataHandler")
    with pytest.raises(SOAP.exceptions.Fault, match="the attachment is "):
        soap.service.getMatrix(handler(href="cid:matrix"))


@pytest.mark.journal(TOMCAT, "worker1")
def test_a_matrix_as_xml_is_over_six_times_an_attachment(lab: Lab) -> None:
    draw = random.Random(50)  # noqa: S311 - data, not a secret
    values = [[draw.getrandbits(24) / 2**24 for _ in range(50)] for _ in range(50)]
    xml = get_matrix(lab, "Matrix", values).content
    request = dime_message(asks_for_attachment("cid:matrix"), serialised(values), "matrix")
    attached = posted(lab, "MatrixAttachment", request, "application/dime").content
    assert len(xml) / len(attached) >= 6


# MTOM


def echo(content: str) -> bytes:
    return envelope(f'<m:echo xmlns:m="urn:rackbench:mtom"><payload>{content}</payload></m:echo>')


PAYLOAD = bytes(range(256)) * 4
INCLUDE = '<x:Include xmlns:x="http://www.w3.org/2004/08/xop/include" href="cid:payload"/>'
XOP = 'application/xop+xml; charset=utf-8; type="text/xml"'


def curl(lab: Lab, path: str, request: bytes, kind: str) -> Any:
    """The answer as it was on the wire, headers and all."""
    with inside.network(lab):
        done = subprocess.run(
            [
                *("curl", "--silent", "--show-error", "--include", "--max-time", "30"),
                *("--data-binary", "@-", "--header", f"Content-Type: {kind}"),
                *("--header", 'SOAPAction: ""', url(lab, path)),
            ],
            input=request,
            capture_output=True,
            check=True,
        )
    status, _, rest = done.stdout.partition(b"\r\n")
    assert status.split()[1] == b"200", done.stdout
    return message_from_bytes(rest, policy=policy.HTTP)


@pytest.mark.journal(TOMCAT, "worker1")
def test_curl_sees_a_multipart_with_the_bare_payload_where_mtom_is_on(lab: Lab) -> None:
    request = multipart(BOUNDARY, XOP, echo(INCLUDE), PAYLOAD, "payload")
    kind = 'multipart/related; type="application/xop+xml"; start="<soap>"; start-info="text/xml"'
    answer = curl(lab, "mtom/mtom", request, f'{kind}; boundary="{BOUNDARY}"')
    assert answer.get_content_type() == "multipart/related"
    assert answer.get_param("type") == "application/xop+xml"
    soap, payload = answer.iter_parts()
    assert soap.get_content_type() == "application/xop+xml"
    assert b"Include" in soap.get_content()
    assert base64.b64encode(PAYLOAD[:30]) not in soap.get_content()
    assert payload["Content-Transfer-Encoding"] == "binary"
    assert payload.get_content() == PAYLOAD


@pytest.mark.journal(TOMCAT, "worker1")
def test_curl_sees_base64_in_one_envelope_where_mtom_is_off(lab: Lab) -> None:
    request = echo(base64.b64encode(PAYLOAD).decode())
    answer = curl(lab, "mtom/inline", request, "text/xml; charset=utf-8")
    assert answer.get_content_type() == "text/xml"
    (found,) = body(answer.get_payload(decode=True))
    assert base64.b64decode(found.text or "") == PAYLOAD


@pytest.mark.journal(TOMCAT, "worker1")
@pytest.mark.parametrize("endpoint", ["inline", "mtom"])
def test_zeep_gets_its_payload_back_with_and_without_mtom(lab: Lab, endpoint: str) -> None:
    assert client(lab, f"mtom/{endpoint}").service.echo(PAYLOAD) == PAYLOAD


# Plain TCP


def connected(lab: Lab, node: str) -> socket.socket:
    with inside.network(lab):
        return socket.create_connection((lab.nodes[node], TCP_PORT), timeout=30)


def received(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size and (piece := connection.recv(size - len(content))):
        content += piece
    return content


@pytest.mark.journal(TCP_SERVER, *WORKERS)
@pytest.mark.parametrize("node", WORKERS)
def test_a_socket_gets_a_frame_for_each_byte(lab: Lab, node: str) -> None:
    with connected(lab, node) as connection:
        connection.sendall(struct.pack(">i", 1000))
        for byte in (b"x", b"\0", b"\xff"):
            connection.sendall(byte)
            assert received(connection, 1004) == struct.pack(">i", 1000) + letters(1000).encode()


@pytest.mark.journal(TCP_SERVER, "worker1")
@pytest.mark.parametrize("size", [0, -1, 2**20 + 1])
def test_a_size_that_no_reply_has_is_refused_in_words(lab: Lab, size: int) -> None:
    with connected(lab, "worker1") as connection:
        connection.sendall(struct.pack(">i", size))
        (length,) = struct.unpack(">i", received(connection, 4))
        assert length < 0
        assert "ask for another size" in received(connection, -length).decode()
        assert connection.recv(1) == b""


# Queues


@pytest.mark.journal(BROKER, "broker1")
def test_imqcmd_lists_the_queues_with_their_workers(lab: Lab) -> None:
    listed = lab.output(
        "broker1",
        "IMQ_JAVAHOME=/usr sh /opt/rackbench/openmq-*/mq/bin/imqcmd list dst -t q "
        "-b mqtcp://127.0.0.1:7678/admin -u admin -passfile /etc/rackbench/openmq/admin.passfile",
    )
    # name, type, state, producers, active consumers, …
    rows = re.findall(r"(?m)^(\S+) +Queue +RUNNING +\d+ +(\d+) ", listed)
    consumers = {name: int(count) for name, count in rows if not name.startswith("mq.")}
    workers = {f"{kind}.{node}": 1 for kind in ("matrix", "hello") for node in WORKERS}
    # The sizes that the study files name, of which one is for a study that cannot be planned.
    pools = {f"sort.pool{size}": len(WORKERS) for size in (1, 2, 3, 4, 5, 9)}
    assert consumers == workers | pools


@pytest.mark.journal(LISTENER, *WORKERS)
def test_a_jms_client_is_told_hello_in_an_envelope_of_its_own(probe: Probe) -> None:
    said = TEXT.replace("&", "&amp;").replace("<", "&lt;")
    request = envelope(f'<h:hello xmlns:h="urn:rackbench:hello"><text>{said}</text></h:hello>')
    answers = probe.exchange(request, *(f"hello.{node}" for node in WORKERS))
    assert [body(answer)[0].text for answer in answers] == [TEXT] * len(WORKERS)


@pytest.mark.journal(LISTENER, "worker1")
def test_another_service_than_hello_is_a_fault_over_jms(probe: Probe) -> None:
    request = envelope('<h:hello xmlns:h="urn:rackbench:sort"><text>Hello</text></h:hello>')
    (answer,) = probe.exchange(request, "hello.worker1")
    assert body(answer).tag.endswith("Fault")


@pytest.mark.journal(MATRIX_WORKER, *WORKERS)
@pytest.mark.parametrize("n", [1, 50])
def test_a_jms_client_gets_its_matrix_back(probe: Probe, n: int) -> None:
    sent = serialised(matrix(n))
    answers = probe.exchange(sent, *(f"matrix.{node}" for node in WORKERS))
    assert answers == [sent] * len(WORKERS)


def test_jakarta_and_javax_clients_are_never_on_one_class_path(lab: Lab) -> None:
    javax, jakarta = {"imq-5.1.4.jar", "javax.jms-api"}, {"imq.jar", "jakarta.jms-api"}
    expected = {
        **dict.fromkeys(("hello-jms", "hello-listener"), javax),
        **dict.fromkeys(("sort-jms", "matrix-jms", "sort-worker", "matrix-worker"), jakarta),
    }
    found: dict[str, set[str]] = {}
    for node, programs in (("client1", "clients"), ("worker1", "workers-*")):
        for path in lab.output(node, f"ls -1d /opt/rackbench/{programs}/*/*.jar").splitlines():
            jar = Path(path)
            if re.match(r"imq|(jakarta|javax)\.jms", jar.name):
                name = re.sub(r"(jms-api)-.*", r"\1", jar.name)
                found.setdefault(jar.parent.name, set()).add(name)
    assert found == expected
