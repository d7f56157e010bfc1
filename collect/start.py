"""Starts the programs. Ctrl-C ends them in silence also while most modules are imported."""

import importlib
import io
import sys

_INTERRUPTED = 130  # as collect.commands.guard has it
_RAISING = {"strict", "surrogateescape"}


def collect() -> int:
    """Run `collect` and return its exit code."""
    return _run("collect.cli")


def rackbench() -> int:
    """Run `rackbench` and return its exit code."""
    return _run("collect.front.cli")


def _run(module: str) -> int:
    try:
        # A terminal whose encoding lacks a character shows a question mark. Python handles it by
        # surrogateescape in the locales C and POSIX, which raises an error as strict does.
        if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in _RAISING:
            sys.stdout.reconfigure(errors="replace")
        code: int = importlib.import_module(module).main()
    except KeyboardInterrupt:
        return _INTERRUPTED
    return code
