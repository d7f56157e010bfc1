"""The plan of an install: the machines, and the files to serve."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Machine:
    """One machine of the plan and its progress; times are monotonic seconds.

    `offered` is true once it was given its boot script, in this run or an earlier one. `took` names
    those of its files (texts by their names) that it has requested since.
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
    """The machines to serve, the interface, and the sources.

    `machines` by MAC address; `archives` are URIs of Debian archives by the name under which they
    are served, each a list to try in order. A machine may take `wait_s` until it loads the
    installer, and be silent for `silence_s`. With `proxy` another server assigns the addresses for
    the firmware's boot.
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
    """Read a plan file; raises KeyError, TypeError or ValueError if it is not a plan."""
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
    """Return the file that records that a machine was given its boot script."""
    return directory / "offered"
