"""Sealed trials: read, verified against their own seal and against the plan."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from collect.errors import InputError, quoted
from collect.run.fields import Fields
from collect.run.recorded import (
    BlockStart,
    CallError,
    CaptureSeal,
    Machine,
    PartsSeal,
    Phase,
    ProfileSeal,
    Program,
    Readings,
    ResourcesSeal,
    Restart,
    WarmedUp,
    block_starts_of,
    capture_of,
    errors_of,
    machines_of,
    parts_of,
    phases_of,
    profile_seals_of,
    program_of,
    ran_with,
    resources_of,
    restarts_of,
    services_of,
    warmup_of,
)
from collect.run.upgrade import lift_planned, lift_trial
from collect.run.warmup import LEAD_ROWS
from collect.strict_json import parse_json

if TYPE_CHECKING:
    from collect.run.cell import Level
    from collect.run.plan import PlannedTrial

CALLS_SCHEMA = 1
OUTCOMES = ("ok", "failed", "timeout", "oom")
CALLS_HEADER = (
    "seq,thread,phase,intended_ns,start_ns,elapsed_ns,request_bytes,response_bytes,status"
)
PHASES = ("warmup", "measure", "cooldown")
STATUSES = ("ok", "error", "wrong", "timeout")
CALLS_WORDS = {"phase": PHASES, "status": STATUSES}
"""The columns of calls.csv that hold one of a few words; all others hold whole numbers."""
PLANNED_KEYS = (
    *("id", "study", "profile", "block", "position"),
    *("client", "factors", "constants", "node", "seed", "shift"),
)
"""The keys that trial.json takes from its line of plan.jsonl."""
SUMMARY = "summary.txt"
"""What a program left of which the trial has no single calls."""
_CHUNK = 1 << 20
_END = ord("\n")
LONGEST_NS = 366 * 86_400 * 10**9
"""Longer than any real time; sums and differences of three such times still fit into 64 bits."""
YEARS = range(1971, 2262)
"""Every instant of these years fits into 64 bits of nanoseconds since 1970."""


class TrialError(InputError):
    """A trial that is not sealed, not whole or not the planned one; it must not be counted."""


@dataclass(frozen=True)
class Seal:
    """What the calls file of a trial, at `path`, is proven against."""

    id: str
    path: str
    calls_rows: int
    calls_sha256: str


@dataclass(frozen=True)
class Trial:
    """A sealed trial: what trial.json says. Times are UTC.

    `asked` is what the runner was asked to do, by key of plan.jsonl; `anchor` is the clock of the
    trial's JVM at its start, `services` the id of the start of each service that served it, and
    `earlier` the reasons why earlier attempts were discarded. `elapsed_ns` and `jvm_ms` are the
    life of that JVM by its own clock and by the runner's, and `gc_over_ns` is the time in which its
    collections, `gc_ms`, were counted. `cooldown_rows` are the logged calls of threads that had
    made their measured ones. `ran_with` are the settings that each `service on node` ran with.
    `parts` is None where no parts of calls were logged, `resources` where nothing was sampled;
    `machines` are the nodes that were to be. `phases` are what the client's JVM did in each.
    `profiles` and `capture` are those of trials that never count. `late_ns` is by how much free
    threads began the calls of an open loop late, at the 99th percentile. `program` is the command
    of a client that is no Java class. `is_imported` tells that another tool measured.
    """

    directory: Path
    id: str
    block: int
    position: int
    attempt: int
    factors: Mapping[str, Level]
    outcome: str
    reason: str
    started_at: datetime
    ended_at: datetime
    calls_rows: int
    calls_sha256: str
    asked: Mapping[str, Any]
    host: str | None
    jvm: Mapping[str, Any]
    ran_with: Mapping[str, Mapping[str, str]]
    anchor: datetime | None
    elapsed_ns: float | None
    jvm_ms: float | None
    gc_ms: float | None
    gc_over_ns: float | None
    overhead_ns: Mapping[str, float]
    readings: Mapping[str, Readings]
    restarts: tuple[Restart, ...]
    warmup: WarmedUp | None
    cooldown_rows: int
    services: Mapping[str, str]
    block_starts: tuple[BlockStart, ...]
    errors: tuple[CallError, ...]
    earlier: tuple[str, ...]
    profiles: tuple[ProfileSeal, ...]
    parts: PartsSeal | None = None
    resources: ResourcesSeal | None = None
    machines: Mapping[str, Machine] = field(default_factory=dict)
    phases: Mapping[str, Phase] = field(default_factory=dict)
    capture: CaptureSeal | None = None
    late_ns: float | None = None
    program: Program | None = None
    is_imported: bool = False

    @cached_property
    def log(self) -> Path:
        """Its calls file, packed or not."""
        return calls_path(self.directory)

    @property
    def seal(self) -> Seal:
        """What the calls file is proven against."""
        return Seal(self.id, str(self.log), self.calls_rows, self.calls_sha256)

    @property
    def is_observed(self) -> bool:
        """Whether the runner was to look at nodes and JVMs while it measured."""
        return Fields(self.asked).fields("constants").text("observe") != "none"

    @property
    def seconds(self) -> float:
        """How long the trial lasted by the wall clock, in seconds."""
        return (self.ended_at - self.started_at).total_seconds()

    @classmethod
    def parse(cls, directory: Path, value: Any) -> Self:
        """Read the content of trial.json; raises ValueError where counting cannot rely on it."""
        record = Fields(lift_trial(value))
        outcome = record.required("outcome", str)
        clock, overhead = record.fields("clock"), record.fields("overhead")
        trial = cls(
            directory=directory,
            id=record.required("id", str),
            block=record.required("block", int),
            position=record.required("position", int),
            attempt=record.required("attempt", int),
            factors=record.required("factors", dict),
            outcome=outcome,
            reason=record.required("reason", str),
            started_at=_instant(record, "started_at"),
            ended_at=_instant(record, "ended_at"),
            calls_rows=record.required("calls_rows", int),
            calls_sha256=record.required("calls_sha256", str),
            asked={name: record.all[name] for name in PLANNED_KEYS if name in record.all},
            host=record.text("host"),
            jvm=record.fields("jvm").all,
            ran_with=ran_with(record),
            anchor=clock.instant("anchor_start_utc"),
            elapsed_ns=clock.number("elapsed_ns"),
            jvm_ms=record.fields("fork_ms").number("jvm"),
            gc_ms=record.fields("gc").number("millis"),
            gc_over_ns=record.fields("gc").number("measured_ns"),
            overhead_ns={
                name: value for name in overhead.all if (value := overhead.number(name)) is not None
            },
            readings={
                n: Readings.parse(node) for n, node in record.by_name("interference").items()
            },
            restarts=restarts_of(record),
            warmup=warmup_of(record),
            cooldown_rows=record.fields("cooldown").whole("rows") or 0,
            services=services_of(record),
            block_starts=block_starts_of(record),
            errors=errors_of(record),
            earlier=tuple(str(one.text("reason")) for one in record.each("earlier_attempts")),
            parts=parts_of(record),
            resources=resources_of(record),
            machines=machines_of(record),
            phases=phases_of(record),
            profiles=profile_seals_of(record),
            capture=capture_of(record),
            late_ns=record.fields("arrival").number("late_p99_ns"),
            program=program_of(record),
            is_imported=bool(record.fields("imported").all),
        )
        if outcome not in OUTCOMES:
            raise ValueError(f"it has the unknown outcome {outcome!r}")
        return trial


def read_trial(directory: Path) -> Trial:
    """Read trial.json alone; raises TrialError. verify_trial reads the calls."""
    path = directory / "trial.json"
    try:
        trial = Trial.parse(directory, parse_json(path.read_bytes()))
    except FileNotFoundError as error:
        raise TrialError(
            f"{directory.name}: has no trial.json, so it is not sealed; set it aside and sweep "
            "again"
        ) from error
    except (OSError, ValueError) as error:
        raise TrialError(
            f"{directory.name}: trial.json cannot be used ({error}); set it aside and sweep again"
        ) from error
    if trial.id != directory.name:
        raise TrialError(
            f"{directory.name}: trial.json belongs to the trial {trial.id}; "
            "never rename the directory of a trial: set both aside and sweep again"
        )
    return trial


def verify_trial(directory: Path, planned: PlannedTrial) -> Trial:
    """Read a sealed trial and prove it whole; the one way a trial becomes countable.

    Checks trial.json and that the trial is the `planned` one (see verify_seal), and that the calls
    file has the header, the row count and the SHA-256 of the seal, and the parts file, if there is
    one, the latter two. The hash is of the uncompressed
    bytes. Raises TrialError, never changes a file.
    """
    trial = verify_seal(directory, planned)
    _prove(trial.seal, lambda chunk: None)
    proven_parts(trial)
    prove_summary(trial)
    return trial


def verify_seal(directory: Path, planned: PlannedTrial) -> Trial:
    """Read trial.json and check that the trial is the `planned` one; its calls stay unproven.

    Compares levels, constants, node settings and seed, and the number of calls of an ok trial.
    Raises TrialError.
    """
    trial = read_trial(directory)
    wanted = lift_planned(planned.record())
    for name in PLANNED_KEYS:
        if trial.asked.get(name) != wanted[name]:
            raise TrialError(
                f"{trial.id}: {name} is {quoted(trial.asked.get(name))} in trial.json, but "
                f"{quoted(wanted[name])} in the plan; it belongs to another run: "
                "set it aside and sweep again"
            )
    if trial.outcome == "ok" and (due := _calls_due(trial, planned)):
        raise TrialError(
            f"{trial.id}: is sealed as ok with {trial.calls_rows} calls, but the plan says "
            f"{due}; calls are lost: run it again"
        )
    return replace(trial, factors=planned.factors)


def _calls_due(trial: Trial, planned: PlannedTrial) -> str:
    """Return how many calls an ok trial should have logged; nothing when it has.

    How many calls a program makes is its own affair.
    """
    if trial.program is not None:
        return ""
    measured, (least, most) = planned.measured_rows, planned.warmup_rows
    lead_calls = (trial.warmup and trial.warmup.lead_calls) or 0
    most += min(lead_calls, planned.threads * LEAD_ROWS)
    cooldown = trial.cooldown_rows
    warmup = trial.calls_rows - measured - cooldown
    is_told = least == most or (trial.warmup is not None and trial.warmup.rows == warmup)
    if least <= warmup <= most and is_told and 0 <= cooldown <= measured:
        return ""
    number = f"{least + measured}" if least == most else f"{least + measured} to {most + measured}"
    return number + (f" and its seal {cooldown} of the cooldown" if cooldown else "")


def proven_calls(seal: Seal) -> bytes:
    """Return the calls file, uncompressed: the very bytes that were proven against the seal.

    Raises TrialError.
    """
    chunks: list[bytes] = []
    _prove(seal, chunks.append)
    return b"".join(chunks)


def proven_parts(trial: Trial) -> bytes | None:
    """Return the parts of a trial's calls: the very bytes that were proven against their seal.

    None for a trial that has none. Raises TrialError.
    """
    path = trial.directory / "parts.csv"
    if trial.parts is None:
        if path.exists():
            raise refused_parts(trial, "is there, but trial.json has no seal of it")
        return None
    try:
        content = path.read_bytes()
    except OSError as error:
        raise refused_parts(trial, f"cannot be read ({error})") from error
    rows, found = content.count(b"\n") - 1, hashlib.sha256(content).hexdigest()
    if not content.endswith(b"\n") or rows != trial.parts.rows:
        raise refused_parts(trial, f"has {rows} rows, but trial.json says {trial.parts.rows}")
    if found != trial.parts.sha256.lower():
        said = f"trial.json says {trial.parts.sha256[:12]}…"
        raise refused_parts(
            trial, f"has the SHA-256 {found[:12]}…, but {said}; it was changed after sealing"
        )
    return content


def prove_summary(trial: Trial) -> None:
    """Check that what a program left is what its summary was read from; raises TrialError."""
    summary = trial.program.summary if trial.program else None
    path = trial.directory / SUMMARY
    if summary is None:
        return
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise TrialError(
            f"{trial.id}: {path.name} cannot be read ({error}); set it aside and sweep again"
        ) from error
    if found != summary.sha256.lower():
        raise TrialError(
            f"{trial.id}: {path.name} has the SHA-256 {found[:12]}…, but trial.json says "
            f"{summary.sha256[:12]}…; it was changed after sealing: set the trial aside and sweep "
            "again"
        )


def refused_parts(trial: Trial, reason: str) -> TrialError:
    """Return the error of parts that must not be used."""
    return TrialError(
        f"{trial.id}: parts.csv {reason}; set the trial aside and sweep again to have its parts"
    )


def calls_path(directory: Path) -> Path:
    """Return the path of a trial's calls: calls.csv, or calls.csv.gz when it was compressed."""
    plain = directory / "calls.csv"
    if plain.exists():
        return plain
    packed = directory / "calls.csv.gz"
    return packed if packed.exists() else plain


