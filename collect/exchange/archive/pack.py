"""Packs runs into an archive: the same runs, packed by the same version, give the same bytes."""

import hashlib
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from collect.cells.analysis import Analysis, analyse
from collect.errors import InputError
from collect.exchange.archive.checklist import checklist
from collect.exchange.archive.crate import METADATA, crate_metadata
from collect.exchange.archive.manifest import (
    MANIFEST,
    RUNS,
    SIGNATURE,
    Manifest,
    Member,
    is_safe,
    kit_licence,
    kit_version,
)
from collect.exchange.archive.signature import sign
from collect.exchange.archive.unpack import DIGEST_BYTES, digest_of
from collect.files import beside, check_output, listed
from collect.logs.calls import Progress
from collect.proof.check import prove
from collect.report.page import write_report
from collect.run.directory import Run, open_run
from collect.run.nodes import LOOKS as NODES
from collect.run.stop import LOOKS
from collect.run.verify import Finding

CHECKLIST, LICENCE, REPORT = "CHECKLIST.md", "LICENSE", "report.html"
_OF_A_RUN = ("plan.jsonl", "run.json", NODES, LOOKS, "state.json")
_FACTS = {"missing", "nodes", "starts"}
"""Findings that are facts of a run, which its archive states; any other is set right before."""
_CHUNK = 1 << 20
_DATA = (".csv", ".collapsed", ".jfr")
"""What a trial sealed for programs to read: bzip2 makes it a quarter smaller than deflate, which
packs all that people read, because every tool opens it."""
_FIRST_DOS, _LAST_DOS = datetime(1980, 1, 1, tzinfo=UTC), datetime(2107, 12, 31, tzinfo=UTC)


@dataclass(frozen=True)
class Packed:
    """An archive that was written; `findings` are the facts against its runs that it states."""

    manifest: Manifest
    bytes: int
    findings: tuple[Finding, ...]


class UnprovenRunError(InputError):
    """A run that is not packed, since it is not proven; `findings` say why."""

    def __init__(self, run: Run, findings: Sequence[Finding]) -> None:
        """Take what is wrong with a run."""
        super().__init__(
            f"{run.name}: has {len(findings)} findings, so nothing was written; resolve them "
            f"first: collect check {run.typed}"
        )
        self.findings = tuple(findings)


def write_archive(  # noqa: PLR0913 - what the command line says
    runs: Sequence[Run],
    output: Path,
    progress: Callable[[str], Progress],
    *,
    licence: Path | None = None,
    key: Path | None = None,
    replace: bool = False,
) -> Packed:
    """Prove the runs, report on them and pack both; `key` signs, `licence` is that of the data.

    Without a licence it is that of this package. What can be drawn again, such as charts, is left
    out. Raises UnprovenRunError for a run with findings that are no facts of it, and InputError;
    an existing file then stays as it was.
    """
    _check(runs, output, replace=replace)
    text = _licence(licence)
    with TemporaryDirectory(prefix="rackbench-") as name:
        stage = Path(name).resolve()  # as runs name their files, also where TMPDIR is a link
        staged = [_stage(run, stage / RUNS / run.name) for run in runs]
        facts = {
            run.name: _facts(run, copy, progress) for run, copy in zip(runs, staged, strict=True)
        }
        analyses = [analyse(run, progress(f"{run.name}: trials read")) for run in staged]
        write_report(analyses, stage / REPORT, with_charts=False)
        (stage / LICENCE).write_text(text, encoding="utf-8")
        (stage / CHECKLIST).write_text(
            checklist(analyses, facts, is_signed=key is not None), encoding="utf-8"
        )
        files = dict(_files(stage, staged))
        sizes = {path: file.stat().st_size for path, file in files.items()}
        (stage / METADATA).write_bytes(crate_metadata(analyses, facts, sizes))
        files[METADATA] = stage / METADATA
        members = {path: _member(file) for path, file in sorted(files.items())}
        manifest = Manifest(kit_version(), tuple(sorted(run.name for run in staged)), members)
        signature = sign(manifest.content(), key) if key else None
        at = max(_ended(analysis) for analysis in analyses)
        with beside(output) as temporary:
            _write(temporary, manifest, signature, files, at)
    findings = tuple(finding for found in facts.values() for finding in found)
    return Packed(manifest, output.stat().st_size, findings)


