"""The formats in which a run is exported: one line each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from collect.cells.analysis import Analysis


@dataclass(frozen=True)
class Format:
    """What a format holds, how its files end, and the function of this package that writes one.

    The function is named, not imported: its module is slow to import, and `collect export --help`
    needs the summary alone.
    """

    summary: str
    suffix: str
    writer: str

    def write(self, analysis: Analysis, path: Path) -> None:
        """Write a run in this format."""
        resolve_name(f"collect.exchange.{self.writer}")(analysis, path)


FORMATS: Mapping[str, Format] = {
    "parquet": Format(
        "all calls, warm-up too, with one schema for all studies (levels as JSON)",
        ".parquet",
        "calls:write_parquet",
    ),
    "csv": Format("all calls, with a column for each factor", ".calls.csv", "calls:write_csv"),
    "trials": Format(
        "CSV with the mean of each trial, the samples of every interval",
        ".trials.csv",
        "tables:write_trials",
    ),
    "cells": Format("CSV with a row for each cell, as cells.csv", ".cells.csv", "tables:write_csv"),
    "jtl": Format(
        "measured calls for JMeter, in whole ms; response times in an open loop",
        ".jtl",
        "calls:write_jtl",
    ),
    "hdr": Format(
        "HdrHistogram log: a histogram of each trial that counts in ns, tagged by its cell",
        ".hlog",
        "hdr:write_hdr",
    ),
    "warmup": Format(
        "CSV of how each cell warmed up, and of the pause before its first measured calls",
        ".warmup.csv",
        "warmups:write_warmups",
    ),
    "latex": Format(
        "the cells as a table for the packages booktabs and longtable",
        ".tex",
        "tables:write_latex",
    ),
    "markdown": Format("the cells as a pipe table", ".md", "tables:write_markdown"),
    "claims": Format(
        "CSV with a row for each number of each claim: bound, paper, measured, verdict",
        ".claims.csv",
        "claims:write_claims",
    ),
    "verdicts": Format(
        "Markdown table with a short row for each claim: paper, measured, verdict",
        ".verdicts.md",
        "claims:write_verdicts",
    ),
    "chart": Format("the claims as a drawing (SVG)", ".claims.svg", "claims:write_chart"),
    "replication": Format(
        "Markdown with the claims and all exhibits, the paper next to what was measured",
        ".replication.md",
        "claims:write_replication",
    ),
    "spent": Format(
        "CSV of what a call cost in each cell: its parts, processor time, packets, limit",
        ".spent.csv",
        "spent:write_spent",
    ),
    "frames": Format(
        "CSV of the methods that profilers met in each cell, with their own time a call",
        ".frames.csv",
        "spent:write_frames",
    ),
}
