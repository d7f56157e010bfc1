"""Questions to the person at the terminal, and what a command needs of this machine."""

import getpass
import os
import shutil
import subprocess
import sys
import textwrap

from collect.commands.confirm import is_confirmed
from collect.errors import InputError

_WIDEST = 100


def filled(text: str) -> str:
    """Return each line, a paragraph or an item of a list, wrapped to the terminal's width."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    return "\n".join(
        textwrap.fill(
            line,
            width,
            subsequent_indent="    " if line.startswith("  - ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.splitlines()
    )


def is_agreed(question: str, *, is_yes: bool) -> bool:
    """Return whether the person agrees; raises InputError where nobody can be asked."""
    if is_yes:
        return True
    if not sys.stdin.isatty():
        raise InputError("standard input is not a terminal, so nobody can confirm; add --yes")
    try:
        if is_confirmed(question):
            return True
    except KeyboardInterrupt:
        print("\nnothing was changed")
        raise
    print("nothing was changed")
    return False


def has_root() -> bool:
    """Return whether this account is root, or may use sudo without a password."""
    if os.geteuid() == 0:
        return True
    try:
        # With -k, a password that sudo remembers for this terminal does not count: playbooks run
        # without a terminal, where sudo would demand it again.
        command = ["sudo", "-k", "-n", "true"]
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def sudo_rule(user: str) -> str:
    """Return the command that lets an account use sudo without a password."""
    file = user.replace(".", "_")  # sudo reads no file with a dot in its name
    return f"echo '{user} ALL=(ALL) NOPASSWD: ALL' | sudo tee /etc/sudoers.d/{file}"


def demand_root(what: str) -> None:
    """Raise InputError unless this account may act as root."""
    if not has_root():
        raise InputError(
            f"{what} needs root on this machine; run it as root, or let {getpass.getuser()} use "
            f"sudo without a password: {sudo_rule(getpass.getuser())}"
        )
