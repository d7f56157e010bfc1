"""What went wrong in a run, and what a reader must know before reading its numbers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from collect.cells.analysis import Analysis
from collect.cells.cells import CellResult
from collect.cells.notation import name_of
from collect.cells.plots import whole_plots
from collect.counts import show_count
from collect.errors import InputError
from collect.run import ran_under, starts
from collect.run.cell import level_text
from collect.run.differences import find_odd, gather
from collect.run.directory import Run
from collect.run.fingerprint import OF_A_MACHINE, READINGS, kind_of
from collect.run.interference import disturbances
from collect.run.nodes import (
    Change,
    Node,
    Snapshot,
    by_directory,
    changes_between,
    first_seen,
    not_seen_again,
    read_snapshots,
)
from collect.run.provenance import Provenance
from collect.run.recorded import Program
from collect.stats.estimates import FEWEST_BLOCKS

OF_ONE_NODE = {"name", "address", "groups", *OF_A_MACHINE, *READINGS}
"""The items of a node in run.json in which any two nodes differ."""
_ROLES = {"client": "client", "broker": "broker", "workers": "worker"}
_LISTED = 8
_SAID = {
    "jtl": "single calls, in whole milliseconds",
    "vegeta": "single calls; in an open loop, the rate gives their intended starts",
}
"""What a program says of single calls, by its form."""
_SAID_IN_ALL = {
    "wrk": "a mean of all calls as wrk prints it, corrected for coordinated omission, without "
    "percentiles",
}


@dataclass(frozen=True)
class ReportWarning:
    """One sentence with its details; `is_grave` when it affects the numbers themselves."""

    text: str
    details: tuple[str, ...] = ()
    is_grave: bool = True


def find_warnings(analysis: Analysis) -> list[ReportWarning]:
    """Return what went wrong, the gravest first; empty when nothing did."""
    provenance = analysis.run.provenance
    snapshots = read_snapshots(analysis.run.directory, provenance.snapshot)
    return [
        *_of_findings(analysis),
        *_of_outcomes(analysis.cells),
        *_of_calls(analysis.cells),
        *_of_limits(analysis.cells),
        *_of_observers(analysis.run),
        *_of_sharing(first_seen(snapshots)),
        *_of_fit(analysis.run),
        *_of_plots(analysis),
        *_of_links(analysis.run),
        *_of_settings(analysis),
        *_of_starts(analysis),
        *_of_nodes(first_seen(snapshots), provenance),
        *_of_exceptions(provenance),
        *_of_changes(snapshots, analysis.run),
        *_of_unseen(snapshots),
        *_of_programs(analysis.cells),
        *_of_warmups(analysis.cells),
        *_of_drift(analysis.cells),
        *_of_disturbances(analysis.cells),
        *_of_unknown_limits(analysis.cells),
        *_of_attempts(analysis.cells),
        *_of_source(provenance),
    ]


def _of_findings(analysis: Analysis) -> list[ReportWarning]:
    warnings = []
    refused, stray, missing = map(analysis.of_kind, ("refused", "stray", "missing"))
    if refused:
        texts = _first([finding.text for finding in refused])
        warnings.append(
            ReportWarning(f"{show_count(len(refused), 'trial')} refused and not counted.", texts)
        )
    if stray:
        texts = _first([finding.text for finding in stray])
        warnings.append(
            ReportWarning(
                f"{show_count(len(stray), 'directory', 'directories')} not in the plan.", texts
            )
        )
    never_counted = {planned.id for planned in analysis.run.uncounted}
    missing = [finding for finding in missing if finding.subject not in never_counted]
    if missing:
        total = len(analysis.run.plan)
        whole = _whole_blocks(analysis)
        text = (
            f"The run is not finished: {len(missing)} of {total} trials are missing. "
            f"{whole} of {show_count(analysis.run.blocks, 'block')} are complete; "
            "means use every sealed trial, ratios only blocks that hold both of their cells."
        )
        warnings.append(ReportWarning(text))
    return warnings


def _of_plots(analysis: Analysis) -> list[ReportWarning]:
    """Say where too few blocks were measured to tell settings of the nodes from whole plots."""
    plots = whole_plots(analysis.run.plan)
    blocks = len({trial.block for trial in analysis.counted})
    if plots is None or blocks >= FEWEST_BLOCKS:
        return []
    return [
        ReportWarning(
            f"No verdict about {', '.join(plots.factors)}: "
            f"{show_count(blocks, 'block was', 'blocks were')} measured, but {FEWEST_BLOCKS} are "
            "needed to separate a setting of the nodes from its whole plots. Measure more blocks."
        )
    ]


def _whole_blocks(analysis: Analysis) -> int:
    open_ones = {finding.subject for finding in analysis.findings}
    open_blocks = {planned.block for planned in analysis.run.plan if planned.id in open_ones}
    return analysis.run.blocks - len(open_blocks)


def _of_outcomes(cells: Sequence[CellResult]) -> list[ReportWarning]:
    details = []
    for cell in cells:
        bad = [trial for trial in cell.trials if trial.outcome != "ok"]
        if bad:
            outcomes = ", ".join(
                f"{n} {name}" for name, n in Counter(t.outcome for t in bad).items()
            )
            reason = bad[0].trial.reason or "no reason recorded"
            details.append(f"{name_of(cell.cell)}: {outcomes} of {len(cell.trials)} ({reason})")
    if not details:
        return []
    return [
        ReportWarning(
            f"Some trials of {show_count(len(details), 'cell')} did not end well.", _first(details)
        )
    ]


def _of_calls(cells: Sequence[CellResult]) -> list[ReportWarning]:
    details = [f"{name_of(c.cell)}: {show_count(c.errors, 'call')}" for c in cells if c.errors]
    if not details:
        return []
    total = sum(cell.errors for cell in cells)
    return [
        ReportWarning(
            f"{show_count(total, 'measured call')} failed; all averages exclude failed calls.",
            _first(details),
        )
    ]


def _of_limits(cells: Sequence[CellResult]) -> list[ReportWarning]:
    """Return which cells the bench itself limited, and what can be compared all the same."""
    limited = [cell for cell in cells if cell.has_resources and cell.limit.is_bench]
    if not limited:
        return []
    by = Counter(
        "the client's processors" if c.limit.by == "client" else c.limit.by for c in limited
    )
    were = "was" if len(limited) == 1 else "were"
    text = (
        f"{len(limited)} of {show_count(len(cells), 'cell')} {were} limited by the bench itself: "
        f"{', '.join(f'{number} by {name}' for name, number in by.items())}. Such times show how "
        "fast this bench is. A verdict that depends on them may differ where each system has its "
        "own machines. You can still compare the CPU time of a call, by client, service and "
        "broker, also as a ratio of two systems (under “Limits of the cells”); bytes; and "
        "outcomes."
    )
    details = [f"{name_of(cell.cell)}: {cell.limit.text}" for cell in limited]
    return [ReportWarning(text, _first(details))]


def _of_observers(run: Run) -> list[ReportWarning]:
    """Return which cells were measured without observers, with what is not known of them."""
    of = {planned.factors: planned.constants.get("observe") == "none" for planned in run.plan}
    details = [name_of(cell) for cell in run.cells if of[cell]]
    if not details:
        return []
    were = "was" if len(details) == 1 else "were"
    who = "The run was" if all(of.values()) else f"{show_count(len(details), 'cell')} {were}"
    text = (
        f"{who} measured without observers (observe: none): there are no readings of nodes and no "
        "reports of JVMs, so it is unknown what limited the calls and what the compiler did."
    )
    return [ReportWarning(text, () if all(of.values()) else _first(details), is_grave=False)]


def _of_unknown_limits(cells: Sequence[CellResult]) -> list[ReportWarning]:
    """Return the cells of which it is not known what limited them, where it was to be recorded."""
    unknown = [c for c in cells if c.has_resources and c.counted and not c.limit.by]
    if not unknown:
        return []
    details = [f"{name_of(cell.cell)}: {cell.limit.text}" for cell in unknown]
    text = f"The limit of {show_count(len(unknown), 'cell')} is unknown."
    return [ReportWarning(text, _first(details), is_grave=False)]


def _of_sharing(nodes: Sequence[Node]) -> list[ReportWarning]:
    """Return a warning for each machine that is several nodes at once, with the consequence."""
    warnings = []
    for node in nodes:
        roles = [_ROLES[group] for group in _ROLES if group in node.groups]
        if len(roles) < 2:
            continue
        who = "the client and the services" if "client" in roles else "the services"
        text = (
            f"{node.name} is {', '.join(roles[:-1])} and {roles[-1]} at once: {who} "
            "on it share its processors and memory, and what passes between them crosses no "
            "network, so the link rate does not limit it."
        )
        warnings.append(ReportWarning(text))
    return warnings


def _of_fit(run: Run) -> list[ReportWarning]:
    workers = run.plan[0].fitted_to
    if not workers or run.stated is None:
        return []
    try:
        left_out = run.stated.profile(run.profile, workers, fit=True).left_out
    except InputError:
        left_out = {}
    levels = "; ".join(f"{name} {', '.join(map(level_text, lv))}" for name, lv in left_out.items())
    text = (
        f"Skipped on request (fit=true), because the inventory had "
        f"{show_count(workers, 'worker')}: {levels or 'levels that need more'}. "
        "Claims that need these levels are not tested, or fail on the levels that were run."
    )
    return [ReportWarning(text, is_grave=False)]


def _of_links(run: Run) -> list[ReportWarning]:
    """Return that the links have another rate than the study asks for, where no sweep sets them."""
    lab = run.provenance.lab
    asked = {str(trial.node["link_mbit"]) for trial in run.plan if "link_mbit" in trial.node}
    if not lab.keeps_links or lab.link_mbit is None or asked <= {str(lab.link_mbit)}:
        return []
    text = (
        f"The study asks for links of {' and '.join(sorted(asked))} Mbit/s, but those of this lab "
        f"have {lab.link_mbit} Mbit/s: sweeps set the links of virtual labs alone."
    )
    return [ReportWarning(text)]


def _of_settings(analysis: Analysis) -> list[ReportWarning]:
    """Return which trials are known to have run under other node settings than planned."""
    run = analysis.run
    found = ran_under.ran_otherwise(run.plan, analysis.trials, run.provenance.served)
    if not found:
        return []
    details = [f"{name}: {found[name]}" for name in sorted(found)]
    text = f"{show_count(len(found), 'trial')} ran under other node settings than planned."
    return [ReportWarning(text, _first(details))]


def _of_starts(analysis: Analysis) -> list[ReportWarning]:
    """Return which blocks shared a start of a server although each was to have its own.

    And that services were cold at the beginning of a group of trials.
    """
    plan = analysis.run.plan
    if not starts.is_restarted(plan):
        text = (
            "The sweep restarted services between groups of trials, and nothing warmed them before "
            "the first trial of a group (restart: none), which may be slower for that."
        )
        return [ReportWarning(text)] if starts.is_set_between(plan) else []
    texts = _first([finding.text for finding in starts.find(plan, analysis.trials)])
    text = "Some blocks shared a start of a server, although the plan gives each block its own."
    return [ReportWarning(text, texts)] if texts else []


def _of_nodes(nodes: Sequence[Node], provenance: Provenance) -> list[ReportWarning]:
    declared = {(declared.node, declared.item) for declared in provenance.exceptions}
    # Of the packages, run.json holds the hash alone.
    declared |= {(n, "packages_sha256") for n, i in declared if kind_of(i) == "packages"}
    recorded = {str(node.name): _of_the_machine(node) for node in nodes}
    roles = {str(node.name): frozenset(node.groups) for node in nodes}
    odd = find_odd(recorded, roles, declared, provenance.memory_tolerance)
    details = tuple(
        f"{found.item}: {found.value} on {', '.join(found.nodes)}; {found.others} on the others"
        for found in gather(odd)
    )
    return [ReportWarning("The nodes were not identical.", details)] if details else []


def _of_the_machine(node: Node) -> dict[str, str]:
    return {item: value for item, value in node.items.items() if item not in OF_ONE_NODE}


def _of_exceptions(provenance: Provenance) -> list[ReportWarning]:
    details = [f"{e.node}: {e.item} ({e.reason})" for e in provenance.exceptions]
    if not details:
        return []
    text = f"{show_count(len(details), 'difference')} between the nodes declared beforehand."
    return [ReportWarning(text, _first(details), is_grave=False)]


def _of_changes(snapshots: Sequence[Snapshot], run: Run) -> list[ReportWarning]:
    nodes: dict[Change, list[str]] = {}
    for change in by_directory(
        changes_between(snapshots, run.provenance.memory_tolerance, run.varied_items)
    ):
        nodes.setdefault(replace(change, node=""), []).append(change.node)
    details = tuple(
        f"{', '.join(names)}: {c.item} was {c.before}, and at {c.at} it was {c.after}"
        for c, names in nodes.items()
    )
    return [ReportWarning("The nodes changed during the run.", details)] if details else []


def _of_unseen(snapshots: Sequence[Snapshot]) -> list[ReportWarning]:
    gone = not_seen_again(snapshots)
    text = "Nodes that did not answer at the end may have changed during the run"
    return [ReportWarning(f"{text}: {', '.join(gone)}.")] if gone else []


def _of_drift(cells: Sequence[CellResult]) -> list[ReportWarning]:
    drifting = [name_of(cell.cell) for cell in cells if cell.steadiness == "drifting"]
    if not drifting:
        return []
    text = f"{show_count(len(drifting), 'cell')} drifted while measured."
    return [ReportWarning(text, _first(drifting), is_grave=False)]


def _of_programs(cells: Sequence[CellResult]) -> list[ReportWarning]:
    """Return which cells programs called, with what is theirs alone to decide and to say."""
    details = []
    for cell in cells:
        told = {
            f"{t.trial.asked.get('client')}: {_said_by(t.trial.program)}"
            for t in cell.counted
            if t.trial.program
        }
        details += [f"{name_of(cell.cell)}: {'; '.join(sorted(told))}"] if told else []
    if not details:
        return []
    text = (
        f"{show_count(len(details), 'cell')} called by programs: rackbench does not control their "
        "warm-up, and counts all calls that they report."
    )
    return [ReportWarning(text, _first(details), is_grave=False)]


def _said_by(program: Program) -> str:
    if program.summary is None:
        return _SAID.get(program.reads, "single calls")
    return _SAID_IN_ALL.get(program.reads, "a mean of all calls, without percentiles")


def _of_warmups(cells: Sequence[CellResult]) -> list[ReportWarning]:
    ended = [c for c in cells if c.warmup and c.warmup.steady < c.warmup.decided]
    if not ended:
        return []
    details = [f"{name_of(cell.cell)}: {cell.warmup} (calls of each thread)" for cell in ended]
    text = (
        f"In {show_count(len(ended), 'cell')} the warm-up ended at its largest number of calls, "
        "not yet steady."
    )
    return [ReportWarning(text, _first(details), is_grave=False)]


def _of_disturbances(cells: Sequence[CellResult]) -> list[ReportWarning]:
    trials = [t.trial for cell in cells for t in cell.counted]
    disturbed = {trial.id: found for trial in trials if (found := disturbances(trial))}
    if not disturbed:
        return []
    passed = Counter(
        limit for found in disturbed.values() for limit in {one.limit for one in found}
    )
    limits = "; ".join(
        f"{limit}: {count}" for limit, count in sorted(passed.items(), key=_by_count)
    )
    text = (
        f"{len(disturbed)} of {show_count(len(trials), 'counted trial')} ran during a disturbance "
        f"({limits}). The results include them."
    )
    details = [
        f"{name}: {'; '.join(d.text for d in disturbed[name])}" for name in sorted(disturbed)
    ]
    return [ReportWarning(text, _first(details), is_grave=False)]


def _by_count(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def _of_attempts(cells: Sequence[CellResult]) -> list[ReportWarning]:
    details = []
    for trial in (t.trial for cell in cells for t in cell.trials):
        if trial.attempt > 1:
            told = "; ".join(trial.earlier) or "no reason recorded"
            details.append(f"{trial.id}: attempt {trial.attempt} ({told})")
    if not details:
        return []
    text = f"{show_count(len(details), 'trial')} took more than one attempt; the last one counts."
    return [ReportWarning(text, _first(sorted(details)), is_grave=False)]


def _of_source(provenance: Provenance) -> list[ReportWarning]:
    if provenance.is_dirty:
        return [ReportWarning("The source had uncommitted changes.", is_grave=False)]
    return []


def _first(texts: Sequence[str]) -> tuple[str, ...]:
    rest = (f"… and {len(texts) - _LISTED} more",) if len(texts) > _LISTED else ()
    return (*texts[:_LISTED], *rest)
