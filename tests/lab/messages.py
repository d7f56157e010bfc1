"""Messages made and read by hand, byte by byte, for services whose clients are all ours."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
ENCODING = "http://schemas.xmlsoap.org/soap/encoding/"
XSD = "http://www.w3.org/2001/XMLSchema"

Matrix = list[list[float]]

# The Java object serialisation stream protocol: magic, then a float[][] of float[].
_MAGIC = bytes.fromhex("aced0005")
_ROWS = bytes.fromhex("757200035b5b4677aa8d1669fe19760200007870")
_FIRST_ROW = bytes.fromhex("757200025b460b9c818922e00c420200007870")
_NEXT_ROW = bytes.fromhex("7571007e0002")

_DIME_HEADER = struct.Struct(">BBHHHI")
_FIRST, _LAST, _MORE = 4, 2, 1
_MEDIA_TYPE, _URI = 1, 2


def envelope(body: str) -> bytes:
    """A SOAP 1.1 envelope."""
    return (
        f'<s:Envelope xmlns:s="{SOAP}" xmlns:e="{ENCODING}" xmlns:xsd="{XSD}">'
        f"<s:Body>{body}</s:Body></s:Envelope>"
    ).encode()


def _body(message: bytes) -> ElementTree.Element:
    found = ElementTree.fromstring(message).find(f"{{{SOAP}}}Body")  # noqa: S314 - our own lab
    assert found is not None, message
    return found


def body(message: bytes) -> ElementTree.Element:
    """The first element in an envelope's body."""
    return _body(message)[0]


def floats(values: Matrix) -> bytes:
    """The bits of a matrix, to compare."""
    return b"".join(struct.pack(f">{len(row)}f", *row) for row in values)


def serialised(values: Matrix) -> bytes:
    """A matrix as Java writes a float[][], 4n² + 10n + 41 bytes."""
    rows = [struct.pack(f">i{len(row)}f", len(row), *row) for row in values]
    heads = [_FIRST_ROW, *[_NEXT_ROW] * (len(rows) - 1)]
    parts = [head + row for head, row in zip(heads, rows, strict=True)]
    return _MAGIC + _ROWS + struct.pack(">i", len(rows)) + b"".join(parts)


def encoded(values: Matrix) -> str:
    """A matrix as an array of arrays in SOAP's encoding."""
    size = len(values)
    numbers = ["".join(f"<n>{value!r}</n>" for value in row) for row in values]
    rows = "".join(f'<row e:arrayType="xsd:float[{size}]">{row}</row>' for row in numbers)
    return f'<matrix e:arrayType="xsd:float[][{size}]">{rows}</matrix>'


def decoded(message: bytes) -> Matrix:
    """The matrix in an envelope's body, with or without multi-references."""
    elements = list(_body(message).iter())
    targets = {f"#{element.get('id')}": element for element in elements if element.get("id")}

    def meant(element: ElementTree.Element) -> ElementTree.Element:
        reference = element.get("href")
        return targets[reference] if reference else element

    response = next(element for element in elements if element.tag.endswith("getMatrixResponse"))
    return [[float(meant(n).text or "") for n in meant(row)] for row in meant(response[0])]


@dataclass(frozen=True)
class Part:
    """One record of a DIME message; `kind` is what its type is: a media type 1 or a URI 2."""

    kind: int
    type: str
    identity: str
    content: bytes


def dime(*parts: Part) -> bytes:
    """A DIME message (draft-nielsen-dime-02) of whole records."""
    return b"".join(
        _record(
            part,
            (_FIRST if number == 0 else 0) | (_LAST if number == len(parts) - 1 else 0),
        )
        for number, part in enumerate(parts)
    )


def dime_message(soap: bytes, attachment: bytes, identity: str) -> bytes:
    """An envelope and one attachment."""
    return dime(
        Part(_URI, SOAP, "", soap),
        Part(_MEDIA_TYPE, "application/octet-stream", identity, attachment),
    )


def _record(part: Part, flags: int) -> bytes:
    kind, identity = part.type.encode(), part.identity.encode()
    header = _DIME_HEADER.pack(
        1 << 3 | flags, part.kind << 4, 0, len(identity), len(kind), len(part.content)
    )
    return header + b"".join(_padded(field) for field in (identity, kind, part.content))


def _padded(field: bytes) -> bytes:
    return field + bytes(-len(field) % 4)


def dime_parts(message: bytes) -> Iterator[bytes]:
    """The contents of a DIME message's records, chunks joined."""
    place, content = 0, b""
    while place < len(message):
        flags, _, *lengths = _DIME_HEADER.unpack_from(message, place)
        assert flags >> 3 == 1, f"version {flags >> 3}"
        assert bool(flags & _FIRST) == (place == 0)
        place += _DIME_HEADER.size
        fields = []
        for length in lengths:
            fields.append(message[place : place + length])
            place += length + -length % 4
        content += fields[-1]
        if not flags & _MORE:
            yield content
            content = b""
        assert bool(flags & _LAST) == (place >= len(message))


def multipart(boundary: str, kind: str, soap: bytes, attachment: bytes, identity: str) -> bytes:
    """The body of a multipart/related message; `kind` is the envelope's media type."""
    heads = (
        f"Content-Type: {kind}\r\nContent-Id: <soap>",
        f"Content-Type: application/octet-stream\r\nContent-Id: <{identity}>",
    )
    parts = [
        f"--{boundary}\r\n{head}\r\nContent-Transfer-Encoding: binary\r\n\r\n".encode() + content
        for head, content in zip(heads, (soap, attachment), strict=True)
    ]
    return b"\r\n".join([*parts, f"--{boundary}--\r\n".encode()])


def multipart_type(boundary: str, kind: str) -> str:
    """The Content-Type that goes with it."""
    return f'multipart/related; type="{kind}"; start="<soap>"; boundary="{boundary}"'
