"""The ACM checklist for artefacts, filled from what a run recorded and from nothing else."""

from collections import Counter
from collections.abc import Mapping, Sequence

from collect.cells.analysis import Analysis
from collect.exchange.archive.manifest import kit_version
from collect.files import listed
from collect.replication.replicate import replicate
from collect.report.provenance import Fact, facts_of, nodes_of
from collect.run.verify import Finding
from collect.templates import templates_in
from collect.time_left import in_words

UNKNOWN = "not known"


def checklist(
    analyses: Sequence[Analysis],
    facts: Mapping[str, Sequence[Finding]],
    *,
    is_signed: bool,
) -> str:
    """Return the checklist as Markdown; `facts` are what was found of each run."""
    template = templates_in("exchange/archive", is_markup=False).get_template("checklist.md.j2")
    return template.render(
        kit=kit_version(),
        is_signed=is_signed,
        runs=[_described(analysis, facts[analysis.run.name]) for analysis in analyses],
    )


def _described(analysis: Analysis, findings: Sequence[Finding]) -> dict[str, object]:
    run, provenance = analysis.run, analysis.run.provenance
    trials = analysis.verified
    span = max(t.ended_at for t in trials) - min(t.started_at for t in trials)
    verdicts = Counter(str(judged.measured.verdict) for judged in replicate(analysis).claims)
    columns, nodes = nodes_of(provenance)
    missing = [finding for finding in findings if finding.kind == "missing"]
    artefacts = provenance.recorded.get("artefacts")
    return {
        "name": run.name,
        "kit": str(provenance.recorded.get("rackbench") or UNKNOWN),
        "planned": len(run.all_trials),
        "sealed": len(trials),
        "missing": len(missing),
        "outcomes": _counted(Counter(trial.outcome for trial in trials)),
        "verdicts": _counted(verdicts),
        "span": in_words(span.total_seconds()),
        "bytes": sum(f.stat().st_size for t in trials for f in listed(t.directory)),
        "facts": [Fact(fact.name, _line(fact.text)) for fact in facts_of(analysis)],
        "findings": [_line(f.text) for f in findings if f.kind != "missing"],
        "columns": columns,
        "nodes": [[_line(cell).replace("|", "/") for cell in row] for row in nodes],
        "artefacts": len(artefacts) if isinstance(artefacts, (dict, list)) else 0,
        "deviations": [_line(text) for text in provenance.deviations],
    }


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))


def _line(text: str) -> str:
    return " ".join(text.split())
