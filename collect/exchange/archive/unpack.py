"""Opens an archive: unpacks it where it is removed again, and proves that it is as it was packed.

Nothing of an archive is trusted before it is proven: paths, kinds and sizes of all members are
checked before the first is written, and each is written no further than its size in the manifest.

An archive that another program unpacked and zipped again has lost the digest at its end. It is
accepted if each file is as the manifest says. A folder around all files, entries for directories
and what file managers add are ignored.
"""

import hashlib
import signal
import stat
import struct
import sys
import threading
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from types import FrameType
from typing import IO, BinaryIO, NoReturn

from collect.errors import InputError
from collect.exchange.archive.manifest import (
    LONGEST_MANIFEST,
    MANIFEST,
    RUNS,
    SIGNATURE,
    Manifest,
    NewerArchiveError,
    is_safe,
)
from collect.exchange.archive.signature import signer_of
from collect.files import ask_for, is_full, is_of_system

DIGEST_BYTES = 64
"""An archive ends with a zip comment: the SHA-256, in hexadecimal, of all bytes before it."""
MOST_EXPANSION, SMALL = 200, 16 << 20
"""Logs shrink to a fifth; what grows to more than this many times its size, and is not small, is
no archive but meant to fill a disk."""
_RESERVE_MB = 200
_LONGEST_SIGNATURE = 1 << 20
_CHUNK = 1 << 20
_END_OF_ZIP = struct.Struct("<4s4H2LH")
_MAGIC = b"PK\5\6"
_LONGEST_COMMENT = 0xFFFF
_ENCRYPTED = 0x1
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2}


@dataclass(frozen=True)
class Opened:
    """An archive that is proven whole, unpacked in `directory` until it is closed.

    `is_signed` tells whether it has a signature, `signer` who made it: None when nobody asked.
    `is_zipped_again` tells whether another program made the zip file.
    """

    path: Path
    directory: Path
    manifest: Manifest
    is_signed: bool
    signer: str | None
    is_zipped_again: bool = False

    def run(self, name: str) -> Path:
        """Return the directory of a run."""
        return self.directory / RUNS / name

    def __str__(self) -> str:
        """Return what was proven, in a sentence."""
        if self.signer is not None:
            signed = f"signed by {self.signer}"
        elif self.is_signed:
            signed = "signed; add --signers to verify the signer"
        else:
            signed = "not signed"
        again = ", zipped again by another program" if self.is_zipped_again else ""
        files = f"{len(self.manifest.members)} files as they were packed"
        return f"{self.path}: {files}{again}; {signed}"


class _RefusedError(Exception):
    """What is wrong with an archive, as the rest of a sentence that begins with its path."""


@contextmanager
def unpacked(path: Path, signers: Path | None = None) -> Iterator[Opened]:
    """Unpack an archive for as long as the block runs, however that ends.

    With `signers`, a file of allowed signers, one of them must have signed it. Raises InputError
    that says what is wrong: no zip file, a byte changed, a file missing or too many, a path that
    leads out of it, no room, a foreign signature, or a newer kit.
    """
    with _told_to_end(), TemporaryDirectory(prefix="rackbench-") as name:
        directory, is_again = Path(name), False
        try:
            with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
                is_again = _is_zipped_again(stream)
                manifest, is_signed, signer = _unpack(path, archive, directory, signers, is_again)
                if not is_again:
                    _prove_whole(stream)
        except _RefusedError as error:
            raise _refusal(path, str(error), is_again=is_again) from error
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
            reason = f"is not an archive, or is damaged ({error})"
            raise _refusal(path, reason, is_again=is_again) from error
        except OSError as error:
            if error.errno is None:  # bz2's error for a damaged stream
                reason = f"is not an archive, or is damaged ({error})"
                raise _refusal(path, reason, is_again=is_again) from error
            if not is_full(error):
                raise
            raise InputError(
                f"{gettempdir()}: is full; make room there, or name another directory in TMPDIR"
            ) from error
        yield Opened(path, directory, manifest, is_signed, signer, is_again)


