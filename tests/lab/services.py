"""The systemd units of the nodes' services, and whether one of them answers."""

from __future__ import annotations

from collections.abc import Callable

import requests
import zeep

TOMCAT = "rackbench-tomcat.service"
BROKER = "rackbench-broker.service"
SORT_WORKER = "rackbench-sort-worker.service"
MATRIX_WORKER = "rackbench-matrix-worker.service"
LISTENER = "rackbench-hello-listener.service"
TCP_SERVER = "rackbench-tcp-server.service"


def serves(ask: Callable[[], bool]) -> Callable[[], bool]:
    """Return the same question, where a service that gives no answer counts as no."""

    def answered() -> bool:
        try:
            return ask()
        except (requests.RequestException, zeep.exceptions.Error, AssertionError, KeyError):
            return False

    return answered
