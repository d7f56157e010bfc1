"""Measures the study of an archived run again on the lab at hand, by the ordinary sweep."""

import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from rich.table import Table
from rich.text import Text

from collect.errors import InputError
from collect.exchange.archive.manifest import kit_version
from collect.files import write_text
from collect.project import ansible_settings, find_project, project_around
from collect.report.compare.environment import Difference
from collect.report.provenance import ABSENT
from collect.run.directory import Run, check_name
from collect.run.fields import Fields
from collect.run.fingerprint import IN_PROPORTION, READINGS, are_close, kind_of
from collect.run.nodes import Node
from collect.run.plan import (
    DRAWING,
    PlannedTrial,
    make_plan,
    plan_bytes,
    read_plan,
    write_plan,
)
from collect.run.setting import NETEM, items_of, setting_of
from collect.run.stop import EQUAL
from collect.run.study import parse_study
from collect.strict_json import parse_json

ROOT = Path(__file__).parents[3]
"""The repository, whose playbooks sweep, unless a project directory names another."""
PROGRAMS = Path(sys.executable).parent
"""Where Ansible's programs are: next to this Python."""
_STUDIES = Path("playbooks/studies")
_ARCHIVED = "archived"
# What belongs to the moment or to one machine.
_NOT_COMPARED = {"name", "address", "groups", "failed_units", "link_device", *READINGS}
_LISTED = 3
_SHOWN = 60


@dataclass(frozen=True)
class Lab:
    """The lab at hand as Ansible reaches it: its inventory, and what else `-e` says.

    `play` runs a playbook with variables for this lab and returns its exit code; without it,
    Ansible runs at this terminal.
    """

    inventory: str | None = None
    extra: tuple[str, ...] = ()
    play: Callable[[str, Mapping[str, str]], int] | None = None

    def command(self, program: str, *arguments: str) -> list[str]:
        """Return a command of Ansible for this lab."""
        inventory = []
        if self.inventory is not None:
            path = Path(self.inventory)
            inventory = ["-i", str(path.absolute()) if path.exists() else self.inventory]
        extra = [part for one in self.extra for part in ("-e", one)]
        return [str(_programs() / program), *inventory, *arguments, *extra]

    def playbook(self, name: str, variables: Mapping[str, str]) -> list[str]:
        """Return the command that runs a playbook for this lab."""
        named = [part for pair in variables.items() for part in ("-e", "=".join(pair))]
        return self.command("ansible-playbook", f"playbooks/{name}", *named)

    def run(self, name: str, variables: Mapping[str, str]) -> int:
        """Run a playbook for this lab and return its exit code."""
        if self.play is not None:
            return self.play(name, variables)
        return _ansible(self.playbook(name, variables)).returncode

    def root(self) -> Path:
        """Return the project directory of this lab, else the checkout; raises InputError."""
        project = project_around(self.inventory) if self.inventory else None
        return project.root if project else _root()

    def results(self) -> Path:
        """Return where the playbooks write the runs of this lab; raises InputError."""
        return self.root() / "results"

    def studies(self) -> list[Path]:
        """Return where a sweep of this lab finds studies, the first one first."""
        return [self.root() / "studies", _root() / _STUDIES]

    def workers(self) -> int:
        """Return how many workers the inventory has; no node is asked. Raises InputError."""
        command = self.command("ansible-inventory", "--list")
        done = _ansible(command, capture_output=True)
        try:
            groups = Fields(parse_json(done.stdout))
        except ValueError:
            groups = Fields(None)
        found = _hosts(groups, "workers")
        if done.returncode or not found:
            reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise InputError(
                f"{self.inventory or 'the inventory'}: its group workers is empty or unreadable"
                f"{f' ({reason[0]})' if reason else ''}; give the inventory of a lab"
            )
        return len(found)

    def describe(self) -> Fields:
        """Take a snapshot of every node and return what a run would record; raises InputError."""
        with TemporaryDirectory(prefix="rackbench-") as name:
            path = Path(name) / "lab.json"
            self.run("describe.yml", {"describe_to": str(path)})
            try:
                return Fields(parse_json(path.read_bytes()))
            except (OSError, ValueError) as error:
                raise InputError(
                    "the nodes could not be checked; correct the errors above: site.yml "
                    "provisions a lab"
                ) from error


