"""Raw logs: each is proven against its seal and parsed from the same bytes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, csv

from collect.run.trials import (
    CALLS_HEADER,
    CALLS_WORDS,
    LONGEST_NS,
    Seal,
    TrialError,
    proven_calls,
)

MISSING = int(np.iinfo(np.int64).min)
_WORDS = {name: pa.array(words) for name, words in CALLS_WORDS.items()}
_TYPES = {name: pa.string() if name in _WORDS else pa.int64() for name in CALLS_HEADER.split(",")}
# pyarrow takes the size of a block as 32 bits.
_LARGEST_BLOCK = 1 << 30

Columns = Mapping[str, NDArray[Any]]
"""The calls of one log, a row a call, in the order of the file.

A number that is absent is MISSING; phase and status are indexes into PHASES and STATUSES.
"""


def read_log(seal: Seal) -> Columns:
    """Return the calls of one trial, proven against its seal and checked row by row.

    Raises TrialError, which says why the log must not be counted.
    """
    content = proven_calls(seal)
    try:
        columns = _parse(content, seal.calls_rows)
    except pa.ArrowInvalid as error:
        reason = f"has a row that cannot be read ({str(error).splitlines()[0]})"
        raise _refusal(seal, reason) from error
    for reason, are_wrong in _faults(columns):
        if are_wrong.any():
            raise _refusal(seal, reason)
    return columns


def _parse(content: bytes, rows: int) -> Columns:
    """Parse a proven log strictly; raises ArrowInvalid."""
    table = parsed(content, _TYPES, strings_can_be_null=True)
    # Arrow also ends a row at a carriage return, which the count of the seal does not.
    if table.num_rows != rows:
        raise pa.ArrowInvalid("a line holds more than one row")
    return {name: _array(name, table.column(name)) for name in _TYPES}


def parsed(
    content: bytes, types: Mapping[str, pa.DataType], *, strings_can_be_null: bool = False
) -> pa.Table:
    """Return a CSV without quotes and empty lines, empty numbers as null; raises ArrowInvalid."""
    return csv.read_csv(
        pa.BufferReader(content),
        csv.ReadOptions(use_threads=False, block_size=min(len(content), _LARGEST_BLOCK)),
        csv.ParseOptions(quote_char=False, double_quote=False, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=types, null_values=[""], strings_can_be_null=strings_can_be_null
        ),
    )


def _array(name: str, column: pa.ChunkedArray) -> NDArray[Any]:
    missing = MISSING
    if name in _WORDS:
        column, missing = compute.index_in(column, _WORDS[name]), -1
    if column.null_count:
        column = column.fill_null(missing)
    array: NDArray[Any] = column.to_numpy()
    return array


def _faults(columns: Columns) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield each way in which rows can be wrong with the rows that are."""
    intended = columns["intended_ns"]
    yield "has gaps or repetitions in seq", np.sort(columns["seq"]) != np.arange(len(intended))
    yield "has an unknown phase", columns["phase"] < 0
    yield "has an unknown status", columns["status"] < 0
    yield (
        "has a time that is missing or negative, or longer than a year",
        _is_off(columns["elapsed_ns"])
        | _is_off(columns["start_ns"])
        | ((intended != MISSING) & _is_off(np.abs(intended))),
    )
    unknown = columns["thread"] == MISSING
    # A program need not say which thread made a call, of any call.
    yield "names the thread of some calls only", unknown & ~unknown.all()


def _is_off(times: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (times < 0) | (times > LONGEST_NS)


def _refusal(seal: Seal, reason: str) -> TrialError:
    name = Path(seal.path).name
    return TrialError(f"{seal.id}: {name} {reason}; it is not counted: run it again")
