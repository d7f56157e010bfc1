"""The SSH session that a module runs in."""

import ipaddress
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Session:
    """The address a session comes from, and the port of this node it uses."""

    peer: str
    port: int


def plain(address: str) -> str:
    """Return an address without its zone, and as IPv4 if it is a mapped one."""
    found = ipaddress.ip_address(address.partition("%")[0])
    return str(getattr(found, "ipv4_mapped", None) or found)


def ssh_session() -> Session | None:
    """Return the SSH session that started this process, or None.

    sudo removes the variable from the process itself, not from its ancestors.
    """
    pid = os.getpid()
    while pid > 1:
        try:
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return None
        for variable in variables:
            if variable.startswith(b"SSH_CONNECTION="):
                peer, _, _, port = variable.decode().partition("=")[2].split()
                with suppress(ValueError):  # sshd writes UNKNOWN if it has no socket
                    return Session(plain(peer), int(port))
        pid = int(status.partition("\nPPid:")[2].split()[0])
    return None
