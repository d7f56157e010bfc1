"""The proof of a run's seals: every planned trial is sealed once, and nothing else is there."""

from dataclasses import dataclass

from collect.run.directory import Run
from collect.run.trials import Trial, TrialError, verify_seal

KINDS = ("plan", "nodes", "refused", "duplicate", "stray", "counted", "cells", "missing")
"""The kinds of findings in the order they are listed."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a run; `kind` is one of KINDS, `subject` what is wrong."""

    kind: str
    subject: str
    text: str


@dataclass(frozen=True)
class Verified:
    """The trials of a run whose seals are good, in plan order, and what was found beside them."""

    trials: tuple[Trial, ...]
    findings: tuple[Finding, ...]


def verify_run(run: Run) -> Verified:
    """Verify the seal of every trial of the plan; list what is missing, refused or stray.

    The logs stay unproven: see collect.cells.calls.
    """
    present = {path.name: path for path in run.directories()}
    trials, findings = [], []
    for planned in run.plan:
        directory = present.pop(planned.id, None)
        if directory is None:
            text = f"{planned.id}: is not sealed yet; sweep again to run it"
            findings.append(Finding("missing", planned.id, text))
            continue
        try:
            trials.append(verify_seal(directory, planned))
        except TrialError as error:
            findings.append(Finding("refused", planned.id, str(error)))
    for name in present:
        text = f"{name}: is in trials/ but not in the plan, so not counted; set it aside"
        findings.append(Finding("stray", name, text))
    return Verified(tuple(trials), tuple(findings))
