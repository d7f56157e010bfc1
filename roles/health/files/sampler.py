"""Samples the resources of this node and of rackbench's services, once a second while polled.

A sample has totals, as the kernel and the JVMs count them; the reader takes the differences. So
every second sample can be dropped, and only resolution is lost. A total that cannot be read is
None. The sampler attaches nothing to a service and starts no process.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

PREFIX = "rackbench-"
STEP_S = 1.0
LEASE_S = 90.0
"""A poll keeps the sampling alive for this time; the runner polls every 30 s during a trial."""
FRESH_S = 0.2
TIER_ROWS = 300
TIERS = 7
"""Five minutes at one second, then ten at two, twenty at four …: ten hours in 2100 rows."""
READ_BYTES = 1 << 16
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAUSE = re.compile(rb" Pause [^\n]* ([0-9.]+)ms$", re.MULTILINE)
MAINTENANCE = frozenset(
    f"{name}.service"
    for name in (
        *("fstrim", "e2scrub_all", "xfs_scrub_all", "mdcheck_start", "mdcheck_continue"),
        *("apt-daily", "apt-daily-upgrade", "fwupd-refresh", "man-db", "plocate-updatedb"),
    )
)
"""Units that work on disks or packages now and then, independent of a node's purpose."""
IDLE = ("", "idle", "frozen")
"""Values of `sync_action` of an idle array; empty without an array."""
SECTOR_BYTES = 512


class Sample(NamedTuple):
    """Totals of a service, or of the node, at `t_ns` of the node's monotonic clock.

    `start` names the start of the service from which they count. `rss_bytes` is not a total but the
    processes' memory at that moment; memory that two of them share counts twice. `gc_us` are the
    pauses of the JVM's collector in microseconds.
    """

    t_ns: int
    start: str | None
    cpu_us: int | None
    rss_bytes: int | None
    rx_bytes: int | None
    tx_bytes: int | None
    retransmits: int | None
    disk_read_bytes: int | None
    disk_write_bytes: int | None
    gc_us: int | None


class Series:
    """Samples of one service: fewer of older ones, and at most TIERS x TIER_ROWS."""

    def __init__(self) -> None:
        """Begin an empty series."""
        self.tiers: tuple[deque[Sample], ...] = tuple(deque() for _ in range(TIERS))

    def add(self, sample: Sample) -> None:
        """Add a sample; of the two oldest of a full tier, one moves to the next tier."""
        for tier in self.tiers:
            tier.append(sample)
            if len(tier) <= TIER_ROWS:
                return
            tier.popleft()
            sample = tier.popleft()

    def since(self, t_ns: int, most: int) -> list[Sample]:
        """Return samples from `t_ns` on, about this many at most, with the first and last."""
        found = [one for tier in reversed(self.tiers) for one in tier if one.t_ns >= t_ns]
        while len(found) > max(most, 2):
            found = [*found[:-1:2], found[-1]]
        return found


@dataclass
class Collections:
    """The pauses that a JVM writes into its log, read on from the end of the last reading."""

    file: Path
    inode: int = 0
    offset: int = 0
    micros: int = 0

    def total(self) -> int | None:
        """Return the microseconds since the log was first read, None if some may be lost."""
        try:
            now = self.file.stat()
        except OSError:
            self.inode = 0
            return None
        is_known = self.inode == now.st_ino and now.st_size >= self.offset
        is_first, is_whole = self.inode == 0, True
        if not is_known and not is_first:
            is_whole = self._read_rotated()
        if not is_known:
            # Pauses before the first reading do not belong to the time of any sample.
            self.inode, self.offset = now.st_ino, now.st_size if is_first else 0
        if now.st_size > self.offset:
            self._read(self.file)
        return self.micros if is_whole else None

    def _read_rotated(self) -> bool:
        """Read the rest of the log that the JVM has renamed; return whether it still exists."""
        rotated = self.file.with_name("gc.log.0")
        try:
            if rotated.stat().st_ino != self.inode:
                return False
        except OSError:
            return False
        self._read(rotated)
        return True

    def _read(self, file: Path) -> None:
        while text := _bytes(file, self.offset):
            end = text.rfind(b"\n") + 1
            self.micros += round(sum(float(found) for found in PAUSE.findall(text[:end])) * 1e3)
            self.offset += end
            if end == 0:
                return