def _unpack(
    path: Path,
    archive: zipfile.ZipFile,
    directory: Path,
    signers: Path | None,
    is_again: bool,
) -> tuple[Manifest, bool, str | None]:
    infos = _checked(_as_packed(archive.infolist()) if is_again else _named(archive.infolist()))
    if MANIFEST not in infos:
        if inner := [name for name in infos if name.endswith(".zip")]:
            raise InputError(
                f"{path}: holds {inner[0]}, which may be the archive; unpack it and name that file"
            )
        raise _refusal(path, f"holds no {MANIFEST}, so it is not an archive of rackbench")
    content = _read(archive, infos[MANIFEST], LONGEST_MANIFEST)
    try:
        manifest = Manifest.parse(content)
    except NewerArchiveError as error:
        raise InputError(f"{path}: {error}") from error
    except ValueError as error:
        raise _RefusedError(f"has a damaged {MANIFEST}, which {error}") from error
    _check_same_files(infos, manifest, with_directories=not is_again)
    packed = path.stat().st_size
    if manifest.size > max(MOST_EXPANSION * packed, SMALL):
        raise _RefusedError(
            f"would grow from {packed} to {manifest.size} bytes, which no measured log does"
        )
    signer = _signer(path, archive, infos, content, signers)
    ask_for(directory, manifest.size, _RESERVE_MB)
    for name, member in manifest.members.items():
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with archive.open(infos[name]) as source, target.open("xb") as sink:
            _copy(source, sink, digest.update, member.bytes)
        if target.stat().st_size != member.bytes or digest.hexdigest() != member.sha256:
            raise _RefusedError(f"holds {name} with content that differs from what was packed")
    return manifest, SIGNATURE in infos, signer


Named = Sequence[tuple[str, zipfile.ZipInfo]]


def _named(infos: Sequence[zipfile.ZipInfo]) -> Named:
    return [(info.filename, info) for info in infos]


def _as_packed(infos: Sequence[zipfile.ZipInfo]) -> Named:
    """Return the members of a zip file that another program made, by their paths when packed.

    Directories, what file managers add, and a folder around all the rest are left out.
    """
    named = [(info.filename.replace("\\", "/"), info) for info in infos]
    files = [(name, info) for name, info in named if not name.endswith("/")]
    files = [(name, info) for name, info in files if not is_of_system(name)]
    around = [name for name, _ in files if name.rpartition("/")[2] == MANIFEST]
    folder = min(around, key=len, default=MANIFEST).removesuffix(MANIFEST)
    return [(name.removeprefix(folder), info) for name, info in files]


def _checked(named: Named) -> dict[str, zipfile.ZipInfo]:
    """Return the members by path; raises _RefusedError for what no archive holds."""
    twice = [name for name, count in Counter(name for name, _ in named).items() if count > 1]
    if twice:
        raise _RefusedError(f"holds {twice[0]} twice")
    for name, info in named:
        if info.is_dir() and info.file_size == 0 and is_safe(name.removesuffix("/")):
            continue  # compared with those of the manifest below
        kind = stat.S_IFMT(info.external_attr >> 16)
        if not is_safe(name) or info.orig_filename != info.filename:
            raise _RefusedError(f"holds {info.orig_filename!r}, a path that leads out of it")
        if kind not in {0, stat.S_IFREG} or info.is_dir():
            raise _RefusedError(f"holds {name}, which is not a regular file")
        if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
            raise _RefusedError(f"holds {name}, whose encryption or compression is not supported")
    return dict(named)


def _check_same_files(
    infos: dict[str, zipfile.ZipInfo], manifest: Manifest, *, with_directories: bool
) -> None:
    held = infos.keys() - {MANIFEST, SIGNATURE}
    packed = {*manifest.members, *(manifest.directories if with_directories else ())}
    for names, what in (
        (packed - held, "lacks"),
        (held - packed, "holds something that was not packed:"),
    ):
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            raise _RefusedError(f"{what} {min(names)}{more}")
    for name, member in manifest.members.items():
        if infos[name].file_size != member.bytes:
            found = infos[name].file_size
            raise _RefusedError(f"holds {name} with {found} bytes, but {member.bytes} were packed")


