"""Reads the CSV log of JMeter strictly: a sample that cannot be used refuses the log."""

import csv
import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from collect.csv_fields import LONGEST_FIELD, long_fields
from collect.errors import InputError
from collect.printable import printable
from collect.run.trials import LONGEST_NS, STATUSES, YEARS

NEEDED = ("timeStamp", "elapsed", "label", "success")
_USUAL_DELIMITERS = ",;\t|"
LONGEST_MS = LONGEST_NS // 10**6
"""No call of a proven log takes longer, nor begins later after the first."""
_FIRST_MS, _END_MS = (
    int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * 1000 for year in (YEARS.start, YEARS.stop)
)
"""A sealed trial begins and ends between these times."""
_IN_MS = "jmeter.save.saveservice.timestamp_format=ms"
_ERROR_TEXTS = 100
_LONGEST_LABEL = 1 << 16
# In a distributed test JMeter puts the engine, as it was named to it, before the thread's name.
_REMOTE = re.compile(
    r"""( \[[^\]\s]+\] (:\d+)?                                       # [2001:db8::1]:1099-
        | [0-9A-Fa-f]* (:[0-9A-Fa-f.]*){2,} (%[\w.]+)? (:\d+)?      # fe80::1%eth0-
        | \d+ (\.\d+){3}                                            # 10.0.0.1-
        | [^\s:]+ :\d+                                              # gen-a:1099-
        ) -""",
    re.VERBOSE,
)
_NUMBER_IN_GROUP = re.compile(r" (\d+)-\d+$")
_EXPORTED = re.compile(r"b(\d{2,})-t\d{3,}\S* \d+")
"""The threads of `collect export --format jtl`: the trial, which begins with its block."""
_OF_TRANSACTION = "Number of samples in transaction"
"""With it begins the responseMessage of the total that a transaction controller writes."""


@dataclass
class Samples:
    """The samples of one label in one file, by column.

    `started_ms` counts from 1970. `status` is a place in STATUSES; bytes are -1 where the log has
    none. `texts` has the reasons of the first hundred failed samples, by their place. `threads`
    numbers the threads by their engine and name; `active` has the most threads that an engine says
    it had at once, 0 where the log does not say, and `groups` those of each of its thread groups.
    `Hostname` and the prefix of a thread's name distinguish engines. `transactions` counts the
    samples that are totals of transaction controllers.
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
    groups: dict[tuple[str, str], int] = field(default_factory=dict)
    transactions: int = 0

    def __len__(self) -> int:
        """How many samples there are."""
        return len(self.elapsed_ms)

    @property
    def concurrency(self) -> int:
        """How many threads there were at once: those named, but no more than the engine had.

        A thread that ended and one that started later have two names but did not run at once.
        """
        named = Counter(engine for engine, name in self.threads if name)
        hosts = self._hosts()
        grouped: Counter[str] = Counter()
        for (engine, _), most in self.groups.items():
            grouped[engine] += most
        return sum(
            min(filter(None, (named[engine], grouped[engine], active * hosts[engine])), default=1)
            for engine, active in self.active.items()
        )

    def _hosts(self) -> dict[str, int]:
        """Return how many engines share each engine's key: 1, or more where none has a port.

        In a plan a thread group has one number and one name. Where threads of one number have
        names that differ in what precedes a hyphen alone, engines have put theirs there.
        """
        prefixes: dict[tuple[str, str, str], set[str]] = {}
        for engine, name in self.threads:
            match = _NUMBER_IN_GROUP.search(name)
            if not match:
                continue
            group, number = name[: match.start()], match[1]
            for hyphen in re.finditer("-", group):
                place = hyphen.start()
                prefixes.setdefault((engine, group[place:], number), set()).add(group[:place])
        hosts = dict.fromkeys(self.active, 1)
        for (engine, _, _), found in prefixes.items():
            hosts[engine] = max(hosts[engine], len(found))
        return hosts


@dataclass(frozen=True)
class JtlFile:
    """One log: its samples by block and label, in the order in which these appear.

    It is one block, unless `collect export` wrote it of a run of several.
    """

    path: Path
    sha256: str
    blocks: Sequence[Mapping[str, Samples]]

    @property
    def labels(self) -> list[str]:
        """The labels of all its samples."""
        return list(dict.fromkeys(label for samples in self.blocks for label in samples))


class _OtherLogError(ValueError):
    """A line of a log that JMeter has to write in another way; the text ends with that way."""


def read_jtl(path: Path) -> JtlFile:
    """Read a log; raises InputError, which names the line and the next step."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: is not a regular file, but a log is read twice; name a file")
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        with path.open(encoding="utf-8-sig", newline="") as text, long_fields():
            blocks = _blocks(path, text)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: line {_undecodable(path)} is not UTF-8 ({error.reason}); convert the log, "
            "such as by iconv -f WINDOWS-1252 -t UTF-8"
        ) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error}); name a CSV log in UTF-8") from error
    if not blocks:
        raise InputError(f"{path}: holds no sample; name the log of a test that ran")
    return JtlFile(path, digest, blocks)


