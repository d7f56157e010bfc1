"""`rackbench trust`: SSH host keys into known_hosts, after showing their fingerprints."""

import argparse
import fcntl
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from collect.commands.arguments import Commands, command
from collect.commands.exits import FINDINGS, GOOD
from collect.front.ask import is_agreed
from collect.front.inventory import Node, read_inventory
from collect.front.kit import add_kit, kit_of
from collect.front.ssh import HostKey, known_as, known_fingerprints, known_hosts, shown_key

_AT_ONCE = 10
_KEY = "/etc/ssh/ssh_host_ed25519_key.pub"


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "trust",
        run,
        "take in the machines' SSH host keys",
        """\
Show the fingerprint of each machine's SSH host key, ask whether they are those that the
machines show at their consoles (ssh-keygen -l -f /etc/ssh/ssh_host_ed25519_key.pub), and
take them into known_hosts. A key that differs from a known one is never taken in.

examples:
  rackbench trust
  rackbench trust --yes                # only where nobody else can be on the network""",
    )
    add_kit(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    inventory = read_inventory(kit_of(options))
    inventory.demand_bench()
    if inventory.is_virtual:
        print("the virtual lab's host keys are known already: they are made before it boots")
        return GOOD
    nodes = inventory.nodes
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        keys = list(pool.map(shown_key, nodes))
    new: list[tuple[Node, HostKey]] = []
    is_good = True
    for node, key in zip(nodes, keys, strict=True):
        text, is_new = _told(node, key)
        is_good = is_good and (is_new or text.endswith("known"))
        print(f"{node.name} ({known_as(node)}): {text}", flush=True)
        if is_new and isinstance(key, HostKey):
            new.append((node, key))
    if new:
        print(f"At each machine's console, ssh-keygen -l -f {_KEY} shows its fingerprint.")
        if not is_agreed("Are these the same?", is_yes=options.yes):
            return FINDINGS
        take_in(new)
        print(f"taken in: {', '.join(node.name for node, _ in new)}")
    return GOOD if is_good else FINDINGS


def take_in(new: Sequence[tuple[Node, HostKey]]) -> None:
    """Add keys to the known_hosts that ssh reads for their machines."""
    for node, key in new:
        path = known_hosts(node)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _opened(path) as file:
            content = file.read()
            # An earlier line may lack its end.
            file.write(("" if not content or content.endswith("\n") else "\n") + key.lines)


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """Yield known_hosts to be read and added to by nobody else; made for this account alone."""
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _told(node: Node, key: HostKey | str) -> tuple[str, bool]:
    """Return what is said of a machine's key, and whether it may be taken in."""
    if isinstance(key, str):
        return f"shows no key ({key}); check that it is on, and its address and port", False
    known = known_fingerprints(node)
    if key.fingerprint in known:
        return f"{key.fingerprint}, known", False
    if known:
        return (
            f"{key.fingerprint} differs from the known key; if the machine is new, run "
            f"playbooks/replace_node.yml -e node={node.name} -e fingerprint=SHA256:…; if not, "
            "something else answers there",
            False,
        )
    return key.fingerprint, True
