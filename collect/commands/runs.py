"""The runs that a command is given, and what is found in them."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from collect.errors import InputError
from collect.exchange.archive.sources import Source, open_sources
from collect.progress import progress
from collect.project import results
from collect.run.directory import Run
from collect.run.verify import KINDS, Finding

if TYPE_CHECKING:
    from collect.cells.analysis import Analysis

_LISTED = 20


@contextmanager
def open_given(names: Sequence[str], options: argparse.Namespace) -> Iterator[list[Source]]:
    """Open runs and archives, and say on standard error what was proven of the archives."""
    with open_sources(names, options.signers) as sources:
        for archive in dict.fromkeys(str(one.archive) for one in sources if one.archive):
            print(archive, file=sys.stderr)
        yield sources


def newest_run() -> str:
    """Return the run that was written to last; raises InputError where there is none."""
    plans = list(results().glob("*/plan.jsonl"))
    if not plans:
        raise InputError(f"there is no run in {results()}; name one, such as sample-sort")
    return str(max(plans, key=_last_change).parent)


def _last_change(plan: Path) -> float:
    """Return when a trial last arrived, or when the run was planned."""
    trials = plan.parent / "trials"
    return max(path.stat().st_mtime for path in (plan, trials) if path.exists())


def analyse_all(runs: Sequence[Run]) -> list["Analysis"]:
    """Analyse runs, and show how far it is."""
    from collect.cells.analysis import analyse  # noqa: PLC0415 - slow to import

    with progress() as show:
        return [analyse(run, show(f"{run.name}: trials verified")) for run in runs]


def print_findings(findings: Sequence[Finding], stream: TextIO) -> None:
    """Print findings by their kind; of many of a kind the first ones."""
    for kind in KINDS:
        found = [finding for finding in findings if finding.kind == kind]
        for finding in found[:_LISTED]:
            print(f"{kind}: {finding.text}", file=stream)
        if len(found) > _LISTED:
            print(f"{kind}: … and {len(found) - _LISTED} more", file=stream)


def print_refused(analyses: Sequence["Analysis"]) -> bool:
    """Print the findings that are not missing trials; return whether there is one."""
    findings = [f for a in analyses for f in a.findings if f.kind != "missing"]
    print_findings(findings, sys.stderr)
    return bool(findings)
