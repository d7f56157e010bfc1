"""What may happen to a lab during a sweep: each fault, and how the lab is made whole again."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import machine
from interrupted import InterruptedRun
from labs import RUNNER, Lab
from services import BROKER, SORT_WORKER, TOMCAT

# Asked on the node, as a trial may take less time than two commands over SSH.
KILL_NEXT = f"""
newest() {{ pgrep -n -P "$(systemctl show -P MainPID {RUNNER})" java; }}
before=$(newest)
until now=$(newest) && [ "$now" != "$before" ] && kill -9 "$now"; do sleep 0.05; done
"""


@dataclass(frozen=True)
class Fault:
    """A fault during a sweep; `strike` returns when the lab is whole again."""

    name: str
    strike: Callable[[InterruptedRun], None]
    long: bool = False
    """Whether it is one more of a kind, and struck in the long form only."""


def kill_unit(lab: Lab, node: str, unit: str) -> None:
    """Kill -9 a unit's processes; nothing happens to one that is dead already."""
    lab.ssh(node, f"sudo systemctl kill -s KILL {unit}", check=False)


def kill_trial(sweep: InterruptedRun) -> None:
    """Kill -9 the JVM of the next trial; that of the one that runs now may be at its end."""
    sweep.runs_a_trial()
    sweep.lab.ssh("client1", f"sudo timeout 60 sh -c {shlex.quote(KILL_NEXT)}", check=False)


def power_off(sweep: InterruptedRun, node: str) -> None:
    """End a node at once with all inside, and switch it on again."""
    machine.kill_node(sweep.lab.name, node)
    sweep.lab.hang_up()
    time.sleep(2)
    sweep.lab.play("lab.yml")


@contextmanager
def cut_link(lab: Lab, node: str) -> Iterator[None]:
    """Unplug a node; it is plugged in again whatever happens."""
    link = machine.link(lab.name, node)
    subprocess.run(["ip", "link", "set", link, "down"], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "link", "set", link, "up"], check=True)


def unplug(sweep: InterruptedRun, node: str, seconds: float) -> None:
    """A cable that is out for a while."""
    with cut_link(sweep.lab, node):
        time.sleep(seconds)


# In the short form test_sweep.py, test_open_loop.py and test_groups.py kill the first two.
FAULTS = [
    Fault("playbook killed", InterruptedRun.kill, long=True),
    Fault("runner killed", lambda sweep: kill_unit(sweep.lab, "client1", RUNNER), long=True),
    Fault("trial killed", kill_trial),
    Fault("Tomcat killed", lambda sweep: kill_unit(sweep.lab, "worker1", TOMCAT), long=True),
    Fault("worker killed", lambda sweep: kill_unit(sweep.lab, "worker1", SORT_WORKER), long=True),
    Fault("broker killed", lambda sweep: kill_unit(sweep.lab, "broker1", BROKER)),
    Fault(
        "broker restarted",
        lambda sweep: sweep.lab.ssh("broker1", f"sudo systemctl restart {BROKER}") and None,
        long=True,
    ),
    Fault("link of a worker cut", lambda sweep: unplug(sweep, "worker1", 8)),
    Fault("link of the client cut", lambda sweep: unplug(sweep, "client1", 8), long=True),
    Fault("worker off", lambda sweep: power_off(sweep, "worker2"), long=True),
    Fault("client off", lambda sweep: power_off(sweep, "client1")),
]
