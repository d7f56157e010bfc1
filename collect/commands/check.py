"""`collect check`: whether a run is complete and unchanged."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from collect.commands.arguments import Commands, add_run, command
from collect.commands.exits import FINDINGS, GOOD
from collect.commands.runs import open_given, print_findings
from collect.errors import InputError
from collect.exchange.archive.sources import Source
from collect.progress import progress

if TYPE_CHECKING:
    from collect.proof.check import Proof


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "check",
        run,
        "prove that a run is complete and unchanged",
        """\
Check that a run is complete and unchanged. Its plan is the one it began with. Every
planned trial is sealed once, with the right hash, row count and rows, and no other
trial is counted. The nodes were the same from start to end, and cells.csv follows from
the trials. Each finding names the fault, its reason and the next step. The command
changes no file unless --set-aside is given.

examples:
  collect check demo-sort
  collect check results/demo-sort
  collect check night --set-aside     # then the same sweep again
  collect check night --json          # one object for each run""",
    )
    add_run(parser)
    parser.add_argument(
        "--set-aside",
        action="store_true",
        help="move refused, stray and copied trials to RUN/refused; the next sweep repeats them",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    with open_given([options.run_name], options) as sources:
        if options.set_aside and sources[0].archive:
            raise InputError(f"{options.run_name}: an archive never changes; omit --set-aside")
        return max(_prove(source, options) for source in sources)


def _prove(source: Source, options: argparse.Namespace) -> int:
    from collect.proof.check import prove, set_aside  # noqa: PLC0415 - slow to import

    run = source.run
    with progress() as show:
        proof = prove(run, show(f"{run.name}: trials verified"))
    moved = set_aside(run, proof.findings) if options.set_aside else {}
    if options.json:
        print(_as_json(source, proof, moved))
    else:
        _print(source, proof, moved)
    return FINDINGS if proof.findings else GOOD


def _as_json(source: Source, proof: "Proof", moved: Mapping[str, Path]) -> str:
    """Return what was proven as one line, schema 1."""
    found = [{"kind": finding.kind, "text": finding.text} for finding in proof.findings]
    record = {
        "schema": 1,
        "run": source.run.name,
        "planned": len(source.run.all_trials),
        "verified": proof.whole,
        "findings": found,
        "set_aside": {name: str(target) for name, target in moved.items()},
    }
    return json.dumps(record, ensure_ascii=False)


def _print(source: Source, proof: "Proof", moved: Mapping[str, Path]) -> None:
    from collect.proof.check import SET_ASIDE  # noqa: PLC0415 - slow to import

    run = source.run
    print_findings(proof.findings, sys.stdout)
    for name, target in moved.items():
        print(f"set aside: {name} is now {target}")
    is_open = source.archive is None and not moved
    if is_open and any(finding.kind in SET_ASIDE for finding in proof.findings):
        print(f"to set these trials aside: collect check {source.run.typed} --set-aside")
    print(
        f"{run.name}: {proof.whole} of {len(run.all_trials)} trials sealed and verified; "
        f"{len(proof.findings) or 'no'} finding{'' if len(proof.findings) == 1 else 's'}"
    )
