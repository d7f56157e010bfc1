"""Raw logs: proven against their seals and parsed from the same bytes, many at a time."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from collect.cells.readers import readers
from collect.run.trials import CALLS_HEADER, Seal, Trial, TrialError, proven_calls

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
_MUCH_BYTES = 64 << 20
# Batches for each core that are under way or wait for their turn.
_AHEAD = 2
_LARGEST_BLOCK = 1 << 30
# So long that none is real, so short that sums and differences of three keep within 64 bits.
_LONGEST_NS = 366 * 86_400 * 10**9

T = TypeVar("T")
Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Logs:
    """The calls of some trials, a row a call: one log after the other in the order of the files.

    `columns` has the columns of SCHEMA: a number that is absent is MISSING, phase and status are
    places in PHASES and STATUSES. `ends` says of each log behind which row it ends.
    """

    columns: Columns
    ends: NDArray[np.int64]


def map_logs(
    trials: Iterable[Trial], function: Callable[[Logs], Sequence[T]], rows: int
) -> Iterator[tuple[Trial, "T | TrialError"]]:
    """Prove and parse the logs of trials; give each with what `function` gives for its log.

    Where a log must not be counted, the TrialError that says why stands in its place. Every core
    works on logs of its own, in a process of its own when there are `rows` enough: `function` must
    be that of a module, must not change what is shared, and what it gives goes through pickle.
    Memory holds a few batches of logs a core, or one log that is larger than a batch.
    """
    cores = len(os.sched_getaffinity(0))
    read = partial(_map, function)
    running: deque[tuple[list[Trial], Future[list[T | TrialError]]]] = deque()

    def finished() -> Iterator[tuple[Trial, T | TrialError]]:
        batch, results = running.popleft()
        return zip(batch, results.result(), strict=True)

    is_much = rows * _ROW_BYTES >= _MUCH_BYTES and cores > 1
    with (
        readers(cores, read) if is_much else nullcontext(read) as apply,
        ThreadPoolExecutor(cores) as pool,
    ):
        for batch in _batches(trials):
            running.append((batch, pool.submit(apply, [trial.seal for trial in batch])))
            if len(running) > _AHEAD * cores:
                yield from finished()
        while running:
            yield from finished()


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


def _map(function: Callable[[Logs], Sequence[T]], seals: Sequence[Seal]) -> list["T | TrialError"]:
    results: dict[str, T | TrialError] = {}
    proven: list[tuple[Seal, bytes]] = []
    for seal in seals:
        try:
            proven.append((seal, proven_calls(seal)))
        except TrialError as error:
            results[seal.id] = error
    found = _apply(function, proven) if proven else ()
    results |= {seal.id: result for (seal, _), result in zip(proven, found, strict=True)}
    return [results[seal.id] for seal in seals]


def _apply(
    function: Callable[[Logs], Sequence[T]], proven: Sequence[tuple[Seal, bytes]]
) -> Iterator["T | TrialError"]:
    try:
        logs = _parse(proven)
    except pa.ArrowInvalid as error:
        if len(proven) > 1:
            # One row that cannot be read stops all: only its own log is refused.
            for one in proven:
                yield from _apply(function, [one])
        else:
            what = f"has a row that cannot be read ({str(error).splitlines()[0]})"
            yield _refusal(proven[0][0], what)
        return
    faults = _faults(logs)
    for place, result in enumerate(function(logs)):
        yield _refusal(proven[place][0], faults[place]) if place in faults else result


def _parse(proven: Sequence[tuple[Seal, bytes]]) -> Logs:
    """Parse proven logs together, strictly; raises ArrowInvalid."""
    rows = b"".join(memoryview(content)[_HEADER_BYTES:] for _, content in proven)
    ends = np.cumsum([seal.calls_rows for seal, _ in proven])
    if not rows:
        return Logs(dict.fromkeys(SCHEMA.names, np.empty(0, np.int64)), ends)
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
    if table.num_rows != ends[-1]:
        raise pa.ArrowInvalid("a line holds more than one row")
    table = table.unify_dictionaries().combine_chunks()
    return Logs({name: _array(name, table.column(name)) for name in SCHEMA.names}, ends)


def _array(name: str, column: pa.ChunkedArray) -> NDArray[Any]:
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


def _faults(logs: Logs) -> dict[int, str]:
    """Say of each log that must not be counted, by its place, what is wrong with it."""
    columns, intended = logs.columns, logs.columns["intended_ns"]
    rows = {
        "has gaps or repetitions in seq": _unseen(logs),
        "has an unknown phase": columns["phase"] < 0,
        "has an unknown status": columns["status"] < 0,
        "has a time that is missing or negative, or longer than a year": (
            _is_off(columns["elapsed_ns"])
            | _is_off(columns["start_ns"])
            | ((intended != MISSING) & _is_off(np.abs(intended)))
            | (columns["thread"] == MISSING)
        ),
    }
    faults: dict[int, str] = {}
    for what, are_off in rows.items():
        for place in np.unique(np.searchsorted(logs.ends, np.flatnonzero(are_off), "right")):
            faults.setdefault(int(place), what)
    return faults


def _unseen(logs: Logs) -> NDArray[np.bool_]:
    """Tell of each number that a call of a log should have whether none has it."""
    seq, counts = logs.columns["seq"], np.diff(logs.ends, prepend=0)
    is_one = (seq >= 0) & (seq < np.repeat(counts, counts))
    unseen = np.ones(len(seq), np.bool_)
    unseen[(seq + np.repeat(logs.ends - counts, counts))[is_one]] = False
    return unseen


def _is_off(times: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (times < 0) | (times > _LONGEST_NS)


def _refusal(seal: Seal, reason: str) -> TrialError:
    name = Path(seal.path).name
    return TrialError(f"{seal.id}: {name} {reason}; it is not counted: run it again")
