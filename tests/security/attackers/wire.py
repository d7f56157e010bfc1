"""HTTP by hand: what a well-behaved library would never send."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

PIECE = 64 * 1024


@dataclass(frozen=True)
class Request:
    """One POST. Pieces without a length are sent in chunks, as many as the server takes."""

    path: str
    pieces: Iterable[bytes]
    content_type: str = "text/xml; charset=utf-8"
    length: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"

    @property
    def head(self) -> bytes:
        size = (
            "Transfer-Encoding: chunked"
            if self.length is None
            else f"Content-Length: {self.length}"
        )
        lines = [
            f"{self.method} {self.path} HTTP/1.1",
            "Host: lab",
            "Connection: close",
            'SOAPAction: ""',
            f"Content-Type: {self.content_type}",
            size,
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n"


@dataclass(frozen=True)
class Answer:
    """What came back; status 0 is no answer at all."""

    status: int
    text: str
    sent: int
    received: int
    seconds: float

    def plain(self) -> dict[str, object]:
        return asdict(self)


def whole(path: str, body: bytes, **options: object) -> Request:
    """A request whose length is told beforehand."""
    return Request(path, [body], length=len(body), **options)  # type: ignore[arg-type]


def ask(address: str, port: int, request: Request, timeout_s: float = 60) -> Answer:
    """Send as much of the request as the server takes, and read what it says."""
    began = time.monotonic()
    sent = 0
    said = b""
    received = 0
    with socket.create_connection((address, port), timeout=timeout_s) as connection:
        try:
            connection.sendall(request.head)
            for piece in request.pieces:
                connection.sendall(
                    piece if request.length is not None else b"%x\r\n%s\r\n" % (len(piece), piece)
                )
                sent += len(piece)
            if request.length is None:
                connection.sendall(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server has closed: what it said is still to be read
        try:
            while part := connection.recv(PIECE):
                received += len(part)
                said += part[: max(0, PIECE - len(said))]
        except (ConnectionResetError, TimeoutError):
            pass
    words = said.split(maxsplit=2)
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    text = said.partition(b"\r\n\r\n")[2].decode(errors="replace")[:4000]
    return Answer(status, text, sent, received, round(time.monotonic() - began, 3))
