"""Runs made up for tests: planned by collect itself, sealed as the runner seals, times given."""

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from made_up_studies import with_demo
from trial_layout import in_layout

from collect.cells.cells import CellResult
from collect.costs.parts import PARTS
from collect.costs.resources import AMOUNTS
from collect.logs.cell_trial import CellTrial
from collect.logs.first_calls import FirstCalls
from collect.logs.summaries import TrialSummary
from collect.run.cell import Cell
from collect.run.plan import PlannedTrial, make_plan, write_plan
from collect.run.study import parse_study
from collect.run.trials import CALLS_HEADER, PLANNED_KEYS
from collect.run.upgrade import NOT_RECORDED, TRIAL_SCHEMA
from collect.run.warmup import Warmup

STUDIES = Path(__file__).parents[2] / "playbooks/studies"
_OF_THE_PLAN = {*PLANNED_KEYS, "restart", "profiled", "captured"}
START = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)
TWELVE_CELLS = with_demo(
    factors={"integers": [500, 5000]},
    constants={"client_heap_mb": 256},
    restart="none",
    replicates=3,
    calls=8,
    warmup=5,
    timeout_s=60,
    where=[{"cells": {"integers": 500}, "warmup": {"least": 10, "most": 60, "steady": 0.1}}],
)
"""The sort study with a demo that stays as it is: three replicates, two sizes."""

Times = Callable[[PlannedTrial, np.random.Generator], "list[float] | str"]
"""The measured calls of a trial in ms, or the outcome of a trial that failed."""

Sizes = Callable[[PlannedTrial], "tuple[int, int]"]
"""The bytes of a trial's requests and responses."""


def seal(
    trials: Path,
    planned: PlannedTrial,
    times_ms: list[float],
    *,
    outcome: str = "ok",
    sizes: tuple[int, int] = (2000, 1900),
    statuses: Mapping[int, str] | None = None,
    cooldown_ms: Sequence[float] = (),
    lead_ms: Sequence[float] = (),
    pause_ns: int = 1000,
    **changes: Any,
) -> Path:
    """Write one sealed trial: the (least) planned warm-up calls, then a call for each time.

    `lead_ms` are the times of calls that warm threads made before the measured ones, and `pause_ns`
    is the time after the last of them; `cooldown_ms` are the times of calls that failed after the
    measured ones, by threads that had measured. In an open loop the calls are due at even gaps,
    and each waits for the thread that is free first. `changes` are entries of trial.json, also
    such that no runner writes.
    """
    directory = trials / planned.id
    directory.mkdir(parents=True)
    lines, now = [CALLS_HEADER], 0
    least = [3 * time_ms for time_ms in times_ms[:1]] * planned.warmup_rows[0]
    warmup = [*least, *lead_ms]
    measured_ns = 0
    free = [0] * planned.threads
    for seq, time_ms in enumerate([*warmup, *times_ms, *cooldown_ms]):
        elapsed = round(time_ms * 1e6)
        if seq == len(warmup):
            now += pause_ns - 1000 if warmup else 0
            measured_ns = -now
        phase = "warmup" if seq < len(warmup) else "measure"
        status = (statuses or {}).get(seq - len(warmup), "ok") if phase == "measure" else "ok"
        if seq >= len(warmup) + len(times_ms):
            phase, status = "cooldown", "error"
        thread, taken = seq % planned.threads, f"{sizes[0]},{sizes[1]}"
        due, start = "", now
        if planned.arrival and phase == "measure":
            due = round(-measured_ns + (seq - len(warmup)) * 1e9 / planned.arrival.rate)
            thread = free.index(min(free))
            start = max(due, free[thread])
            free[thread] = start + elapsed
        lines.append(f"{seq},{thread},{phase},{due},{start},{elapsed},{taken},{status}")
        now = max(now, start + elapsed + 1000)
    measured_ns += now
    content = ("\n".join(lines) + "\n").encode()
    (directory / "calls.csv").write_bytes(content)
    started = START + timedelta(seconds=2 * planned.position)
    record = {
        "schema": TRIAL_SCHEMA,
        **NOT_RECORDED,
        **{k: v for k, v in planned.record().items() if k in _OF_THE_PLAN},
        **_starts(planned),
        "attempt": 1,
        "outcome": outcome,
        "reason": "" if outcome == "ok" else f"the trial ended as {outcome}",
        "started_at": _utc(started),
        "ended_at": _utc(started + timedelta(seconds=1.5)),
        "host": "client",
        "jvm": {"version": "21.0.9", "vendor": "Debian", "options": [], "heap_max_bytes": 2**29},
        "calls_rows": len(lines) - 1,
        "calls_sha256": hashlib.sha256(content).hexdigest(),
        "warmup": {
            "calls": len(least) // planned.threads,
            "rows": len(warmup),
            "steady": True if isinstance(planned.warmup, Warmup) else None,
            "lead_calls": len(lead_ms),
        },
        **_phases(planned, now - measured_ns, measured_ns if times_ms else 0),
        "cooldown": {"calls": len(cooldown_ms), "rows": len(cooldown_ms)},
        "overhead": {"timer_ns": 25.0, "noop_call_ns_p50": 31.0},
    }
    if planned.arrival and times_ms:
        record["arrival"] = {"late_p99_ns": 60_000, "found_free": len(times_ms)}
    (directory / "trial.json").write_text(json.dumps({**in_layout(record), **changes}))
    return directory


