"""A run's directory on the control host: its plan, its provenance and its trials."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from collect.errors import InputError
from collect.files import listed
from collect.project import results
from collect.run.cell import Cell, Level, level_rank
from collect.run.plan import PlannedTrial, in_order, read_plan
from collect.run.provenance import NOTHING, Provenance, read_provenance
from collect.run.setting import items_of, setting_of, varied
from collect.run.stop import Decision, StopRule, read_decisions
from collect.run.study import Study, parse_study
from collect.run.upgrade import knows_order

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Run:
    """One study in one profile; `provenance` is what run.json says, if it is there.

    `plan` holds the trials that the run is to have: of one that its rule stopped, those up to the
    analysis at which it did. `decisions` are those of its interim analyses. `profiled` are the
    trials with a profiler and `captured` those whose packets are kept; they never count and are not
    in `plan`. `archived` is what commands take for a run in an archive, ARCHIVE.zip/RUN.
    """

    directory: Path
    plan: tuple[PlannedTrial, ...]
    provenance: Provenance = NOTHING
    decisions: tuple[Decision, ...] = ()
    profiled: tuple[PlannedTrial, ...] = ()
    captured: tuple[PlannedTrial, ...] = ()
    archived: str = ""

    @property
    def all_trials(self) -> tuple[PlannedTrial, ...]:
        """The trials that are to be run, in order: those that count, then those that never do."""
        return (*self.plan, *self.uncounted)

    @property
    def uncounted(self) -> tuple[PlannedTrial, ...]:
        """The trials that never count, in order."""
        return (*self.profiled, *self.captured)

    def upto(self, look: int) -> list[PlannedTrial]:
        """Return the trials up to an interim analysis, or all for 0.

        Those that never count come last: after the last analysis, or once the run has stopped.
        """
        is_last = not look or self.stop is None or look == self.stop.most
        has_stopped = bool(self.decisions) and self.decisions[-1].stops
        return [
            *(trial for trial in self.plan if not look or trial.block <= look),
            *(self.uncounted if is_last or has_stopped else ()),
        ]

    @property
    def name(self) -> str:
        """The name of the run, which is that of its directory."""
        return self.directory.name

    @property
    def typed(self) -> str:
        """What to type for the run in a command: its name where results/ holds it, else its path.

        It is quoted for a shell.
        """
        if not self.archived and (results() / self.name).resolve() == self.directory:
            return shlex.quote(self.name)
        return shlex.quote(self.archived or str(self.directory))

    @property
    def study(self) -> str:
        """The name of the study."""
        return self.plan[0].study

    @property
    def profile(self) -> str:
        """The name of the profile."""
        return self.plan[0].profile

    @property
    def blocks(self) -> int:
        """How many blocks that count are planned."""
        return max(trial.block for trial in self.plan)

    @property
    def stop(self) -> StopRule | None:
        """The rule by which the run may end before its last planned block."""
        return self.plan[0].stop

    def analyses_due(self) -> list[int]:
        """Return after how many blocks an interim analysis is due: all sealed, and not decided."""
        if self.stop is None or (self.decisions and self.decisions[-1].stops):
            return []
        sealed = {path.name for path in self.directories()}
        open_blocks = [trial.block for trial in self.plan if trial.id not in sealed]
        whole = min(open_blocks, default=self.blocks + 1) - 1
        return [look for look in self.stop.looks[len(self.decisions) :] if look <= whole]

    @property
    def trials_directory(self) -> Path:
        """Where sealed trials arrive."""
        return self.directory / "trials"

    def directories(self) -> list[Path]:
        """The directories of trials, sorted, and what else is among them (see `listed`)."""
        return listed(self.trials_directory) if self.trials_directory.is_dir() else []

    @property
    def varied(self) -> set[str]:
        """The names of the node settings that are not the same in all trials."""
        return varied([setting_of(trial) for trial in self.all_trials])

    @property
    def varied_items(self) -> tuple[str, ...]:
        """How the items of a node's fingerprint begin that the run itself changes."""
        return items_of(self.varied, {name for trial in self.all_trials for name in trial.needs})

    @cached_property
    def stated(self) -> Study | None:
        """The study file as it was when the run began; None when run.json does not hold it."""
        try:
            return parse_study(self.provenance.study_file, self.name, is_recorded=True)
        except InputError:
            return None

    @cached_property
    def factors(self) -> Mapping[str, tuple[Level, ...]]:
        """The factors in the order of the plan, each with its planned levels in order.

        Numbers are ordered by size, other levels as in the study file; a level that the file does
        not know comes last, in alphabetical order.
        """
        known = self.stated.factors if self.stated else {}
        return {
            name: tuple(
                _sorted_levels({trial.factors[name] for trial in self.plan}, known.get(name, ()))
            )
            for name in self.plan[0].factors
        }

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every planned cell once, sorted by the order of the levels in `factors`."""
        places = {
            name: {level: place for place, level in enumerate(levels)}
            for name, levels in self.factors.items()
        }
        planned = dict.fromkeys(trial.factors for trial in self.plan)
        return tuple(sorted(planned, key=lambda cell: [places[name][cell[name]] for name in cell]))


def check_name(name: str) -> None:
    """Raise InputError unless a run can have this name."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"the run {name!r} is not a valid name; use letters, digits, dots, hyphens and "
            "underscores"
        )


def open_run(name: str) -> Run:
    """Open a run by its directory or by its name under results/; raises InputError."""
    directory = Path(name)
    if not directory.is_dir():
        directory = results() / name
    if not directory.is_dir():
        known = ", ".join(sorted(p.parent.name for p in results().glob("*/plan.jsonl")))
        raise InputError(
            f"there is no run {name!r}; give a directory or one of {known or '(none)'} in "
            f"{results()}"
        )
    if not (directory / "plan.jsonl").is_file():
        inside = sorted(directory.glob("runs/*/plan.jsonl"))
        if inside:
            raise InputError(
                f"{directory}: is an unpacked archive, not a run; name a run in it, such as "
                f"{inside[0].parent}"
            )
        raise InputError(
            f"{directory}: holds no plan.jsonl, so it is not a run; start one with sweep.yml"
        )
    trials = read_plan(directory / "plan.jsonl")
    plan = tuple(trial for trial in trials if trial.counts)
    profiled = tuple(trial for trial in trials if trial.profiled)
    captured = tuple(trial for trial in trials if trial.captured)
    decisions = tuple(read_decisions(directory)) if plan[0].stop else ()
    if decisions and decisions[-1].stops:
        plan = tuple(trial for trial in plan if trial.block <= decisions[-1].blocks)
    provenance = read_provenance(directory / "run.json")
    run = Run(directory.resolve(), plan, provenance, decisions, profiled, captured)
    if not knows_order(plan[0].factors) and run.stated:
        return replace(run, plan=tuple(in_order(plan, run.stated.factors)))
    return run


def _sorted_levels(levels: set[Level], stated: Sequence[Level]) -> list[Level]:
    """Return numbers by size, then other levels as stated, then the rest by the alphabet."""

    def rank(level: Level) -> tuple[bool, int, tuple[bool, float, str]]:
        is_text, *_ = by_itself = level_rank(level)
        place = stated.index(level) if is_text and level in stated else len(stated)
        return is_text, place, by_itself

    return sorted(levels, key=rank)
