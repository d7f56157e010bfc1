"""What was run where, as recorded in run.json; what was not recorded is shown as such."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from collect.cells.analysis import Analysis
from collect.cells.plots import whole_plots
from collect.counts import show_count
from collect.report.placements import placements_of
from collect.run import starts
from collect.run.directory import Run
from collect.run.provenance import Provenance
from collect.run.warmup import bounds_of

ABSENT = "not recorded"
_NODE_COLUMNS = {
    "name": "node",
    "groups": "groups",
    "address": "address",
    "os": "system",
    "kernel": "kernel",
    "cpu_model": "processor",
    "cores": "cores",
    "memory_mb": "memory, MB",
    "jdk": "JDK",
    "packages_sha256": "packages",
    "link_shaped_mbit": "link, Mbit/s",
    "link_measured_mbit": "link as measured, Mbit/s",
    "link_rtt_ms": "round trip, ms",
    "governor": "governor",
    "clock_offset_ms": "clock offset, ms",
    "time_source": "time from",
}
_HASH_LENGTH = 12


@dataclass(frozen=True)
class Fact:
    """One line of the facts at the head of a run."""

    name: str
    text: str


def _analyses(run: Run) -> Iterator[Fact]:
    """Say by which rule the run may end early, and what each interim analysis found."""
    if run.stop is None:
        return
    seen = [
        f"after {show_count(one.blocks, 'block')} the widest interval was "
        + ("none" if one.widest is None else f"{run.stop.show(one.widest)} ({one.cell})")
        + (", and the run stopped" if one.stops else "")
        for one in run.decisions
    ]
    yield Fact("Rule to stop", "; ".join([str(run.stop), *(seen or ["no interim analysis yet"])]))


def _plots(analysis: Analysis) -> Iterator[Fact]:
    """Name the whole plots of a run of several node settings, and say how they are compared."""
    plots = whole_plots(analysis.run.plan)
    if plots is None:
        return
    measured = len({plots.of_trial[trial.id] for trial in analysis.counted})
    yield Fact(
        "Whole plots",
        f"{', '.join(plots.factors)}: {plots.distinct} settings in "
        f"{show_count(plots.blocks, 'block')}, "
        f"{measured} of {plots.number} whole plots measured; settings are compared by one value a "
        "block, so their intervals have the whole-plot error",
    )


def facts_of(analysis: Analysis) -> list[Fact]:
    """Return what was run, when, where, on what and from which source."""
    run, provenance = analysis.run, analysis.run.provenance
    source = run.stated.content.get("source") if run.stated else None
    none = "none: a study of our own" if run.stated else ABSENT
    lab = provenance.lab
    trials = analysis.trials
    link = link_of(analysis)
    commit = (provenance.commit or ABSENT)[:_HASH_LENGTH]
    facts = [
        Fact("Paper", f"{source['citation']} ({source['document']})" if source else none),
        Fact("Run", f"{run.name}: study {run.study}, profile {run.profile}"),
        Fact(
            "Trials",
            f"{analysis.sealed} of {len(run.plan)} sealed and verified "
            f"({show_count(len(run.cells), 'cell')}, {show_count(run.blocks, 'block')})",
        ),
        *_analyses(run),
        *_plots(analysis),
        *(Fact("Workers", text) for text in [placements_of(analysis)] if text),
        Fact("Lab", f"{lab.name or ABSENT} ({lab.kind or 'kind not recorded'})"),
        Fact("Link rate", f"{link} Mbit/s" if link != ABSENT else ABSENT),
        Fact("Versions", _pairs(provenance.versions)),
        Fact("Source", commit + (", with uncommitted changes" if provenance.is_dirty else "")),
        Fact("Seed", ABSENT if provenance.seed is None else str(provenance.seed)),
        Fact("Constants", _pairs(_settings(analysis, "constants"))),
        Fact("Node settings", _pairs(_settings(analysis, "node"))),
        Fact("Each trial", _loop(analysis)),
        Fact("The client's JVM", _client(analysis)),
        *(Fact(f"Running {name}", _pairs(told)) for name, told in services_of(analysis).items()),
        Fact("Starts of the servers", _starts(analysis)),
        Fact("The bench itself", _overhead(analysis)),
    ]
    if trials:
        first, last = min(t.started_at for t in trials), max(t.ended_at for t in trials)
        span = f"{first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC"
        facts.insert(3, Fact("Measured", span))
    return facts


def nodes_of(provenance: Provenance) -> tuple[list[str], list[list[str]]]:
    """Return the column names and the rows of the nodes, without columns that no node has."""
    described = [node.recorded for node in provenance.nodes]
    keys = [key for key in _NODE_COLUMNS if any(node.get(key) is not None for node in described)]
    rows = [[_cell(key, node.get(key)) for key in keys] for node in described]
    return [_NODE_COLUMNS[key] for key in keys], rows


def _cell(key: str, value: Any) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, list):
        return ", ".join(map(str, value))
    first_line = str(value).partition("\n")[0]
    return first_line[:_HASH_LENGTH] if key == "packages_sha256" else first_line


def settings_of(analysis: Analysis) -> dict[str, str]:
    """Return the constants and node settings of a run, with all values where cells differ."""
    return {**_settings(analysis, "constants"), **_settings(analysis, "node")}


def _settings(analysis: Analysis, kind: str) -> dict[str, str]:
    values: dict[str, dict[str, None]] = {}
    for planned in analysis.run.plan:
        for name, value in getattr(planned, kind).items():
            values.setdefault(name, {})[str(value)] = None
    return {name: " or ".join(found) for name, found in values.items()}


def services_of(analysis: Analysis) -> dict[str, dict[str, str]]:
    """Return what the services ran with, as trials recorded it: by service, whatever its node.

    Values are joined where they were not the same in all trials and on all nodes.
    """
    found: dict[str, dict[str, dict[str, None]]] = {}
    for trial in analysis.trials:
        for where, settings in trial.ran_with.items():
            service = found.setdefault(where.partition(" on ")[0], {})
            for name, value in settings.items():
                service.setdefault(name, {})[value] = None
    return {
        service: {name: " or ".join(values) for name, values in found[service].items()}
        for service in sorted(found)
    }


def _client(analysis: Analysis) -> str:
    """Return the options and collectors of the JVMs of trials, and their JDKs if these differ."""
    jvms = [trial.jvm for trial in analysis.trials]
    versions = dict.fromkeys(str(jvm["version"]) for jvm in jvms if "version" in jvm)
    told = {"JDK": " or ".join(versions)} if len(versions) > 1 else {}
    for name in ("options", "collectors"):
        lists = (jvm[name] for jvm in jvms if isinstance(jvm.get(name), list))
        told[name] = " or ".join(dict.fromkeys(" ".join(map(str, one)) for one in lists))
    return _pairs({name: text for name, text in told.items() if text})


def link_of(analysis: Analysis) -> str:
    """Return the rate of the link in Mbit/s: that of the plan, else that of the lab.

    That of the lab also where no sweep sets the links.
    """
    lab = analysis.run.provenance.lab
    rate = lab.link_mbit
    if not lab.keeps_links:
        rate = _settings(analysis, "node").get("link_mbit", rate)
    return ABSENT if rate is None else str(rate)


def _pairs(mapping: Mapping[str, Any]) -> str:
    """Return settings with their values, which may have commas of their own."""
    texts = {name: str(value).strip() or "(empty)" for name, value in mapping.items()}
    return "; ".join(f"{name} {text}" for name, text in texts.items()) or ABSENT


def _loop(analysis: Analysis) -> str:
    plan = analysis.run.plan

    def span(values: set[int]) -> str:
        low, high = min(values), max(values)
        return str(low) if low == high else f"{low} to {high}"

    calls = {t.calls for t in plan}
    is_ours = not analysis.run.provenance.is_imported
    return (
        f"{'one fresh JVM' if is_ours else 'one label of one log'}{_programs(analysis)}, "
        f"{span({n for t in plan for n in bounds_of(t.warmup)})} warm-up and "
        f"{span(calls)} measured {'call' if calls == {1} else 'calls'}, client threads: "
        f"{span({t.threads for t in plan})}; {_arrivals(analysis)}"
    )


def _programs(analysis: Analysis) -> str:
    """Say which trials a program ran, which decides itself how many calls it makes."""
    clients = sorted({str(t.asked.get("client")) for t in analysis.trials if t.program})
    if not clients:
        return ""
    return f" (for {', '.join(clients)} one run of a program, which gets these numbers)"


def _arrivals(analysis: Analysis) -> str:
    arrivals = [planned.arrival for planned in analysis.run.plan if planned.arrival]
    if not arrivals:
        return "closed loop (service time)"
    rates = sorted({arrival.rate for arrival in arrivals})
    spacing = " or ".join(sorted({arrival.spacing for arrival in arrivals}))
    known = [trial.late_ns for trial in analysis.trials if trial.late_ns is not None]
    kept = f"; free threads were up to {max(known) / 1e6:.2f} ms late (p99)" if known else ""
    span = f"{rates[0]:g}" if len(rates) == 1 else f"{rates[0]:g} to {rates[-1]:g}"
    return f"open loop, {span} calls a second over all threads ({spacing}){kept}"


def _starts(analysis: Analysis) -> str:
    plan = analysis.run.plan
    if not starts.serves(plan):
        return ABSENT
    if not starts.is_restarted(plan):
        if starts.is_set_between(plan):
            return "one for each group of trials with its own settings (restart: none)"
        return "one for all blocks: no service was restarted between them"
    cost = starts.cost(analysis.trials)
    text = (
        "one for each block: the runner restarted the services before it, while nothing else ran, "
        "and warmed them with uncounted calls"
    )
    if cost is None:
        return text
    return f"{text} ({cost.seconds:.0f} s a block, {100 * cost.share:.0f} % of its time)"


def _overhead(analysis: Analysis) -> str:
    overheads = [trial.overhead_ns for trial in analysis.trials]
    parts = []
    for key, text in (
        ("timer_ns", "reading the clock"),
        ("noop_call_ns_p50", "a call that does nothing"),
    ):
        values = [overhead[key] for overhead in overheads if key in overhead]
        if values:
            parts.append(f"{text} {median(values):.0f} ns")
    return ", ".join(parts) + " (medians over trials)" if parts else ABSENT
