"""Which trials of a run are to be run now, where interim analyses may stop it early."""

import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from collect.errors import InputError
from collect.run.directory import Run, open_run


def analyses_of(directory: str | Path) -> list[int]:
    """Return after how many blocks a run is analysed, or 0 alone when no rule stops it."""
    run = open_run(str(directory))
    return list(run.stop.looks) if run.stop else [0]


def decided(directory: str | Path) -> Run:
    """Return the run after each decision that is due was taken and recorded.

    In a process of its own, as `collect look`: reading the calls takes processes and memory, and
    this one may be a worker of Ansible. Raises InputError with what that process says.
    """
    run = open_run(str(directory))
    if not run.analyses_due():
        return run
    command = [sys.executable, "-m", "collect", "look", str(run.directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(
            done.stderr.strip().removeprefix("collect: ") or f"{run.name}: no interim analysis"
        )
    return open_run(str(directory))


def open_trials(directory: str | Path, upto: int = 0, group: Collection[str] = ()) -> list[str]:
    """Return the ids of the trials to run now, in plan order: those up to `upto` blocks.

    Decides an interim analysis that is due. None when an earlier analysis is not done; when the run
    has stopped, those with a profiler. With an `upto` of 0, that of a run without a rule, all open
    trials. With a `group`, those of it.
    """
    run = decided(directory)
    sealed = {path.name for path in run.directories()}
    looks = run.stop.looks if run.stop and upto else ()
    earlier = max((one for one in looks if one < upto), default=0)
    if any(trial.block <= earlier and trial.id not in sealed for trial in run.plan):
        return []
    given = [trial.id for trial in run.upto(upto if looks else 0) if trial.id not in sealed]
    chosen = frozenset(group)
    return [name for name in given if name in chosen] if chosen else given
