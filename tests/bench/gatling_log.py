"""Reads every request from Gatling's simulation.log, which is binary since 3.12."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """A request; its times are milliseconds since the run began."""

    start: int
    end: int
    is_ok: bool


def requests(log: bytes) -> Iterator[Request]:
    """Return the requests in the order of their ends; raise ValueError for other files."""
    reader = _Reader(log)
    if log[:1] != b"\0":
        raise ValueError("no log of Gatling 3.12 or later: it does not begin with a run")
    while reader.has_more():
        match reader.number(">b"):
            case 0:  # the run, once
                reader.run()
            case 1:  # a request
                yield reader.request()
            case 2:  # a user
                reader.skip(">i?i")  # scenario, start or end, time
            case 3:  # a group
                reader.groups()
                reader.skip(">iii?")  # start, end, time in responses, status
            case 4:  # an error
                reader.known_text()
                reader.skip(">i")
            case kind:
                raise ValueError(f"record of unknown kind {kind} at byte {reader.at}")


class _Reader:
    """Parses a log. It contains a repeated text once, and then the number of the text."""

    def __init__(self, log: bytes) -> None:
        self.log = log
        self.at = 0
        self.known: set[int] = set()

    def has_more(self) -> bool:
        return self.at < len(self.log)

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self.log, self.at)
        self.skip(form)
        return int(value)

    def skip(self, form: str) -> None:
        self.at += struct.calcsize(form)

    def text(self) -> None:
        length = self.number(">i")
        self.at += length + 1 if length else 0  # the coding follows the text

    def known_text(self) -> None:
        number = abs(self.number(">i"))
        if number not in self.known:
            self.known.add(number)
            self.text()

    def groups(self) -> None:
        for _ in range(self.number(">i")):
            self.known_text()

    def run(self) -> None:
        self.text()  # version
        self.text()  # class
        self.skip(">q")  # start
        self.text()  # description
        for _ in range(self.number(">i")):
            self.text()  # scenario
        for _ in range(self.number(">i")):
            self.at += self.number(">i")  # assertion

    def request(self) -> Request:
        self.groups()
        self.known_text()  # name
        start, end, is_ok = self.number(">i"), self.number(">i"), bool(self.number(">?"))
        self.known_text()  # message
        return Request(start, end, is_ok)
