"""The description of an archive as a Process Run RO-Crate, which foreign tools read."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from collect.cells.analysis import Analysis
from collect.exchange.archive.manifest import RUNS, kit_version
from collect.run.provenance import Provenance
from collect.run.verify import Finding

METADATA = "ro-crate-metadata.json"
_VERSION = "1.1"
"""The version that Process Run Crate 0.5 builds on."""
_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_COMPLETED = "http://schema.org/CompletedActionStatus"
_ACTIVE = "http://schema.org/ActiveActionStatus"
_COORDINATES = {
    "axis": "pkg:maven/org.apache.axis/axis",
    "jaxws_rt": "pkg:maven/com.sun.xml.ws/jaxws-rt",
    "openmq": "pkg:maven/org.glassfish.mq/mq-distribution",
    "tomcat": "pkg:maven/org.apache.tomcat/tomcat",
}
"""What is deployed, as package URLs."""
_FORMATS = {
    ".html": "text/html",
    ".csv": "text/csv",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".yml": "application/yaml",
    ".md": "text/markdown",
}
_OF_ALL = {
    "report.html": "The report over all runs",
    "LICENSE": "The licence of the data",
    "CHECKLIST.md": "The checklist for artefacts, filled from what was recorded",
}
_OF_A_RUN = {
    "study.yml": "What was to be measured: factors, levels, calls",
    "plan.jsonl": "Every trial in its order, planned before the first one ran",
    "run.json": "What it was measured with: versions, checksums, nodes, seed",
    "nodes.jsonl": "The nodes at each snapshot",
    "looks.json": "What the rule to stop decided",
    "state.json": "How the runner was when it was heard last",
    "cells.csv": "A row for each cell: mean, interval, percentiles, bytes",
}


def crate_metadata(
    analyses: Sequence[Analysis],
    facts: Mapping[str, Sequence[Finding]],
    sizes: Mapping[str, int],
) -> bytes:
    """Return ro-crate-metadata.json of an archive; `sizes` has the bytes of each file in it.

    `facts` are what was found of each run. Nothing in it depends on when or where it is written.
    """
    crate = ROCrate(version=_VERSION)
    studies = ", ".join(dict.fromkeys(analysis.run.study for analysis in analyses))
    crate.name = f"Runs of {studies} ({', '.join(a.run.name for a in analyses)})"
    crate.description = (
        "Sealed trials with their plan, study, provenance and report, made by rackbench. "
        "manifest.json has the SHA-256 of each file."
    )
    root = crate.root_dataset
    trials = [trial for analysis in analyses for trial in analysis.verified]
    root["datePublished"] = _day(max(trial.ended_at for trial in trials))
    profile = {"@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"}
    root["conformsTo"] = crate.add(ContextEntity(crate, _PROFILE, properties=profile))
    for path, text in _OF_ALL.items():
        _file(crate, path, text, sizes)
    root["license"] = crate.get("LICENSE")
    actions = [_run(crate, analysis, facts[analysis.run.name], sizes) for analysis in analyses]
    root["mentions"] = actions if len(actions) > 1 else actions[0]
    return json.dumps(crate.metadata.generate(), indent=1, ensure_ascii=False).encode() + b"\n"


def _run(
    crate: ROCrate, analysis: Analysis, facts: Sequence[Finding], sizes: Mapping[str, int]
) -> Any:
    """Describe a run: its files, what made them, and the action by which it did."""
    run, provenance, trials = analysis.run, analysis.run.provenance, analysis.verified
    base = f"{RUNS}/{run.name}/"
    files = {
        name: _file(crate, f"{base}{name}", f"{text}, of the run {run.name}", sizes)
        for name, text in _OF_A_RUN.items()
        if f"{base}{name}" in sizes
    }
    sealed = crate.add_dataset(
        dest_path=f"{base}trials/",
        properties={
            "name": f"Sealed trials of the run {run.name}",
            "description": (
                f"{len(trials)} directories: trial.json is the seal, calls.csv has a row a call "
                "with its times in nanoseconds"
            ),
        },
    )
    missing = sum(finding.kind == "missing" for finding in facts)
    said = [f.text for f in facts if f.kind != "missing"]
    if missing:
        said.insert(0, f"{missing} of {len(run.all_trials)} planned trials are not sealed")
    inputs = [files[name] for name in ("study.yml", "plan.jsonl") if name in files]
    outputs = [sealed, *(files[name] for name in ("run.json", "cells.csv"))]
    return crate.add_action(
        _kit(crate, provenance),
        identifier=f"#run-{run.name}",
        object=inputs,
        result=[*outputs, crate.get("report.html")],
        properties={
            "@type": "CreateAction",
            "name": f"Run {run.name}: study {run.study}, profile {run.profile}",
            "description": "; ".join(said) or "Every planned trial is sealed and verified.",
            "startTime": _instant(min(trial.started_at for trial in trials)),
            "endTime": _instant(max(trial.ended_at for trial in trials)),
            "actionStatus": _ACTIVE if missing else _COMPLETED,
        },
    )


def _kit(crate: ROCrate, provenance: Provenance) -> Any:
    """Describe what measured: rackbench in the version of the run, and what it deployed."""
    version = str(provenance.recorded.get("rackbench") or "not recorded")
    commit = provenance.commit or "commit not recorded"
    dirty = ", with uncommitted changes" if provenance.is_dirty else ""
    identifier = f"#rackbench-{version}-{(provenance.commit or 'unknown')[:12]}"
    deployed = [
        _software(crate, name, str(value)) for name, value in sorted(provenance.versions.items())
    ]
    kit = {"name": "rackbench", "softwareVersion": f"{version} ({commit}{dirty})"}
    return crate.add(
        ContextEntity(
            crate,
            identifier,
            properties={
                "@type": "SoftwareApplication",
                **kit,
                "description": f"The archive itself was packed by rackbench {kit_version()}.",
                **(
                    {"softwareRequirements": [{"@id": one.id} for one in deployed]}
                    if deployed
                    else {}
                ),
            },
        )
    )


def _software(crate: ROCrate, name: str, version: str) -> Any:
    properties = {"@type": "SoftwareApplication", "name": name, "softwareVersion": version}
    identifier = f"{_COORDINATES.get(name, f'#{name}')}@{version}"
    return crate.add(ContextEntity(crate, identifier, properties=properties))


def _file(crate: ROCrate, path: str, text: str, sizes: Mapping[str, int]) -> Any:
    suffix = f".{path.rpartition('.')[2]}"
    properties = {
        "name": path.rpartition("/")[2],
        "description": text,
        "encodingFormat": _FORMATS.get(suffix, "text/plain"),
        "contentSize": str(sizes[path]),
    }
    return crate.add_file(dest_path=path, properties=properties)


def _instant(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def _day(at: datetime) -> str:
    return at.date().isoformat()
