"""Clients that come and say nothing, or say it slowly, and one that only wants its answer."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time

from envelopes import echo, envelope, hello
from wire import Request, ask, whole

VERSION_OF_THE_PORT_MAPPER = b"101\n"
TIMEOUT_S = 60
TOMCAT, TCP, BROKER, HEALTH = 8080, 9100, 7676, 9102


def _axis(address: str) -> bool:
    answer = ask(
        address, TOMCAT, whole("/axis/services/Hello", envelope(hello("Hello"))), TIMEOUT_S
    )
    return answer.status == 200 and "Hello" in answer.text


def _jaxws(address: str) -> bool:
    answer = ask(address, TOMCAT, whole("/mtom/inline", envelope(echo("SGVsbG8="))), TIMEOUT_S)
    return answer.status == 200 and "SGVsbG8=" in answer.text


def _tcp(address: str) -> bool:
    with socket.create_connection((address, TCP), timeout=TIMEOUT_S) as connection:
        connection.sendall(struct.pack(">i", 5) + b"x")
        return _received(connection, 9) == struct.pack(">i", 5) + b"abcde"


def _broker(address: str) -> bool:
    with socket.create_connection((address, BROKER), timeout=TIMEOUT_S) as connection:
        connection.sendall(VERSION_OF_THE_PORT_MAPPER)
        return b"jms tcp" in _received(connection, 4096)


def _health(address: str) -> bool:
    request = Request("/", [], length=0, method="GET")
    return ask(address, HEALTH, request, TIMEOUT_S).status == 200


GOOD = {"axis": _axis, "jaxws": _jaxws, "tcp": _tcp, "broker": _broker, "health": _health}
PORTS = {"axis": TOMCAT, "jaxws": TOMCAT, "tcp": TCP, "broker": BROKER, "health": HEALTH}


def _received(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size and (piece := connection.recv(size - len(content))):
        content += piece
    return content


class Bystander:
    """Calls a service well, again and again, while others do not."""

    def __init__(self, service: str, address: str) -> None:
        self._call = GOOD[service]
        self._address = address
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.calls = 0
        self.failures: list[str] = []
        self.slowest = 0.0

    def __enter__(self) -> Bystander:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                if not self._call(self._address):
                    self.failures.append("a wrong answer")
            except OSError as error:
                self.failures.append(repr(error))
            self.calls += 1
            self.slowest = max(self.slowest, time.monotonic() - began)
            self._stop.wait(0.2)

    def plain(self) -> dict[str, object]:
        return {
            "calls": self.calls,
            "failures": self.failures[:5],
            "slowest_s": round(self.slowest, 3),
        }


def idle(service: str, address: str, count: int, seconds: float) -> dict[str, object]:
    """So many connections that say nothing."""
    return _crowd(service, address, count, seconds, start=b"", more=b"")


def slow(service: str, address: str, count: int, seconds: float) -> dict[str, object]:
    """So many requests of which a byte comes now and then."""
    start = (
        Request("/axis/services/Hello", [], length=100_000).head
        if PORTS[service] == TOMCAT
        else b"\0"
    )
    return _crowd(service, address, count, seconds, start=start, more=b"<")


def slow_heads(service: str, address: str, count: int, seconds: float) -> dict[str, object]:
    """So many requests whose head never ends."""
    return _crowd(service, address, count, seconds, start=b"POST / HTTP/1.1\r\nX: ", more=b"x")


def _crowd(
    service: str, address: str, count: int, seconds: float, *, start: bytes, more: bytes
) -> dict[str, object]:
    connections: list[socket.socket] = []
    try:
        for _ in range(count):
            connection = socket.create_connection((address, PORTS[service]), timeout=5)
            connection.setblocking(False)
            connections.append(connection)
            if start:
                connection.send(start)
        with Bystander(service, address) as bystander:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for connection in connections if more else ():
                    with contextlib.suppress(OSError):
                        connection.send(more)
                time.sleep(1)
    finally:
        for connection in connections:
            connection.close()
    return {"opened": len(connections), **bystander.plain()}
