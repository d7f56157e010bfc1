"""A run in the formats of other tools; whole files, from trials that are sealed and whole alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from collect.cells.analysis import Analysis
from collect.errors import InputError
from collect.exchange.calls import write_calls_csv, write_jtl, write_parquet
from collect.exchange.hdr import write_hdr
from collect.exchange.tables import as_csv, as_latex, as_markdown, trials_csv
from collect.files import beside


@dataclass(frozen=True)
class Format:
    """What a format is for, the ending of its files, and the function that writes one."""

    summary: str
    suffix: str
    write: Callable[[Analysis, Path], None]


def _text(give: Callable[[Analysis], str]) -> Callable[[Analysis, Path], None]:
    def write(analysis: Analysis, path: Path) -> None:
        path.write_bytes(give(analysis).encode())

    return write


FORMATS: Mapping[str, Format] = {
    "parquet": Format("all calls, one schema for all studies", ".parquet", write_parquet),
    "csv": Format("all calls with their levels, for any tool", ".calls.csv", write_calls_csv),
    "trials": Format(
        "CSV with a row each trial, for `collect anova`", ".trials.csv", _text(trials_csv)
    ),
    "cells": Format("CSV with a row each cell, as cells.csv", ".cells.csv", _text(as_csv)),
    "jtl": Format("measured calls for JMeter, in whole milliseconds", ".jtl", write_jtl),
    "hdr": Format("an HdrHistogram of each trial in ns, tagged by cell", ".hlog", write_hdr),
    "latex": Format("the cells as a LaTeX table (booktabs, longtable)", ".tex", _text(as_latex)),
    "markdown": Format("the cells as a Markdown table", ".md", _text(as_markdown)),
}


def export(analysis: Analysis, name: str, output: Path | None, *, replace: bool) -> Path:
    """Write a run in the format `name` and give the file, in the run's directory by default.

    Raises InputError when the file is there and is not to be replaced, or cannot be written; a
    file is then left as it was.
    """
    chosen = FORMATS[name]
    path = output or analysis.run.directory / f"{analysis.run.name}{chosen.suffix}"
    if path.is_dir():
        raise InputError(f"{path}: is a directory; give the name of a file")
    if path.exists() and not replace:
        raise InputError(f"{path}: is there already; add --force to replace it, or name another")
    try:
        with beside(path) as temporary:
            chosen.write(analysis, temporary)
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"{path}: cannot be written ({reason}); make room or name another"
        ) from error
    return path
