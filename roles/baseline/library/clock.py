#!/usr/bin/python
"""Sets the servers of the node's own time daemon, and waits until the clock is right."""

DOCUMENTATION = r"""
module: clock
short_description: Sets the servers of the node's own time daemon
description:
  - The installed daemon (chrony, ntpsec or systemd-timesyncd) gets a drop-in and is not replaced.
  - With servers it waits until the clock is set by one of them.
  - A daemon that was off is turned on and recorded; the module C(tuning) turns it off again.
options:
  state:
    description: C(checked) asks the servers and changes nothing; C(kept) lets the daemon keep time.
    choices: [checked, kept]
    default: kept
  servers: {description: Names or addresses; none leaves the node's own, type: list, default: []}
  wait_s: {description: How long the clock may take to be right, type: int, default: 120}
"""

EXAMPLES = r"""
- name: Let the node take its time from one server
  clock:
    servers: [192.168.1.1]
    wait_s: 60
"""

RETURN = r"""
daemon:
  description: The unit that keeps time, empty where none is installed.
  type: str
  returned: always
"""

import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ansible.module_utils import host
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.tuning import steps

NTP_PORT = 123
ANSWER_S = 2.0
ASKED_TIMES = 3
CLIENT_REQUEST = bytes([0x23]) + bytes(47)
NOT_SET = 3
"""The leap indicator of a server without a valid time."""
LOOK_EVERY_S = 0.5
HEAD = "# Ansible managed: baseline_time_servers\n"


@dataclass(frozen=True)
class Daemon:
    """A time daemon: its unit, its drop-in, the form of servers there, its check of the clock."""

    unit: str
    drop_in: str
    text: Callable[[list[str]], str]
    is_right: Callable[[], bool]
    status: tuple[str, ...]


def lines(servers: list[str]) -> str:
    """Return a line for each server, in the form of chrony and ntpsec."""
    return "".join(f"server {server} iburst prefer\n" for server in servers)


def kernel_is_told() -> bool:
    """Return whether the daemon has reported to the kernel that the clock is right."""
    told: str | None = host.output("timedatectl", "show", "-p", "NTPSynchronized", "--value")
    return told == "yes"


def timesyncd_is_right() -> bool:
    """Return whether timesyncd has heard a server since it was started, and set the clock."""
    heard = host.output("timedatectl", "show-timesync", "-p", "NTPMessage", "--value")
    return bool(heard) and kernel_is_told()


DAEMONS = (
    Daemon(
        "chrony.service",
        "etc/chrony/sources.d/rackbench.sources",
        lambda servers: HEAD + lines(servers),
        lambda: host.succeeds("chronyc", "waitsync", "1"),
        ("chronyc", "-n", "sources"),
    ),
    Daemon(
        "ntpsec.service",
        "etc/ntpsec/ntp.d/rackbench.conf",
        # Debian asks for three servers that agree; a lab may have one.
        lambda servers: HEAD + "tos minsane 1\n" + lines(servers),
        kernel_is_told,
        ("ntpq", "-np"),
    ),
    Daemon(
        "systemd-timesyncd.service",
        "etc/systemd/timesyncd.conf.d/rackbench.conf",
        lambda servers: f"{HEAD}[Time]\nNTP={' '.join(servers)}\n",
        timesyncd_is_right,
        ("timedatectl", "timesync-status"),
    ),
)


OTHERS = ("openntpd.service", "ntpd-rs.service")
OTHER_KEEPS_TIME = (
    "{} keeps the clock here, and rackbench sets chrony, ntpsec and systemd-timesyncd, of"
    " which Debian installs none next to it. Write baseline_time_sync: false for this node;"
    " rackbench still compares its clock"
)
# Units that set the clock from a hardware clock, next to which the daemons are off on purpose; the
# chronyd of timemaster is its child and no unit.
PTP = ("phc2sys*", "ptp4l*", "timemaster*", "sfptpd*")
DEFAULT = DAEMONS[-1].unit
NONE_RUNS = (
    f"no time service runs here, although {DEFAULT} was installed. If something else keeps the"
    " clock, write baseline_time_sync: false for this node"
)
VENDOR = "usr/lib/systemd/system"
MASKED = (
    "{0} is masked here, so rackbench does not start it, and Debian installs no other time daemon"
    " next to it. Turn it on (systemctl unmask {0}), or write baseline_time_sync: false for this"
    " node; rackbench still compares its clock"
)


def another() -> str:
    """Return why a node without one of the daemons that is on cannot get one, or nothing."""
    for state in host.states(*OTHERS):
        if state["LoadState"] == "loaded":
            return OTHER_KEEPS_TIME.format(state["Id"].removesuffix(".service"))
    states = ("--state=active,activating", "--type=service")
    shown = host.output("systemctl", "list-units", "--plain", "--no-legend", *states, *PTP) or ""
    units = [line.split()[0] for line in shown.splitlines() if line.strip()]
    if not units:
        return ""
    return (
        f"{', '.join(units)} keeps the clock here, and a time daemon of rackbench's would set it as"
        " well. Write baseline_time_sync: false for this node; rackbench still compares its clock"
    )


def installed(root: Path = Path("/")) -> tuple[Daemon | None, bool, str]:
    """Return the node's time daemon, preferably a running one, and whether it is on.

    Third, why none may be turned on where none runs; nothing if one may.
    """
    found, masked = [], []
    states = host.states(*(daemon.unit for daemon in DAEMONS))
    for daemon, state in zip(DAEMONS, states, strict=True):
        if state["LoadState"] == "loaded":
            is_active = state["ActiveState"] in ("active", "activating")
            found.append((is_active, is_active and state["UnitFileState"] == "enabled", daemon))
        elif state["LoadState"] == "masked" and (root / VENDOR / daemon.unit).exists():
            masked.append(MASKED.format(daemon.unit))
    is_active, is_on, keeper = max(found, key=lambda row: row[0], default=(False, False, None))
    why_not = "" if is_active else another()
    return keeper, is_on, why_not or ("" if keeper else "".join(masked[:1]))


