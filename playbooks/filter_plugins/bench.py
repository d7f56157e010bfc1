"""What the parts of a bench call each other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

EXAMPLES = r"""
- name: Show a worker's queue, and what its clients are told of it
  ansible.builtin.debug:
    msg:
      - "{{ 'rack-03' | queue_of('matrix') }}"  # matrix.rack_2d03
      - "{{ {'rack-03': '192.168.1.13'} | workers_of(['rack-03'], ['tomcat'], 8080, 9100) }}"
"""


def queue_of(worker: str, kind: str) -> str:
    """Return the name of a worker's own queue of a kind; two workers never share one.

    OpenMQ takes letters, digits, dots and underscores in a name. What a node's name has beside
    letters and digits is written as an underscore and two hexadecimal digits a byte.
    """
    word = re.sub(rb"[^A-Za-z0-9]", lambda odd: b"_%02x" % odd[0][0], worker.encode())
    return f"{kind}.{word.decode()}"


def workers_of(
    addresses: Mapping[str, str],
    names: Sequence[str],
    services: Sequence[str],
    tomcat_port: int | str,
    tcp_port: int | str,
) -> list[dict[str, Any]]:
    """Return the workers as lab.json tells its clients of them, in the order of `names`."""
    return [
        {
            "name": name,
            "address": addresses[name],
            "axis_url": f"http://{addresses[name]}:{tomcat_port}/axis",
            "tcp_port": int(tcp_port),
            "matrix_queue": queue_of(name, "matrix"),
            "hello_queue": queue_of(name, "hello"),
            "services": list(services),
        }
        for name in names
    ]


class FilterModule:
    """The filters of playbooks/vars/bench.yml."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {"queue_of": queue_of, "workers_of": workers_of}
