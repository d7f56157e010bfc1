"""Many idle or slow clients, and random bytes: services live, and others are served meanwhile."""

from __future__ import annotations

import math
import random
import struct
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import machine
import pytest
from attacker import BROKER, HEALTH, TCP, TOMCAT, Attacker
from labs import Lab, Say

CROWD = 1000
NOISE_S = 5
JMS_PORT = 7677
# The bound that the studies put on one call.
CALL_TIMEOUT_S = 60
SLOW = 300
# Tomcat leaves a slow one after 5 s, and has a thread for each of 128 at a time: so long, and a
# little longer, are all others kept waiting by the whole crowd.
SLOW_FOR_S = 5 * math.ceil(SLOW / 128) + 2
UNITS = {"axis": TOMCAT, "jaxws": TOMCAT, "tcp": TCP, "broker": BROKER, "health": HEALTH}
CROWDED = ["axis", "tcp", "broker"]  # jaxws has its connections from the same Tomcat
LISTENERS = ("sort-worker", "matrix-worker", "hello-listener")
NODES = {"broker": "broker1", "jms": "broker1"}


def assert_others_were_served(met: dict[str, Any]) -> None:
    assert met["calls"] > 0
    assert met["failures"] == [], met
    assert met["slowest_s"] < CALL_TIMEOUT_S, met


@pytest.mark.parametrize("service", CROWDED)
def test_a_crowd_of_idle_connections_keeps_nobody_out(
    attacker: Attacker, service: str, long_form: bool
) -> None:
    node = NODES.get(service, "worker1")
    # the broker's port mapper has done with them one after the other, which takes its time
    crowd = CROWD // 4 if service == "broker" and not long_form else CROWD
    with attacker.unharmed(node, UNITS[service]):
        met = attacker.run("idle", node, service, crowd, 60 if long_form else 2)
    assert met["opened"] == crowd
    assert_others_were_served(met)


# Slow ones go on for longer than the grace after which their threads serve others.
@pytest.mark.parametrize(
    ("what", "count", "seconds"), [("slow", SLOW, SLOW_FOR_S + 7), ("slow-heads", CROWD, 6)]
)
def test_slow_clients_of_tomcat_keep_nobody_out(
    attacker: Attacker, what: str, count: int, seconds: int, long_form: bool
) -> None:
    with attacker.unharmed("worker1", TOMCAT):
        met = attacker.run(what, "worker1", "axis", count, 60 if long_form else seconds)
    assert_others_were_served(met)
    assert met["slowest_s"] < SLOW_FOR_S, met


def test_slow_clients_of_the_tcp_server_keep_nobody_out(attacker: Attacker) -> None:
    with attacker.unharmed("worker1", TCP):
        met = attacker.run("slow", "worker1", "tcp", CROWD, 3)
    assert_others_were_served(met)


@pytest.fixture(scope="module")
def noise(attacker: Attacker, long_form: bool) -> dict[str, Future[dict[str, Any]]]:
    """What random bytes met at each service, sent to all of them at once."""

    def met(service: str) -> dict[str, Any]:
        node = NODES.get(service, "worker1")
        seed = random.randrange(2**32)  # noqa: S311 - not a secret
        attacker.run("idle", node, service, 0, 0)  # a good call, which starts what a socket starts
        with attacker.unharmed(node, UNITS[service]):
            return dict(attacker.run("fuzz", node, service, 300 if long_form else NOISE_S, seed))

    with ThreadPoolExecutor(len(UNITS)) as at_once:
        return {service: at_once.submit(met, service) for service in UNITS}


@pytest.mark.parametrize("service", UNITS)
def test_random_bytes_stop_no_service_and_keep_nobody_out(
    noise: dict[str, Future[dict[str, Any]]], service: str, tell: Say
) -> None:
    met = noise[service].result()
    tell(f"noise at {service}: {met}")
    assert met["sent"] > 0
    assert met["refused"] == 0, met
    assert_others_were_served(met)


# The header of a packet as clients of OpenMQ send it, 72 bytes: magic, version, type and size, then
# times and addresses, and at byte 56 where the properties begin: far beyond any heap.
DEADLY = struct.pack(">iHHi", 469754818, 103, 10, 100) + bytes(44) + struct.pack(">i", 0x2A2FA3E2)


def test_the_broker_is_back_after_a_packet_that_ends_it(
    attacker: Attacker, lab: Lab, tell: Say, long_form: bool
) -> None:
    """OpenMQ makes room for what a header announces, before any login; systemd starts it again."""
    attacker.run("raw", "broker1", JMS_PORT, (DEADLY + bytes(48)).hex())
    wait_until_served(attacker)
    seed = random.randrange(2**32)  # noqa: S311 - not a secret
    met = attacker.run("fuzz", "broker1", "jms", 300 if long_form else NOISE_S, seed)
    tell(f"noise at jms: {met}")
    assert met["sent"] > 0
    wait_until_served(attacker)
    assert lab.output("broker1", "systemctl is-active rackbench-broker") == "active"
    for worker in lab.workers:
        machine.wait_for(lambda worker=worker: listens(lab, worker), f"{worker} listens", 180)


def listens(lab: Lab, worker: str) -> bool:
    """Whether all programs of a worker that lost the broker are ready again."""
    ready = " ".join(f"/run/rackbench-{program}/ready" for program in LISTENERS)
    return lab.ssh(worker, f"sudo ls {ready}", check=False).returncode == 0


def wait_until_served(attacker: Attacker) -> None:
    """Until the broker answers a good call, and the next ones as well."""

    def served() -> bool:
        met = attacker.run("idle", "broker1", "broker", 0, 1)
        return met["calls"] > 1 and met["failures"] == []

    machine.wait_for(served, "the broker answers again")