def _signer(
    path: Path,
    archive: zipfile.ZipFile,
    infos: dict[str, zipfile.ZipInfo],
    content: bytes,
    signers: Path | None,
) -> str | None:
    """Return who signed the manifest; raises InputError unless it is one of `signers`."""
    if signers is None:
        return None
    if SIGNATURE not in infos:
        raise InputError(
            f"{path}: is not signed, which --signers {signers} demands; omit --signers, or "
            "ask its author for a signed archive (collect archive --sign)"
        )
    signature = _read(archive, infos[SIGNATURE], _LONGEST_SIGNATURE)
    signer = signer_of(content, signature, signers)
    if signer is None:
        raise InputError(
            f"{path}: is signed by nobody in {signers}, or was changed after it was signed; ask "
            "its author for the archive and the public key"
        )
    return signer


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    if info.file_size > most:
        raise _RefusedError(
            f"holds {info.filename} of {info.file_size} bytes, but the limit is {most}"
        )
    with archive.open(info) as stream:
        return stream.read(most)


def _copy(
    source: IO[bytes],
    sink: BinaryIO,
    see: Callable[[bytes], None],
    most: int,
) -> None:
    """Copy at most one byte more than `most`, so that a longer source is seen to be longer."""
    left = most + 1
    while left and (chunk := source.read(min(_CHUNK, left))):
        see(chunk)
        sink.write(chunk)
        left -= len(chunk)


def _is_zipped_again(stream: BinaryIO) -> bool:
    """Return whether a zip file ends as those of other programs do: its comment is not our digest.

    Most have none, and `git archive` writes 40 digits. No single damage makes that of an archive of
    ours: its record is followed by its digest, and what is cut or added belies the record.
    """
    size = stream.seek(0, 2)
    stream.seek(max(size - _END_OF_ZIP.size - _LONGEST_COMMENT, 0))
    tail = stream.read()
    end = tail[max(tail.rfind(_MAGIC), 0) :]
    if len(end) < _END_OF_ZIP.size or not end.startswith(_MAGIC):
        return False
    comment = len(end) - _END_OF_ZIP.size
    return comment != DIGEST_BYTES and _END_OF_ZIP.unpack_from(end)[-1] == comment


def _prove_whole(stream: BinaryIO) -> None:
    """Prove every byte of the file, also those between the members and after them."""
    size = stream.seek(0, 2)
    end = size - _END_OF_ZIP.size - DIGEST_BYTES
    stream.seek(max(end, 0))
    tail = stream.read(_END_OF_ZIP.size + DIGEST_BYTES)
    if end < 0 or not tail.startswith(_MAGIC) or _END_OF_ZIP.unpack_from(tail)[-1] != DIGEST_BYTES:
        raise _RefusedError("was cut, lengthened, or changed by another program")
    if digest_of(stream, size - DIGEST_BYTES) != tail[-DIGEST_BYTES:]:
        raise _RefusedError("was changed after it was packed")


def digest_of(stream: BinaryIO, size: int) -> bytes:
    """Return the SHA-256 of so many bytes of a file, in hexadecimal; the next ones follow them."""
    digest, left = hashlib.sha256(), size
    stream.seek(0)
    while left and (chunk := stream.read(min(_CHUNK, left))):
        digest.update(chunk)
        left -= len(chunk)
    return digest.hexdigest().encode()


@contextmanager
def _told_to_end() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an ordinary exit, so that what is unpacked is removed."""

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _refusal(path: Path, reason: str, *, is_again: bool = False) -> InputError:
    again = "was unpacked and zipped again by another program, and " if is_again else ""
    return InputError(
        f"{path}: {again}{reason}; get the archive again from where it was published"
        f"{', and keep that file' if is_again else ''}"
    )