def _undecodable(path: Path) -> int:
    """Return the first line that is not UTF-8; the error knows a place in a buffer alone."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1


def _blocks(path: Path, text: Iterator[str]) -> list[dict[str, Samples]]:
    header = next(text, "")
    if header.lstrip().startswith("<"):
        raise InputError(
            f"{path}: is XML; let JMeter write CSV (jmeter.save.saveservice.output_format=csv)"
        )
    if len(header) > LONGEST_FIELD:
        raise InputError(
            f"{path}: line 1 has more than {LONGEST_FIELD} characters, so it is no header; name a "
            "CSV log of JMeter"
        )
    delimiter = _delimiter(header)
    columns = _columns(path, header, delimiter)
    blocks: dict[str, dict[str, Samples]] = {}
    rows = csv.reader(text, delimiter=delimiter, strict=True)
    line = 2  # where the row begins, since one with line ends in its texts has several
    try:
        for values in rows:
            if values:
                row = _row(columns, values)
                exported = _EXPORTED.fullmatch(row.get("threadName", ""))
                samples = blocks.setdefault(exported[1] if exported else "", {})
                _add(samples.setdefault(row["label"], Samples()), row)
            line = rows.line_num + 2
    except UnicodeDecodeError:
        raise
    except _OtherLogError as error:
        raise InputError(f"{path}: line {line} {error}") from error
    except (ValueError, csv.Error) as error:
        raise InputError(
            f"{path}: line {line} {error}; a torn or edited log is not imported: "
            "correct or remove the line"
        ) from error
    return list(blocks.values())


def _delimiter(header: str) -> str:
    """Return the character that separates the columns, by the names that it must leave whole."""
    found = {c for c in header if not (c.isalnum() or c in '_"\r\n')} | {","}

    def fits(delimiter: str) -> tuple[int, int, int]:
        names = _names(header, delimiter)
        usual = _USUAL_DELIMITERS.find(delimiter)
        known = sum(name in names for name in NEEDED)
        return known, header.count(delimiter), -usual if usual >= 0 else -len(_USUAL_DELIMITERS)

    return max(sorted(found), key=fits)


def _names(header: str, delimiter: str) -> list[str]:
    return [name.strip() for name in next(csv.reader([header], delimiter=delimiter), [])]


def _columns(path: Path, header: str, delimiter: str) -> list[str]:
    columns = _names(header, delimiter)
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        shown = printable(", ".join(columns), 200) or "(none)"
        raise InputError(
            f"{path}: line 1 has no column {missing[0]} (between {delimiter!r} it has {shown}). "
            f"Let JMeter write the header and the columns {', '.join(NEEDED)} "
            "(jmeter.save.saveservice.print_field_names=true), with one character between them "
            "that is not a letter (jmeter.save.saveservice.default_delimiter)"
        )
    twice = [name for name in columns if columns.count(name) > 1]
    if twice and not twice[0]:
        raise InputError(
            f"{path}: line 1 has columns without a name between {delimiter!r}; separate columns by "
            "one character (jmeter.save.saveservice.default_delimiter)"
        )
    if twice:
        raise InputError(f"{path}: line 1 has the column {twice[0]} twice; remove one")
    return columns


def _row(columns: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    if NEEDED[0] in values and set(NEEDED) <= set(values):
        raise _OtherLogError(
            "repeats the header, so two logs were joined; split the file there and name both "
            "files, as each test is a block. If both are of one test, remove the line"
        )
    if len(values) != len(columns):
        raise ValueError(f"has {len(values)} columns, but the header has {len(columns)}")
    row = dict(zip(columns, values, strict=True))
    if len(row["label"]) > _LONGEST_LABEL:
        raise ValueError(
            f"has a label of {len(row['label'])} characters, but the limit is {_LONGEST_LABEL}"
        )
    return row


def _add(samples: Samples, row: Mapping[str, str]) -> None:
    started_ms = _natural(row, "timeStamp", _END_MS, " ms")
    elapsed_ms = _natural(row, "elapsed", LONGEST_MS, " ms")
    _check_time(started_ms, elapsed_ms)
    _check_single(row)
    sent, received = (_size(row, name) for name in ("sentBytes", "bytes"))
    status = _status(row)
    samples.started_ms.append(started_ms)
    samples.elapsed_ms.append(elapsed_ms)
    samples.sent_bytes.append(sent)
    samples.received_bytes.append(received)
    samples.status.append(STATUSES.index(status))
    samples.transactions += row.get("responseMessage", "").startswith(_OF_TRANSACTION)
    name = row.get("threadName", "")
    remote = _REMOTE.match(name)
    engine = f"{row.get('Hostname', '')} {remote[0] if remote else ''}".strip()
    samples.thread.append(samples.threads.setdefault((engine, name), len(samples.threads)))
    # Those of all groups need not all send this label, so its groups bound them as well.
    samples.active[engine] = max(samples.active.get(engine, 0), _size(row, "allThreads"))
    group = engine, _NUMBER_IN_GROUP.sub("", name)
    samples.groups[group] = max(samples.groups.get(group, 0), _size(row, "grpThreads"))
    if status != "ok" and len(samples.texts) < _ERROR_TEXTS:
        said = (row.get(key, "") for key in ("failureMessage", "responseMessage", "responseCode"))
        samples.texts[len(samples) - 1] = next(filter(None, map(printable, said)), status)


def _check_time(started_ms: int, elapsed_ms: int) -> None:
    """Refuse a time that no sealed trial may have."""
    if started_ms < _FIRST_MS:
        raise _OtherLogError(
            f"has the timeStamp {started_ms}, which is in 1970 if read as milliseconds; let JMeter "
            f"write milliseconds since 1970 ({_IN_MS})"
        )
    if started_ms + elapsed_ms >= _END_MS:
        raise ValueError(f"ends {started_ms + elapsed_ms} ms after 1970, which is beyond any test")


def _check_single(row: Mapping[str, str]) -> None:
    """Refuse a row that stands for another number of calls than one."""
    count, errors = _size(row, "SampleCount"), _size(row, "ErrorCount")
    if count not in {-1, 1} or errors > 1:
        what = f"sums {count} samples" if count not in {-1, 1} else f"sums {errors} errors"
        raise _OtherLogError(
            f"{what}, so the time of one call is not known; let JMeter log each sample "
            "(mode=Standard in the properties of JMeter and its engines) and run the test again"
        )


def _status(row: Mapping[str, str]) -> str:
    success = row["success"].lower()
    if success not in {"true", "false"}:
        raise ValueError(f"has the success {row['success']!r}, neither true nor false")
    if success == "true":
        return "ok"
    code = row.get("responseCode", "")
    if code in STATUSES[1:]:
        return code
    said = f"{code} {row.get('responseMessage', '')}".lower()
    if "timeout" in said or "timed out" in said:
        return "timeout"
    # JMeter fills failureMessage when an assertion refuses an answer.
    return "wrong" if row.get("failureMessage") else "error"


def _natural(row: Mapping[str, str], name: str, most: int, unit: str = "") -> int:
    text = row[name]
    if not (text.isascii() and text.isdigit()):
        if name != "timeStamp":
            raise ValueError(f"has the {name} {text[:40]!r}, not a whole number")
        if not any(map(str.isdigit, text)):
            raise ValueError(f"has the {name} {text[:40]!r}, not milliseconds since 1970")
        raise _OtherLogError(
            f"has the {name} {text[:40]!r}, not milliseconds since 1970; let JMeter write them "
            f"({_IN_MS})"
        )
    if len(text) > len(str(most)) or int(text) > most:
        said = f"has the {name} {printable(text, 40)}, which is more than {most}{unit}"
        if name != "timeStamp":
            raise ValueError(said)
        raise _OtherLogError(f"{said} since 1970; let JMeter write milliseconds ({_IN_MS})")
    return int(text)


def _size(row: Mapping[str, str], name: str) -> int:
    text = row.get(name, "")
    if text in {"", "-1"}:
        return -1
    return _natural(row, name, 2**62)
