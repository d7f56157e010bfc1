"""The node's host name."""

import socket
from functools import partial
from pathlib import Path
from typing import Any

from ansible.module_utils import host

from .steps import Back, Step, Steps

FILE = "etc/hostname"


def steps(root: Path, params: dict[str, Any]) -> Steps:
    """Yield a step for the name if it differs."""
    wanted, path = params["hostname"], root / FILE
    was = host.text_of(path)
    if wanted and was.strip() != wanted:
        found = {"file": was, "called": socket.gethostname()}
        yield Step("hostname", "hostname", found, partial(name, wanted))


def name(wanted: str) -> None:
    """Set the name alone: without --static, hostnamectl also deletes the pretty name."""
    host.run("hostnamectl", "--static", "hostname", wanted)


def restore(root: Path, found: dict[str, str]) -> None:
    """Restore the node's name, and its file byte for byte."""
    name(found["called"])
    path = root / FILE
    path.write_text(found["file"]) if found["file"] else path.unlink(missing_ok=True)


BACK: Back = {"hostname": restore}