@dataclass(frozen=True)
class Rerun:
    """What is to be swept: a study by its `name`, planned for this lab, as the run `run`.

    `text` is the archived study file where this version has no such file, else None.
    """

    run: str
    study: str
    profile: str
    seed: int | None
    rotated: bool
    plan: Sequence[PlannedTrial]
    text: str | None
    changes: Sequence[Difference]

    @property
    def fitted(self) -> bool:
        """Whether levels are left out that need more workers."""
        return bool(self.plan[0].fitted_to)

    @property
    def settings(self) -> dict[str, str]:
        """What the sweep is told."""
        settings = {"study": self.study, "profile": self.profile, "run": self.run}
        if self.seed is not None:
            settings["seed"] = str(self.seed)
        captures = any(trial.captured for trial in self.plan)
        flags = {"fit": self.fitted, "rotate": self.rotated, "capture": captures}
        return {**settings, **{name: "true" for name, is_set in flags.items() if is_set}}

    def command(self, lab: Lab) -> list[str]:
        """Return the command that sweeps."""
        return lab.playbook("sweep.yml", self.settings)

    def sweep(self, lab: Lab) -> Path:
        """Sweep, and return the directory of the run; raises InputError where it stopped."""
        directory = lab.results() / self.run
        plan, is_new = directory / "plan.jsonl", False
        if self.text is not None:
            write_text(_root() / _STUDIES / f"{self.study}.yml", self.text)
        first = self.plan[0]
        is_earlier = first.drawing != DRAWING or (first.stop and first.stop.spending == EQUAL)
        if self.fitted or is_earlier:
            # Else the sweep would draw other data, correct intervals otherwise, or add levels that
            # a larger lab has room for.
            is_new = write_plan(plan, self.plan)
        try:
            code = lab.run("sweep.yml", self.settings)
        finally:
            if is_new and not (directory / "run.json").exists():
                # A sweep that is refused leaves no run.
                plan.unlink(missing_ok=True)
                with suppress(OSError):
                    directory.rmdir()
        if code:
            raise InputError(
                f"the sweep of {self.run} stopped; correct the errors above and run the same "
                "command again; sealed trials are kept"
            )
        return directory


def plan_again(
    run: Run, name: str | None, workers: int, *, fit: bool, studies: Sequence[Path] = ()
) -> Rerun:
    """Plan an archived run for a lab of so many workers, as the archived run was planned.

    Study, profile, seed, data, rotation, rule to stop and captured trials are the same. `studies`
    are the folders where the sweep finds studies, the first one first. Raises InputError when it
    cannot be swept, or when the lab has too few workers for a level and that is not to be left out
    by `fit`.
    """
    name = name or f"{run.name}-again"
    check_name(name)
    provenance = run.provenance
    if provenance.is_imported or not provenance.study_file:
        raise InputError(
            f"{run.name}: has no study file (imported runs have none), so it cannot be swept "
            "again; archive a run that was swept"
        )
    study = parse_study(provenance.study_file, f"the study file of {run.name}")
    before = read_plan(run.directory / "plan.jsonl")
    fitted_to = before[0].fitted_to
    if fitted_to > workers and not fit:
        raise InputError(
            f"{run.name}: skips levels that need more than {fitted_to} workers, but the inventory "
            f"has only {workers}; add workers, or skip more levels with --fit"
        )
    rotated = provenance.recorded.get("rotated") is True
    planned_for = min(workers, fitted_to) if fitted_to else workers
    profile = study.profile(run.profile, planned_for, fit=fit or bool(fitted_to))
    if before[0].stop:
        # A study file does not say how the error is spent.
        profile = replace(profile, stop=before[0].stop)
    plan = make_plan(
        profile,
        provenance.seed,
        planned_for if rotated else 0,
        capture=bool(run.captured),
        drawing=before[0].drawing,
    )
    place, text, changes = _study(run.study, provenance.study_file, studies)
    if plan_bytes(plan) != (run.directory / "plan.jsonl").read_bytes():
        changes = [*changes, _plans(before, plan)]
    return Rerun(name, place, run.profile, provenance.seed, rotated, plan, text, changes)