def refusal(server: str) -> str:
    """Return why this node cannot use a server; empty if the server gives the time."""
    if not re.fullmatch(r"[A-Za-z0-9.:_-]+", server):
        return f"{server!r} is neither a name nor an address"
    try:
        places = socket.getaddrinfo(server, NTP_PORT, type=socket.SOCK_DGRAM)
    except OSError as error:
        return f"{server} cannot be resolved here ({error.strerror})"
    for family, kind, protocol, _, place in places[:1] * ASKED_TIMES:
        with socket.socket(family, kind, protocol) as asked:
            asked.settimeout(ANSWER_S)
            try:
                asked.connect(place)
                asked.send(CLIENT_REQUEST)
                answer = asked.recv(512)
            except OSError:
                continue
            if len(answer) >= len(CLIENT_REQUEST):
                no_time = answer[0] >> 6 == NOT_SET or not 0 < answer[1] < 16
                return f"{server} answers, but has no valid time" if no_time else ""
    return f"{server} does not answer on UDP port {NTP_PORT}"


FORMER = "etc/chrony/conf.d/rackbench.conf"
"""The file of an earlier version on a node whose chrony reads no `sources.d`."""


def drop_in_of(root: Path, daemon: Daemon) -> Path:
    """Return the path of the drop-in; raise OSError if the daemon's own file does not read it."""
    own = root / "etc/chrony/chrony.conf"
    reads = r"^\s*sourcedir\s+/etc/chrony/sources\.d\s*$"
    is_chrony = daemon.unit == "chrony.service" and own.exists()
    if is_chrony and not re.search(reads, own.read_text(errors="replace"), re.M):
        raise OSError(
            "/etc/chrony/chrony.conf reads no drop-in; write `sourcedir /etc/chrony/sources.d`"
            " into it on the node"
        )
    return root / daemon.drop_in


def settle(wait_s: int, is_right: Callable[[], bool]) -> bool:
    """Wait for the clock, up to a limit, and return whether it is right."""
    end = time.monotonic() + wait_s
    while not is_right():
        if time.monotonic() >= end:
            return False
        time.sleep(LOOK_EVERY_S)
    return True


def configure(root: Path, daemon: Daemon, servers: list[str], *, check: bool) -> bool:
    """Write or remove the drop-in; return whether that changes anything."""
    path = drop_in_of(root, daemon) if servers else None
    wanted = daemon.text(servers) if path else ""
    drop_ins = [root / FORMER, *(root / one.drop_in for one in DAEMONS)]
    stale = [place for place in drop_ins if place != path and place.exists()]
    differs = path is not None and host.text_of(path) != wanted
    if not check:
        for one in stale:
            one.unlink()
        if path and differs:
            host.write(path, wanted)
    return differs or bool(stale)


def turn_on(root: Path, unit: str, verb: str) -> None:
    """Enable a unit, and start or restart it; record first that it was off, if it was."""
    (state,) = host.states(unit)
    was = {
        "enabled": state["UnitFileState"].startswith("enabled"),
        "active": state["ActiveState"] in ("active", "activating"),
    }
    if not all(was.values()):
        steps.add_to_record(root, ("turned_on", {unit: was}))
    host.run("systemctl", "--quiet", "enable", unit)
    host.run("systemctl", "--quiet", verb, unit)


def main() -> None:
    """Do what the task asks."""
    module = AnsibleModule(
        argument_spec={
            "state": {"choices": ["checked", "kept"], "default": "kept"},
            "servers": {"type": "list", "elements": "str", "default": []},
            "wait_s": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    servers = module.params["servers"]
    daemon, is_on, why_not = installed()
    if why_not:
        module.fail_json(msg=why_not)
    if module.params["state"] == "checked":
        refusals = [why for why in map(refusal, servers) if why]
        if servers and len(refusals) == len(servers):
            module.fail_json(
                msg=f"no server of baseline_time_servers is usable: {'; '.join(refusals)}. Correct"
                " it, or check that the server runs and that no firewall blocks UDP port 123"
            )
        for why in refusals:
            module.warn(f"baseline_time_servers: {why}")
        module.exit_json(changed=False, daemon=daemon.unit if daemon else "")
    if daemon is None:
        if module.check_mode:
            module.exit_json(changed=True, daemon="")
        module.fail_json(msg=NONE_RUNS)
        return
    try:
        differs = configure(Path("/"), daemon, servers, check=module.check_mode)
        if not module.check_mode and (differs or not is_on):
            turn_on(Path("/"), daemon.unit, "restart" if differs else "start")
    except OSError as error:
        module.fail_json(msg=str(error))
    if module.check_mode:
        module.exit_json(changed=differs or not is_on, daemon=daemon.unit)
    right = settle(module.params["wait_s"] if servers else 0, daemon.is_right)
    if servers and not right:
        status = host.output(*daemon.status) or "nothing"
        module.fail_json(
            msg=f"the clock was not set within {module.params['wait_s']} s by {', '.join(servers)}."
            f" {daemon.unit} reports: {status}. Read its journal on the node;"
            " baseline_time_wait_s limits the wait"
        )
    if not right:
        module.warn(
            f"{daemon.unit} has not set the clock; name servers that the node reaches in"
            " baseline_time_servers, or let the control host serve time: rackbench_serve_time"
        )
    module.exit_json(changed=differs or not is_on, daemon=daemon.unit)


if __name__ == "__main__":
    main()
