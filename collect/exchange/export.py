"""Exports a run for other tools: whole files, from trials that are sealed and whole alone."""

import tempfile
from pathlib import Path
from typing import TextIO

import duckdb

from collect.cells.analysis import Analysis
from collect.errors import InputError
from collect.exchange.formats import FORMATS
from collect.files import beside


def export(analysis: Analysis, name: str, output: Path | None, *, replace: bool) -> Path:
    """Write a run in the format `name` and return the file, in the run's directory by default.

    Raises InputError when the file exists and is not to be replaced, or cannot be written; an
    existing file then stays as it was.
    """
    form = FORMATS[name]
    path = output or analysis.run.directory / f"{analysis.run.name}{form.suffix}"
    if path.is_dir():
        raise InputError(f"{path}: is a directory; name a file")
    if path.exists() and not replace:
        raise InputError(f"{path}: exists already; add --force to replace it, or name another file")
    try:
        with beside(path) as temporary:
            form.write(analysis, temporary)
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"{path}: cannot be written ({reason}); make room on the disk or name another file"
        ) from error
    return path


def print_export(analysis: Analysis, name: str, stream: TextIO) -> None:
    """Print a run in the format `name`, which must be text; InputError otherwise."""
    with tempfile.TemporaryDirectory() as directory:
        path = export(analysis, name, Path(directory) / "export", replace=False)
        try:
            stream.write(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise InputError(f"{name} is no text; name a file after -o") from error
