"""Runs what the command line asked for; what goes wrong is one message, and an exit code."""

import argparse
import errno
import os
import sys

from collect.commands.exits import BAD_INPUT, GOOD
from collect.errors import InputError

INTERRUPTED = 130


def guarded(program: str, options: argparse.Namespace) -> int:
    """Run one subcommand and return its exit code; bad input is one message, not a traceback."""
    try:
        code: int = options.run(options)
        print(end="", flush=True)  # unlike sys.stdout, also where standard output is closed
    except InputError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GOOD
    except OSError as error:
        print(
            f"{program}: {error.filename or _unnamed(error)}: {error.strerror or error}; correct "
            "that and run the same command again",
            file=sys.stderr,
        )
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        duckdb = sys.modules.get("duckdb")
        if duckdb is None or not isinstance(error, duckdb.Error):
            raise
        # For example a full disk, for which DuckDB does not raise an OSError.
        reason = str(error).partition("\n")[0]
        print(
            f"{program}: the calls cannot be read or exported ({reason}); correct that and run the "
            "same command again",
            file=sys.stderr,
        )
        return BAD_INPUT
    return code


def _unnamed(error: OSError) -> str:
    """Return what an error is about that names no file."""
    # Only the current directory can be missing without a name.
    return "the current directory" if error.errno == errno.ENOENT else "a file"
