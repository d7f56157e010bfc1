"""Reads the CSV log of JMeter strictly: a sample that cannot be used refuses the log."""

import csv
import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from collect.errors import InputError
from collect.run.trials import STATUSES

NEEDED = ("timeStamp", "elapsed", "label", "success")
_SEPARATORS = ",;\t"
_LONGEST_MS = 10**12
# The latest time at which the ns since 1970 fit into 64 bits.
_LATEST_MS = 9 * 10**12
_ERROR_TEXTS = 100
# In a distributed test JMeter puts the engine before the name of the thread.
_REMOTE = re.compile(r"[^\s:]+:\d+-")


@dataclass
class Samples:
    """The samples of one label in one file, by column.

    `started_ms` counts from 1970. `status` is a place in STATUSES; bytes are -1 where the log has
    none. `texts` has the reasons of the first hundred failed samples, by their place. `threads`
    numbers the threads of each engine by name; `active` has the most threads that an engine says it
    had at once, 0 where the log does not say.
    """

    started_ms: "array[int]" = field(default_factory=lambda: array("q"))
    elapsed_ms: "array[int]" = field(default_factory=lambda: array("q"))
    thread: "array[int]" = field(default_factory=lambda: array("q"))
    sent_bytes: "array[int]" = field(default_factory=lambda: array("q"))
    received_bytes: "array[int]" = field(default_factory=lambda: array("q"))
    status: "array[int]" = field(default_factory=lambda: array("b"))
    texts: dict[int, str] = field(default_factory=dict)
    threads: dict[tuple[str, str], int] = field(default_factory=dict)
    active: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many samples there are."""
        return len(self.elapsed_ms)

    @property
    def concurrency(self) -> int:
        """How many threads there were at once: those named, but no more than the engine had.

        A thread that ended and one that started later have two names but did not run at once.
        """
        named = Counter(engine for engine, name in self.threads if name)
        return sum(
            min(filter(None, (named[engine], active)), default=1)
            for engine, active in self.active.items()
        )


@dataclass(frozen=True)
class JtlFile:
    """One log: its samples by label, in the order in which labels appear."""

    path: Path
    sha256: str
    samples: Mapping[str, Samples]


def read_jtl(path: Path) -> JtlFile:
    """Read a log; raises InputError, which names the line and the next step."""
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        with path.open(encoding="utf-8-sig", newline="") as text:
            samples = _samples(path, text)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); name a CSV log in UTF-8") from error
    if not samples:
        raise InputError(f"{path}: holds no sample; name the log of a test that ran")
    return JtlFile(path, digest, samples)


def _samples(path: Path, text: Iterator[str]) -> dict[str, Samples]:
    header = next(text, "")
    if header.lstrip().startswith("<"):
        raise InputError(
            f"{path}: is XML; let JMeter write CSV (jmeter.save.saveservice.output_format=csv)"
        )
    separator = max(_SEPARATORS, key=header.count)
    columns = next(csv.reader([header], delimiter=separator), [])
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise InputError(
            f"{path}: line 1 has no column {missing[0]}; let JMeter write the header and the "
            f"columns {', '.join(NEEDED)} (jmeter.save.saveservice.print_field_names=true)"
        )
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        raise InputError(f"{path}: line 1 has the column {twice[0]} twice; remove one")
    samples: dict[str, Samples] = {}
    rows = csv.reader(text, delimiter=separator, strict=True)
    try:
        for values in rows:
            if values:
                row = _row(columns, values)
                _add(samples.setdefault(row["label"], Samples()), row)
    except (ValueError, csv.Error) as error:
        raise InputError(
            f"{path}: line {rows.line_num + 1} {error}; a torn or edited log is not imported: "
            "correct or remove the line"
        ) from error
    return samples


def _row(columns: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    if len(values) != len(columns):
        raise ValueError(f"has {len(values)} columns, the header {len(columns)}")
    return dict(zip(columns, values, strict=True))


def _add(samples: Samples, row: Mapping[str, str]) -> None:
    started_ms = _natural(row, "timeStamp", _LATEST_MS)
    elapsed_ms = _natural(row, "elapsed", _LONGEST_MS)
    sent, received = (_size(row, name) for name in ("sentBytes", "bytes"))
    status = _status(row)
    samples.started_ms.append(started_ms)
    samples.elapsed_ms.append(elapsed_ms)
    samples.sent_bytes.append(sent)
    samples.received_bytes.append(received)
    samples.status.append(STATUSES.index(status))
    name = row.get("threadName", "")
    remote = _REMOTE.match(name)
    engine = remote[0] if remote else ""
    samples.thread.append(samples.threads.setdefault((engine, name), len(samples.threads)))
    # The threads of the group if known; those of all groups need not all send this label.
    active = max(_size(row, "grpThreads"), 0) or max(_size(row, "allThreads"), 0)
    samples.active[engine] = max(samples.active.get(engine, 0), active)
    if status != "ok" and len(samples.texts) < _ERROR_TEXTS:
        said = (row.get(key, "") for key in ("failureMessage", "responseMessage", "responseCode"))
        samples.texts[len(samples) - 1] = next(filter(None, said), status)


def _status(row: Mapping[str, str]) -> str:
    success = row["success"].lower()
    if success not in {"true", "false"}:
        raise ValueError(f"has the success {row['success']!r}, neither true nor false")
    if success == "true":
        return "ok"
    code = row.get("responseCode", "")
    if code in STATUSES[1:]:
        return code
    if "timeout" in f"{code} {row.get('responseMessage', '')}".lower():
        return "timeout"
    # JMeter fills failureMessage when an assertion refuses an answer.
    return "wrong" if row.get("failureMessage") else "error"


def _natural(row: Mapping[str, str], name: str, most: int) -> int:
    text = row[name]
    if not (text.isascii() and text.isdigit()):
        hint = ", not milliseconds since 1970" if name == "timeStamp" else ", no whole number"
        raise ValueError(f"has the {name} {text[:40]!r}{hint}")
    if len(text) > len(str(most)) or int(text) > most:
        raise ValueError(f"has the {name} {text[:40]}…, which is more than {most} ms")
    return int(text)


def _size(row: Mapping[str, str], name: str) -> int:
    text = row.get(name, "")
    if text in {"", "-1"}:
        return -1
    return _natural(row, name, 2**62)
