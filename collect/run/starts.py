"""The starts of the services that served a run: one for each block, or one under all of it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from collect.run.plan import PlannedTrial
from collect.run.setting import OF_NODES, setting_key, setting_of, varied
from collect.run.trials import Trial
from collect.run.verify import Finding

BLOCK = "block"
"""What `restart` says when each block has a start of the services of its own."""


@dataclass(frozen=True)
class Cost:
    """What starting and warming the services took: seconds a block, and their share of its time."""

    seconds: float
    share: float


def serves(plan: Sequence[PlannedTrial]) -> bool:
    """Return whether services of rackbench serve any of these trials."""
    return any(planned.needs for planned in plan)


def is_restarted(plan: Sequence[PlannedTrial]) -> bool:
    """Return whether each block is to have a start of the services of its own."""
    return plan[0].restart == BLOCK


def is_set_between(plan: Sequence[PlannedTrial]) -> bool:
    """Return whether the sweep restarts services between trials, because their settings differ."""
    names = varied([setting_of(planned) for planned in plan])
    return serves(plan) and any(not name.startswith(OF_NODES) for name in names)


def cost(trials: Sequence[Trial]) -> Cost | None:
    """Return what it cost a block in the mean; None when nothing was restarted."""
    began = {trial.block for trial in trials if trial.block_starts}
    spent = sum(start.seconds for trial in trials for start in trial.block_starts)
    measured = sum(trial.seconds for trial in trials if trial.block in began)
    return Cost(spent / len(began), spent / (spent + measured)) if began else None


def find(plan: Sequence[PlannedTrial], trials: Sequence[Trial]) -> Iterator[Finding]:
    """Find where blocks did not have a start of each service of their own, as the plan says."""
    if not is_restarted(plan):
        return
    needy = {planned.id for planned in plan if planned.needs}
    served = sorted((t for t in trials if t.id in needy), key=lambda trial: trial.started_at)
    unknown = [trial.id for trial in served if not trial.services]
    if unknown:
        yield Finding(
            "starts",
            unknown[0],
            f"{unknown[0]}: does not record the starts of its services, like {len(unknown)} of "
            f"{len(served)} trials. So restart: block in the plan cannot be proven: run site.yml "
            "and sweep under a new name",
        )
    yield from _several(served, {one.id: setting_key(setting_of(one)) for one in plan})
    yield from _shared(served)


def met_the_profiler(trials: Sequence[Trial], profiled: Sequence[Trial]) -> Iterator[Finding]:
    """Find trials that count and were served by a start of a service that had been profiled.

    The profiler stays loaded in a JVM until it ends, so its services are restarted before any
    trial that counts.
    """
    met: dict[tuple[str, str], Trial] = {}
    for trial in profiled:
        seen = {f"{one.service} on {one.node}" for one in trial.profiles if not one.missing}
        for service, start in trial.services.items():
            if service in seen:
                met.setdefault((service, start), trial)
    for trial in trials:
        for service, start in trial.services.items():
            earlier = met.get((service, start))
            if earlier and earlier.started_at < trial.started_at:
                yield Finding(
                    "starts",
                    trial.id,
                    f"{trial.id}: {service} was not restarted after {earlier.id}, a trial with a "
                    "profiler, which slows it; set the trial aside and sweep again",
                )


def _several(trials: Sequence[Trial], asked: Mapping[str, str]) -> Iterator[Finding]:
    """Find services with more starts in a block than running out of memory explains.

    Trials of a block that ask something else of nodes and services (`asked`, by id) may have a
    start of their own.
    """
    first_with: dict[tuple[int, str, str], dict[str, Trial]] = defaultdict(dict)
    for trial in trials:
        for service, start in trial.services.items():
            first_with[trial.block, asked[trial.id], service].setdefault(start, trial)
    for (block, _, service), firsts in first_with.items():
        explained = sum(
            trial.block == block and trial.outcome == "oom" and trial.reason.startswith(service)
            for trial in trials
        )
        if len(firsts) - 1 > explained:
            later = list(firsts.values())[1]
            yield Finding(
                "starts",
                later.id,
                f"{later.id}: {service} was restarted within block {block} and had {len(firsts)} "
                "starts there. So the block is not one sample of it: read its ratios with care, "
                "or sweep under a new name",
            )


def _shared(trials: Sequence[Trial]) -> Iterator[Finding]:
    """Find starts of a service that served several blocks."""
    firsts: dict[tuple[str, str], dict[int, Trial]] = defaultdict(dict)
    for trial in trials:
        for service, start in trial.services.items():
            firsts[service, start].setdefault(trial.block, trial)
    for (service, _), of_block in firsts.items():
        if len(of_block) > 1:
            (block, _), (other, later) = list(of_block.items())[:2]
            yield Finding(
                "starts",
                later.id,
                f"{later.id}: {service} was not restarted after block {block}, so blocks {block} "
                f"and {other} are not two samples of it: sweep under a new name",
            )
