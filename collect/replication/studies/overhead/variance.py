"""The analyses of variance of the overhead study: of calls, as in the document, and of trials."""

from collections.abc import Sequence

import numpy as np

from collect.cells.notation import name_of
from collect.errors import InputError
from collect.replication.evidence import Evidence, Untested
from collect.replication.studies.overhead.experiments import Experiment, published
from collect.stats.anova import Observations, Source, anova, with_moments
from collect.stats.estimates import Moments


def table_of_calls(experiment: Experiment, evidence: Evidence) -> Sequence[Source] | Untested:
    """Take each call for a sample, as the document does."""
    groups: dict[tuple[str, ...], Moments] = {}
    for cell in experiment.cells(evidence):
        moments = evidence.moments(cell)
        if moments is None:
            return Untested(f"{name_of(cell)}: no time")
        groups[experiment.levels(cell)] = moments
    if not groups:
        return Untested("the profile has no such cells")
    return _analyse(with_moments(groups, experiment.factors))


def table_of_trials(experiment: Experiment, evidence: Evidence) -> Sequence[Source] | Untested:
    """Take each trial for a sample, with its mean; blocks are in the model if there are two."""
    response: list[float] = []
    levels: list[tuple[str, ...]] = []
    blocks: list[str] = []
    for cell in experiment.cells(evidence):
        samples = evidence.samples(cell)
        if not samples:
            return Untested(f"{name_of(cell)}: {evidence.outcome(cell)}")
        response += samples.values()
        blocks += map(str, samples)
        levels += [experiment.levels(cell)] * len(samples)
    if not levels:
        return Untested("the profile has no such cells")
    factors = tuple(zip(*levels, strict=True))
    if len(set(blocks)) < 2:
        blocks = []
    observations = Observations(np.array(response), factors, experiment.factors, tuple(blocks))
    return _analyse(observations, evidence.looks)


def _analyse(observations: Observations, looks: int = 1) -> Sequence[Source] | Untested:
    try:
        return anova(observations, looks)
    except InputError as error:
        return Untested(str(error))


def table_for_claims(experiment: Experiment, evidence: Evidence) -> Sequence[Source] | Untested:
    """Return the printed table, else that of trials if every cell of the document has a time."""
    printed = evidence.printed_table(experiment.name)
    if printed is not None:
        return printed
    absent = [cell for cell in experiment.cells(published()) if evidence.value(cell) is None]
    if absent:
        reason = "no time" if absent[0] in evidence.keys else "not in this profile"
        return Untested(f"{name_of(absent[0])}: {reason}")
    return table_of_trials(experiment, evidence)
