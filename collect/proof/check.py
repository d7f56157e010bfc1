"""The proof of a whole run: its trials, its plan, its nodes and the files made from them."""

import csv
import hashlib
import io
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, count, zip_longest
from pathlib import Path

from collect.cells.cells import CellResult, cells_csv, make_cells
from collect.costs.packets import prove_capture
from collect.costs.parts import prove_parts
from collect.costs.profiles import changed_profiles
from collect.costs.resources import prove_resources
from collect.csv_fields import long_fields
from collect.errors import quoted
from collect.files import flush
from collect.logs.cache import Cache
from collect.logs.calls import Calls, Progress, prove_calls
from collect.planning.interim import decide
from collect.run import ran_under, starts
from collect.run.cell import Cell
from collect.run.directory import Run
from collect.run.nodes import by_directory, changes_between, not_seen_again, read_snapshots
from collect.run.setting import JDK
from collect.run.stop import LOOKS
from collect.run.trials import Trial, TrialError
from collect.run.verify import Finding, verify_run
from collect.sweep.status import read_status

SET_ASIDE = {"refused", "stray", "duplicate", "settings"}
"""The kinds of findings whose trials can be moved away and run again."""
_ROUNDING_MS = 2e-6
_MEANS = {"mean_ms", "ci95_low_ms", "ci95_high_ms"}
_RATES = ("calls_per_s", "calls_per_s_low", "calls_per_s_high")

_Rows = list[list[str]]


@dataclass(frozen=True)
class Proof:
    """The findings of a check; `whole` counts the trials that are sealed, verified and count."""

    whole: int
    findings: tuple[Finding, ...]


def prove(run: Run, progress: Progress = lambda done, total: None) -> Proof:
    """Check everything that the numbers of a run rest on; changes no file of the run.

    Besides `missing`, `refused` and `stray` trials there are these kinds of findings: `plan` (the
    plan has other bytes, another study or another profile than run.json states), `nodes` (the nodes
    changed between the first snapshot and the last, or trials ran on several clients or JVMs),
    `starts` (with restart: block, a block had several starts of a service, or two blocks shared
    one; or a trial that counts met a service that had been profiled),
    `settings` (a trial ran under other settings of the nodes than planned),
    `duplicate` (two trials have the same calls), `parts` (what the parts of calls say contradicts
    their seal or the calls), `resources` (what was sampled contradicts its seal), `capture` (the
    packets of a call are not those that were sealed), `cells` (cells.csv does not follow from the
    trials), `looks` (what an interim analysis decided does not follow from the trials) and
    `counted` (a report has kept numbers of an unsealed or refused trial).
    """
    verified = verify_run(run)
    # From the raw logs, not from what a report kept of them.
    calls = prove_calls((*verified.trials, *verified.profiled, *verified.captured), progress)
    trials, profiled = calls.of(verified.trials), calls.of(verified.profiled)
    captured = calls.of(verified.captured)
    of_profiles = [finding for trial in profiled for finding in changed_profiles(trial)]
    of_trials = [*_with_reasons(run, verified.findings), *calls.findings, *of_profiles]
    place = {planned.id: number for number, planned in enumerate(run.all_trials)}
    findings = [
        *sorted(of_trials, key=lambda finding: place.get(finding.subject, len(place))),
        *_of_plan(run),
        *_of_nodes(run),
        *_of_clients(trials),
        *starts.find(run.plan, trials),
        *ran_under.find(run.all_trials, (*trials, *profiled, *captured), run.provenance.served),
        *starts.met_the_profiler(trials, profiled),
        *_of_duplicates(trials),
        *_of_file("parts", prove_parts, trials),
        *_of_file("resources", prove_resources, trials),
        *_of_file("capture", prove_capture, [*trials, *profiled, *captured]),
        *_of_looks(run, trials, calls),
        *_of_counted(run, trials),
        *_of_cells(run, trials, calls),
    ]
    never_counted = len(profiled) + len(captured)
    whole = len(trials) + never_counted - len({finding.subject for finding in of_profiles})
    return Proof(whole, tuple(findings))


