"""Holds packages at their version."""

import time
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from ansible.module_utils import host

from .steps import Back, Step, Steps

FORM = "${db:Status-Want} ${db:Status-Status} ${binary:Package}\n"

# An upgrade may take as long: baseline_apt_wait_s.
LOCK_WAIT_S = 600
RETRY_EVERY_S = 2.0


def packages(*wanted: str) -> list[str]:
    """Return the installed packages for which dpkg has one of these selections."""
    rows = [line.split() for line in host.run("dpkg-query", "-W", "-f", FORM).splitlines()]
    return [name for want, status, name in rows if status == "installed" and want in wanted]


def steps(_: Path, params: dict[str, Any]) -> Steps:
    """Yield the installed packages that the patterns name and that are not held yet."""
    if not params["hold"]:
        return
    loose = [
        name
        for name in packages("install")
        if any(fnmatchcase(name.partition(":")[0], pattern) for pattern in params["hold"])
    ]
    if loose:
        found = dict.fromkeys(loose, "install")
        yield Step("hold", "packages", found, partial(select, dict.fromkeys(loose, "hold")))


def select(selections: dict[str, str]) -> None:
    """Pass selections to dpkg, which stores them; wait while another program has its lock."""
    lines = "".join(f"{name} {selection}\n" for name, selection in selections.items())
    end = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            host.run("dpkg", "--set-selections", stdin=lines, environment={"LC_ALL": "C"})
        except host.HostError as error:
            if " lock " not in str(error):
                raise
            if time.monotonic() >= end:
                raise host.HostError(
                    f"dpkg stayed in use for {LOCK_WAIT_S} s ({error}); wait for the end of that"
                    " process, or stop it, and run the same playbook again"
                ) from error
            time.sleep(RETRY_EVERY_S)
        else:
            return


def release(_: Path, found: dict[str, str]) -> None:
    """Release the held packages; those removed since stay removed."""
    held = set(packages("hold"))
    select({name: was for name, was in found.items() if name in held})


BACK: Back = {"packages": release}