def _phases(planned: PlannedTrial, warmup_ns: int, measured_ns: int) -> dict[str, Any]:
    """What a runner records that observes a trial which ended its measured phase."""
    if planned.constants.get("observe") == "none" or not measured_ns:
        return {}
    phases = (("warmup", warmup_ns, 0.2, 40), ("measure", measured_ns, 0.01, 0))
    return {
        "phases": {
            name: {
                "elapsed_ns": elapsed_ns,
                "compile_ms": round(share * elapsed_ns / 1e6),
                "classes_loaded": classes,
                "gc_count": 0,
                "gc_ms": 0,
            }
            for name, elapsed_ns, share, classes in phases
        }
    }


def _starts(planned: PlannedTrial) -> dict[str, Any]:
    """What a runner records that restarts the services for each block."""
    if planned.restart != "block":
        return {}
    return {"services": {f"{name} on worker1": f"of-{planned.block}" for name in planned.needs}}


def of_means(cell: Cell, means_ms: Iterable[float]) -> CellResult:
    """A cell whose trials have these means, one a block, without the files of a run."""
    trials = [
        CellTrial(
            SimpleNamespace(block=block, outcome="ok", id=f"{block}"),
            TrialSummary(20, 0, float(mean), 0.01, None, None),
            *(np.array([]),) * 3,
            FirstCalls(),
        )
        for block, mean in enumerate(means_ms, start=1)
    ]
    return CellResult(cell, len(trials), tuple(trials), None)


def make_run(
    directory: Path,
    times: Times,
    *,
    profile: str = "demo",
    study: str = TWELVE_CELLS,
    sizes: Sizes = lambda planned: (2000, 1900),
    workers: int = 5,
    fit: bool = False,
    rotate: bool = False,
    capture: bool = False,
    until: int | None = None,
) -> list[PlannedTrial]:
    """Plan a run in `directory` and seal its trials, at most the first `until` of them.

    `study` is the name of a study, or the text of a study file.
    """
    text = study if "\n" in study else (STUDIES / f"{study}.yml").read_text()
    loaded = parse_study(text, "studies/test.yml")
    resolved = loaded.profile(profile, workers, fit=fit)
    plan = make_plan(resolved, rotate=workers if rotate else 0, capture=capture)
    write_plan(directory / "plan.jsonl", plan)
    rng = np.random.default_rng(7)
    for planned in plan[:until]:
        result = times(planned, rng)
        if isinstance(result, str):
            seal(directory / "trials", planned, [], outcome=result)
        else:
            seal(directory / "trials", planned, result, sizes=sizes(planned))
    record = provenance(directory.name, plan[0], text)
    record["plan_sha256"] = hashlib.sha256((directory / "plan.jsonl").read_bytes()).hexdigest()
    (directory / "run.json").write_text(json.dumps(record))
    return plan


