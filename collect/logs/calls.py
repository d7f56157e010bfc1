"""The measured calls of a run: each raw log read once, then summarised by trial and by cell."""

import errno
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from collect.errors import InputError
from collect.logs.cache import Cache, Stamp
from collect.logs.cell_trial import CellTrial
from collect.logs.columns import read_log
from collect.logs.pooled import Pooled, pool
from collect.logs.summaries import CountedCalls, count_calls, of_summary
from collect.run.directory import Run
from collect.run.trials import Trial, TrialError, prove_summary
from collect.run.verify import Finding

FEWEST_FOR_PROCESSES = 2000
"""Logs below which one process is done before others have started, which takes them a second."""
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}
_LOGS_AT_ONCE = 50
"""Logs that a process is handed at once; the more, the fewer messages, and the later an end."""

Progress = Callable[[int, int], None]
"""Is told how many trials of how many are done."""


@dataclass(frozen=True)
class Calls:
    """The counted calls of trials whose logs were proven, by trial, at eight bytes a call.

    `findings` says of each trial whose log is refused why; its calls are left out.
    """

    counted: Mapping[str, CountedCalls]
    findings: tuple[Finding, ...]

    def of(self, trials: Iterable[Trial]) -> list[Trial]:
        """Return those of the trials whose calls are held."""
        return [trial for trial in trials if trial.id in self.counted]

    def trial(self, trial: Trial) -> CellTrial:
        """Return a trial with what its log says."""
        return CellTrial.of(trial, self.counted[trial.id])

    def pooled(self, trials: Iterable[str]) -> Pooled | None:
        """Return the calls of some trials together; None without one or without single calls."""
        members = [self.counted[name] for name in trials]
        return pool(members) if members and all(m.summary.is_single for m in members) else None

    def pooled_responses(self, trials: Iterable[str]) -> Pooled | None:
        """Return their response times together; None without a trial of an open loop."""
        responses = (self.counted[name].response for name in trials)
        members = [one for one in responses if one is not None]
        return pool(members) if members else None


def read_calls(
    run: Run, trials: Sequence[Trial], progress: Progress = lambda done, total: None
) -> Calls:
    """Prove and read the logs of trials; what the cache of the run holds of them is not read again.

    Afterwards the cache holds these trials and no others.
    """
    cache = Cache(run.directory)
    calls = _read(trials, partial(_cached, cache), progress)
    cache.keep(trial.calls_sha256 for trial in calls.of(trials))
    return calls


def prove_calls(trials: Sequence[Trial], progress: Progress = lambda done, total: None) -> Calls:
    """Prove and read the logs of trials, each from its raw log."""
    return _read(trials, _count, progress)


def _read(
    trials: Sequence[Trial],
    count: Callable[[Trial], CountedCalls | TrialError],
    progress: Progress,
) -> Calls:
    counted: dict[str, CountedCalls] = {}
    findings: list[Finding] = []
    results = zip(trials, _counted(trials, count), strict=True)
    for done, (trial, result) in enumerate(results, start=1):
        if isinstance(result, TrialError):
            findings.append(Finding("refused", trial.id, str(result)))
        else:
            counted[trial.id] = result
        progress(done, len(trials))
    return Calls(counted, tuple(findings))


def _counted(
    trials: Sequence[Trial], count: Callable[[Trial], CountedCalls | TrialError]
) -> Iterator[CountedCalls | TrialError]:
    """Yield what is counted of each trial, on every core when there are many trials.

    Threads would be slower than one: most of the work on a short log holds the interpreter's lock.
    """
    if len(trials) < FEWEST_FOR_PROCESSES:
        yield from map(count, trials)
        return
    pool = ProcessPoolExecutor(
        len(os.sched_getaffinity(0)),
        get_context("forkserver"),
        # An interrupt is for the process that reports it.
        signal.signal,
        (signal.SIGINT, signal.SIG_IGN),
    )
    try:
        yield from pool.map(count, trials, chunksize=_LOGS_AT_ONCE)
    except BrokenProcessPool as error:
        raise InputError(
            "a log reader was killed, probably because memory ran out; free some memory and run "
            "the same command again"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _count(trial: Trial) -> CountedCalls | TrialError:
    said = trial.program.summary if trial.program else None
    try:
        columns = read_log(trial.seal)
        if said is not None and not trial.calls_rows:
            prove_summary(trial)
            return of_summary(said)
        is_held = trial.program is None and not trial.is_imported
        return count_calls(columns, is_held=is_held)
    except TrialError as error:
        return error


def _cached(cache: Cache, trial: Trial) -> CountedCalls | TrialError:
    # Before the log is read: a log that changes meanwhile must be read again.
    stamp = Stamp.of(trial)
    held = cache.read(stamp) if stamp else None
    if held is not None:
        return held
    counted = _count(trial)
    # All logs without calls have the same hash, so one file cannot stand for each of them.
    if stamp and trial.calls_rows and isinstance(counted, CountedCalls):
        try:
            cache.write(stamp, counted)
        except OSError as error:
            # A run that this account may only read is analysed all the same, without the cache.
            if error.errno not in _READ_ONLY:
                raise
    return counted
