"""Finer rates around the capacity of each system, as a profile for the next night."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

from collect.cells.analysis import Analysis
from collect.errors import InputError
from collect.files import write_text
from collect.planning.capacity import Capacity, Demand, capacities, rate_factor
from collect.project import find_project
from collect.run.arrival import geometric_rates
from collect.run.cell import Level, level_text
from collect.run.study import KIT_STUDIES, STUDIES, find_study, load_study, parse_study

STEPS = 5
"""Rates of a finer profile, for each system, with both ends."""
_NAME = "refined"


def refine(analysis: Analysis) -> str:
    """Add a profile with finer rates to the study file of a run; return a sentence that says so.

    In a project directory that file is the project's own, at first a copy of rackbench's. Raises
    InputError where the run has no capacity between two rates, where the file cannot take a profile
    after its last line, and where it belongs to an installed wheel; then nothing is written.
    """
    run = analysis.run
    demand, factor = Demand.of(run), rate_factor(run)
    if demand is None or factor is None:
        raise InputError(
            f"{run.name}: its study has no capacity with a factor for the rate; add "
            "capacity: {p99_ms: 50} and arrival: {rate: {from: 10, to: 1000, steps: 7}}"
        )
    found = [one for one in capacities(run, analysis.cells, demand) if _is_between(one)]
    if not found:
        raise InputError(
            f"{run.name}: no capacity lies between two of the offered rates; sweep higher or lower "
            "rates first"
        )
    path = find_study(run.study)
    label, text = path.name, path.read_text(encoding="utf-8")
    profiles = load_study(path).content["profiles"]
    names = (_NAME, *(f"{_NAME}-{number}" for number in range(2, len(profiles) + 3)))
    name = next(name for name in names if name not in profiles)
    lines = _lines(name, found, factor, analysis)
    changed = text.rstrip("\n") + "\n" + "".join(f"  {line}\n" for line in lines)
    if not re.search(r"^profiles:(?!.*^\S)", text, re.MULTILINE | re.DOTALL):
        raise InputError(
            f"{label}: profiles is not its last key, so no profile can be appended; "
            "move it there, or add this profile by hand:\n" + "\n".join(lines)
        )
    parse_study(changed, label).profile(name)
    place = _own(path)
    write_text(place, changed)
    return f"{place}: the profile {name} has {STEPS} rates around each capacity; sweep it"


def _own(path: Path) -> Path:
    """Return where a study with a further profile belongs; raises InputError."""
    if project := find_project():
        return project.studies / path.name
    if path.is_relative_to(KIT_STUDIES) and not KIT_STUDIES.is_symlink():
        raise InputError(
            f"{path}: belongs to the installed package, so it takes no profile; copy it to "
            f"{STUDIES}/{path.name} below this directory, or work in a project directory of "
            "`rackbench init`"
        )
    return path


def _is_between(one: Capacity) -> bool:
    return 0 < one.low < one.high < math.inf


def _lines(name: str, found: Sequence[Capacity], factor: str, analysis: Analysis) -> list[str]:
    arrival = next(t.arrival for t in analysis.run.plan if t.arrival)
    lines = [
        f"# Finer rates around the capacities of the run {analysis.run.name}.",
        f"{name}:",
        f"  arrival: {{rate: {factor}, spacing: {arrival.spacing}, lead_s: {arrival.lead_s:g}}}",
        "  factors:",
    ]
    for one in found:
        try:
            rates = geometric_rates({"from": one.low, "to": one.high, "steps": STEPS})
        except ValueError as error:
            raise InputError(
                f"{analysis.run.name}: {one} is so narrow that {STEPS} rates in it would not "
                "differ in three digits; sweep more blocks instead"
            ) from error
        levels = {name: [level] for name, level in one.system.items()}
        grid: dict[str, list[Level]] = {**levels, factor: list(rates)}
        ordered = {name: grid[name] for name in analysis.run.factors}
        text = ", ".join(f"{n}: [{', '.join(map(_yaml, lv))}]" for n, lv in ordered.items())
        lines.append(f"    - {{{text}}}")
    return lines


def _yaml(level: Level) -> str:
    # A text of JSON is one of YAML.
    return json.dumps(level, ensure_ascii=False) if isinstance(level, str) else level_text(level)
