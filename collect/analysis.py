"""A run analysed: its trials verified, its calls read, its cells made; the base of every output."""

from collections.abc import Callable
from dataclasses import dataclass

from collect.calls import Calls
from collect.cells import Cell, make_cells
from collect.check import Finding, verify_run
from collect.run import Run
from collect.trials import verify_seal

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Analysis:
    """A run with its cells and with every finding of its verification."""

    run: Run
    cells: tuple[Cell, ...]
    findings: tuple[Finding, ...]

    def of_kind(self, kind: str) -> list[Finding]:
        """Give the findings of one kind: missing, refused or stray."""
        return [finding for finding in self.findings if finding.kind == kind]

    @property
    def sealed(self) -> int:
        """How many trials are verified."""
        return sum(len(cell.trials) for cell in self.cells)


def analyse(run: Run, progress: Progress = lambda done, total: None) -> Analysis:
    """Verify and read what is new since the last time, and make the cells of a run.

    `progress` is told how many trials of how many are read.
    """
    calls = Calls(run)
    # The calls are proven where they are read, once for both.
    sealed = verify_run(run, verify_seal)
    refused = calls.update(sealed.trials, progress)
    trials = [trial for trial in sealed.trials if trial.id in calls.held]
    cells = make_cells(run, trials, calls)
    return Analysis(run, tuple(cells), (*sealed.findings, *refused))
