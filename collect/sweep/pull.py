"""Takes in sealed trials from the client node: each is verified, then renamed into place."""

import fcntl
import gzip
import io
import shutil
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from collect.costs.resources import prove_resources
from collect.files import NoRoomError, flush, is_full, make_directory, unpack
from collect.run.plan import PlannedTrial
from collect.run.trials import Trial, TrialError, verify_trial

INCOMING = ".incoming"
_LOCK = ".pull.lock"


class RefusedTrialsError(TrialError):
    """Trials that arrived torn or were never planned, by `ids`; all others were accepted."""

    def __init__(self, errors: Mapping[str, TrialError]) -> None:
        """Take the reason for each refused trial."""
        super().__init__("\n".join(map(str, errors.values())))
        self.ids = tuple(errors)


def accept_trials(
    archive: bytes, run: Path, planned: Mapping[str, PlannedTrial], *, compress: bool = False
) -> list[Trial]:
    """Unpack a tar.gz of trial directories into `run`/trials; return the trials, oldest first.

    Each trial is unpacked elsewhere, verified against its seal and its line of the plan, flushed to
    disk and then renamed, so that a killed pull leaves nothing that counts. A trial that exists
    here is never changed. `compress` turns calls.csv into calls.csv.gz before the rename. Only one
    process does this at a time; another one waits.

    Raises RefusedTrialsError for trials that are torn, hold anything but files, or were never
    planned, after all others were accepted; TrialError for an archive that is cut short or has
    paths outside of it; NoRoomError when the disk is full, and then leaves no part of a trial.
    """
    incoming = run / INCOMING
    with _alone(run):
        try:
            return _accept(archive, run, planned, compress=compress)
        except OSError as error:
            if not is_full(error):
                raise
            raise NoRoomError(
                f"{run}: the disk is full ({error.strerror}); make room there: the trials are "
                "still on the client, and the sweep pulls them again"
            ) from error
        finally:
            shutil.rmtree(incoming, ignore_errors=True)


def _accept(
    archive: bytes, run: Path, planned: Mapping[str, PlannedTrial], *, compress: bool
) -> list[Trial]:
    incoming, trials = run / INCOMING, run / "trials"
    shutil.rmtree(incoming, ignore_errors=True)
    incoming.mkdir(parents=True)
    make_directory(trials)
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
            others = [member for member in tar if not (member.isreg() or member.isdir())]
            plain = [member for member in tar if member.isreg() or member.isdir()]
            unpack(tar, plain, incoming)
    except (EOFError, tarfile.TarError, zlib.error, gzip.BadGzipFile) as error:
        raise TrialError(
            f"{run.name}: the archive from the node cannot be unpacked ({error}); "
            "sweep again to pull it again"
        ) from error
    accepted: list[Trial] = []
    refused = {
        PurePosixPath(member.name).parts[0]: TrialError(
            f"{member.name}: is neither a file nor a directory; a trial holds nothing else"
        )
        for member in others
    }
    for directory in sorted(incoming.iterdir()):
        if directory.name in refused or (trials / directory.name).exists():
            continue
        try:
            trial = _prove(run, directory, planned)
        except TrialError as error:
            refused[directory.name] = error
            continue
        if compress:
            _compress(directory / "calls.csv")
        for file in directory.iterdir():
            flush(file)
        flush(directory)
        directory.rename(trials / directory.name)
        accepted.append(trial)
    flush(trials)
    if refused:
        raise RefusedTrialsError(refused)
    return sorted(accepted, key=lambda trial: trial.position)


def _prove(run: Path, directory: Path, planned: Mapping[str, PlannedTrial]) -> Trial:
    if directory.name not in planned:
        raise TrialError(
            f"{directory.name}: is not in the plan of {run.name}; remove it on the client"
        )
    trial = verify_trial(directory, planned[directory.name])
    prove_resources(trial)
    return trial


def _compress(path: Path) -> None:
    if path.exists():
        with path.open("rb") as plain, gzip.open(path.with_name(f"{path.name}.gz"), "wb") as packed:
            shutil.copyfileobj(plain, packed)
        path.unlink()


@contextmanager
def _alone(run: Path) -> Iterator[None]:
    """Hold the lock of a run's pulls; the system releases it however the process ends."""
    make_directory(run)
    with (run / _LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