def provenance(run: str, first: PlannedTrial, study_file: str) -> dict[str, Any]:
    """What the sweep records of a run."""
    node = {
        "os": "Debian 13",
        "kernel": "6.12.0",
        "cpu_model": "a CPU",
        "cores": 2,
        "jdk": "21",
        "memory_mb": 2048,
    }
    names = ["client", "broker", *(f"worker{k}" for k in range(1, 6))]
    return {
        "schema": 1,
        "run": run,
        "study": first.study,
        "profile": first.profile,
        "seed": 2004,
        "started_at": _utc(START),
        "git": {"commit": "0123456789abcdef", "dirty": False},
        "lab": {"name": "virtual", "kind": "virtual", "link_mbit": 100},
        "nodes": [
            {"name": n, "groups": [n.rstrip("12345")], "address": "10.0.0.1", **node} for n in names
        ],
        "versions": {"openmq": "6.7.0", "tomcat": "9.0.117", "axis": "1.4", "jaxws_rt": "2.3.7"},
        "artefacts": [],
        "study_file": study_file,
        "deviations": ["All nodes share the two cores of one machine."],
    }


def reseal(directory: Path, change: Callable[[str], str]) -> None:
    """Change the rows of a sealed trial and seal it again, as a broken harness would."""
    text = change((directory / "calls.csv").read_text())
    (directory / "calls.csv").write_text(text)
    edit_json(
        directory / "trial.json",
        calls_sha256=hashlib.sha256(text.encode()).hexdigest(),
        calls_rows=text.count("\n") - 1,
    )


