"""Whether it matters which machine does what, from a run that rotated its workers."""

import math
from collections import defaultdict

from collect.cells.analysis import Analysis
from collect.stats.components import Groups, between_groups

_BROKER = "broker"
_SIGNIFICANT = 0.05


def placements_of(analysis: Analysis) -> str | None:
    """Return how much the trials vary with the placement of the workers; None without rotation.

    A placement is the worker that comes first in a block; blocks of the same placement are its
    samples.
    """
    shifts = {planned.block: planned.shift for planned in analysis.run.plan}
    number = len(set(shifts.values()))
    if number < 2:
        return None
    quantities: list[Groups] = []
    for cell in analysis.cells:
        groups: dict[int, dict[int, float]] = defaultdict(dict)
        for block, mean in cell.samples.items():
            if mean > 0:
                groups[shifts[block]][block] = math.log(mean)
        quantities.append(dict(sorted(groups.items())))
    said = f"the workers rotated between blocks, {number} placements"
    found = between_groups(quantities)
    if found is None:
        return (
            f"{said}; no placement has two blocks, so machines and blocks are confounded: "
            f"plan {2 * number} blocks or more"
        )
    slowest = max(found.effects, key=lambda shift: found.effects[shift])
    judged = (
        f"slowest by {100 * math.expm1(found.effects[slowest]):.1f} % over all cells with "
        f"{_first_worker(analysis, slowest)} as the first worker"
        if found.p_value < _SIGNIFICANT
        else "not significantly more than blocks of one placement do"
    )
    return (
        f"{said}; between them the trial means vary by ±{100 * found.deviation:.1f} % (standard "
        f"deviation, mean of the cells), {judged} (F, p = {found.p_value:.2g})"
    )


def _first_worker(analysis: Analysis, shift: int) -> str:
    """Return the only worker that served a trial of this placement, else its place in the list."""
    shifts = {planned.id: planned.shift for planned in analysis.run.plan}
    for trial in analysis.trials:
        names = {
            node
            for service, _, node in (name.partition(" on ") for name in trial.services)
            if service != _BROKER
        }
        if shifts[trial.id] == shift and len(names) == 1:
            return names.pop()
    return f"number {shift + 1}"
