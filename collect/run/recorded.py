"""What a runner records in trial.json next to the calls; no time rests on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from collect.run.fields import Fields, is_positive, leaves

_NOT_SAID = "trial.json does not say whether packets were captured"


@dataclass(frozen=True)
class Readings:
    """What was read on one node at a trial, None where it could not be read.

    `load1` is the load of the minute before the trial; clock rate and temperature were read before
    and after it, steal, retransmits and discarded bytes are of the time between. `maintenance` is
    what worked on disks or packages before or after it.
    """

    cores: float | None
    load1: float | None
    steal_percent: float | None
    cpu_mhz_before: float | None
    cpu_mhz_after: float | None
    temperature_c_after: float | None
    retransmits: float | None
    maintenance: tuple[str, ...]
    discarded_bytes: float | None

    @classmethod
    def parse(cls, node: Fields) -> Self:
        """Read one node of `interference`."""
        load, clock, heat = map(node.numbers, ("load1", "cpu_mhz", "temperature_c"))
        return cls(
            cores=node.number("cores"),
            load1=next(iter(load), None),
            steal_percent=node.number("steal_percent"),
            cpu_mhz_before=next(iter(clock), None),
            cpu_mhz_after=next(reversed(clock), None),
            temperature_c_after=next(reversed(heat), None),
            retransmits=node.number("retransmits"),
            maintenance=node.texts("maintenance"),
            discarded_bytes=node.number("discarded_bytes"),
        )


@dataclass(frozen=True)
class Restart:
    """A service that hung and was restarted before the trial; `at` is in UTC."""

    at: str
    service: str


@dataclass(frozen=True)
class WarmedUp:
    """The warm-up of a trial: `calls` of a thread (mean), `rows` of all threads.

    `steady` is None where a fixed number of calls was asked for. `lead_calls` are those that
    threads made, when they were warm, until all were; None where they waited for each other
    instead.
    """

    calls: int
    rows: int
    steady: bool | None
    lead_calls: int | None = None


@dataclass(frozen=True)
class Phase:
    """What the client's JVM did in a phase of a trial, None where it is not known.

    `compile_ms` is the time of the just-in-time compiler, over all of its threads.
    """

    elapsed_ns: float | None
    compile_ms: float | None
    classes_loaded: float | None
    gc_count: float | None
    gc_ms: float | None

    @property
    def compiling(self) -> float | None:
        """The time of the compiler over that of the phase, above 1 where threads of it overlap."""
        if self.compile_ms is None or not self.elapsed_ns:
            return None
        return self.compile_ms * 1e6 / self.elapsed_ns


def phases_of(record: Fields) -> Mapping[str, Phase]:
    """Return the phases by name: warmup, measure; none of a trial without observers."""
    return {
        name: Phase(**{field.name: phase.number(field.name) for field in fields(Phase)})
        for name, phase in record.by_name("phases").items()
    }


@dataclass(frozen=True)
class BlockStart:
    """Services that were restarted, and warmed, for a block: how long both took, in seconds."""

    seconds: float


@dataclass(frozen=True)
class ProfileSeal:
    """The profile of one JVM in a trial that never counts.

    `role` is client or service; `event` is the timer by which it was sampled. `missing` is why
    there is no profile, or "". `files` are its files in the trial's directory with their SHA-256:
    `stacks`, collapsed and in nanoseconds of processor time, `page`, a flame graph, and
    `recording`, for JDK Mission Control.
    """

    node: str
    service: str
    role: str
    event: str
    missing: str
    files: Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class CaptureSeal:
    """What trial.json says of the packets of a call; `missing` is why there are none, or "".

    `packets` are in the file, `seen` were exchanged, without `dropped` ones that the kernel had no
    room for. `mtu` is the most bytes that a packet of the client's link has, None where it is not
    known; `ports` are those of the services. `sha256` is that of the file.
    """

    missing: str
    packets: int | None
    seen: int | None
    dropped: int | None
    mtu: int | None
    ports: frozenset[int]
    sha256: str | None


def capture_of(record: Fields) -> CaptureSeal | None:
    """Return the seal of the packets of a call; None for a trial that was to keep none."""
    capture = record.fields("capture")
    if not capture.all:
        return None
    missing = capture.text("missing")
    return CaptureSeal(
        missing=_NOT_SAID if missing is None else missing,
        packets=capture.whole("packets"),
        seen=capture.whole("seen"),
        dropped=capture.whole("dropped"),
        mtu=capture.whole("mtu"),
        ports=frozenset(int(port) for port in capture.numbers("ports") if port is not None),
        sha256=capture.text("sha256"),
    )


@dataclass(frozen=True)
class CallError:
    """Why the call with this `seq` was not ok."""

    seq: int
    text: str


@dataclass(frozen=True)
class PartsSeal:
    """What parts.csv is proven against: its rows without the header, and its SHA-256."""

    rows: int
    sha256: str


def parts_of(record: Fields) -> PartsSeal | None:
    """Return the seal of the parts of calls; None for a trial without them."""
    parts = record.fields("parts")
    if not parts.all:
        return None
    return PartsSeal(parts.required("rows", int), parts.required("sha256", str))


@dataclass(frozen=True)
class ResourcesSeal:
    """What resources.csv is proven against; None where trial.json does not say it."""

    rows: int | None
    sha256: str | None


@dataclass(frozen=True)
class Machine:
    """A node as its samples describe it; None where it is not known.

    `boot` is equal on nodes that share one kernel, and so its cores. `limits` are the cores that a
    service may use at most, where its unit is held to fewer than the node has. `missing` says why
    the node has no samples.
    """

    cores: float | None = None
    boot: str | None = None
    link_mbit: float | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    missing: str = ""

    @classmethod
    def parse(cls, node: Fields) -> Self:
        """Read one node of `resources`."""
        limits = node.fields("limits")
        known = {name: limits.number(name) for name in limits.all}
        return cls(
            cores=node.number("cores") or None,
            boot=node.text("boot") or None,
            link_mbit=node.number("link_mbit") or None,
            limits={name: cores for name, cores in known.items() if cores},
            missing=node.text("missing") or "",
        )


def resources_of(record: Fields) -> ResourcesSeal | None:
    """Return the seal of the samples; None for a trial without them."""
    resources = record.fields("resources")
    if not resources.all:
        return None
    return ResourcesSeal(resources.whole("rows"), resources.text("sha256"))


def machines_of(record: Fields) -> Mapping[str, Machine]:
    """Return the nodes that were sampled, or should have been, by name."""
    nodes = record.fields("resources").by_name("nodes")
    return {name: Machine.parse(node) for name, node in nodes.items()}


@dataclass(frozen=True)
class Summary:
    """What a program says of all calls of a trial together.

    The command ran from `from_ns` to `to_ns`, on the clock of calls.csv. `sha256` is that of the
    file that the program left.
    """

    calls: int
    mean_ms: float
    calls_per_s: float
    from_ns: int
    to_ns: int
    sha256: str


@dataclass(frozen=True)
class Program:
    """The command of a client that is a program; it logged single calls if it has no `summary`."""

    reads: str
    summary: Summary | None


def program_of(record: Fields) -> Program | None:
    """Return the program; None of a Java client. Raises ValueError where counting relies on it."""
    program = record.fields("program")
    if not program.all:
        return None
    said = program.fields("summary")
    summary = None
    if said.all:
        summary = Summary(
            calls=said.required("calls", int),
            mean_ms=_above_zero(said, "mean_ms"),
            calls_per_s=_above_zero(said, "calls_per_s"),
            from_ns=said.required("from_ns", int),
            to_ns=said.required("to_ns", int),
            sha256=said.required("sha256", str),
        )
    return Program(program.required("reads", str), summary)


def _above_zero(said: Fields, name: str) -> float:
    number = said.number(name)
    if not is_positive(number):
        raise ValueError(f"{name} is {said.all.get(name)}")
    return number


def restarts_of(record: Fields) -> tuple[Restart, ...]:
    """Return the restarts that are recorded."""
    return tuple(
        Restart(str(restart.text("at")), str(restart.text("service")))
        for restart in record.each("restarts")
    )


def warmup_of(record: Fields) -> WarmedUp | None:
    """Return the warm-up; None where it is not known."""
    warmup = record.fields("warmup")
    calls, rows, steady = warmup.whole("calls"), warmup.whole("rows"), warmup.all.get("steady")
    if calls is None or rows is None:
        return None
    steady = steady if isinstance(steady, bool) else None
    return WarmedUp(calls, rows, steady, warmup.whole("lead_calls"))


def ran_with(record: Fields) -> Mapping[str, Mapping[str, str]]:
    """Return what each `service on node` ran with, by name; what is nested becomes `item name`."""
    return {
        name: {item: _plain(value) for item, value in leaves(service.all)}
        for name, service in record.by_name("settings").items()
    }


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def services_of(record: Fields) -> dict[str, str]:
    """Return systemd's id of the start of each `service on node` that served the trial."""
    return {name: str(start) for name, start in record.fields("services").all.items()}


def block_starts_of(record: Fields) -> tuple[BlockStart, ...]:
    """Return what was done before the trial to have services of its block's own."""
    return tuple(
        BlockStart(((start.number("restart_ms") or 0) + (start.number("warm_ms") or 0)) / 1e3)
        for start in record.each("block_starts")
    )


def profile_seals_of(record: Fields) -> tuple[ProfileSeal, ...]:
    """Return the profiles; none of a trial that counts."""
    return tuple(
        ProfileSeal(
            node=str(one.text("node")),
            service=str(one.text("service")),
            role=str(one.text("role")),
            event=one.text("event") or "",
            missing=one.text("missing") or "",
            files={
                kind: (name, one.text(f"{kind}_sha256") or "")
                for kind in ("stacks", "page", "recording")
                if (name := one.text(kind)) and "/" not in name
            },
        )
        for one in record.each("profiles")
    )


def errors_of(record: Fields) -> tuple[CallError, ...]:
    """Return the errors that name their call."""
    named = ((error.whole("seq"), error.all.get("text", "")) for error in record.each("errors"))
    return tuple(CallError(seq, str(text)) for seq, text in named if seq is not None)
