"""Good messages with faults put in at random, at a bounded rate, from a seed."""

from __future__ import annotations

import random
import socket
import struct
import time

from crowd import PORTS, VERSION_OF_THE_PORT_MAPPER, Bystander
from envelopes import echo, envelope, hello, matrix, sort
from parts import ASKS, DIME, END, PATH, RELATED, XOP, part, record, root, soap_record
from wire import Request, whole

PER_SECOND = 50
ANSWER_TIMEOUT_S = 2
JMS = 7677


def _http(request: Request) -> bytes:
    return request.head + b"".join(request.pieces)


def _samples(service: str) -> list[bytes]:
    if service == "axis":
        array = ' xmlns:e="http://schemas.xmlsoap.org/soap/encoding/" e:arrayType="xsd:int[2]"'
        return [
            _http(whole("/axis/services/Hello", envelope(hello("Hello")))),
            _http(whole("/axis/services/Sort", envelope(sort("<i>2</i><i>1</i>", array)))),
            _http(whole("/axis/services/Matrix", envelope(matrix("<r><i>1</i></r>")))),
            _http(whole(PATH, root(ASKS) + part("a", b"x" * 100) + END, content_type=RELATED)),
            _http(whole(PATH, soap_record(ASKS) + record(b"x" * 100, 2), content_type=DIME)),
            b"GET /axis/services/Hello?wsdl HTTP/1.1\r\nHost: lab\r\n\r\n",
        ]
    if service == "jaxws":
        include = '<x:Include xmlns:x="http://www.w3.org/2004/08/xop/include" href="cid:a"/>'
        kind = 'application/xop+xml; charset=utf-8; type="text/xml"'
        xop = part("soap", envelope(echo(include)), kind) + part("a", b"x" * 100) + END
        return [
            _http(whole("/mtom/inline", envelope(echo("SGVsbG8=")))),
            _http(whole("/mtom/mtom", xop, content_type=XOP)),
            b"GET /mtom/mtom?wsdl HTTP/1.1\r\nHost: lab\r\n\r\n",
        ]
    if service == "tcp":
        return [struct.pack(">i", 1000) + b"x" * 20]
    if service == "health":
        return [b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n"]
    if service == "broker":
        return [VERSION_OF_THE_PORT_MAPPER]
    # What a client of the broker says first: a header of 72 bytes, then properties and a body.
    return [struct.pack(">iHHi", 469754818, 103, 10, 100) + b"\0" * 88]


def _spoilt(message: bytes, draw: random.Random) -> bytes:
    content = bytearray(message)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(content) + 1)
        match draw.randrange(6):
            case 0:  # a bit the other way round
                if place < len(content):
                    content[place] ^= 1 << draw.randrange(8)
            case 1:  # cut short
                del content[place:]
            case 2:  # a piece twice
                content[place:place] = content[max(0, place - draw.randrange(200)) : place]
            case 3:  # a piece lost
                del content[place : place + draw.randrange(200)]
            case 4:  # noise
                content[place:place] = draw.randbytes(draw.randrange(200))
            case 5:  # a number at the edge
                edge = draw.choice([0, -1, 0x7FFFFFFF, -0x80000000, 0xFFFF])
                content[place : place + 4] = struct.pack(">q", edge)[4:]
    return bytes(content)


def fuzz(service: str, address: str, seconds: float, seed: int) -> dict[str, object]:
    """Send spoilt messages for so long; what came of them, and of good calls meanwhile."""
    draw = random.Random(seed)  # noqa: S311 - not a secret
    samples = _samples(service)
    port = JMS if service == "jms" else PORTS[service]
    outcomes = {"answered": 0, "closed": 0, "silent": 0, "refused": 0}
    sent = 0
    began = time.monotonic()
    with Bystander("broker" if service == "jms" else service, address) as bystander:
        while (spent := time.monotonic() - began) < seconds:
            outcomes[say(address, port, _spoilt(draw.choice(samples), draw))] += 1
            sent += 1
            time.sleep(max(0, sent / PER_SECOND - spent))
    return {"seed": seed, "sent": sent, **outcomes, **bystander.plain()}


def say(address: str, port: int, message: bytes) -> str:
    """Say this on a new connection; how it was taken."""
    try:
        with socket.create_connection((address, port), timeout=ANSWER_TIMEOUT_S) as connection:
            connection.sendall(message)
            connection.shutdown(socket.SHUT_WR)
            return "answered" if connection.recv(4096) else "closed"
    except TimeoutError:
        return "silent"
    except ConnectionRefusedError:
        return "refused"
    except OSError:
        return "closed"