def _prove(seal: Seal, keep: Callable[[bytes], None]) -> None:
    import numpy as np  # noqa: PLC0415 - a third of the time that a command takes to start

    path = Path(seal.path)
    digest = hashlib.sha256()
    lines, head, last = 0, b"", b"\n"
    try:
        for chunk in _chunks(path):
            digest.update(chunk)
            # Five times as fast as bytes.count().
            lines += int(np.count_nonzero(np.frombuffer(chunk, np.uint8) == _END))
            head += chunk[: len(CALLS_HEADER) + 1 - len(head)]
            last = chunk[-1:]
            keep(chunk)
    except FileNotFoundError as error:
        raise TrialError(f"{seal.id}: has no {path.name}; set it aside and sweep again") from error
    except (OSError, EOFError, zlib.error) as error:
        raise TrialError(
            f"{seal.id}: {path.name} cannot be read ({error}); set it aside and sweep again"
        ) from error
    if head != CALLS_HEADER.encode() + b"\n":
        raise TrialError(
            f"{seal.id}: {path.name} does not begin with the header of schema {CALLS_SCHEMA}; "
            "another version wrote it, or it is torn: set the trial aside and sweep again"
        )
    rows = lines - 1
    if last != b"\n" or rows != seal.calls_rows:
        torn = "" if last == b"\n" else " and ends in the middle of a line"
        raise TrialError(
            f"{seal.id}: {path.name} has {rows} rows{torn}, but trial.json says "
            f"{seal.calls_rows}; set the trial aside and sweep again"
        )
    if digest.hexdigest() != seal.calls_sha256.lower():
        raise TrialError(
            f"{seal.id}: {path.name} has the SHA-256 {digest.hexdigest()[:12]}…, but trial.json "
            f"says {seal.calls_sha256[:12]}…; it was changed after sealing: set the trial aside "
            "and sweep again"
        )


def _chunks(path: Path) -> Iterator[bytes]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb", buffering=0) as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def _instant(record: Fields, name: str) -> datetime:
    instant = datetime.fromisoformat(record.required(name, str))
    if instant.tzinfo is None:
        raise ValueError(f"{name} has no time zone")
    if instant.year not in YEARS:
        raise ValueError(f"{name} is of the year {instant.year}")
    return instant
