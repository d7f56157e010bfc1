"""What is served, and to whom."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Machine:
    """One machine of the plan and how far it is; times are monotonic seconds.

    `offered` says that it was given its boot script, in this run or in one before, and `took` which
    of its files, texts by their names, it has asked for since.
    """

    name: str
    address: str
    port: int
    directory: Path
    token: str
    files: dict[str, str]
    mac: str = ""
    state: str = "waiting"
    detail: str = ""
    offered: bool = False
    took: set[str] = field(default_factory=set)
    attempts: int = 0
    strangers: set[str] = field(default_factory=set)
    began: float = 0.0
    sign: float = field(default_factory=time.monotonic)
    host_key: str = ""


@dataclass(frozen=True)
class Plan:
    """What is served: to whom, on which interface, from where.

    `machines` by MAC address; `archives` are URIs of Debian archives by the name they are served
    under, each a list that is asked in order. A machine may take `wait_s` until it loads the
    installer, and say nothing for `silence_s`. With `proxy` another server gives the addresses that
    firmware boots with.
    """

    interface: str
    address: str
    port: int
    log_port: int
    proxy: bool
    dnsmasq: list[str]
    installer: Path
    cache: Path
    archives: dict[str, list[str]]
    fetch: list[str]
    wait_s: float
    silence_s: float
    machines: dict[str, Machine]


def read_plan(path: Path) -> Plan:
    """Read a plan file; raises KeyError, TypeError or ValueError where it is none."""
    given = json.loads(path.read_text())
    machines = {}
    for mac, described in given.pop("machines").items():
        directory = Path(described["directory"])
        offered = offer_of(directory).exists()
        machines[mac] = Machine(
            **{**described, "directory": directory, "mac": mac, "offered": offered}
        )
    given |= {name: Path(given[name]) for name in ("installer", "cache")}
    return Plan(**given, machines=machines)


def offer_of(directory: Path) -> Path:
    """Return the file that remembers that a machine was given its boot script."""
    return directory / "offered"
