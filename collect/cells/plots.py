"""The whole plots of a run: the trials of a block that share one setting of the nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from collect.counts import show_count
from collect.run.cell import Cell
from collect.run.plan import PlannedTrial
from collect.run.setting import setting_key, setting_of
from collect.stats.estimates import FEWEST_BLOCKS

COLUMN = "whole_plot"
"""The column of an exported table that has the setting of each trial's whole plot."""
Plot = tuple[int, str]
"""A block, and the key of a setting."""


@dataclass(frozen=True)
class WholePlots:
    """The whole plots of a run of several settings.

    `settings` holds the key of the setting of each cell, `of_trial` the plot of each trial by its
    id. `factors` are those whose level decides the setting, in the order of the run.
    """

    factors: tuple[str, ...]
    settings: Mapping[Cell, str]
    of_trial: Mapping[str, Plot]

    @property
    def blocks(self) -> int:
        """How many blocks are planned."""
        return len({block for block, _ in self.of_trial.values()})

    @property
    def number(self) -> int:
        """How many whole plots are planned, over all blocks."""
        return len(set(self.of_trial.values()))

    @property
    def distinct(self) -> int:
        """How many settings the run has."""
        return len(set(self.settings.values()))

    def part(self, cells: Sequence[Cell]) -> bool:
        """Tell whether some of the cells lie in different plots of a block."""
        return len({self.settings.get(cell) for cell in cells}) > 1

    def too_few(self, blocks: int) -> str:
        """Return in words why so few blocks say nothing of the factors; "" where they do."""
        if blocks >= FEWEST_BLOCKS:
            return ""
        return (
            f"cells in different whole plots ({', '.join(self.factors)}) share "
            f"{show_count(blocks, 'block')}, but {FEWEST_BLOCKS} are needed to separate settings "
            "from whole plots"
        )


def whole_plots(plan: Sequence[PlannedTrial]) -> WholePlots | None:
    """Return the whole plots of a plan; None where all trials have one setting.

    A factor belongs to them when two cells that differ in it alone have different settings. Where
    no two cells differ in one factor alone, each factor whose levels do not all meet the same
    settings belongs to them.
    """
    counting = [trial for trial in plan if trial.counts]
    of_trial = {trial.id: (trial.block, setting_key(setting_of(trial))) for trial in counting}
    settings = {trial.factors: of_trial[trial.id][1] for trial in counting}
    if len(set(settings.values())) < 2:
        return None
    names = tuple(counting[0].factors)
    factors = tuple(name for name in names if _decides(name, settings)) or tuple(
        name for name in names if _goes_with(name, settings)
    )
    return WholePlots(factors, settings, of_trial)


def _decides(factor: str, settings: Mapping[Cell, str]) -> bool:
    """Tell whether two cells that differ in the factor alone have different settings."""
    groups: dict[Cell, set[str]] = {}
    for cell, setting in settings.items():
        groups.setdefault(cell.without(factor), set()).add(setting)
    return any(len(found) > 1 for found in groups.values())


def _goes_with(factor: str, settings: Mapping[Cell, str]) -> bool:
    """Tell whether the levels of the factor meet different settings."""
    of_level: dict[object, set[str]] = {}
    for cell, setting in settings.items():
        of_level.setdefault(cell[factor], set()).add(setting)
    return any(one != other for one, other in combinations(of_level.values(), 2))
