"""How much of a measured time is the bench itself, from a run of the harness study."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collect.cells.analysis import Analysis
from collect.cells.cells import CellResult

STUDY = "harness"


@dataclass(frozen=True)
class Bench:
    """The time in ms of a call that does nothing, by client threads, as `run` measured it."""

    run: str
    noop_ms: Mapping[int, float]

    def share(self, cell: CellResult, threads: int) -> float | None:
        """Return the share of the bench in a cell's mean, at the nearest number of threads."""
        if cell.mean is None or cell.mean.value <= 0:
            return None
        nearest = min(self.noop_ms, key=lambda known: abs(math.log(known / threads)))
        return self.noop_ms[nearest] / cell.mean.value


def find_bench(analyses: Sequence[Analysis]) -> Bench | None:
    """Return the bench as the first run of the harness study measured it; None without one."""
    for analysis in analyses:
        if analysis.run.study != STUDY or {"workload", "concurrency"} - set(analysis.run.factors):
            continue
        times = {
            int(threads): result.mean.value
            for result in analysis.cells
            for threads in [result.cell["concurrency"]]
            if result.cell["workload"] == "noop" and result.mean is not None
            if isinstance(threads, (int, float)) and threads >= 1
        }
        if times:
            return Bench(analysis.run.name, times)
    return None
