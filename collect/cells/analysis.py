"""A run analysed: its trials verified, its calls read, its cells made; the base of every output."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Thread

from collect.cells.calls import Calls
from collect.cells.cells import CellResult, make_cells
from collect.garbage import uncollected
from collect.run.directory import Run
from collect.run.trials import Trial, verify_seal
from collect.run.verify import Finding, verify_each
from collect.stats import estimates

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Analysis:
    """A run with its cells and with every finding of its verification."""

    run: Run
    cells: tuple[CellResult, ...]
    findings: tuple[Finding, ...]

    def of_kind(self, kind: str) -> list[Finding]:
        """Give the findings of one kind: missing, refused or stray."""
        return [finding for finding in self.findings if finding.kind == kind]

    @property
    def sealed(self) -> int:
        """How many trials are verified."""
        return sum(len(cell.trials) for cell in self.cells)


@uncollected()
def analyse(run: Run, progress: Progress = lambda done, total: None) -> Analysis:
    """Verify and read what is new since the last time, and make the cells of a run.

    `progress` is told how many trials of how many are read.
    """
    # While logs are read, for which this thread mostly waits.
    Thread(target=_prepare, args=[run]).start()
    calls = Calls(run)
    sealed: list[Trial] = []
    findings: list[Finding] = []

    def trials() -> Iterator[Trial]:
        # The calls are proven where they are read, once for both.
        for found in verify_each(run, verify_seal):
            if isinstance(found, Finding):
                findings.append(found)
            else:
                sealed.append(found)
                yield found

    refused = calls.update(trials(), lambda done: progress(done, len(run.plan)))
    cells = make_cells(run, [trial for trial in sealed if trial.id in calls.held], calls)
    return Analysis(run, tuple(cells), (*findings, *refused))


def _prepare(run: Run) -> None:
    """Load what cells need."""
    estimates.load()
    len(run.cells)
