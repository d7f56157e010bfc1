"""The analysis of a run, on which every output rests: trials verified, calls read, cells made."""

from dataclasses import dataclass

from collect.cells.cells import CellResult, make_cells
from collect.logs.calls import Progress, read_calls
from collect.run.directory import Run
from collect.run.trials import Trial
from collect.run.verify import Finding, verify_run


@dataclass(frozen=True)
class Analysis:
    """A run with its cells and with every finding of its verification.

    `profiled` are the trials with a profiler and `captured` those whose packets were kept; they are
    in no cell.
    """

    run: Run
    cells: tuple[CellResult, ...]
    findings: tuple[Finding, ...]
    profiled: tuple[Trial, ...] = ()
    captured: tuple[Trial, ...] = ()

    def of_kind(self, kind: str) -> list[Finding]:
        """Return the findings of one kind: missing, refused or stray."""
        return [finding for finding in self.findings if finding.kind == kind]

    @property
    def trials(self) -> list[Trial]:
        """The verified trials of all cells, whatever their outcome."""
        return [item.trial for cell in self.cells for item in cell.trials]

    @property
    def counted(self) -> list[Trial]:
        """Those of them that are behind the averages."""
        return [item.trial for cell in self.cells for item in cell.counted]

    @property
    def verified(self) -> list[Trial]:
        """Every verified trial: those of cells, then those that never count."""
        return [*self.trials, *self.profiled, *self.captured]

    @property
    def sealed(self) -> int:
        """How many trials of cells are verified."""
        return len(self.trials)


def analyse(run: Run, progress: Progress = lambda done, total: None) -> Analysis:
    """Verify a run, read what is new since the last time, and make its cells.

    `progress` is told how many trials of how many are read.
    """
    verified = verify_run(run)
    calls = read_calls(run, verified.trials, progress)
    cells = make_cells(run, calls.of(verified.trials), calls)
    findings = (*verified.findings, *calls.findings)
    return Analysis(run, tuple(cells), findings, verified.profiled, verified.captured)
