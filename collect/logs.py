"""Raw logs: proven against their seals and parsed from the same bytes, many at a time."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from collect.readers import readers
from collect.trials import CALLS_HEADER, Trial, TrialError, calls_path, proven_calls

PHASES = ("warmup", "measure")
STATUSES = ("ok", "error", "wrong", "timeout")
MISSING = int(np.iinfo(np.int64).min)
_WORDS = {"phase": PHASES, "status": STATUSES}
_WORD = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [(name, _WORD if name in _WORDS else pa.int64()) for name in CALLS_HEADER.split(",")]
)
_HEADER_BYTES = len(CALLS_HEADER) + 1
# So much that thousands of short logs cost no more than a long one; it takes five times the memory.
_BATCH_BYTES = 8 << 20
_ROW_BYTES = 50
# What is read in the time that processes take to start.
_MANY_BYTES = 64 << 20
_LARGEST_BLOCK = 1 << 30
# So long that none is real, so short that sums and differences of three keep within 64 bits.
_LONGEST_NS = 366 * 86_400 * 10**9

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Log:
    """The calls of one trial in the order of the file, a row a call.

    `table` has the columns of SCHEMA. `columns` has the same for NumPy: a number that is absent is
    MISSING, phase and status are places in PHASES and STATUSES.
    """

    table: pa.Table
    columns: Columns


def map_logs(
    trials: Iterable[Trial], function: Callable[[Log], T]
) -> Iterator[tuple[Trial, "T | TrialError"]]:
    """Prove and parse the logs of trials; give each with `function` of its log, in order.

    Where a log must not be counted, the TrialError that says why stands in its place. Every core
    works on logs of its own, many logs in a process each: `function` must be that of a module, must
    not change what is shared, and what it gives goes through pickle. Memory holds a few batches of
    logs a core, or one log that is larger than a batch.
    """
    trials = iter(trials)
    first, are_many = _peek(trials)
    cores = len(os.sched_getaffinity(0))
    running: deque[tuple[list[Trial], Future[list[T | TrialError]]]] = deque()

    def finished() -> Iterator[tuple[Trial, T | TrialError]]:
        batch, results = running.popleft()
        return zip(batch, results.result(), strict=True)

    with (
        readers(cores) if are_many and cores > 1 else nullcontext(_here) as apply,
        ThreadPoolExecutor(cores) as pool,
    ):
        for batch in _batches(chain(first, trials)):
            running.append((batch, pool.submit(apply, partial(_map, function), batch)))
            if len(running) > cores:
                yield from finished()
        while running:
            yield from finished()


def _here(function: Callable[[A], B], argument: A) -> B:
    return function(argument)


def _peek(trials: Iterator[Trial]) -> tuple[list[Trial], bool]:
    """Give the first trials, and whether there is enough to read for processes to be worth it."""
    first: list[Trial] = []
    size = 0
    for trial in trials:
        first.append(trial)
        size += trial.calls_rows * _ROW_BYTES
        if size >= _MANY_BYTES:
            return first, True
    return first, False


def _batches(trials: Iterable[Trial]) -> Iterator[list[Trial]]:
    batch: list[Trial] = []
    size = 0
    for trial in trials:
        batch.append(trial)
        size += trial.calls_rows * _ROW_BYTES
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _map(function: Callable[[Log], T], trials: Sequence[Trial]) -> list["T | TrialError"]:
    results: dict[str, T | TrialError] = {}
    proven: list[tuple[Trial, bytes]] = []
    for trial in trials:
        try:
            proven.append((trial, proven_calls(trial)))
        except TrialError as error:
            results[trial.id] = error
    for trial, log in _logs(proven) if proven else ():
        results[trial.id] = log if isinstance(log, TrialError) else function(log)
    return [results[trial.id] for trial in trials]


def _logs(proven: Sequence[tuple[Trial, bytes]]) -> Iterator[tuple[Trial, Log | TrialError]]:
    try:
        table = _parse(proven)
    except pa.ArrowInvalid as error:
        if len(proven) > 1:
            # One row that cannot be read stops all: only its own log is refused.
            for one in proven:
                yield from _logs([one])
        else:
            what = f"has a row that cannot be read ({str(error).splitlines()[0]})"
            yield proven[0][0], _refusal(proven[0][0], what)
        return
    columns = {name: _array(name, table.column(name)) for name in SCHEMA.names}
    faults = {what: rows for what, rows in _faults(columns).items() if rows.any()}
    end = 0
    for trial, _ in proven:
        begin, end = end, end + trial.calls_rows
        part = {name: column[begin:end] for name, column in columns.items()}
        fault = next((what for what, rows in faults.items() if rows[begin:end].any()), None)
        if not _is_complete(part["seq"]):
            fault = "has gaps or repetitions in seq"
        log = Log(table.slice(begin, end - begin), part)
        yield trial, log if fault is None else _refusal(trial, fault)


def _parse(proven: Sequence[tuple[Trial, bytes]]) -> pa.Table:
    """Parse proven logs as one table, strictly: one chunk a column; raises ArrowInvalid."""
    rows = b"".join(memoryview(content)[_HEADER_BYTES:] for _, content in proven)
    if not rows:
        return SCHEMA.empty_table()
    table = csv.read_csv(
        pa.BufferReader(rows),
        csv.ReadOptions(
            use_threads=False,
            column_names=SCHEMA.names,
            block_size=min(len(rows), _LARGEST_BLOCK),
        ),
        csv.ParseOptions(quote_char=False, double_quote=False, ignore_empty_lines=False),
        csv.ConvertOptions(column_types=SCHEMA, null_values=[""], strings_can_be_null=True),
    )
    # A carriage return ends a row too, and would shift the rows of the logs behind it.
    if table.num_rows != sum(trial.calls_rows for trial, _ in proven):
        raise pa.ArrowInvalid("a line holds more than one row")
    return table.unify_dictionaries().combine_chunks()


def _array(name: str, column: pa.ChunkedArray) -> NDArray[Any]:
    if not column.num_chunks:
        return np.empty(0, np.int64)
    chunk = column.chunk(0)
    if name not in _WORDS:
        return filled(chunk, np.int64, MISSING)
    known = _WORDS[name]
    words = chunk.dictionary.to_pylist()
    # The last place is that of an empty field, whose index is -1.
    places = [known.index(word) if word in known else -1 for word in words] + [-1]
    codes: NDArray[np.int8] = np.array(places, np.int8)[filled(chunk.indices, np.int32, -1)]
    return codes


def filled(values: pa.Array, kind: type[Any], missing: float) -> NDArray[Any]:
    """Give numbers with `missing` where there is none; what Arrow has for it loads pandas first."""
    if not len(values):
        return np.empty(0, kind)
    valid, content = values.buffers()
    place = slice(values.offset, values.offset + len(values))
    numbers = np.frombuffer(content, kind)[place]
    if not values.null_count:
        return numbers
    if values.null_count == len(values):
        return np.full(len(values), missing, kind)
    is_there = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[place]
    return np.where(is_there, numbers, kind(missing))


def _faults(columns: Columns) -> dict[str, NDArray[np.bool_]]:
    """Give for each thing that may be wrong with a row the rows that have it."""
    intended = columns["intended_ns"]
    return {
        "has an unknown phase": columns["phase"] < 0,
        "has an unknown status": columns["status"] < 0,
        "has a time that is missing or negative, or longer than a year": (
            _is_off(columns["elapsed_ns"])
            | _is_off(columns["start_ns"])
            | ((intended != MISSING) & _is_off(np.abs(intended)))
            | (columns["thread"] == MISSING)
        ),
    }


def _is_off(times: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (times < 0) | (times > _LONGEST_NS)


def _is_complete(seq: NDArray[np.int64]) -> bool:
    wanted = np.arange(len(seq))
    return np.array_equal(seq, wanted) or np.array_equal(np.sort(seq), wanted)


def _refusal(trial: Trial, reason: str) -> TrialError:
    name = calls_path(trial.directory).name
    return TrialError(f"{trial.id}: {name} {reason}; it is not counted: run it again")
