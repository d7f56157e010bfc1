"""The studies that a sweep takes, and how far its runs are, from their sealed trials here."""

import time
from collections.abc import Sequence
from pathlib import Path

from collect.errors import InputError
from collect.front.kit import Kit
from collect.front.play import Progress
from collect.run.directory import open_run
from collect.sweep.status import Status, Watch

_EVERY_S = 3.0


def demand_names(kit: Kit, studies: Sequence[str]) -> None:
    """Raise InputError for a study given by its file: a sweep finds studies by their names."""
    folder = kit.project.studies if kit.project else kit.checkout / "playbooks/studies"
    for name in studies:
        if name.endswith((".yml", ".yaml")) or "," in name:
            raise InputError(
                f"{name!r} is not the name of a study; copy the file into {folder} and give its "
                "name without .yml"
            )


class Sweeping:
    """Reads the runs again every few seconds; each sealed trial is read once."""

    def __init__(self, runs: Sequence[Path]) -> None:
        """Read nothing yet."""
        self._runs = runs
        self._watches: dict[Path, Watch] = {}
        self._progress: Progress | None = None
        self._read = float("-inf")

    def __call__(self) -> Progress | None:
        """Return how far all runs are; None while none is planned."""
        if time.monotonic() - self._read >= _EVERY_S:
            found = [status for run in self._runs if (status := self._status(run))]
            self._progress = told(found) if len(found) == len(self._runs) else None
            self._read = time.monotonic()
        return self._progress

    def remaining(self) -> int:
        """Return how many trials of the runs are not sealed now; an unplanned run has none."""
        found = (self._status(run) for run in self._runs)
        return sum(status.remaining for status in found if status)

    def _status(self, run: Path) -> Status | None:
        try:
            if run not in self._watches:
                self._watches[run] = Watch(open_run(str(run)))
            return self._watches[run].status()
        except (InputError, OSError):
            return None  # not planned yet


def told(runs: Sequence[Status]) -> Progress:
    """Return the progress of runs together; one that has not begun takes what the others take."""
    sealed, total = sum(run.sealed for run in runs), sum(run.total for run in runs)
    text = f"{sealed} of {total} trials"
    if bad := sum(run.not_ok for run in runs):
        text += f", {bad} not ok"
    paused = [run.reason for run in runs if run.state == "paused" and run.reason and run.remaining]
    if paused:
        text += f", paused: {paused[0]}"
    begun = [run for run in runs if run.eta is not None]
    left = sum(run.eta.total_seconds() for run in begun if run.eta is not None)
    known, unknown = (sum(run.remaining for run in some) for some in (begun, _others(runs, begun)))
    if not unknown:
        return Progress(text, left)
    return Progress(text, left + unknown * left / known if known else None)


def _others(runs: Sequence[Status], some: Sequence[Status]) -> list[Status]:
    return [run for run in runs if run not in some]
