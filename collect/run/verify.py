"""The proof of a run's seals: every planned trial is sealed once, and nothing else is there."""

from dataclasses import dataclass

from collect.run.directory import Run
from collect.run.plan import PlannedTrial
from collect.run.trials import Trial, TrialError, verify_seal

KINDS = (
    *("plan", "nodes", "starts", "settings", "refused", "duplicate", "stray", "looks"),
    *("parts", "resources", "capture", "counted", "cells", "missing"),
)
"""The kinds of findings in the order they are listed."""
_BOUND = "not done within timeout_s"
_RESERVE_PART, _RESERVE_S = 4, 6.0
"""A trial that ends at its bound keeps a fifth of it, at most 5 s, for writing its log.

What is added to that allows for clocks that are read at other moments than the runner's.
"""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a run; `kind` is one of KINDS, `subject` what is wrong."""

    kind: str
    subject: str
    text: str


@dataclass(frozen=True)
class Verified:
    """The trials of a run whose seals are good, in plan order, and what was found next to them.

    `profiled` are those with a profiler and `captured` those whose packets were kept; they never
    count and are not in `trials`.
    """

    trials: tuple[Trial, ...]
    findings: tuple[Finding, ...]
    profiled: tuple[Trial, ...] = ()
    captured: tuple[Trial, ...] = ()


def verify_run(run: Run) -> Verified:
    """Verify the seal of every trial of the plan; list what is missing, refused or stray.

    The logs stay unproven: see collect.logs.calls.
    """
    present = {path.name: path for path in run.directories()}
    trials: list[Trial] = []
    profiled: list[Trial] = []
    captured: list[Trial] = []
    findings: list[Finding] = []
    for planned in run.all_trials:
        directory = present.pop(planned.id, None)
        if directory is None:
            text = f"{planned.id}: is not sealed yet; sweep again to run it"
            findings.append(Finding("missing", planned.id, text))
            continue
        try:
            trial = verify_seal(directory, planned)
        except TrialError as error:
            findings.append(Finding("refused", planned.id, str(error)))
            continue
        if text := _without_its_bound(trial, planned):
            findings.append(Finding("refused", planned.id, text))
        else:
            kind = profiled if planned.profiled else captured if planned.captured else trials
            kind.append(trial)
    for name in present:
        text = f"{name}: is in trials/ but not in the plan, so it is not counted; set it aside"
        findings.append(Finding("stray", name, text))
    return Verified(tuple(trials), tuple(findings), tuple(profiled), tuple(captured))


def _without_its_bound(trial: Trial, planned: PlannedTrial) -> str:
    """Return what is wrong with a timeout whose bound never came, or "".

    Earlier runners took a trial that they ended themselves, because a node had not answered, for
    one that had reached its bound.
    """
    if trial.outcome != "timeout" or not trial.reason.startswith(_BOUND):
        return ""
    lasted = trial.seconds if trial.jvm_ms is None else trial.jvm_ms / 1000
    bound = planned.timeout_s
    if lasted >= bound - min(bound / _RESERVE_PART, _RESERVE_S):
        return ""
    return (
        f"{trial.id}: is sealed as a timeout at {bound} s, but its JVM ended after "
        f"{lasted:.1f} s because of a fault of the lab. So it is not counted: "
        "set it aside and sweep again"
    )
