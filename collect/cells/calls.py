"""The measured calls of a run: each raw log read once, then summarised by trial and by cell."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from collect.cells.cache import Cache, Entry, Stamp
from collect.cells.logs import Logs, map_logs
from collect.cells.summaries import Measured, TrialSummary, measure
from collect.run.directory import Run
from collect.run.trials import Trial, TrialError
from collect.run.verify import Finding


@dataclass(frozen=True)
class CellQuantiles:
    """Over all counted calls of a cell, in ms; `variance_ms2` treats calls as samples."""

    p50_ms: float
    p99_ms: float
    mean_ms: float
    variance_ms2: float | None


class Calls:
    """The calls of the trials of one run, read and proven at most once: see collect.cache."""

    def __init__(self, run: Run) -> None:
        """Look at what is in the cache; nothing is read from raw logs yet."""
        self._run = run
        self._cache = Cache(run.directory)

    @property
    def held(self) -> Collection[str]:
        """The trials whose calls are held."""
        return self._cache.entries.keys()

    def update(
        self, trials: Iterable[Trial], progress: Callable[[int], None] = lambda done: None
    ) -> list[Finding]:
        """Hold the calls of `trials` and no other; read and prove only the logs not held yet.

        Returns a finding for each trial whose log is not that of its seal or whose rows are not of
        the schema; they are left out. `trials` is gone through once, while the logs of the first
        are read already; `progress` is told how many trials are done.
        """
        held = self._cache.entries
        kept: dict[str, Entry] = {}
        stamps: dict[str, Stamp | None] = {}
        findings: list[Finding] = []

        def unread() -> Iterator[Trial]:
            for trial in trials:
                # Before the log is read: one that changes meanwhile must be read again.
                stamps[trial.id] = stamp = Stamp.of(trial)
                if trial.id in held and held[trial.id].stamp == stamp:
                    kept[trial.id] = held[trial.id]
                else:
                    yield trial

        def read() -> Iterator[tuple[str, Stamp, Measured]]:
            rows = sum(planned.rows for planned in self._run.plan if planned.id not in held)
            results = map_logs(unread(), measure, rows)
            for done, (trial, measured) in enumerate(results, start=1):
                stamp = stamps[trial.id]
                if isinstance(measured, TrialError):
                    findings.append(Finding("refused", trial.id, str(measured)))
                elif stamp is not None:
                    yield trial.id, stamp, measured
                progress(len(kept) + done)

        fresh = read()
        first = list(islice(fresh, 1))
        if first or len(kept) < len(held):
            self._cache.replace(kept, chain(first, fresh))
        return findings

    def trials(self) -> Mapping[str, TrialSummary]:
        """Summarise each trial."""
        return {name: entry.summary for name, entry in self._cache.entries.items()}

    def cells(self, cell_of: Mapping[str, int]) -> Mapping[int, CellQuantiles]:
        """Summarise the calls of each cell; `cell_of` maps the trials that count to their cells.

        Memory holds the times of the largest cells, one for each core, at eight bytes a call.
        """
        grouped: dict[int, list[Entry]] = {}
        for name, cell in cell_of.items():
            grouped.setdefault(cell, []).append(self._cache.entries[name])
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return dict(zip(grouped, pool.map(self._summarise, grouped.values()), strict=True))

    def courses(self, cell_of: Mapping[str, int]) -> Mapping[str, NDArray[np.float64]]:
        """Give the measured times of each trial in ms in order, as at most 200 means."""
        return {name: self._cache.entries[name].course_ms for name in cell_of}

    def _summarise(self, entries: Sequence[Entry]) -> CellQuantiles:
        count = np.array([entry.summary.calls for entry in entries])
        mean = np.array([entry.summary.mean_ms for entry in entries])
        variance = np.array([entry.summary.variance_ms2 or 0.0 for entry in entries])
        times = self._cache.times(entries)
        total = len(times)
        p50, p99 = np.quantile(times, [0.5, 0.99], overwrite_input=True) / 1e6
        overall = float(count @ mean) / total
        squares = float((count - 1) @ variance + count @ (mean - overall) ** 2)
        return CellQuantiles(
            float(p50), float(p99), overall, squares / (total - 1) if total > 1 else None
        )


def find_bad_rows(trials: Sequence[Trial]) -> list[Finding]:
    """Give a finding for each trial whose rows are not those of its seal or not of the schema."""
    logs = map_logs(trials, _nothing, sum(trial.calls_rows for trial in trials))
    return [Finding("refused", t.id, str(e)) for t, e in logs if isinstance(e, TrialError)]


def _nothing(logs: Logs) -> list[None]:
    """Keep nothing of logs: that they can be read is all that is asked."""
    return [None] * len(logs.ends)
