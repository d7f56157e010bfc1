"""What was counted of each log, kept in the run's directory so that the log is not read again.

The cache is derived and never trusted: a file in it is used only when its digest, the trial, and
the size and time of the log all fit. Otherwise the raw log is read again.
"""

import hashlib
import os
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
from pyarrow import ipc

from collect.logs.first_calls import FirstCalls
from collect.logs.summaries import CountedCalls, TrialSummary
from collect.run.trials import Trial

DIRECTORY = ".cache"
# Raised whenever the format of the files, or what is computed from a log, changes.
LAYOUT = 12
_DIGEST_BYTES = hashlib.sha256().digest_size
# A file that was begun longer ago was left by a process that was killed.
_LONGEST_WRITE_S = 3600
_WHOLE = {"calls", "errors", "measured_from_ns", "measured_to_ns", "late", "waited"}
_NUMBERS = {
    field.name: pa.int64() if field.name in _WHOLE else pa.float64()
    for field in (*fields(TrialSummary), *fields(FirstCalls))
}
_SCHEMA = pa.schema(
    [
        ("trial", pa.string()),
        ("calls_sha256", pa.string()),
        ("log_bytes", pa.int64()),
        ("log_changed_ns", pa.int64()),
        *_NUMBERS.items(),
        ("course_ms", pa.list_(pa.float64())),
        ("times_ns", pa.list_(pa.int64())),
        ("course_at_ns", pa.list_(pa.int64())),
        ("response_ns", pa.list_(pa.int64())),
    ],
    metadata={"layout": str(LAYOUT)},
)


@dataclass(frozen=True)
class Stamp:
    """What tells, without opening it, whether a log is the one that was read."""

    trial: str
    calls_sha256: str
    log_bytes: int
    log_changed_ns: int

    @classmethod
    def of(cls, trial: Trial) -> Self | None:
        """Return the stamp of a trial's log as it is now; None when there is no log."""
        try:
            status = trial.log.stat()
        except OSError:
            return None
        return cls(trial.id, trial.calls_sha256.lower(), status.st_size, status.st_mtime_ns)


class Cache:
    """The cache of one run: a file for each log that has calls, named by the log's SHA-256.

    A file is a SHA-256 digest and the Arrow stream, of one row, that it is the digest of.
    """

    def __init__(self, run: Path) -> None:
        """Use the directory of the cache in `run`; nothing is read yet."""
        self._directory = run / DIRECTORY

    def ids(self) -> set[str]:
        """Return the ids of the trials that are held."""
        if not self._directory.is_dir():
            return set()
        rows = (_row(path) for path in self._directory.glob("*.arrow"))
        return {row.column("trial")[0].as_py() for row in rows if row is not None}

    def read(self, stamp: Stamp) -> CountedCalls | None:
        """Return what is held of a log; None when it is absent, damaged or of another log."""
        row = _row(self._path(stamp.calls_sha256))
        if row is None or Stamp(**_values(row, Stamp)) != stamp:
            return None
        names = ("course_ms", "times_ns", "course_at_ns", "response_ns")
        lists = (row.column(name).combine_chunks().flatten().to_numpy() for name in names)
        course_ms, times_ns, course_at_ns, response_ns = lists
        summary = TrialSummary(**_values(row, TrialSummary))
        first = FirstCalls(**_values(row, FirstCalls))
        return CountedCalls(summary, course_ms, times_ns, course_at_ns, first, response_ns)

    def write(self, stamp: Stamp, counted: CountedCalls) -> None:
        """Hold what was counted of a log; `stamp` was taken before the log was read."""
        values = {**vars(stamp), **vars(counted.summary), **vars(counted.first), **vars(counted)}
        sink = pa.BufferOutputStream()
        with ipc.new_stream(sink, _SCHEMA) as writer:
            writer.write_batch(pa.RecordBatch.from_pylist([values], schema=_SCHEMA))
        content = sink.getvalue()
        self._directory.mkdir(exist_ok=True)
        path = self._path(stamp.calls_sha256)
        temporary = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
        try:
            with temporary.open("wb") as stream:
                stream.write(hashlib.sha256(content).digest())
                stream.write(content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def keep(self, hashes: Iterable[str]) -> None:
        """Remove everything but what is held of the logs with these hashes or is being written."""
        kept = {self._path(calls_sha256).name for calls_sha256 in hashes}
        for path in self._directory.iterdir() if self._directory.is_dir() else ():
            with suppress(OSError):
                is_young = path.stat().st_mtime > time.time() - _LONGEST_WRITE_S
                is_being_written = path.suffix == ".part" and is_young
                if path.name not in kept and not is_being_written:
                    path.unlink()

    def _path(self, calls_sha256: str) -> Path:
        return self._directory / f"{calls_sha256.lower()}.arrow"


def _row(path: Path) -> pa.Table | None:
    """Return the one row of a file whose digest and schema fit; None otherwise."""
    try:
        content = path.read_bytes()
        digest, stream = content[:_DIGEST_BYTES], memoryview(content)[_DIGEST_BYTES:]
        if hashlib.sha256(stream).digest() != digest:
            return None
        row = ipc.open_stream(stream).read_all()
    except (OSError, pa.ArrowException):
        return None
    return row if row.schema.equals(_SCHEMA, check_metadata=True) and len(row) == 1 else None


def _values(row: pa.Table, kind: type[Any]) -> dict[str, Any]:
    """Return the values of the fields of a dataclass."""
    return {field.name: row.column(field.name)[0].as_py() for field in fields(kind)}
