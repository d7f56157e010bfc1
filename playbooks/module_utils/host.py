"""Lets modules run commands and write whole files on the machine they run on."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


class HostError(OSError):
    """Something failed on this machine; the text names the thing, the reason and the next step."""


def run(*argv: str, stdin: str = "", environment: Mapping[str, str] | None = None) -> str:
    """Return the output of a command, or raise a HostError with its message."""
    try:
        done = subprocess.run(
            argv,
            input=stdin,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise HostError(f"{argv[0]} is not installed; install it") from error
    if done.returncode:
        raise HostError(f"{' '.join(argv)} failed: {(done.stderr + done.stdout).strip()}")
    return done.stdout


def output(*argv: str) -> str | None:
    """Return the output of a command, or None if it is missing or fails."""
    try:
        return run(*argv).strip()
    except HostError:
        return None


def succeeds(*argv: str) -> bool:
    """Return whether a command exists and succeeds."""
    return output(*argv) is not None


def states(*units: str) -> list[dict[str, str]]:
    """Return what systemd has of these units: Id, LoadState, UnitFileState and ActiveState.

    A unit that is not installed has the LoadState not-found.
    """
    shown = run("systemctl", "show", "-p", "Id,LoadState,UnitFileState,ActiveState", *units)
    blocks = shown.strip().split("\n\n")
    return [dict(line.partition("=")[::2] for line in block.splitlines()) for block in blocks]


def read(path: str) -> str | None:
    """Return a small file's text, or None if it is missing or unreadable."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return None


def texts_of(path: Path) -> list[str]:
    """Return the texts of a file in /proc that NUL ends; an empty one if the process is gone."""
    try:
        return path.read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return [""]


def text_of(path: Path) -> str:
    """Return a file's text unchanged, or an empty text if there is no such file."""
    return path.read_text(errors="replace") if path.is_file() else ""


def write(path: Path, text: str, mode: int = 0o644, owner: int = -1) -> None:
    """Write a file so that a power cut leaves the old one or the new one; make its directory."""
    os.umask(0o022)  # sudo keeps the login's umask, and services read these files
    path.parent.mkdir(parents=True, exist_ok=True)
    # No service reads a name with a leading dot and another ending.
    beside = path.with_name(f".{path.name}.new")
    with beside.open("w") as file:
        os.fchmod(file.fileno(), mode)
        os.fchown(file.fileno(), owner, owner)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
