"""SSH as Ansible uses it for a machine: its options, its known_hosts, and what it answers."""

import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from collect.files import expanded
from collect.front.inventory import Node

CONNECT_S = 10


def options(node: Node) -> list[str]:
    """Return the arguments that reach a machine, without its address."""
    key = ["-i", str(expanded(node.key))] if node.key else []
    user = ["-l", node.user] if node.user else []
    fixed = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}", "-o", "ControlPath=none"]
    port = ["-p", str(node.port)] if node.port else []
    return [*fixed, *shlex.split(node.arguments), *key, *user, *port]


def known_hosts(node: Node) -> Path:
    """Return the file that takes in the machine's key, as ssh itself reads its settings."""
    return expanded(_settings(node).get("userknownhostsfile", "~/.ssh/known_hosts").split()[0])


def place(node: Node) -> tuple[str, int]:
    """Return the address and the port that ssh connects to, by its own configuration as well."""
    return _place(node, _settings(node))


def is_direct(node: Node) -> bool:
    """Return whether ssh connects to a machine without a jump host, also one of ~/.ssh/config."""
    return _settings(node).keys().isdisjoint({"proxyjump", "proxycommand"})


def known_as(node: Node) -> str:
    """Return the name of a machine in known_hosts; an alias of ssh's configuration has no port."""
    told = _settings(node)
    address, port = _place(node, told)
    return told.get("hostkeyalias", address if port == 22 else f"[{address}]:{port}")


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


def _place(node: Node, told: Mapping[str, str]) -> tuple[str, int]:
    return told.get("hostname", node.address), int(told.get("port", node.port or 22))


def _settings(node: Node) -> dict[str, str]:
    """Return ssh's settings for a machine, by keyword."""
    done = _said(["ssh", "-G", *options(node), "--", node.address])
    rows = (line.partition(" ")[::2] for line in done.stdout.splitlines())
    return {keyword: value for keyword, value in rows if value}


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
