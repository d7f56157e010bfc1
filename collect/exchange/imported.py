"""Makes a run of imported samples: planned, sealed and recorded like one that was swept."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from collect.errors import InputError
from collect.exchange.blocks import Timed, overlap_of, parted, pause_in
from collect.exchange.jtl import LONGEST_MS, JtlFile, Samples
from collect.exchange.labels import factors_of
from collect.exchange.nested import nested_in
from collect.files import flush
from collect.printable import printable
from collect.project import results
from collect.run.cell import CELL_COLUMNS, Cell, Level
from collect.run.directory import check_name
from collect.run.levels import two_alike, two_alike_in_print
from collect.run.plan import SCHEMA as PLAN_SCHEMA
from collect.run.plan import PlannedTrial, plan_bytes
from collect.run.profile import LEAST_OK
from collect.run.provenance import SCHEMA as RUN_SCHEMA
from collect.run.trials import CALLS_HEADER, PLANNED_KEYS, STATUSES
from collect.run.upgrade import NOT_RECORDED, TRIAL_SCHEMA

PROFILE = "imported"
_STUDY = re.compile(r"[a-z][a-z0-9-]*")
_FACTOR = re.compile(r"[a-z][a-z0-9_]*")
_MS = 10**6
_DEVIATIONS = (
    "Imported from logs of JMeter, which knows whole milliseconds only: shorter times are 0.",
    "A trial is one label of one log, not a fresh JVM: logs of one JMeter process are not forks.",
    "Bytes are those that JMeter counted, header and body together.",
    "All samples count, also those of the warm-up.",
    "Client threads are those that JMeter had at once; their numbers of calls may differ.",
    "No node, version or checksum was recorded.",
)


@dataclass(frozen=True)
class Imported:
    """What was made; `notes` are sentences that whoever reads its numbers has to know."""

    directory: Path
    trials: int
    calls: int
    factors: tuple[str, ...]
    cells: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Chosen:
    """The samples of one label in one file, which is a block."""

    block: int
    label: str
    file: JtlFile
    samples: Samples


@dataclass(frozen=True)
class _Part:
    planned: PlannedTrial
    label: str
    file: JtlFile
    samples: Samples


def import_jtl(  # noqa: PLR0913 - what the command line says
    files: Sequence[JtlFile],
    name: str,
    *,
    study: str = "jmeter",
    factors: Mapping[str, Level] | None = None,
    label: str | None = None,
    is_plain: bool = False,
) -> Imported:
    """Make results/`name` of logs of JMeter: each file is a block, each label in it a trial.

    A file that `collect export` wrote has the blocks of its run. A label such as `transport=soap
    servers=3` names the levels of its cell; any other label is a level of the factor `label`, and
    with `is_plain` every label is. So is one with a name that no factor can have, such as
    `Step=Login`. That factor is left out when there is one label and `factors` say what was
    measured. `factors` are levels of every cell; `label` selects one label.
    When it raises InputError, no file is left behind.
    """
    directory = _free(name)
    if not _STUDY.fullmatch(study):
        raise InputError(
            f"the study {study!r} is not a valid name; use small letters, digits and hyphens"
        )
    _check_copies(files)
    chosen = _chosen(files, label)
    labels = list(dict.fromkeys(part.label for part in chosen))
    levels, note = _levels(labels, is_plain=is_plain)
    cells = _cells(labels, levels, dict(factors or {}))
    parts = _plan(chosen, study, cells)
    said = note if "label" in cells[labels[0]] else ""
    notes = tuple(filter(None, (said, *_notes(files, chosen))))
    directory.parent.mkdir(parents=True, exist_ok=True)
    part = directory.with_name(f".{name}.{os.getpid()}.part")
    try:
        _write(part, name, parts, notes)
        part.rename(directory)
        flush(directory.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Imported(
        directory,
        len(parts),
        sum(len(p.samples) for p in parts),
        tuple(parts[0].planned.factors),
        len(set(cells.values())),
        notes,
    )


def _free(name: str) -> Path:
    check_name(name)
    directory = results() / name
    if directory.exists():
        raise InputError(f"{directory}: exists already; choose another run name")
    return directory


def _check_copies(files: Sequence[JtlFile]) -> None:
    sums = [file.sha256 for file in files]
    for place, file in enumerate(files):
        if sums.index(file.sha256) != place:
            raise InputError(
                f"{file.path}: holds the same samples as {files[sums.index(file.sha256)].path}; "
                "a copy is not a replicate: name each log once"
            )


def _chosen(files: Sequence[JtlFile], label: str | None) -> list[_Chosen]:
    blocks = [
        (file, samples)
        for file in files
        for samples in file.blocks
        if label is None or label in samples
    ]
    chosen = [
        _Chosen(block, found, file, samples[found])
        for block, (file, samples) in enumerate(blocks, start=1)
        for found in samples
        if label in (None, found)
    ]
    for file in files:
        if label is not None and label not in file.labels:
            shown = printable(", ".join(file.labels), 1000)
            raise InputError(
                f"{file.path}: no sample has the label {label!r}; the labels are {shown}; "
                "name another label, or omit this file"
            )
    for one in chosen:
        if max(one.samples.started_ms) - min(one.samples.started_ms) > LONGEST_MS:
            raise InputError(
                f"{one.file.path}: samples of {printable(one.label, 60)!r} began more than a year "
                "apart, so the log holds several tests; split it, as each is a block"
            )
    return chosen


def _plan(chosen: Sequence[_Chosen], study: str, cells: Mapping[str, Cell]) -> list[_Part]:
    parts = []
    for position, one in enumerate(chosen, start=1):
        samples, threads = one.samples, one.samples.concurrency
        each = -(-len(samples) // threads)
        planned = PlannedTrial(
            schema=PLAN_SCHEMA,
            id=f"b{one.block:02}-t{position:03}-imported",
            study=study,
            profile=PROFILE,
            block=one.block,
            position=position,
            client="jmeter",
            factors=cells[one.label],
            constants={},
            node={},
            calls=each,
            warmup=0,
            threads=threads,
            timeout_s=1,
            seed=0,
            calls_in_all=0 if each * threads == len(samples) else len(samples),
        )
        parts.append(_Part(planned, one.label, one.file, samples))
    return parts


def _levels(
    labels: Sequence[str], *, is_plain: bool
) -> tuple[dict[str, dict[str, Level]] | None, str]:
    """Return the levels that each label names, None where labels stay plain, and what to say."""
    named = {found: levels for found in labels if (levels := factors_of(found))}
    if (
        is_plain
        or len(named) < len(labels)
        or len({frozenset(cell) for cell in named.values()}) > 1
    ):
        return None, ""
    for factor in named[labels[0]]:
        if not _can_name(factor):
            return None, (
                f"Labels such as {printable(labels[0], 60)} are levels of the factor label, since "
                f"{factor!r} cannot name a factor."
            )
    return named, ""


def _can_name(factor: str) -> bool:
    return bool(_FACTOR.fullmatch(factor)) and factor not in ("study", *CELL_COLUMNS)


def _cells(
    labels: Sequence[str],
    levels: Mapping[str, Mapping[str, Level]] | None,
    factors: Mapping[str, Level],
) -> dict[str, Cell]:
    if levels is not None:
        cells = {found: dict(levels[found]) for found in labels}
    elif len(labels) == 1 and factors:
        cells = {labels[0]: {}}
    else:
        cells = {found: {"label": found} for found in labels}
    for own in next(iter(cells.values())).keys() & factors.keys():
        raise InputError(
            f"the factor {own} is given by --factor and by the labels ({labels[0]!r}); "
            "omit --factor"
        )
    every = {found: Cell(sorted({**cell, **factors}.items())) for found, cell in cells.items()}
    for factor in every[labels[0]]:
        if not _can_name(factor):
            raise InputError(
                f"{factor!r} cannot name a factor: use small letters, digits and underscores, "
                "and not the name of a column of cells.csv"
            )
        given = [cell[factor] for cell in every.values()]
        alike = two_alike(given) or two_alike_in_print(given)
        if alike:
            way = "keep labels as they are with --plain-labels, or " if levels is not None else ""
            raise InputError(
                f"the labels give {factor} the levels {' and '.join(map(json.dumps, alike))}, "
                f"which would be one cell or look like one; {way}rename one of them in the log"
            )
    one_of: dict[Cell, str] = {}
    for found, cell in every.items():
        if one_of.setdefault(cell, found) != found:
            raise InputError(
                f"the labels {one_of[cell]!r} and {found!r} name one cell; rename one of them in "
                "the log, or keep labels as they are with --plain-labels"
            )
    return every


def _notes(files: Sequence[JtlFile], chosen: Sequence[_Chosen]) -> Iterator[str]:
    """Yield a sentence on each thing that logs may hide, "" where they do not."""
    by_block: dict[int, dict[str, Samples]] = {}
    for one in chosen:
        by_block.setdefault(one.block, {})[one.label] = one.samples
    blocks, logs = [*by_block.values()], [*map(Timed.of, files)]
    yield _nesting(blocks)
    yield overlap_of(logs)
    yield parted(blocks)
    yield from map(pause_in, logs)


def _nesting(blocks: Sequence[Mapping[str, Samples]]) -> str:
    """Return a sentence on samples that hold the times of others, "" where there are none."""
    every = [samples for block in blocks for samples in block.values()]
    found = [nested for block in blocks if (nested := nested_in(block))]
    count = sum(map(len, every))
    if not found:
        # With think times in it, a total is shorter than the span of its parts.
        totals = sum(samples.transactions for samples in every)
        if totals in {0, count}:
            return ""
        return (
            f"{totals} of {count} samples are totals of transaction controllers, next to single "
            "samples that they may include. Do not add such times; use --label to import one label."
        )
    inside = sum(n.inside for n in found)
    return (
        f"{inside} of {count} samples lie within another sample of their thread, such as "
        f"{printable(found[0].inner, 60)} within {printable(found[0].outer, 60)}: transaction "
        "controllers stand next to their children, or users share the name of a thread. Do not add "
        "such times; use --label to import one label."
    )


def _write(part: Path, name: str, parts: Sequence[_Part], notes: Sequence[str]) -> None:
    for one in parts:
        _seal(part / "trials" / one.planned.id, one)
    plan = plan_bytes([one.planned for one in parts])
    files = {one.file.sha256: _name(one.file) for one in parts}
    record = {
        "schema": RUN_SCHEMA,
        "run": name,
        "study": parts[0].planned.study,
        "profile": PROFILE,
        "seed": 0,
        "started_at": _utc(min(min(one.samples.started_ms) for one in parts)),
        "plan_sha256": hashlib.sha256(plan).hexdigest(),
        "lab": {"name": "imported from JMeter", "kind": "imported"},
        "imported": {"format": "jtl", "at": _now(), "files_by_sha256": files},
        "deviations": [*_DEVIATIONS, *notes],
    }
    _put(part / "plan.jsonl", plan)
    _put(part / "run.json", _json(record))
    for directory in (part / "trials", part):
        flush(directory)


def _seal(directory: Path, part: _Part) -> None:
    samples, planned = part.samples, part.planned
    origin_ms = min(samples.started_ms)
    order = sorted(range(len(samples)), key=samples.started_ms.__getitem__)
    digest = hashlib.sha256()
    directory.mkdir(parents=True)
    with (directory / "calls.csv").open("wb") as log:
        for line in _lines(samples, order, origin_ms):
            digest.update(line)
            log.write(line)
    flush(directory / "calls.csv")
    good = samples.status.count(STATUSES.index("ok"))
    is_good = good >= max(LEAST_OK * len(samples), 1)
    few = f"{good} of {len(samples)} calls were ok, fewer than the share {LEAST_OK}"
    ended_ms = max(map(sum, zip(samples.started_ms, samples.elapsed_ms, strict=True)))
    seq_of = {place: seq for seq, place in enumerate(order)} if samples.texts else {}
    record = {
        "schema": TRIAL_SCHEMA,
        **NOT_RECORDED,
        **{key: value for key, value in planned.record().items() if key in PLANNED_KEYS},
        "attempt": 1,
        "outcome": "ok" if is_good else "failed",
        "reason": "" if is_good else few,
        "started_at": _utc(origin_ms),
        "ended_at": _utc(ended_ms),
        "host": "not recorded",
        "calls_rows": len(samples),
        "calls_sha256": digest.hexdigest(),
        "errors": [
            {"seq": seq_of[place], "thread": samples.thread[place], "text": text}
            for place, text in samples.texts.items()
        ],
        "imported": {"file": _name(part.file), "label": part.label},
    }
    _put(directory / "trial.json", _json(record))
    flush(directory)


def _name(file: JtlFile) -> str:
    """Return a log's name as records hold it, since not every name of a file is UTF-8."""
    return printable(file.path.name, 300)


def _lines(samples: Samples, order: Sequence[int], origin_ms: int) -> Iterator[bytes]:
    yield CALLS_HEADER.encode() + b"\n"
    for seq, place in enumerate(order):
        start_ns = (samples.started_ms[place] - origin_ms) * _MS
        elapsed_ns = samples.elapsed_ms[place] * _MS
        sizes = f"{samples.sent_bytes[place]},{samples.received_bytes[place]}"
        status = STATUSES[samples.status[place]]
        yield (
            f"{seq},{samples.thread[place]},measure,,{start_ns},{elapsed_ns},{sizes},{status}\n"
        ).encode()


def _put(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    flush(path)


def _json(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, indent=1, ensure_ascii=False).encode() + b"\n"


def _utc(since_1970_ms: int) -> str:
    instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=since_1970_ms)
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
