"""Calls from inside the lab: the nodes' packet filters let other nodes in, and not this machine."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from labs import Lab
from requests.adapters import HTTPAdapter

_NETWORK = 0x40000000  # CLONE_NEWNET
_LIBC = ctypes.CDLL(None, use_errno=True)


@contextmanager
def network(lab: Lab, node: str = "client1") -> Iterator[None]:
    """Sockets that are made in here, by this thread or its children, are the node's own."""
    with (
        Path("/proc/thread-self/ns/net").open() as home,
        Path(f"/run/netns/rackbench-{lab.name}-{node}").open() as there,
    ):
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(home.fileno())


def session(lab: Lab, node: str = "client1") -> requests.Session:
    """A session of requests whose connections come from the node."""
    made = requests.Session()
    made.trust_env = False
    made.mount("http://", _FromNode(lab, node))
    return made


class _FromNode(HTTPAdapter):
    def __init__(self, lab: Lab, node: str) -> None:
        super().__init__()
        self.lab, self.node = lab, node

    def send(self, *arguments: Any, **options: Any) -> requests.Response:
        with network(self.lab, self.node):
            return super().send(*arguments, **options)


def _enter(network_file: int) -> None:
    if _LIBC.setns(network_file, _NETWORK):
        raise OSError(ctypes.get_errno(), "this thread cannot change its network; run as root")
