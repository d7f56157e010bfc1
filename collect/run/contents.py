"""Whether a directory holds what an archive holds."""

import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from functools import cache
from hashlib import sha256
from pathlib import PurePosixPath

from collect.run.fingerprint import ABSENT


def contents_off(
    files: Mapping[str, str],
    directory: str,
    archive: str,
    strip: int = 0,
    but: Sequence[str] = (),
) -> dict[str, str]:
    """Return in what a directory differs from the archive that was unpacked in it.

    `files` are SHA-256 by path. The first `strip` parts of the archive's paths are left out, and
    files like the patterns `but` do not count. Empty where nothing differs.
    """
    wanted = {
        str(PurePosixPath(directory, *PurePosixPath(name).parts[strip:])): digest
        for name, digest in contents(archive).items()
    }
    held = {path: digest for path, digest in files.items() if path.startswith(f"{directory}/")}
    others = [
        path
        for path in sorted(wanted | held)
        if wanted.get(path) != held.get(path) and not any(fnmatch(path, like) for like in but)
    ]
    if not others:
        return {}
    more = f", with {len(others) - 1} more" if len(others) > 1 else ""
    return {
        "item": f"contents {directory}",
        "value": f"{others[0]} differs{more}; remove the directory" if held else ABSENT,
        "others": f"those of {PurePosixPath(archive).name}",
    }


@cache
def contents(archive: str) -> Mapping[str, str]:
    """Return the SHA-256 of each file in a ZIP or tar archive, by its path."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as held:
            return {
                entry.filename: sha256(held.read(entry)).hexdigest()
                for entry in held.infolist()
                if not entry.is_dir()
            }
    with tarfile.open(archive) as tar:
        return {
            entry.name: sha256(file.read()).hexdigest()
            for entry in tar
            if (file := tar.extractfile(entry))
        }
