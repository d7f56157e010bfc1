"""The proof of a run: every planned trial sealed once, whole, and nothing else counted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from collect.run.directory import Run
from collect.run.trials import Trial, TrialError, verify_trial

KINDS = ("plan", "nodes", "refused", "duplicate", "stray", "counted", "cells", "missing")
"""The kinds of findings in the order they are listed."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a run; `kind` is one of KINDS, `subject` what it is about."""

    kind: str
    subject: str
    text: str


@dataclass(frozen=True)
class Verified:
    """The trials of a run that may be counted, in plan order, and what was found beside them."""

    trials: tuple[Trial, ...]
    findings: tuple[Finding, ...]


def verify_run(
    run: Run,
    verify: Callable[..., Trial] = verify_trial,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Verified:
    """Verify every trial of the plan that has a directory; list what is missing, refused or stray.

    `verify` takes a directory and the planned trial and raises TrialError; `progress` is told how
    many trials of how many are done.
    """
    trials, findings = [], []
    for done, found in enumerate(verify_each(run, verify), start=1):
        if isinstance(found, Finding):
            findings.append(found)
        else:
            trials.append(found)
        progress(min(done, len(run.plan)), len(run.plan))
    return Verified(tuple(trials), tuple(findings))


def verify_each(run: Run, verify: Callable[..., Trial] = verify_trial) -> Iterator[Trial | Finding]:
    """Give for each trial of the plan the trial or what is wrong with it, then what is stray."""
    present = {path.name: path for path in run.directories()}
    for planned in run.plan:
        directory = present.pop(planned.id, None)
        if directory is None:
            text = f"{planned.id}: is not sealed yet; sweep again to run it"
            yield Finding("missing", planned.id, text)
            continue
        try:
            yield verify(directory, planned)
        except TrialError as error:
            yield Finding("refused", planned.id, str(error))
    for name in present:
        text = f"{name}: is in trials/ but not in the plan, so not counted; set it aside"
        yield Finding("stray", name, text)
