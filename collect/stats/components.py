"""How much of a variance lies between groups of samples."""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass

import numpy as np
from scipy import stats

Groups = Mapping[int, Sequence[float]]


@dataclass(frozen=True)
class Component:
    """The standard deviation between groups, in the unit of the values, and whether it is chance.

    `deviation` is the pooled estimate over several quantities, 0 where groups differ no more than
    values within one; `effects` is how far each group lies from the mean of all; `p_value` is that
    of F.
    """

    deviation: float
    effects: Mapping[int, float]
    p_value: float


def between_groups(quantities: Sequence[Groups]) -> Component | None:
    """Return how much groups differ; each quantity has a value for each sample of each group.

    By the mean squares of a one-way random model (Searle, Casella and McCulloch 1992, section 3.6),
    whose components are averaged over the quantities before one below zero counts as zero. F is of
    the samples' means over the quantities, since quantities of one sample are not independent.
    None where no group has two samples, or there is one group.
    """
    usable = [groups for groups in quantities if _freedom(groups) > 0 and len(groups) > 1]
    if not usable:
        return None
    whole = [
        {name: np.asarray(values) - _mean(groups) for name, values in groups.items()}
        for groups in usable
    ]
    # Quantities are averaged sample by sample, so those that lack other samples are left out.
    full = max(map(_sizes, whole), key=lambda sizes: sum(sizes.values()))
    whole = [groups for groups in whole if _sizes(groups) == full]
    together = {name: np.mean([groups[name] for groups in whole], axis=0) for name in whole[0]}
    return Component(
        deviation=max(0.0, float(np.mean([_component(groups) for groups in usable]))) ** 0.5,
        effects={name: float(np.mean(values)) for name, values in together.items()},
        p_value=float(stats.f_oneway(*together.values()).pvalue),
    )


def _sizes(groups: Mapping[int, Sized]) -> dict[int, int]:
    return {name: len(values) for name, values in groups.items()}


def _freedom(groups: Groups) -> int:
    return sum(map(len, groups.values())) - len(groups)


def _mean(groups: Groups) -> float:
    return float(np.mean([np.mean(values) for values in groups.values()]))


def _component(groups: Groups) -> float:
    sizes = np.array([len(values) for values in groups.values()])
    means = np.array([np.mean(values) for values in groups.values()])
    total = sizes.sum()
    grand = float((sizes * means).sum() / total)
    between = float((sizes * (means - grand) ** 2).sum()) / (len(sizes) - 1)
    within = sum(float(((np.asarray(v) - np.mean(v)) ** 2).sum()) for v in groups.values())
    usual = (total - (sizes**2).sum() / total) / (len(sizes) - 1)
    return (between - within / _freedom(groups)) / float(usual)