def _check(runs: Sequence[Run], output: Path, *, replace: bool) -> None:
    if output.suffix != ".zip":
        raise InputError(f"{output}: an archive is a zip file; name one that ends with .zip")
    check_output(output, replace=replace)
    names = [run.name for run in runs]
    for run in runs:
        if names.count(run.name) > 1:
            raise InputError(f"two runs are named {run.name}; an archive holds each name once")
        if not is_safe(run.name):
            raise InputError(f"{run.directory}: its name is not valid on every system; rename it")


def _licence(path: Path | None) -> str:
    if path is None:
        return kit_licence()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); name a text file in UTF-8") from error


def _stage(run: Run, stage: Path) -> Run:
    """Copy what a run was, without what was made of it, to a directory of its own; see its trials.

    So the run stays as it is, and nothing that an earlier report left in it gets into the archive.
    """
    stage.mkdir(parents=True)
    for name in _OF_A_RUN:
        if (run.directory / name).is_file():
            shutil.copyfile(run.directory / name, stage / name)
    if run.provenance.study_file:
        (stage / "study.yml").write_text(run.provenance.study_file, encoding="utf-8", newline="")
    (stage / "trials").symlink_to(run.trials_directory, target_is_directory=True)
    return open_run(str(stage))


def _facts(run: Run, staged: Run, progress: Callable[[str], Progress]) -> tuple[Finding, ...]:
    proof = prove(staged, progress(f"{run.name}: trials verified"))
    wrong = [finding for finding in proof.findings if finding.kind not in _FACTS]
    if wrong:
        raise UnprovenRunError(run, wrong)
    if not proof.whole:
        raise InputError(f"{run.name}: has no sealed trial, so there is nothing to pack; sweep it")
    return proof.findings


def _files(stage: Path, runs: Sequence[Run]) -> Iterator[tuple[str, Path]]:
    """Yield each file to pack with its path in the archive."""
    for name in (REPORT, LICENCE, CHECKLIST):
        yield name, stage / name
    for run in runs:
        planned = {trial.id for trial in run.all_trials}
        found = [run.directory / name for name in (*_OF_A_RUN, "study.yml", "cells.csv")]
        for directory in run.directories():
            if directory.name in planned:
                found += listed(directory)
        for file in found:
            if not file.exists():
                continue
            path = file.relative_to(stage).as_posix()
            if file.is_symlink() or not file.is_file() or not is_safe(path):
                raise InputError(
                    f"{path}: is not a regular file, or its name is not valid on every system; a "
                    "trial holds nothing else: set the trial aside and sweep again"
                )
            yield path, file


def _member(file: Path) -> Member:
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
        return Member(stream.tell(), digest.hexdigest())


def _ended(analysis: Analysis) -> datetime:
    """Return when the last trial of a run ended."""
    return max(trial.ended_at for trial in analysis.verified)


def _write(
    path: Path,
    manifest: Manifest,
    signature: bytes | None,
    files: Mapping[str, Path],
    at: datetime,
) -> None:
    """Write the zip: the manifest, its signature, the files in order, and a digest of it all."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = bytes(DIGEST_BYTES)
        archive.writestr(_info(MANIFEST, at), manifest.content())
        if signature is not None:
            archive.writestr(_info(SIGNATURE, at), signature)
        for name in manifest.directories:
            archive.writestr(_info(name, at), b"")
        for name, member in sorted(manifest.members.items()):
            info, digest = _info(name, at), hashlib.sha256()
            info.file_size = member.bytes
            with files[name].open("rb") as source, archive.open(info, "w") as sink:
                while chunk := source.read(_CHUNK):
                    digest.update(chunk)
                    sink.write(chunk)
            if digest.hexdigest() != member.sha256:
                raise InputError(f"{name}: changed while it was packed; run the same command again")
    with path.open("r+b") as stream:
        stream.write(digest_of(stream, stream.seek(0, 2) - DIGEST_BYTES))


def _info(name: str, at: datetime) -> zipfile.ZipInfo:
    when = min(max(at.astimezone(UTC), _FIRST_DOS), _LAST_DOS)
    info = zipfile.ZipInfo(name, when.timetuple()[:6])
    info.create_system = 3  # Unix, whatever the system
    # As Unix and MS-DOS write the kind of a file.
    info.external_attr = (0o040755 << 16) | 0x10 if info.is_dir() else 0o100644 << 16
    if name.endswith((".gz", ".zip", "/")):
        info.compress_type = zipfile.ZIP_STORED
    elif "/trials/" in name and name.endswith(_DATA):
        info.compress_type = zipfile.ZIP_BZIP2
    else:
        info.compress_type = zipfile.ZIP_DEFLATED
    return info