def _with_reasons(run: Run, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Add to the finding of a missing trial why the runner deferred it."""
    put_off = read_status(run).put_off
    for finding in findings:
        why = put_off.get(finding.subject) if finding.kind == "missing" else None
        yield replace(finding, text=f"{finding.text} (deferred: {why})") if why else finding


def _of_plan(run: Run) -> Iterator[Finding]:
    stated = run.provenance.plan_sha256
    found = hashlib.sha256((run.directory / "plan.jsonl").read_bytes()).hexdigest()
    if not run.provenance.recorded:
        yield Finding(
            "plan",
            "run.json",
            "run.json: is missing, so the settings of the run are unknown; restore it, "
            "or sweep again if the run never began",
        )
        return
    if stated != found:
        said = "no hash of the plan" if stated is None else f"{stated[:12]}… as its SHA-256"
        yield Finding(
            "plan",
            "plan.jsonl",
            f"plan.jsonl: has the SHA-256 {found[:12]}…, but run.json states {said}; "
            "a plan never changes: restore it or plan the run again under another name",
        )
    for name in ("study", "profile"):
        recorded, planned = getattr(run.provenance, name), getattr(run, name)
        if recorded != planned:
            yield Finding(
                "plan",
                "run.json",
                f"run.json: states the {name} {quoted(recorded)}, but the plan has "
                f"{quoted(planned)}; they belong to two runs: restore run.json or plan.jsonl",
            )


def _of_nodes(run: Run) -> Iterator[Finding]:
    snapshots = read_snapshots(run.directory, run.provenance.snapshot)
    for node in not_seen_again(snapshots):
        yield Finding(
            "nodes",
            node,
            f"{node}: did not answer when the nodes were compared again at {snapshots[-1].at}; "
            "run the same sweep command again once it is back",
        )
    changes = changes_between(snapshots, run.provenance.memory_tolerance, run.varied_items)
    for change in by_directory(changes):
        yield Finding(
            "nodes",
            change.node,
            f"{change.node}: {change.item} was {change.before}, and at {change.at} it was "
            f"{change.after}; trials before and after the change cannot be compared: "
            "provision the nodes alike and sweep under a new name",
        )


def _of_clients(trials: Sequence[Trial]) -> Iterator[Finding]:
    of_jdks: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        if trial.program is None:
            of_jdks[_asked_jdk(trial)].append(trial)
    jdks = [("JDK of the client", _jdk, those) for those in of_jdks.values()]
    for what, of_trial, those in [("client", _host, list(trials)), *jdks]:
        seen = Counter(map(of_trial, those))
        if len(seen) > 1:
            (usual, _), *others = seen.most_common()
            for other, number in others:
                first = next(trial.id for trial in those if of_trial(trial) == other)
                yield Finding(
                    "nodes",
                    first,
                    f"{first}: the {what} is {other} in {number} trials and {usual} in the others; "
                    "they cannot be compared: sweep under a new name",
                )


def _host(trial: Trial) -> str:
    return str(trial.host)


def _jdk(trial: Trial) -> str:
    jvm = trial.jvm
    return f"{jvm.get('vendor')} {jvm.get('version')}" if jvm else "(none)"


def _asked_jdk(trial: Trial) -> str:
    """Return which JDK the study asks for; a trial under another one is a finding of settings."""
    return str(trial.asked.get("constants", {}).get(JDK, ""))


def _of_duplicates(trials: Sequence[Trial]) -> Iterator[Finding]:
    same: dict[tuple[str, datetime, Cell | None], list[str]] = defaultdict(list)
    for trial in trials:
        if trial.calls_rows:
            # In whole ms, a transaction may have the time of its only sample.
            cell = Cell(trial.factors) if trial.is_imported else None
            same[trial.calls_sha256.lower(), trial.started_at, cell].append(trial.id)
    for first, *others in same.values():
        for other in others:
            yield Finding(
                "duplicate",
                other,
                f"{other}: has the same calls as {first}; one is a copy of the other: "
                "set both aside and sweep again",
            )


def _of_file(
    kind: str, prove_file: Callable[[Trial], None], trials: Sequence[Trial]
) -> Iterator[Finding]:
    """Find the trials whose file next to the calls is not what was sealed."""
    for trial in trials:
        try:
            prove_file(trial)
        except TrialError as error:
            yield Finding(kind, trial.id, str(error))


def _of_looks(run: Run, trials: Sequence[Trial], calls: Calls) -> Iterator[Finding]:
    """Find decisions that these trials would not have led to; a torn trial is a finding itself."""
    if run.stop is None or not run.decisions:
        return
    cells = make_cells(run, trials, calls)
    known = {trial.id for trial in trials}
    for place, (decision, look) in enumerate(
        zip_longest(run.decisions, run.stop.looks[: len(run.decisions)])
    ):
        is_last = place == len(run.decisions) - 1
        if look is None or decision.blocks != look or (decision.stops and not is_last):
            why = "is none of the rule's interim analyses, or comes after one that stopped the run"
        elif any(t.block <= look and t.id not in known for t in run.plan):
            why = "cannot be proven, since trials before it are missing or refused"
        elif (again := decide(cells, run.stop, look)).stops != decision.stops:
            width = "no interval" if again.widest is None else run.stop.show(again.widest)
            why = (
                f"{'stopped' if decision.stops else 'continued'} the run, but the widest "
                f"interval of its trials, {again.cell}, has {width}, with {run.stop}"
            )
        else:
            continue
        yield Finding(
            "looks",
            LOOKS,
            f"{LOOKS}: the analysis after {decision.blocks} blocks {why}; remove {LOOKS}, and the "
            "same sweep decides again",
        )


def _of_counted(run: Run, trials: Sequence[Trial]) -> Iterator[Finding]:
    for name in sorted(Cache(run.directory).ids() - {trial.id for trial in trials}):
        yield Finding(
            "counted",
            name,
            f"{name}: a report counted it, but it is not sealed and whole; "
            f"write the report again: collect report {run.typed}",
        )


def _of_cells(run: Run, trials: Sequence[Trial], calls: Calls) -> Iterator[Finding]:
    path = run.directory / "cells.csv"
    if not path.exists():
        return
    again = f"write it again: collect report {run.typed}"
    cells = make_cells(run, trials, calls)
    found = _rows(path.read_bytes().decode(errors="replace"))
    expected, before, found = _comparable(run, cells, found)
    if expected[:1] != found[:1] or len(expected) != len(found):
        yield Finding(
            "cells",
            "cells.csv",
            f"cells.csv: has {max(len(found) - 1, 0)} rows or other columns, but the trials give "
            f"{len(expected) - 1} rows; {again}",
        )
        return
    columns = expected[0]
    is_imported = run.provenance.is_imported
    may_differ = [False, *(_has_other_rates(cell, is_imported=is_imported) for cell in cells)]
    rows = zip(expected, before, found, may_differ, strict=True)
    for number, (want, once, have, is_loose) in enumerate(rows, start=1):
        off = [
            f"{name} {was or '(empty)'}, but the trials give {is_ or '(empty)'}"
            for name, is_, as_before, was in zip(columns, want, once, have, strict=False)
            if not _same(is_, was)
            and not _same(as_before, was)
            and not (is_loose and _is_earlier_rate(name, was, is_, is_imported=is_imported))
        ]
        if off or len(want) != len(have):
            yield Finding(
                "cells", f"line {number}", f"cells.csv: line {number} has {', '.join(off)}; {again}"
            )


def _comparable(run: Run, cells: Sequence[CellResult], found: _Rows) -> tuple[_Rows, _Rows, _Rows]:
    """Return the rows that cells give now, those that they gave before, and those of cells.csv.

    All have only the columns that the version which wrote cells.csv made in the same way.
    """
    expected = _rows(cells_csv(run, cells))
    # Earlier versions also added up both directions of a link where a call goes to several servers
    # at once.
    in_turn = [replace(cell, servers=1) if cell.servers > 1 else cell for cell in cells]
    before = _rows(cells_csv(run, in_turn, as_before=True))
    if found and "outcome" in found[0]:
        # Columns are appended as versions go on.
        known = len(found[0])
        expected, before = ([row[:known] for row in rows] for rows in (expected, before))
        if "failed_trials" not in found[0]:
            # Means were arithmetic.
            expected, before, found = (_without(_MEANS, rows) for rows in (expected, before, found))
    return expected, before, found


def _has_other_rates(cell: CellResult, *, is_imported: bool) -> bool:
    """Tell whether earlier versions may have written another throughput of a cell.

    They timed all threads from the first call of any, and those of imported runs one by one.
    """
    return cell.response is None and (cell.threads > 1 or is_imported)


def _is_earlier_rate(name: str, was: str, is_: str, *, is_imported: bool) -> bool:
    """Tell whether a version before may have written a rate; the ends of its interval are free."""
    if name != _RATES[0]:
        return name in _RATES
    try:
        return float(was) > float(is_) if is_imported else float(was) < float(is_)
    except ValueError:
        return not was  # as where a thread took no time


def _without(columns: Collection[str], rows: _Rows) -> _Rows:
    kept = [place for place, name in enumerate(rows[0]) if name not in columns]
    return [[row[place] for place in kept if place < len(row)] for row in rows]


def _rows(text: str) -> _Rows:
    with long_fields():
        return list(csv.reader(io.StringIO(text, newline="")))


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        # The last digit of a sum depends on the order of the summands.
        return math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=_ROUNDING_MS)
    except ValueError:
        return False


def set_aside(run: Run, findings: Sequence[Finding]) -> Mapping[str, Path]:
    """Move refused, stray and copied trials out of trials/; return their new paths by name.

    Nothing is deleted. The next sweep pulls these trials again or runs them again.
    """
    moved: dict[str, Path] = {}
    for finding in findings:
        source = run.trials_directory / finding.subject
        if finding.kind not in SET_ASIDE or not source.exists():
            continue
        target = free_name(run.directory / "refused" / finding.subject)
        target.parent.mkdir(exist_ok=True)
        source.rename(target)
        flush(target.parent)
        flush(run.trials_directory)
        moved[finding.subject] = target
    return moved


def free_name(path: Path) -> Path:
    """Return `path`, or the first of `path`.2, `path`.3 … that does not exist."""
    names = (path.with_name(f"{path.name}.{number}") for number in count(2))
    return next(name for name in chain([path], names) if not name.exists())
