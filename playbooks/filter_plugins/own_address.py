"""The address by which others see this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable

EXAMPLES = r"""
- name: Show by which address a node sees this machine
  ansible.builtin.debug:
    msg: "{{ '192.168.1.13' | own_address_towards }}"
"""

ANY_PORT = 9


def own_address_towards(address: str) -> str:
    """Return the IPv4 address of this machine on its way to a node, whose own is one as well.

    Empty where it knows no way there.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect((address, ANY_PORT))  # asks the kernel for the route and sends nothing
        except OSError:
            return ""
        return str(way.getsockname()[0])


class FilterModule:
    """Names the filter."""

    def filters(self) -> dict[str, Callable[..., str]]:
        """Return the filter by the name that templates use."""
        return {"own_address_towards": own_address_towards}
