"""Which TCP ports of an address take a connection: every one is tried, many at a time."""

from __future__ import annotations

import errno
import select
import socket
from collections.abc import Iterable
from itertools import islice

AT_ONCE = 500
SILENCE_S = 3.0


def open_ports(address: str, ports: Iterable[int] = range(1, 65536)) -> set[int]:
    """The ports that take a connection; one that says nothing for three seconds does not."""
    found: set[int] = set()
    left = iter(ports)
    waiting: dict[int, tuple[socket.socket, int]] = {}
    with select.epoll() as poll:
        while True:
            for port in islice(left, AT_ONCE - len(waiting)):
                connection = socket.socket()
                connection.setblocking(False)
                if connection.connect_ex((address, port)) == errno.EINPROGRESS:
                    waiting[connection.fileno()] = (connection, port)
                    poll.register(connection, select.EPOLLOUT)
                else:
                    connection.close()
            if not waiting:
                return found
            for number in [number for number, _ in poll.poll(SILENCE_S)] or list(waiting):
                connection, port = waiting.pop(number)
                with connection:
                    answered = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
                    if answered and _has_peer(connection):
                        found.add(port)


def _has_peer(connection: socket.socket) -> bool:
    try:
        connection.getpeername()
    except OSError:
        return False
    return True