def edit_json(path: Path, **changes: Any) -> None:
    """Give a JSON file other entries, also such that no runner and no sweep writes."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def add_resources(
    directory: Path,
    nodes: Mapping[str, Mapping[str, Any]],
    samples: Sequence[tuple[float, str, str, Mapping[str, float]]],
) -> None:
    """Seal the load with a trial: the time in s, node, service and known amounts of a sample.

    Each of `nodes` has two cores and a kernel and a link of its own unless it says otherwise.
    """
    lines = [
        ",".join([str(round(at * 1e9)), node, service, *(str(known.get(n, "")) for n in AMOUNTS)])
        for at, node, service, known in samples
    ]
    described = {
        name: {"cores": 2, "boot": f"boot of {name}", "link_mbit": 100, "missing": "", **node}
        for name, node in nodes.items()
    }
    header = ",".join(["t_ns", "node", "service", *AMOUNTS])
    _seal_beside(directory, "resources", [header, *lines], {"nodes": described})


def add_parts(directory: Path, rows: Sequence[Sequence[int]]) -> None:
    """Seal the parts of the calls of a trial: of each call its seq and the parts in ns."""
    header = ",".join(["seq", *(f"{part}_ns" for part in PARTS)])
    _seal_beside(directory, "parts", [header, *(",".join(map(str, row)) for row in rows)], {})


def _seal_beside(directory: Path, name: str, lines: Sequence[str], said: Mapping[str, Any]) -> None:
    content = ("\n".join(lines) + "\n").encode()
    (directory / f"{name}.csv").write_bytes(content)
    record = json.loads((directory / "trial.json").read_text())
    record[name] = {
        "file": f"{name}.csv",
        "rows": len(lines) - 1,
        "sha256": hashlib.sha256(content).hexdigest(),
        **said,
    }
    (directory / "trial.json").write_text(json.dumps(in_layout(record)))


def add_beside(directory: Path, plan: Sequence[PlannedTrial]) -> None:
    """Seal plausible samples, of nodes that share a kernel, and parts with each trial of a run."""
    for planned in plan:
        trial = directory / "trials" / planned.id
        calls = list(csv.DictReader((trial / "calls.csv").read_text().splitlines()))
        if not calls:
            continue
        seconds = (int(calls[-1]["start_ns"]) + int(calls[-1]["elapsed_ns"])) / 1e9
        samples = busy_lab(planned, seconds)
        nodes = {node: {"boot": "one kernel"} for _, node, _, _ in samples}
        add_resources(trial, nodes, samples)
        good = [call for call in calls if (call["phase"], call["status"]) == ("measure", "ok")]
        add_parts(
            trial,
            [
                [
                    int(call["seq"]),
                    *(int(call["elapsed_ns"]) * tenths // 10 for tenths in (2, 1, 4, 2)),
                ]
                for call in good
            ],
        )


def busy_lab(planned: PlannedTrial, seconds: float) -> list[tuple[float, str, str, dict]]:
    """Plausible samples of a trial of so many seconds: a client, a broker, five workers."""
    rng = np.random.default_rng(planned.seed)
    uses = "broker" if "broker" in planned.needs else "tomcat"
    own = next((name for name in planned.needs if name != "broker"), "")
    cores = {("client", "runner"): 0.5, ("broker", "broker"): 0.3 if uses == "broker" else 0.01}
    for number in range(1, 6):
        is_used = bool(own) and number <= planned.servers
        cores[f"worker{number}", own or "tomcat"] = 0.7 / planned.servers if is_used else 0.003
    found = []
    for second in range(-2, round(seconds) + 2):
        is_first = second == -2
        for (node, service), mean in cores.items():
            used = round(mean * float(rng.lognormal(0, 0.1)), 4) * (0 <= second <= seconds)
            moved = {"rx_bytes": 4e6 * used, "tx_bytes": 3e6 * used, "retransmits": 0}
            disk = {"disk_read_bytes": 0, "disk_write_bytes": 2e4}
            of_node = {"cpu_cores": round(used * 1.05 + 0.01, 4), **moved, **disk}
            known = {"cpu_cores": used, "gc_ms": round(20 * used, 1), **disk}
            for name, amounts in ((service, known), ("", of_node)):
                if name or service:
                    said = {} if is_first else amounts
                    found.append((second + 0.3, node, name, {"rss_bytes": 2e8, **said}))
    return found


def sort_times(planned: PlannedTrial, rng: np.random.Generator) -> list[float]:
    """Plausible times of the sort study: a cost a message, and n² work split evenly."""
    n, servers = planned.factors["integers"], planned.factors["servers"]
    soap = planned.factors["transport"] == "soap"
    share = n / servers
    fixed = (6.0 if soap else 4.0) + (1.5 if soap else 0.8) * servers
    mean = fixed + n * (9e-4 if soap else 2e-4) + share**2 * 1.3e-7
    return spread(mean, planned, rng)


def overhead_times(planned: PlannedTrial, rng: np.random.Generator) -> list[float]:
    """Plausible times of the overhead study: a cost a call, one a byte, one an element."""
    size, elements = planned.factors["reply_bytes"], planned.factors["elements"]
    soap = planned.factors["protocol"] == "soap"
    mean = 1.3 + 6e-5 * size + 0.02 * elements if soap else 0.1 + 4e-5 * size
    return spread(mean, planned, rng)


def spread(mean: float, planned: PlannedTrial, rng: np.random.Generator) -> list[float]:
    """Times about a mean: each fork has a level of its own, each call varies about it."""
    fork = mean * rng.lognormal(0, 0.06)
    return (fork * rng.lognormal(0, 0.1, planned.calls * planned.threads)).tolist()


def _utc(instant: datetime) -> str:
    return instant.isoformat(timespec="microseconds").replace("+00:00", "Z")


def attachments_times(planned: PlannedTrial, rng: np.random.Generator) -> list[float] | str:
    """Plausible round trips: XML is parsed float by float and wants 2 KB of heap for each."""
    encoding, cells = planned.factors["encoding"], planned.factors["matrix"] ** 2
    heap_mb = planned.constants["client_heap_mb"]
    if encoding.startswith("xml") and cells * 0.002 > heap_mb:
        return "oom"
    fixed, each = {
        "xml": (2.5, 4e-3),
        "xml-multiref": (3.0, 2e-2),
        "mime": (3.2, 8e-5),
        "dime": (2.9, 8e-5),
        "jms": (2.0, 6e-5),
    }[encoding]
    return spread(fixed + each * cells, planned, rng)


def attachments_sizes(planned: PlannedTrial) -> tuple[int, int]:
    """The sizes METHOD.md gives: 4n² + 10n + 41 bytes of serialised floats, and what is around."""
    encoding, n = planned.factors["encoding"], planned.factors["matrix"]
    serialised = 4 * n * n + 10 * n + 41
    sizes = {
        "xml": 31 * n * n + 60 * n + 700,
        "xml-multiref": 231 * n * n + 600,
        "mime": serialised + 1270,
        "dime": serialised + 957,
        "jms": serialised,
    }
    return sizes[encoding], sizes[encoding] + 20


def mtom_times(planned: PlannedTrial, rng: np.random.Generator) -> list[float]:
    """Plausible latencies: MTOM costs more a call and less a byte; the curves cross at 4.5 KiB."""
    kib = planned.factors["payload_bytes"] / 1024
    return spread(1 + 0.02 * kib if planned.factors["encoding"] == "inline" else 1.09, planned, rng)


def mtom_sizes(planned: PlannedTrial) -> tuple[int, int]:
    """base64 without line breaks, or a multipart with the bytes as they are."""
    payload = planned.factors["payload_bytes"]
    size = 220 + -(-payload // 3) * 4 if planned.factors["encoding"] == "inline" else 850 + payload
    return size, size + 8


def binding_times(planned: PlannedTrial, rng: np.random.Generator) -> list[float]:
    """Plausible response times: requests wait for each other, a connection costs JMS most."""
    factors = planned.factors
    is_jms = factors["binding"] == "jms"
    alone = (1.4 if is_jms else 1.3) + factors["message_bytes"] * (3e-5 if is_jms else 4e-5)
    setting_up = 0 if factors["pooled"] else (12 if is_jms else 0.8)
    return spread((alone + setting_up) * factors["concurrency"] / 2 + 0.5, planned, rng)


def binding_sizes(planned: PlannedTrial) -> tuple[int, int]:
    """The envelope has the size of the factor; the answer has longer names."""
    return planned.factors["message_bytes"], planned.factors["message_bytes"] + 24


def harness_times(planned: PlannedTrial, rng: np.random.Generator) -> list[float]:
    """Plausible times of the bench: nothing, and one byte over HTTP."""
    is_http = planned.factors["workload"] == "http"
    return spread(0.15 * planned.factors["concurrency"] / 2 if is_http else 4e-5, planned, rng)


def harness_sizes(planned: PlannedTrial) -> tuple[int, int]:
    """A request without a body."""
    return 0, 1 if planned.factors["workload"] == "http" else 0


def cold_times(planned: PlannedTrial, rng: np.random.Generator) -> list[float]:
    """Plausible times of the cold study: the first calls of a cold JVM, SOAP's above all."""
    is_soap = planned.factors["protocol"] == "soap"
    times = spread(1.5 if is_soap else 0.05, planned, rng)
    if planned.factors["start"] == "warm":
        return times
    slower = (30.0, 6.0) if is_soap else (20.0, 1.0)
    return [time * (1 + slower[0] / (place + 1) + slower[1]) for place, time in enumerate(times)]
