"""The local ports of connections that a node opens."""

import os
from pathlib import Path
from typing import Any

from .steps import Files, Left, Sought, in_container

IPV4 = "proc/sys/net/ipv4"
NOT_ITS_OWN = (
    "this node is a container that may not write its network's settings: set them on its host,"
    " or recreate a virtual lab"
)


def files(root: Path, params: dict[str, Any]) -> Sought:
    """Return the requested settings; a container may have a network of its own."""
    reuse = params["tcp_tw_reuse"]
    asked = {"ip_local_port_range": " ".join(map(str, params["port_range"]))}
    asked["tcp_tw_reuse"] = "" if reuse is None else str(reuse)
    return {name: setting(root, name, wanted) for name, wanted in asked.items() if wanted}


def setting(root: Path, name: str, wanted: str) -> Files | Left:
    """Return one setting of the node's network."""
    path = root / IPV4 / name
    if not path.exists():
        return Left(name, "this kernel has no such setting")
    if in_container(root) and not os.access(path, os.W_OK):
        return Left(name, NOT_ITS_OWN)
    return {path: wanted}
