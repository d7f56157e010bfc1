"""A virtual lab and its nodes: their names and their paths."""

import ipaddress
import re
import uuid
from dataclasses import dataclass
from pathlib import Path

MIB = 1024 * 1024
PARTS = frozenset({"upper", "work", "tree", "image", "booted", "console.log"})
"""Files and directories by which the directory of a node is recognised."""


@dataclass(frozen=True)
class Lab:
    """One lab, as the role describes it."""

    name: str
    root: Path
    image: Path
    bridge: str
    prefix: str
    user: str
    authorized_key: str | None
    link_mbit: int
    link_burst_bytes: int
    memory_mb: int
    disk_mb: int
    internet: bool
    boot_timeout_s: int
    link_delay_ms: float = 0.0
    link_loss: float = 0.0

    @property
    def gateway(self) -> str:
        """Return the control host's own address on the bridge."""
        return f"{self.prefix}.1"

    @property
    def network(self) -> ipaddress.IPv4Network:
        """Return the lab's network."""
        return ipaddress.IPv4Network(f"{self.prefix}.0/24")

    @property
    def new_bridge(self) -> str:
        """Return the name of the bridge until it is complete; one that a kill left has it."""
        return f"rb{uuid.uuid5(uuid.NAMESPACE_DNS, f'{self.name}.rackbench').hex[:8]}"

    @property
    def table(self) -> str:
        """Return the name of the lab's nftables table."""
        return "rackbench_" + re.sub(r"[^a-z0-9]", "_", self.name)

    def known_nodes(self) -> list["Node"]:
        """Return the nodes that have a directory, even if the inventory no longer names them."""
        found = [Node(self, path.name, "") for path in sorted((self.root / "nodes").glob("*"))]
        return [node for node in found if node.is_made()]


@dataclass(frozen=True)
class Node:
    """One node of a lab."""

    lab: Lab
    name: str
    address: str

    @property
    def directory(self) -> Path:
        """Return the directory of the node's file system layer, its console log and its keys."""
        return self.lab.root / "nodes" / self.name

    def is_made(self) -> bool:
        """Return whether a lab made the node's directory; one of others is not removed."""
        if not self.directory.is_dir() or self.directory.is_symlink():
            return False
        names = {path.name for path in self.directory.iterdir()}
        return not names or bool(names & PARTS)

    @property
    def tree(self) -> Path:
        """Return the mount point of the node's file system."""
        return self.directory / "tree"

    @property
    def uuid(self) -> str:
        """Return the id that identifies the node's first process."""
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{self.name}.{self.lab.name}.rackbench"))

    @property
    def key(self) -> str:
        """Return the name of the node's network and of its systemd unit or control groups."""
        return f"rackbench-{self.lab.name}-{self.name}"

    @property
    def link(self) -> str:
        """Return the name of this host's end of the node's link; the node's own end is host0."""
        return f"rb{self.uuid[:8]}"
