"""Exports a run for other tools: whole files, from trials that are sealed and whole alone."""

import io
import tempfile
from pathlib import Path
from typing import TextIO

import duckdb

from collect.cells.analysis import Analysis
from collect.errors import InputError
from collect.exchange.formats import FORMATS
from collect.files import beside, check_output
from collect.run.directory import Run


def destination(run: Run, name: str, output: Path | None, *, replace: bool) -> Path:
    """Return the file to write a run in the format `name` to, in the run's directory by default.

    Raises InputError when it exists and is not to be replaced.
    """
    path = output or run.directory / f"{run.name}{FORMATS[name].suffix}"
    check_output(path, replace=replace)
    return path


def export(analysis: Analysis, name: str, path: Path) -> None:
    """Write a run in the format `name` to a file, whole or not at all.

    Raises InputError when it cannot be written; an existing file then stays as it was.
    """
    try:
        with beside(path) as temporary:
            FORMATS[name].write(analysis, temporary)
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"{path}: cannot be written ({reason}); make room on the disk or name another file"
        ) from error


def print_export(analysis: Analysis, name: str, stream: TextIO) -> None:
    """Print a run in the format `name`, which must be text; InputError otherwise.

    What is printed has the bytes of the file, whatever the terminal's encoding.
    """
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="strict")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "export"
        export(analysis, name, path)
        try:
            stream.write(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise InputError(f"{name} is not a text format; name a file after -o") from error
