"""The `collect` command."""

import argparse
import os
import sys
from collections.abc import Sequence

from collect.commands import (
    anova,
    archive,
    check,
    compare,
    export,
    import_log,
    look,
    plan,
    power,
    report,
    rerun,
    status,
)
from collect.commands.exits import BAD_INPUT, EXIT_CODES, GOOD
from collect.errors import InputError

COMMANDS = (
    plan,
    check,
    status,
    report,
    anova,
    power,
    look,
    compare,
    export,
    import_log,
    archive,
    rerun,
)
"""In the order of the help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code; bad input is one message, not a traceback."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except InputError as error:
        print(f"collect: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GOOD
    except OSError as error:
        print(f"collect: {error.filename or 'a file'}: {error.strerror or error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        duckdb = sys.modules.get("duckdb")
        if duckdb is None or not isinstance(error, duckdb.Error):
            raise
        # For example a full disk, for which DuckDB does not raise an OSError.
        reason = str(error).partition("\n")[0]
        print(
            f"collect: the calls cannot be read or exported ({reason}); correct that and run the "
            "same command again",
            file=sys.stderr,
        )
        return BAD_INPUT
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="collect", description="Plan sweeps and analyse their results.", epilog=EXIT_CODES
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return parser
