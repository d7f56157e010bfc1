"""What files and commands of a node say, where they are there."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

VARIABLES_OF_JVMS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""A JVM reads the first two before its command line, the last after it."""


def read(path: str) -> str | None:
    """Return a small file's text, or None where it is not there or may not be read."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def output(*argv: str) -> str | None:
    """Return what a command prints, or None where it is missing or fails."""
    if not shutil.which(argv[0]):
        return None
    known = {name: text for name, text in os.environ.items() if name not in VARIABLES_OF_JVMS}
    done = subprocess.run(argv, env=known, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip() if done.returncode == 0 else None
