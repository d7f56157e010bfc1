"""What was read of each trial of a run, kept in its directory so that it is not read again.

Derived, so it is never believed: every file is proven by its SHA-256, every trial by its stamp, and
what does not fit is read from the raw log again. `cache.json` names the files that belong together;
the others are never changed once it does.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack, suppress
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc

from collect.cells.logs import filled
from collect.cells.summaries import Measured, TrialSummary
from collect.files import write_text
from collect.run.trials import Trial

# Another number whenever the files, or what is computed from a log, are no longer the same.
LAYOUT = 3
DIRECTORY = ".cache"
_MANIFEST = "cache.json"
_TIME = np.dtype("<i8")
_MOST_PARTS = 50
_KEPT_S = 3600
_NUMBERS = [field.name for field in fields(TrialSummary)]
_SCHEMA = pa.schema(
    [
        ("trial", pa.string()),
        ("sha256", pa.string()),
        ("bytes", pa.int64()),
        ("changed_ns", pa.int64()),
        ("part", pa.string()),
        ("begin", pa.int64()),
        *((name, pa.int64() if name in {"calls", "errors"} else pa.float64()) for name in _NUMBERS),
        ("course_ms", pa.list_(pa.float64())),
    ]
)


@dataclass(frozen=True)
class Stamp:
    """What tells whether a log was read before: SHA-256 of its seal, bytes, time of change."""

    sha256: str
    bytes: int
    changed_ns: int

    @classmethod
    def of(cls, trial: Trial) -> "Stamp | None":
        """Look at the log of a trial without opening it; None when there is none."""
        try:
            status = trial.log.stat()
        except OSError:
            return None
        return cls(trial.calls_sha256.lower(), status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class Entry:
    """What is held of one trial; its times are in the file `part` from the number `begin` on."""

    stamp: Stamp
    summary: TrialSummary
    course_ms: NDArray[np.float64]
    part: str
    begin: int


class Cache:
    """The cache of one run; `entries` are by trial."""

    def __init__(self, run: Path) -> None:
        """Open what is there and fits; nothing is there when in doubt."""
        self._directory = run / DIRECTORY
        self._proofs: dict[str, str] = {}
        self.entries: dict[str, Entry] = {}
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException):
            self._open()

    def times(self, entries: Sequence[Entry]) -> NDArray[np.int64]:
        """Give the counted times of trials in ns, one after the other, each in order of starts."""
        ends = np.cumsum([0, *(entry.summary.calls for entry in entries)])
        times = np.empty(ends[-1], _TIME)
        room = times.data.cast("B")
        with ExitStack() as stack:
            streams = {
                part: stack.enter_context((self._directory / part).open("rb", buffering=0))
                for part in {entry.part for entry in entries}
            }
            for entry, begin, end in zip(entries, ends[:-1], ends[1:], strict=True):
                stream = streams[entry.part]
                stream.seek(entry.begin * _TIME.itemsize)
                stream.readinto(room[begin * _TIME.itemsize : end * _TIME.itemsize])
        return times

    def replace(
        self, kept: Mapping[str, Entry], fresh: Iterable[tuple[str, Stamp, Measured]]
    ) -> None:
        """Make the cache hold `kept`, which it holds already, and `fresh`, and nothing else.

        `fresh` is gone through once and never held as a whole; `kept` may still grow meanwhile.
        """
        self._directory.mkdir(exist_ok=True)
        if too_many := len(self._proofs) > _MOST_PARTS:
            fresh = chain(fresh, self._again(kept))
        name = secrets.token_hex(8)
        part, index = (self._directory / f"{name}.{kind}" for kind in ("times", "arrow"))
        try:
            added, proof = _write(part, fresh)
            proofs = {**self._proofs, part.name: proof}
            entries = added if too_many else {**kept, **added}
            used = {entry.part for entry in entries.values()}
            self._close(index, entries, {name: proofs[name] for name in used})
        except BaseException:
            for path in (part, index):
                path.unlink(missing_ok=True)
            raise

    def _again(self, kept: Mapping[str, Entry]) -> Iterator[tuple[str, Stamp, Measured]]:
        for name, entry in kept.items():
            measured = Measured(entry.summary, entry.course_ms, self.times([entry]))
            yield name, entry.stamp, measured

    def _open(self) -> None:
        manifest = json.loads((self._directory / _MANIFEST).read_bytes())
        if manifest["layout"] != LAYOUT:
            return
        index, wanted = manifest["index"]
        if self._proof(index) != wanted:
            return
        proofs = {
            name: proof for name, proof in manifest["parts"].items() if self._proof(name) == proof
        }
        with pa.OSFile(str(self._directory / index)) as file:
            rows = ipc.open_file(file).read_all()
        if rows.schema != _SCHEMA:
            return
        courses = rows.column("course_ms")
        entries = {}
        for place, row in enumerate(rows.drop_columns(["course_ms"]).to_pylist()):
            if row["part"] in proofs:
                stamp = Stamp(row["sha256"], row["bytes"], row["changed_ns"])
                summary = TrialSummary(*(row[name] for name in _NUMBERS))
                course = filled(courses[place].values, np.float64, np.nan)
                entries[row["trial"]] = Entry(stamp, summary, course, row["part"], row["begin"])
        self._proofs, self.entries = proofs, entries

    def _close(self, index: Path, entries: Mapping[str, Entry], proofs: Mapping[str, str]) -> None:
        columns: dict[str, Sequence[Any]] = {
            "trial": list(entries),
            "sha256": [entry.stamp.sha256 for entry in entries.values()],
            "bytes": [entry.stamp.bytes for entry in entries.values()],
            "changed_ns": [entry.stamp.changed_ns for entry in entries.values()],
            "part": [entry.part for entry in entries.values()],
            "begin": [entry.begin for entry in entries.values()],
            **{
                name: [getattr(entry.summary, name) for entry in entries.values()]
                for name in _NUMBERS
            },
            "course_ms": [entry.course_ms for entry in entries.values()],
        }
        arrays = [_array(columns[field.name], field.type) for field in _SCHEMA]
        table = pa.Table.from_arrays(arrays, schema=_SCHEMA)
        with pa.OSFile(str(index), "wb") as file, ipc.new_file(file, _SCHEMA) as writer:
            writer.write_table(table)
        proof = self._proof(index.name)
        manifest = {"layout": LAYOUT, "index": [index.name, proof], "parts": proofs}
        write_text(self._directory / _MANIFEST, json.dumps(manifest))
        self._proofs, self.entries = dict(proofs), dict(entries)
        self._clean({_MANIFEST, index.name, *proofs})

    def _proof(self, name: str) -> str | None:
        try:
            with (self._directory / name).open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            return None

    def _clean(self, used: set[str]) -> None:
        """Remove what no manifest names, but for what another report may be reading."""
        for path in self._directory.iterdir():
            with suppress(OSError):
                if path.name not in used and path.stat().st_mtime < time.time() - _KEPT_S:
                    path.unlink()


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Give a column of the index; what Arrow has for it loads pandas first."""
    if pa.types.is_list(kind):
        numbers = np.concatenate([np.empty(0), *values])
        items = pa.Array.from_buffers(kind.value_type, len(numbers), [None, pa.py_buffer(numbers)])
        return pa.Array.from_buffers(kind, len(values), [None, _ends(values)], children=[items])
    if pa.types.is_string(kind):
        texts = [text.encode() for text in values]
        buffers = [None, _ends(texts), pa.py_buffer(b"".join(texts))]
        return pa.Array.from_buffers(kind, len(values), buffers)
    is_there = np.array([value is not None for value in values], bool)
    numbers = np.array([value or 0 for value in values], kind.to_pandas_dtype())
    buffers = [pa.py_buffer(np.packbits(is_there, bitorder="little")), pa.py_buffer(numbers)]
    return pa.Array.from_buffers(kind, len(values), buffers)


def _ends(values: Sequence[Sized]) -> pa.Buffer:
    return pa.py_buffer(np.cumsum([0, *map(len, values)], dtype=np.int32))


def _write(
    part: Path, fresh: Iterable[tuple[str, Stamp, Measured]]
) -> tuple[dict[str, Entry], str]:
    """Write the times of trials to a new file; give their entries and the proof of the file."""
    entries = {}
    digest = hashlib.sha256()
    begin = 0
    with part.open("wb") as stream:
        for name, stamp, measured in fresh:
            content = np.ascontiguousarray(measured.times_ns, _TIME).data
            digest.update(content)
            stream.write(content)
            entries[name] = Entry(stamp, measured.summary, measured.course_ms, part.name, begin)
            begin += len(measured.times_ns)
    return entries, digest.hexdigest()
