"""Settings that are files of the kernel, now and at each boot."""

from functools import partial
from pathlib import Path

from . import steps as common
from .steps import Back, Files, Left, Sought, Step, Steps

AT_BOOT = "etc/tmpfiles.d/rackbench-tuning.conf"


def steps(root: Path, sought: Sought) -> Steps:
    """Yield steps for the settings that differ from the requested ones, and for their file."""
    at_boot: Files = {}
    for name, files in sought.items():
        if isinstance(files, Left):
            yield files
            continue
        at_boot |= files
        wrong = {path: value for path, value in files.items() if common.chosen(path) != value}
        if wrong:
            found = {str(path): common.chosen(path) for path in wrong}
            yield Step(name, "files", found, partial(common.write_all, wrong))
    lines = [f"w /{path.relative_to(root)} - - - - {value}\n" for path, value in at_boot.items()]
    yield from common.at_boot(root, AT_BOOT, "".join(lines))


# Another driver of the processors, for example, has other files.
BACK: Back = {"files": common.write_back}