@dataclass
class Sampler:
    """Samples while its lease lasts; `root` is "" except in tests."""

    root: str = ""
    series: dict[str, Series] = field(default_factory=dict)
    collections: dict[str, Collections] = field(default_factory=dict)
    hardware: dict[str, bool] = field(default_factory=dict)
    sampled_ns: int | None = None
    until: float = 0.0
    guard: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        """Find the node's control groups."""
        self.node_group, self.units = self._groups()

    def run(self) -> None:
        """Sample for ever, while the last poll is at most LEASE_S seconds ago."""
        while True:
            with self.guard:
                while time.monotonic() >= self.until:
                    self.guard.wait()
            began = time.monotonic()
            self.sample()
            time.sleep(max(0.0, began + STEP_S - time.monotonic()))

    def look(self) -> None:
        """Keep the sampling alive, and ensure a sample of this moment."""
        with self.guard:
            self.until = time.monotonic() + LEASE_S
            self.guard.notify()
        self.sample(FRESH_S)

    def sample(self, fresh_s: float = STEP_S / 2) -> None:
        """Take a sample of everything, unless there is one no older than `fresh_s`."""
        with self.guard:
            now = time.monotonic_ns()
            if self.sampled_ns is not None and now - self.sampled_ns <= fresh_s * 1e9:
                return
            self._add("", self._of_node())
            for unit in self.running():
                self._add(unit.removeprefix(PREFIX), self._of_service(unit))
            self.sampled_ns = now

    def _add(self, name: str, sample: Sample) -> None:
        self.series.setdefault(name, Series()).add(sample)

    def told(self, since_ns: int, most: int) -> dict[str, Any]:
        """Return the samples from `since_ns` on by service, at most about `most` of each."""
        with self.guard:
            found = {name: series.since(since_ns, most) for name, series in self.series.items()}
        return {
            "cores": os.cpu_count(),
            "boot": self.boot(),
            "link_mbit": self.link_mbit(),
            "link_is_hardware": any(self.hardware.values()),
            "memory_bytes": self.memory_bytes(),
            "limits": self.limits(),
            "columns": Sample._fields,
            "series": {name: samples for name, samples in found.items() if samples},
        }

    def _of_node(self) -> Sample:
        group = self.node_group
        read, written = self._disk(group)
        received, sent = self._network()
        return Sample(
            time.monotonic_ns(),
            None,
            self._machine_cpu() if (used := self._group_cpu(group)) is None else used,
            self._mapped(group) or self._resident(_names(f"{self.root}/proc")),
            received,
            sent,
            retransmits(self._text("/proc/net/snmp")),
            read,
            written,
            None,
        )

    def _of_service(self, unit: str) -> Sample:
        group = self._group(unit)
        log = self.collections.setdefault(unit, Collections(Path(f"{self.root}/run/{unit}/gc.log")))
        read, written = self._disk(group)
        return Sample(
            time.monotonic_ns(),
            self._start(unit),
            self._group_cpu(group),
            self._resident(self._text(f"{group}/cgroup.procs").split()),
            None,
            None,
            None,
            read,
            written,
            log.total(),
        )

    def _group(self, unit: str) -> str:
        return f"{self.units}/{unit}.service"

    def running(self) -> list[str]:
        """Return rackbench's units that have a control group, as they do while they run."""
        return sorted(
            name.removesuffix(".service")
            for name in _names(self.root + self.units)
            if name.startswith(PREFIX) and name.endswith(".service")
        )

    def _start(self, unit: str) -> str | None:
        try:
            link = Path(f"{self.root}/run/systemd/units/invocation:{unit}.service")
            return str(link.readlink())
        except OSError:
            return None

    def _groups(self) -> tuple[str, str]:
        """Return the control group (v2) of the whole node, and the one above rackbench's units.

        Without control groups both are directories that do not exist.
        """
        mounts = (line.split() for line in self._text("/proc/self/mountinfo").splitlines())
        point = next((words[4] for words in mounts if "cgroup2" in words[6:]), "/no-control-groups")
        own = re.search(r"^0::(/.*)/[^/]+$", self._text("/proc/self/cgroup"), re.MULTILINE)
        return point, point + (own[1] if own else "/none")

    def cpu_us(self, unit: str) -> int | None:
        """Return the processor time of a unit since its start, in microseconds."""
        return self._group_cpu(self._group(unit))

    def _group_cpu(self, group: str) -> int | None:
        found = re.search(r"^usage_usec (\d+)$", self._text(f"{group}/cpu.stat"), re.MULTILINE)
        return int(found[1]) if found else None

    def _machine_cpu(self) -> int | None:
        """Return the time in which processors were not idle, waiting for a disk or stolen."""
        words = self._text("/proc/stat").partition("\n")[0].split()[1:]
        if len(words) < 7:
            return None
        user, nice, system, _, _, irq, softirq = map(int, words[:7])
        return (user + nice + system + irq + softirq) * 1_000_000 // TICKS_PER_S

    def _mapped(self, group: str) -> int | None:
        """Return the memory of the node's processes, if the memory controller counts it."""
        found = dict(
            re.findall(r"^(anon|file_mapped) (\d+)$", self._text(f"{group}/memory.stat"), re.M)
        )
        return sum(map(int, found.values())) if len(found) == 2 else None

    def _resident(self, processes: list[str]) -> int | None:
        """Return the sum of the processes' memory, as `ps` shows it; None without a process."""
        pages = [
            int(words[1])
            for process in processes
            if process.isdecimal()
            and len(words := self._text(f"/proc/{process}/statm").split()) > 1
        ]
        return sum(pages) * PAGE_BYTES if pages else None

    def _disk(self, group: str) -> tuple[int | None, int | None]:
        """Return the bytes read and written, if the io controller counts them."""
        text = self._text(f"{group}/io.stat")
        if not text:
            return None, None
        read, written = (re.findall(rf" {key}=(\d+)", text) for key in ("rbytes", "wbytes"))
        return sum(map(int, read)), sum(map(int, written))

    def _network(self) -> tuple[int | None, int | None]:
        """Return the bytes received and sent by the node's devices."""
        words = list(self._devices().values())
        if not words:
            return None, None
        return sum(int(row[0]) for row in words), sum(int(row[8]) for row in words)

    def _devices(self) -> dict[str, list[str]]:
        """Return the counters of each network device that counts, by its name.

        A bridge or a bond repeats the bytes of the devices below it, so it is excluded. A virtual
        node has no hardware, so every device but loopback counts.
        """
        rows = [line.partition(":") for line in self._text("/proc/net/dev").splitlines()[2:]]
        found = {name.strip(): row.split() for name, _, row in rows if name.strip() != "lo"}
        for name in found.keys() - self.hardware.keys():
            self.hardware[name] = Path(f"{self.root}/sys/class/net/{name}/device").exists()
        hardware = {name: row for name, row in found.items() if self.hardware[name]}
        return hardware or found

    def link_mbit(self) -> int | None:
        """Return the rate of the fastest device that is up; None if it is unknown."""
        names = [name for name in self._devices() if self.hardware[name]]
        texts = [self._text(f"/sys/class/net/{name}/speed").strip() for name in names]
        rates = [int(text) for text in texts if text.isdecimal() and int(text) > 0]
        return max(rates, default=None)

    def limits(self) -> dict[str, float]:
        """Return the cores that each service may use, for services limited to fewer than all."""
        every = os.cpu_count() or 1
        held = {}
        for unit in self.running():
            group = self._group(unit)
            cores = min([every, *self._quotas(group), *self._allowed(group)])
            held[unit.removeprefix(PREFIX)] = cores
        return {unit: cores for unit, cores in held.items() if cores < every}

    def _quotas(self, group: str) -> Iterator[float]:
        """Yield the limits, in cores, of a group and of its parents up to the whole node."""
        around = [group, *map(str, Path(group).parents)]
        for one in around[: around.index(self.node_group) + 1]:
            quota, _, period = self._text(f"{one}/cpu.max").partition(" ")
            if quota.isdecimal() and period.strip().isdecimal():
                yield int(quota) / int(period)

    def _allowed(self, group: str) -> Iterator[int]:
        """Yield the number of processors on which each process of a group may run."""
        for process in self._text(f"{group}/cgroup.procs").split():
            status = self._text(f"/proc/{process}/status")
            if found := re.search(r"^Cpus_allowed_list:\s+(\S+)$", status, re.MULTILINE):
                ranges = [part.partition("-") for part in found[1].split(",")]
                yield sum(int(last or first) - int(first) + 1 for first, _, last in ranges)

    def memory_bytes(self) -> int | None:
        """Return the memory that the node may use."""
        whole = re.search(r"^MemTotal:\s+(\d+) kB", self._text("/proc/meminfo"), re.MULTILINE)
        limits = [int(whole[1]) * 1024] if whole else []
        cap = self._text(f"{self.node_group}/memory.max").strip()
        return min([*limits, *([int(cap)] if cap.isdecimal() else [])], default=None)

    def maintenance(self) -> list[str]:
        """Return the units and checks of arrays that work on disks or packages now."""
        units = MAINTENANCE.intersection(_names(self.root + self.units))
        blocks = sorted(_names(f"{self.root}/sys/block"))
        actions = {name: self._text(f"/sys/block/{name}/md/sync_action").strip() for name in blocks}
        at_work = [f"{action} of {name}" for name, action in actions.items() if action not in IDLE]
        return [*sorted(units), *at_work]

    def discarded_bytes(self) -> int | None:
        """Return the bytes discarded on the disks since boot, as by a trim; None without disks."""
        disks = [
            self._text(f"/sys/block/{name}/stat").split()
            for name in _names(f"{self.root}/sys/block")
            if Path(f"{self.root}/sys/block/{name}/device").exists()
        ]
        sectors = [int(words[13]) for words in disks if len(words) > 13]
        return sum(sectors) * SECTOR_BYTES if sectors else None

    def boot(self) -> str | None:
        """Return an id of this boot of the kernel, the same for all nodes that share it.

        A mount gives a container a boot id of its own. Then the moment of the boot, the memory
        and the kernel's command line identify the kernel.
        """
        place = "/proc/sys/kernel/random/boot_id"
        text = self._text(place).strip()
        if f" {place} " in self._text("/proc/self/mountinfo"):
            moment = re.search(r"^btime (\d+)$", self._text("/proc/stat"), re.MULTILINE)
            memory = self._text("/proc/meminfo").partition("\n")[0]
            text = f"{moment[1]} {memory} {self._text('/proc/cmdline')}" if moment else ""
        return hashlib.sha256(text.encode()).hexdigest()[:12] if text else None

    def _text(self, path: str) -> str:
        """Return a file's text, or nothing when it cannot be read."""
        return _bytes(self.root + path).decode(errors="replace")


def retransmits(snmp: str) -> int | None:
    """Return the TCP segments retransmitted since boot, from the text of /proc/net/snmp."""
    rows = [line.split() for line in snmp.splitlines() if line.startswith("Tcp:")]
    return int(dict(zip(*rows, strict=True))["RetransSegs"]) if len(rows) == 2 else None


def _names(directory: str) -> list[str]:
    """Return the entries of a directory, or nothing if it cannot be read."""
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries]
    except OSError:
        return []


def _chunks(file: int) -> Iterator[bytes]:
    while chunk := os.read(file, READ_BYTES):
        yield chunk


def _bytes(path: str | Path, offset: int = 0) -> bytes:
    """Return a small file's bytes from an offset on, several times as fast as pathlib."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        if offset:
            os.lseek(file, offset, os.SEEK_SET)
        return b"".join(_chunks(file))
    except OSError:  # a process may end while it is read
        return b""
    finally:
        os.close(file)
