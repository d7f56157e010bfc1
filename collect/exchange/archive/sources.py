"""Opens runs wherever they are: directories, names under results/, archives, and sample runs."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from collect.errors import InputError
from collect.exchange.archive.unpack import Opened, unpacked
from collect.project import results
from collect.run.directory import Run, open_run

SAMPLES = Path(__file__).parents[2] / "samples"
"""The archives that come with rackbench, one a study, each named after its one run."""


@dataclass(frozen=True)
class Source:
    """A run that was `given` on the command line, by itself or with others of an archive.

    `archive` is the archive that it comes from, None for a run that has a directory.
    """

    run: Run
    given: str
    archive: Opened | None = None

    @property
    def label(self) -> str:
        """What the command line calls it."""
        if self.archive is None or self.archive.path.parent == SAMPLES:
            return self.run.name
        return f"{self.archive.path}/{self.run.name}"


@contextmanager
def open_sources(names: Sequence[str], signers: Path | None = None) -> Iterator[list[Source]]:
    """Open the runs that a command line names; archives stay unpacked while the block runs.

    A name is that of a run, its directory, an archive (all its runs), ARCHIVE.zip/RUN, or that of a
    sample run that comes with rackbench; a run of that name in results/ comes before it. Each
    archive is opened once, and proven; see unpacked. Raises InputError.
    """
    with ExitStack() as stack:
        opened: dict[Path, Opened] = {}
        sources: list[Source] = []
        for name in names:
            path, run = _split(name)
            if path is None:
                sources.append(Source(open_run(name), name))
                continue
            if path not in opened:
                opened[path] = stack.enter_context(unpacked(path, signers))
            archive = opened[path]
            if run is not None and run not in archive.manifest.runs:
                raise InputError(
                    f"{path}: holds no run {run!r}; its runs are {', '.join(archive.manifest.runs)}"
                )
            chosen = archive.manifest.runs if run is None else (run,)
            for one in chosen:
                found = replace(open_run(str(archive.run(one))), archived=f"{path}/{one}")
                sources.append(Source(found, name, archive))
        if signers is not None and not opened:
            raise InputError(
                f"{signers}: no archive is named, and only archives are signed; omit --signers"
            )
        yield sources


def only(sources: Sequence[Source]) -> Source:
    """Return the one run; raises InputError when an archive holds several."""
    if len(sources) == 1:
        return sources[0]
    labels = " or ".join(source.label for source in sources)
    raise InputError(f"several runs are named, but this command takes one; give {labels}")


def beside(archive: Path, suffix: str) -> Path:
    """Return where a command writes what it makes of an archive when nothing else is said.

    That is next to it, but of a sample run in results/, which is made if need be.
    """
    if archive.parent != SAMPLES:
        return archive.with_name(f"{archive.stem}{suffix}")
    results().mkdir(exist_ok=True)
    return results() / f"{archive.stem}{suffix}"


def _split(name: str) -> tuple[Path | None, str | None]:
    """Return the archive of a name and the run in it; None where there is none."""
    path = Path(name)
    if path.is_file():
        return path, None
    if path.parent.suffix == ".zip" and path.parent.is_file():
        return path.parent, path.name
    sample = SAMPLES / f"{name}.zip"
    if sample.parent == SAMPLES and sample.is_file() and not _is_run(path):
        return sample, None
    return None, None


def _is_run(name: Path) -> bool:
    return name.is_dir() or (results() / name).is_dir()
