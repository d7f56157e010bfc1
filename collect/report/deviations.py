"""How the conditions of a run differ from those its paper states, from run.json."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from collect.cells.analysis import Analysis
from collect.cells.notation import show_level
from collect.counts import show_count
from collect.replication.evidence import read_published
from collect.report.provenance import ABSENT, link_of

_NEAR = 0.1
"""By what part a number may differ and still count as stated: 1.96 GB of memory count as 2 GB."""


@dataclass(frozen=True)
class Condition:
    """A condition as the paper states it and as the run had it.

    `is_met` says whether they agree; None when the run does not record the condition.
    """

    name: str
    section: str
    stated: str
    here: str
    is_met: bool | None


def conditions_of(analysis: Analysis) -> list[Condition]:
    """Return each condition that the paper states, with what run.json records of it."""
    here = {name: find(analysis) for name, find in _SOURCES.items()}
    found = []
    for row in read_published(analysis.run.study, "conditions"):
        own, stated = here.get(row["condition"], ABSENT), row["stated"]
        found.append(
            Condition(
                name=row["condition"],
                section=row["section"],
                stated=stated,
                here=own,
                is_met=None if own == ABSENT else own == stated or _is_near(own, row["number"]),
            )
        )
    return found


def _is_near(text: str, stated: str) -> bool:
    """Return whether every number of a text is near the stated one; False for words."""
    try:
        wanted = float(stated)
        numbers = [float(part) for part in text.split(" and ")]
    except ValueError:
        return False
    return all(abs(number - wanted) <= _NEAR * wanted for number in numbers)


def _nodes(analysis: Analysis) -> list[Mapping[str, Any]]:
    return [node.recorded for node in analysis.run.provenance.nodes]


def _of_nodes(key: str) -> Callable[[Analysis], str]:
    def find(analysis: Analysis) -> str:
        values = {
            str(node[key]).partition("\n")[0]: None for node in _nodes(analysis) if node.get(key)
        }
        return " and ".join(values) or ABSENT

    return find


def _version(*keys: str) -> Callable[[Analysis], str]:
    """Return a function that names these programs, each with its version."""

    def find(analysis: Analysis) -> str:
        known = analysis.run.provenance.versions
        return ", ".join(f"{_PROGRAMS[k]} {known[k]}" for k in keys if k in known) or ABSENT

    return find


def _machines(analysis: Analysis) -> str:
    count = len(_nodes(analysis))
    if not count:
        return ABSENT
    is_virtual = analysis.run.provenance.lab.kind == "virtual"
    where = f", {'all ' if count > 1 else ''}virtual on one machine" if is_virtual else ""
    return f"{show_count(count, 'node')}{where}"


def _threads(analysis: Analysis) -> str:
    return " and ".join(show_level(n) for n in sorted({t.threads for t in analysis.run.plan}))


def _harness(analysis: Analysis) -> str:
    run = analysis.run
    if run.provenance.is_imported:
        return str(run.provenance.lab.name or ABSENT).removeprefix("imported from ")
    programs = {trial.program and str(trial.asked.get("client")) for trial in analysis.trials}
    ours = "the harness of rackbench, a fresh JVM for each trial"
    return " and ".join(sorted(program or ours for program in programs)) or ours


_PROGRAMS = {
    "jdk": "OpenJDK",
    "axis": "Apache Axis",
    "tomcat": "Apache Tomcat",
    "jaxws_rt": "JAX-WS reference implementation",
    "openmq": "OpenMQ",
}
_SOURCES: Mapping[str, Callable[[Analysis], str]] = {
    "processor": _of_nodes("cpu_model"),
    "cores of a node": _of_nodes("cores"),
    "memory of a node, MB": _of_nodes("memory_mb"),
    "system": _of_nodes("os"),
    "link, Mbit/s": link_of,
    "machines": _machines,
    "Java": _of_nodes("jdk"),
    "SOAP": _version("axis"),
    "SOAP with MTOM": _version("jaxws_rt"),
    "server": _version("tomcat"),
    "messaging": _version("openmq"),
    "client": _harness,
    "client threads": _threads,
}
