"""CSV files whose fields may be longer than Python's reader allows, which is 128 KiB."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager

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
