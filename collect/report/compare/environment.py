"""What differs between runs besides their times, from run.json, the plans and the trials."""

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collect.cells.analysis import Analysis
from collect.report.provenance import ABSENT, services_of
from collect.run.arrival import Arrival
from collect.run.fields import leaves
from collect.run.fingerprint import READINGS
from collect.run.nodes import Node
from collect.run.plan import PlannedTrial
from collect.run.stop import StopRule
from collect.run.warmup import Warmup

# What differs from run to run although nothing about the bench differs.
_OF_THE_RUN = {
    *("schema", "run", "started_at", "ended_at", "study_file", "plan_sha256", "nodes"),
}
_OF_THE_MOMENT = {"name", "address", *READINGS}
_UNPACKED = re.compile(r"(/opt/rackbench/[a-z]+)-[0-9a-f]{12}(?=/)")
"""The directory of an unpacked archive, whose name ends with the checksum of the archive."""
_PLANNED = (
    *("study", "profile", "client", "calls", "warmup", "threads", "timeout_s"),
    *("restart", "arrival", "stop", "least_ok", "drawing"),
)
_LONGEST = 3


@dataclass(frozen=True)
class Difference:
    """One thing with its value in each run, in the order of the runs."""

    subject: str
    values: tuple[str, ...]


def find_differences(analyses: Sequence[Analysis]) -> list[Difference]:
    """Return everything recorded that is not the same in all runs, in the order of the records."""
    described = [_describe(analysis) for analysis in analyses]
    subjects = dict.fromkeys(subject for facts in described for subject in facts)
    rows = [Difference(s, tuple(facts.get(s, ABSENT) for facts in described)) for s in subjects]
    return [row for row in rows if len(set(row.values)) > 1]


def _describe(analysis: Analysis) -> dict[str, str]:
    provenance, plan = analysis.run.provenance, analysis.run.plan
    facts: dict[str, str] = {}
    for name in _PLANNED:
        facts[f"plan: {name}"] = _several(_planned(trial, name) for trial in plan)
    facts["plan: blocks"] = str(analysis.run.blocks)
    for kind in ("constants", "node"):
        for name in sorted({name for trial in plan for name in getattr(trial, kind)}):
            values = (getattr(trial, kind).get(name, ABSENT) for trial in plan)
            facts[f"{kind}: {name}"] = _several(values)
    facts |= _texts(provenance.recorded, _OF_THE_RUN)
    facts |= _nodes(provenance.nodes)
    if provenance.study_file:
        text = provenance.study_file.encode()
        facts["study file"] = f"SHA-256 {hashlib.sha256(text).hexdigest()[:12]}…"
    jvms = [trial.jvm for trial in analysis.trials if trial.jvm]
    for name in sorted({name for jvm in jvms for name in jvm}):
        values = (jvm.get(name, ABSENT) for jvm in jvms)
        facts[f"jvm: {name}"] = _several(values)
    for service, settings in services_of(analysis).items():
        facts |= {f"{service}: {name}": value for name, value in settings.items()}
    return facts


def _planned(trial: PlannedTrial, name: str) -> Any:
    """Return a value of a plan; an earlier version did not record whether services restart."""
    value = getattr(trial, name)
    if name == "restart" and not value:
        return ABSENT
    return "none" if value is None else value


def _nodes(nodes: Sequence[Node]) -> dict[str, str]:
    """Return each item of the nodes once: one value where all nodes have the same.

    A file of an archive has the same name in all versions of the archive, so that one changed file
    does not make all of them look changed.
    """
    if not nodes:
        return {}
    named = {
        str(node.name): {
            _UNPACKED.sub(r"\1", item): text
            for item, text in _texts(node.recorded, _OF_THE_MOMENT).items()
        }
        for node in nodes
    }
    facts = {"nodes": ", ".join(named)}
    for item in dict.fromkeys(item for items in named.values() for item in items):
        values = {name: items.get(item, ABSENT) for name, items in named.items()}
        alike = len(set(values.values())) == 1
        facts[f"nodes: {item}"] = (
            next(iter(values.values()))
            if alike
            else ", ".join(f"{name} {value}" for name, value in values.items())
        )
    return facts


def _texts(recorded: Mapping[str, Any], left_out: Collection[str]) -> dict[str, str]:
    kept = {name: value for name, value in recorded.items() if name not in left_out}
    return {name: _text(value) for name, value in leaves(kept, ": ")}


def _several(values: Any) -> str:
    found = list(dict.fromkeys(_text(value) for value in values))
    more = f" and {len(found) - _LONGEST} more" if len(found) > _LONGEST else ""
    return " or ".join(found[:_LONGEST]) + more


def _text(value: Any) -> str:
    if isinstance(value, (str, Warmup, Arrival, StopRule)):
        return str(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
