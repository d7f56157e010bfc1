"""What may happen to a lab during a night, each as a blow and as what mends it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import machine
from labs import RUNNER, Lab
from night import Night
from services import BROKER, SORT_WORKER, TOMCAT


@dataclass(frozen=True)
class Fault:
    """A blow to the night that is under way; it returns when the lab is whole again."""

    name: str
    strike: Callable[[Night], None]


def kill_unit(lab: Lab, node: str, unit: str) -> None:
    """Kill -9 a unit's processes; nothing happens to one that is dead already."""
    lab.ssh(node, f"sudo systemctl kill -s KILL {unit}", check=False)


def kill_trial(night: Night) -> None:
    """Kill -9 the JVM of the trial that runs now."""
    night.runs_a_trial()
    night.lab.ssh("client1", f"sudo kill -9 {night.trial_pid()}", check=False)


def power_off(night: Night, node: str) -> None:
    """End a node at once with all inside, and switch it on again."""
    machine.kill_node(night.lab.name, node)
    night.lab.hang_up()
    time.sleep(2)
    night.lab.play("lab.yml")


@contextmanager
def cut_link(lab: Lab, node: str) -> Iterator[None]:
    """Unplug a node; it is plugged in again whatever happens."""
    link = machine.link(lab.name, node)
    subprocess.run(["ip", "link", "set", link, "down"], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "link", "set", link, "up"], check=True)


def unplug(night: Night, node: str, seconds: float) -> None:
    """A cable that is out for a while."""
    with cut_link(night.lab, node):
        time.sleep(seconds)


FAULTS = [
    Fault("playbook killed", Night.kill),
    Fault("runner killed", lambda night: kill_unit(night.lab, "client1", RUNNER)),
    Fault("trial killed", kill_trial),
    Fault("Tomcat killed", lambda night: kill_unit(night.lab, "worker1", TOMCAT)),
    Fault("worker killed", lambda night: kill_unit(night.lab, "worker1", SORT_WORKER)),
    Fault("broker killed", lambda night: kill_unit(night.lab, "broker1", BROKER)),
    Fault(
        "broker restarted",
        lambda night: night.lab.ssh("broker1", f"sudo systemctl restart {BROKER}") and None,
    ),
    Fault("link of a worker cut", lambda night: unplug(night, "worker1", 8)),
    Fault("link of the client cut", lambda night: unplug(night, "client1", 8)),
    Fault("worker off", lambda night: power_off(night, "worker2")),
    Fault("client off", lambda night: power_off(night, "client1")),
]
