"""What cannot be meant by the settings of a node."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

EXAMPLES = r"""
- name: Refuse settings that cannot be
  ansible.builtin.assert:
    that: settings | badly_written | length == 0
"""

SERVER = re.compile(r"[A-Za-z0-9.:_-]+")
PROXY = re.compile(r"https?://[^\s\";]+")
FIRST_PORT, LAST_PORT = 1024, 65535
PORTS_OF_RANGE = 2
LINE = re.compile(r"deb(-src)?\s+(\[[^]]*\]\s+)?\S+:\S+\s+\S+")


def badly_written(settings: Mapping[str, Any]) -> list[str]:
    """Return each setting that cannot be, with the reason and what to write."""
    servers, sources = settings["baseline_time_servers"], settings["baseline_apt_sources"]
    proxy = settings["baseline_apt_proxy"]
    found = []
    if not isinstance(servers, list) or not all(is_server(server) for server in servers):
        found.append(
            f"baseline_time_servers is {servers!r}; write a list of names or addresses,"
            " for example [192.168.1.1]"
        )
    if proxy != "" and not (isinstance(proxy, str) and PROXY.fullmatch(proxy)):
        found.append(f"baseline_apt_proxy is {proxy!r}; write it as http://HOST:PORT")
    if sources != "" and not (isinstance(sources, str) and are_sources(sources)):
        found.append(
            "baseline_apt_sources is no list of sources; write lines such as `deb"
            " http://MIRROR/debian trixie main`, or paragraphs with Types, URIs and Suites"
        )
    for name in ("baseline_time_wait_s", "baseline_apt_wait_s"):
        if not is_count(settings[name]):
            found.append(f"{name} is {settings[name]!r}; write a number of seconds")
    if settings["baseline_irq_cpus"] and settings["baseline_irqbalance"]:
        found.append(
            "baseline_irq_cpus keeps interrupts where baseline_irqbalance would move them away;"
            " set one of both"
        )
    return found + wrong_range(settings["baseline_port_range"], settings["baseline_service_ports"])


def wrong_range(ports: object, services: list[int]) -> list[str]:
    """Return why a range of ports cannot be; empty for one that can, and for none."""
    if not ports:
        return []
    if not is_range(ports):
        return [
            f"baseline_port_range is {ports!r}; write the first and the last port, from"
            f" {FIRST_PORT} to {LAST_PORT}, for example [10240, {LAST_PORT}]"
        ]
    first, last = ports
    if held := sorted(port for port in services if first <= port <= last):
        listed = ", ".join(map(str, held))
        return [
            f"baseline_port_range is {ports!r} and holds {listed}, where services listen: a"
            " connection could take such a port while its service restarts; write a range without"
            " them"
        ]
    return []


def is_range(value: object) -> TypeGuard[list[int]]:
    """Return whether these are two ports in order that no privilege is needed for."""
    return (
        isinstance(value, list)
        and len(value) == PORTS_OF_RANGE
        and all(is_count(port) for port in value)
        and FIRST_PORT <= value[0] < value[1] <= LAST_PORT
    )


def is_server(value: object) -> bool:
    """Return whether this may be the name or address of a time server."""
    return isinstance(value, str) and bool(SERVER.fullmatch(value))


def is_count(value: object) -> bool:
    """Return whether this is a whole number of one or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def are_sources(text: str) -> bool:
    """Return whether this reads as apt's sources, in paragraphs or a line each."""
    lines = [line.strip() for line in text.splitlines()]
    meant = [line for line in lines if line and not line.startswith("#")]
    if any(line.startswith("Types:") for line in meant):
        return all(any(line.startswith(key) for line in meant) for key in ("URIs:", "Suites:"))
    return bool(meant) and all(LINE.match(line) for line in meant)


class FilterModule:
    """Names the filter."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by the name that templates use."""
        return {"badly_written": badly_written}
