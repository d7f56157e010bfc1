"""CSV files with fields that Python's module csv does not read or write as others do."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

LONGEST_FIELD = 64 << 20
"""In characters. A log may hold a whole response in a field; more than this is an open quote."""


@contextmanager
def long_fields() -> Iterator[None]:
    """Let csv readers take fields of up to LONGEST_FIELD characters while the block runs."""
    before = csv.field_size_limit(LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


class _LineFeeds:
    """A text stream on which each row that a writer ends with CR LF ends with LF."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, row: str) -> int:
        """Write one row."""
        return self._stream.write(row.removesuffix("\r\n") + "\n")


def row_writer(stream: TextIO) -> Any:
    """Return a csv writer of lines that end with LF; it quotes a CR, too, as readers need it.

    Python 3.11 quotes only what is in its own line ends.
    """
    return csv.writer(_LineFeeds(stream), lineterminator="\r\n")
