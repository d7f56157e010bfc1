"""Sealed trials that arrive from the client node: proven whole, then given their name here."""

import gzip
import io
import shutil
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from collect.plan import PlannedTrial
from collect.trials import Trial, TrialError, verify_trial
from collect.writing import flush

INCOMING = ".incoming"


def accept_trials(archive: bytes, run: Path, planned: Mapping[str, PlannedTrial]) -> list[Trial]:
    """Unpack a tar.gz of trial directories into `run`/trials; give the trials, oldest first.

    Each one is unpacked beside, verified against its seal and its line of the plan, flushed to disk
    and renamed, so that a killed pull leaves nothing that counts. A trial that is here already is
    never touched. Raises TrialError for a trial that is torn or was never planned, and
    for an archive that broke off or reaches outside.
    """
    incoming = run / INCOMING
    shutil.rmtree(incoming, ignore_errors=True)
    incoming.mkdir(parents=True)
    trials = run / "trials"
    trials.mkdir(exist_ok=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
            tar.extractall(incoming, filter="data")
    except (EOFError, tarfile.TarError, zlib.error, gzip.BadGzipFile) as error:
        raise TrialError(
            f"{run.name}: what arrived from the node cannot be unpacked ({error}); "
            "sweep again to pull it again"
        ) from error
    accepted = []
    for directory in sorted(incoming.iterdir()):
        if directory.name not in planned:
            raise TrialError(f"{directory.name}: is not in the plan of {run.name}; remove it there")
        if (trials / directory.name).exists():
            continue
        trial = verify_trial(directory, planned[directory.name])
        for file in directory.iterdir():
            flush(file)
        flush(directory)
        directory.rename(trials / directory.name)
        accepted.append(trial)
    flush(trials)
    shutil.rmtree(incoming)
    return sorted(accepted, key=lambda trial: trial.position)