def find_changes(run: Run, here: Fields) -> list[Difference]:
    """Return in what this lab differs from the one where a run was measured, as it is recorded.

    `here` is what playbooks/describe.yml says. What belongs to the moment, such as clock offsets,
    and what the sweep itself sets, such as heaps, link rates and governors, is left out.
    """
    provenance, recorded = run.provenance, Fields(run.provenance.recorded)
    pairs: list[tuple[str, Any, Any]] = [
        ("rackbench", recorded.all.get("rackbench"), kit_version()),
        ("source", _commit(provenance.commit, is_dirty=provenance.is_dirty), _own_commit()),
    ]
    for kind in ("lab", "versions"):
        old, new = recorded.fields(kind).all, here.fields(kind).all
        pairs += [(f"{kind}: {key}", old.get(key), new.get(key)) for key in {**old, **new}]
    if here.fields("lab").text("kind") == "virtual":
        # There the sweep sets the rate of the links.
        pairs = [pair for pair in pairs if pair[0] != "lab: link_mbit"]
    nodes = [Node.parse(node) for node in here.each("nodes")]
    for group in ("client", "broker", "workers"):
        number, now = (sum(group in n.groups for n in ns) for ns in (provenance.nodes, nodes))
        pairs.append((f"nodes: number of {group}", number, now))
    pairs += _deployed(recorded.fields("artefacts").all, here.fields("artefacts").all)
    rows = [Difference(s, (_text(a), _text(b))) for s, a, b in pairs if _text(a) != _text(b)]
    asked = {name for trial in run.plan for name in setting_of(trial)}
    swept = items_of({"link_mbit", *NETEM, *asked})  # links that no study sets get the lab's own
    return [*rows, *_of_nodes(provenance.nodes, nodes, provenance.memory_tolerance, swept)]


def as_table(changes: Iterable[Difference]) -> Table:
    """Return differences as a table for the terminal."""
    table = Table(title="What differs", title_justify="left")
    for name in ("what", "in the archive", "here"):
        table.add_column(name, overflow="fold")
    for change in changes:
        table.add_row(*map(Text, (change.subject, *change.values)))
    return table


def shown(command: Sequence[str]) -> str:
    """Return a command as one would type it in the repository."""
    return shlex.join([Path(command[0]).name, *command[1:]])


def _root() -> Path:
    project = find_project()
    return project.checkout if project else ROOT


