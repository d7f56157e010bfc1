"""The parts of calls: where a client says that the time of each went, proven against its seal."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collect.logs.columns import MISSING, Columns, parsed, read_log
from collect.run.trials import PHASES, STATUSES, Trial, proven_parts, refused_parts

PARTS = ("serialise", "send", "wait", "parse")
_COLUMNS = ("seq", *(f"{name}_ns" for name in PARTS))
_HEADER = ",".join(_COLUMNS).encode() + b"\n"
_MEASURE, _OK = PHASES.index("measure"), STATUSES.index("ok")


@dataclass(frozen=True)
class CallParts:
    """The parts of the measured calls of a trial that were ok, a row a call, in order of `seq`.

    `ns` holds the nanoseconds of each of PARTS, MISSING where the client cannot tell it. What a
    call took beyond their sum is in no part.
    """

    seq: NDArray[np.int64]
    ns: Mapping[str, NDArray[np.int64]]


def read_parts(trial: Trial) -> CallParts | None:
    """Return the parts of a trial's calls, proven against the seal; None where there are none.

    Raises TrialError, which says why they must not be used.
    """
    content = proven_parts(trial)
    if content is None:
        return None
    if not content.startswith(_HEADER):
        raise refused_parts(trial, "does not begin with its header")
    try:
        table = parsed(content, dict.fromkeys(_COLUMNS, pa.int64()))
    except pa.ArrowInvalid as error:
        reason = f"has a row that cannot be read ({str(error).splitlines()[0]})"
        raise refused_parts(trial, reason) from error
    # Arrow also ends a row at a carriage return, which the count of the seal does not.
    if trial.parts is None or table.num_rows != trial.parts.rows:
        raise refused_parts(trial, "has a line that holds more than one row")
    seq, *times = (_array(table.column(name)) for name in _COLUMNS)
    return CallParts(seq, dict(zip(PARTS, times, strict=True)))


def prove_parts(trial: Trial) -> None:
    """Prove the parts of a trial's calls against its seal and its calls; raises TrialError."""
    parts = read_parts(trial)
    if parts is None:
        return
    for reason, is_wrong in _faults(parts, read_log(trial.seal)):
        if is_wrong:
            raise refused_parts(trial, reason)


def _faults(parts: CallParts, calls: Columns) -> Iterator[tuple[str, bool]]:
    """Yield each way in which parts can contradict the calls, and whether they do."""
    good = np.flatnonzero((calls["phase"] == _MEASURE) & (calls["status"] == _OK))
    seq = calls["seq"][good]
    order = np.argsort(seq)
    has_calls = np.array_equal(parts.seq, seq[order])
    yield "does not have one row for each measured call that was ok, in their order", not has_calls
    total = np.zeros(len(parts.seq), np.int64)
    for name, times in parts.ns.items():
        is_known = times != MISSING
        yield f"has a {name}_ns below zero", bool((times[is_known] < 0).any())
        total[is_known] += times[is_known]
    elapsed = calls["elapsed_ns"][good][order]
    yield "has a call whose parts are longer than the call", bool((total > elapsed).any())


def _array(column: pa.ChunkedArray) -> NDArray[Any]:
    array: NDArray[Any] = (column.fill_null(MISSING) if column.null_count else column).to_numpy()
    return array
