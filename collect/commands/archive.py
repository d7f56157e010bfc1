"""`collect archive`: runs in one citable file."""

import argparse
import sys
from pathlib import Path

from collect.commands.arguments import Commands, command
from collect.commands.exits import FINDINGS, GOOD
from collect.commands.runs import print_findings
from collect.progress import progress
from collect.run.directory import open_run


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "archive",
        run,
        "pack runs into one citable file",
        """\
Pack runs into one zip file, a Process Run RO-Crate. It holds sealed trials, plan,
study, provenance, cells.csv, one report, licence and a checklist filled from the
records. The command checks each run first, and packs no run with refused, stray or
changed trials. The same runs give the same bytes. check, report, status, compare,
export and power take the file in place of a run, and verify it first. With --signers
FILE they accept it only if someone in this file signed it.

With --sign, an SSH key signs manifest.json, which has the SHA-256 of every file. The
signature is manifest.json.sig in the archive.

examples:
  collect archive monday-sort -o monday.zip
  collect archive monday-sort monday-mtom -o monday.zip --sign ~/.ssh/id_ed25519
  collect check monday.zip --signers lab.signers
  collect report monday.zip""",
    )
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="a run's directory, or its name in results/"
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE.zip", help="the archive"
    )
    parser.add_argument("--sign", type=Path, metavar="KEY", help="sign it with this SSH key")
    parser.add_argument(
        "--licence", type=Path, metavar="FILE", help="licence of the data (default: Apache 2.0)"
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from collect.exchange.archive.pack import UnprovenRunError, write_archive  # noqa: PLC0415 - slow

    runs = [open_run(name) for name in options.runs]
    try:
        with progress() as show:
            packed = write_archive(
                runs,
                options.output,
                show,
                licence=options.licence,
                key=options.sign,
                replace=options.force,
            )
    except UnprovenRunError as error:
        print_findings(error.findings, sys.stderr)
        print(error, file=sys.stderr)
        return FINDINGS
    print_findings(packed.findings, sys.stderr)
    megabytes = packed.bytes / 1e6
    print(f"{options.output}: {len(packed.manifest.members)} files, {megabytes:.1f} MB")
    return FINDINGS if any(one.kind != "missing" for one in packed.findings) else GOOD
