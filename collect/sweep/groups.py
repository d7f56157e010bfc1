"""The groups of a run: consecutive trials of its plan that ask the same of the nodes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import groupby

from collect.run.directory import Run
from collect.run.plan import PlannedTrial
from collect.run.setting import Setting, setting_key, setting_of


@dataclass(frozen=True)
class Group:
    """Trials that run under one setting; `look` is the interim analysis that follows, or 0.

    `outlasts` of a group with trials that a rule which stops the run does not skip.
    """

    setting: Mapping[str, Setting]
    trials: tuple[str, ...]
    look: int
    outlasts: bool


def groups_of(run: Run) -> list[Group]:
    """Return the groups in plan order; none holds trials of both sides of an interim analysis."""

    def kind(trial: PlannedTrial) -> tuple[str, int]:
        return setting_key(setting_of(trial)), _look_after(run, trial)

    found = []
    for (_, look), members in groupby(run.all_trials, key=kind):
        trials = list(members)
        outlasts = run.stop is not None and not all(trial.counts for trial in trials)
        names = tuple(trial.id for trial in trials)
        found.append(Group(setting_of(trials[0]), names, look, outlasts))
    return found


def groups_to_run(run: Run, attached: Collection[str]) -> list[Group]:
    """Return the groups with open trials, and first the one that the runner is at now.

    `attached` are the trials that the runner was given, if it is at work on the run. One group is
    returned of a run without open trials.
    """
    sealed = {path.name for path in run.directories()}
    every = groups_of(run)
    now = [group for group in every if set(group.trials) & set(attached)][:1]
    still = [group for group in every if group not in now and set(group.trials) - sealed]
    return [*now, *still] or every[:1]


def _look_after(run: Run, trial: PlannedTrial) -> int:
    if run.stop is None:
        return 0
    ahead = [look for look in run.stop.looks if look >= trial.block and trial.counts]
    return min(ahead, default=run.stop.most)