def _ansible(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command of Ansible in the checkout."""
    root = _root()
    environment = {**os.environ, **ansible_settings(root)}
    return subprocess.run(command, cwd=root, env=environment, check=False, **options)


def _programs() -> Path:
    """Return where Ansible's programs are; raises InputError, as for a wheel, which has none."""
    own = _root() / ".venv/bin"
    if find_project() and (own / "ansible-playbook").is_file():
        return own
    if not (PROGRAMS / "ansible-playbook").is_file() or not (_root() / "playbooks").is_dir():
        raise InputError(
            "measuring again needs the playbooks of a clone of rackbench: run "
            "`make .venv/ready` there, then its .venv/bin/collect rerun"
        )
    return PROGRAMS


def _study(
    name: str, text: str, folders: Sequence[Path]
) -> tuple[str, str | None, list[Difference]]:
    """Return the name to sweep the study by, and its text where it has to be written first."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    here = ABSENT
    for place in (name, f"teaching/{name}"):
        # A project's own study hides that of this version.
        path = next((f for one in folders if (f := one / f"{place}.yml").is_file()), None)
        if path and path.read_text(encoding="utf-8") == text:
            return place, None, []
        if path and here == ABSENT:
            here = _sha(path.read_bytes())
    note = Difference("study file (the archived one is swept)", (_sha(text.encode()), here))
    return f"{_ARCHIVED}/{digest[:12]}/{name}", text, [note]


def _plans(before: Sequence[PlannedTrial], plan: Sequence[PlannedTrial]) -> Difference:
    def told(trials: Sequence[PlannedTrial]) -> str:
        cells = len({trial.factors for trial in trials})
        return f"{len(trials)} trials of {cells} cells, {_sha(plan_bytes(trials))}"

    return Difference("plan", (told(before), told(plan)))


def _deployed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    def digest(side: Mapping[str, Any], name: str) -> str:
        return f"SHA-256 {str(side[name])[:12]}…" if name in side else ABSENT

    names = sorted({**before, **now})
    return [(f"deployed: {name}", digest(before, name), digest(now, name)) for name in names]


def _of_nodes(
    before: Sequence[Node], now: Sequence[Node], tolerance: float, swept: tuple[str, ...]
) -> list[Difference]:
    """Return the items whose values are not the same on both sides, whatever node has them."""
    sides = [_values(nodes, swept) for nodes in (before, now)]
    rows, files = [], []
    for item in sorted({**sides[0], **sides[1]}):
        old, new = (side.get(item, Counter()) for side in sides)
        if old.keys() == new.keys() or _are_alike(item, old, new, tolerance):
            continue
        if kind_of(item) == "files":
            files.append(item.partition(" ")[2])
        else:
            rows.append(Difference(f"nodes: {item}", (_several(old), _several(new))))
    if files:
        more = f" and {len(files) - _LISTED} more" if len(files) > _LISTED else ""
        named = f"{', '.join(files[:_LISTED])}{more}"
        rows.append(Difference("nodes: files", (named, "absent, or with other content")))
    return rows


def _values(nodes: Sequence[Node], swept: tuple[str, ...]) -> dict[str, Counter[str]]:
    values: dict[str, Counter[str]] = {}
    for node in nodes:
        for item, value in node.items.items():
            if not ({item, kind_of(item)} & _NOT_COMPARED or item.startswith(swept)):
                values.setdefault(item, Counter())[value] += 1
    return values


def _are_alike(item: str, old: Counter[str], new: Counter[str], tolerance: float) -> bool:
    if item not in IN_PROPORTION or not old or not new:
        return False
    try:
        middles = [str(median(map(float, side.elements()))) for side in (old, new)]
    except ValueError:
        return False
    return are_close(item, middles[1], middles[0], tolerance)


def _several(values: Counter[str]) -> str:
    if not values:
        return ABSENT
    if len(values) == 1:
        return _cut(next(iter(values)))
    return "; ".join(f"{_cut(value)} ({number})" for value, number in values.most_common(_LISTED))


def _cut(text: str) -> str:
    line = " / ".join(text.splitlines())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _text(value: Any) -> str:
    if value is None:
        return ABSENT
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _sha(content: bytes) -> str:
    return f"SHA-256 {hashlib.sha256(content).hexdigest()[:12]}…"


def _commit(commit: str | None, *, is_dirty: bool) -> str | None:
    return f"{commit[:12]}{', changed' if is_dirty else ''}" if commit else None


def _own_commit() -> str | None:
    """Return the commit of this source, as the sweep records it; None outside of git."""
    as_any = ["git", "-c", "safe.directory=*"]  # git refuses a checkout of another account
    command = [*as_any, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=_root(), capture_output=True, check=False, text=True)
    except FileNotFoundError:
        return None
    said = done.stdout.strip()
    return _commit(said.removesuffix("-dirty"), is_dirty=said.endswith("-dirty"))


def _hosts(groups: Fields, name: str) -> set[str]:
    """Return the hosts of a group and of the groups below it."""
    group = groups.fields(name)
    below = [_hosts(groups, child) for child in group.texts("children")]
    return set(group.texts("hosts")).union(*below)
