"""SSH as Ansible uses it for a machine: its options, its known_hosts, and what it answers."""

import re
import shlex
import subprocess
from pathlib import Path

from collect.files import expanded
from collect.front.inventory import Node

CONNECT_S = 10


def options(node: Node) -> list[str]:
    """Return the arguments that reach a machine, without its address."""
    key = ["-i", str(expanded(node.key))] if node.key else []
    user = ["-l", node.user] if node.user else []
    fixed = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}", "-o", "ControlPath=none"]
    return [*fixed, *shlex.split(node.arguments), *key, *user, "-p", str(node.port)]


def known_hosts(node: Node) -> Path:
    """Return the file that takes in the machine's key, as ssh itself reads its settings."""
    done = _said(["ssh", "-G", *options(node), "--", node.address])
    found = re.search(r"^userknownhostsfile (\S+)", done.stdout, re.M)
    return expanded(found[1] if found else "~/.ssh/known_hosts")


def known_as(node: Node) -> str:
    """Return the name of a machine in known_hosts."""
    return node.address if node.port == 22 else f"[{node.address}]:{node.port}"


def known_fingerprints(node: Node) -> set[str]:
    """Return the fingerprints under which known_hosts has the machine."""
    path = known_hosts(node)
    if not path.is_file():
        return set()
    done = _said(["ssh-keygen", "-l", "-F", known_as(node), "-f", str(path)])
    return set(re.findall(r"SHA256:\S+", done.stdout))


def answer(node: Node, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command on a machine, as Ansible would reach it."""
    return _said(["ssh", *options(node), "--", node.address, command])


def _said(words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command; a machine's greeting or a comment may be in another encoding."""
    return subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
