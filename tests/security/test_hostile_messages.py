"""Messages that no worker expects: an error or silence for their sender, and work goes on."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from attacker import BROKER, LISTENER, MATRIX, SORT, Attacker
from labs import Lab
from messages import envelope, serialised
from probe import Probe
from project import DIST

from collect.files import unpack

SOURCE = Path(__file__).with_name("HostileMessages.java")
PLACE = "/var/tmp/hostile-messages"  # noqa: S108 - on a node of the tests' own lab

Send = Callable[[str, str, int], dict[str, str]]


@pytest.fixture(scope="module")
def send(lab: Lab, probe: Probe, tmp_path_factory: pytest.TempPathFactory) -> Send:
    """Sends a queue all of it; what came of each message."""
    scratch = tmp_path_factory.mktemp("garbage")
    with tarfile.open(lab.player.project.root / DIST / "clients.tar.gz") as clients:
        jars = [one for one in clients if one.name.startswith("sort-jms/jakarta.jms-api")]
        unpack(clients, jars, scratch)
    api = next(scratch.glob("sort-jms/jakarta.jms-api*.jar"))
    subprocess.run(
        ["javac", "--release", "17", "-cp", api, "-d", scratch / "classes", SOURCE],
        check=True,
        capture_output=True,
    )
    packed = subprocess.run(
        ["tar", "-c", "-C", scratch / "classes", "."], check=True, capture_output=True
    ).stdout
    lab.ssh("client1", f"mkdir -p {PLACE} && tar -x -C {PLACE}", given=packed)

    def sender(queue: str, foreign: str, patience_ms: int) -> dict[str, str]:
        command = (
            "sudo -u rackbench java -Xmx512m"
            f" -cp '{PLACE}:/opt/rackbench/clients/sort-jms/*'"
            f" HostileMessages {queue} {foreign} {patience_ms}"
        )
        said = lab.ssh("client1", command, given=f"bench {probe.password}\n".encode())
        lines = said.stdout.decode().splitlines()
        return dict(line.partition(": ")[::2] for line in lines)

    return sender


REFUSED = {
    **dict.fromkeys(("text", "plain message", "object", "map", "stream"), "not a BytesMessage"),
    "40 MiB": "refused ",
}


@pytest.mark.journal(MATRIX, "worker1")
def test_the_matrix_worker_says_what_is_wrong_and_goes_on(
    attacker: Attacker, probe: Probe, send: Send
) -> None:
    with attacker.unharmed("worker1", MATRIX), attacker.unharmed("broker1", BROKER):
        met = send("matrix.worker1", "matrix.worker2", 20_000)
        for name, words in {**REFUSED, "no bytes": "EOF", "noise": "invalid stream"}.items():
            assert words in met[name], met
        sent = serialised([[1.0, 2.0], [3.0, 4.0]])
        assert probe.exchange(sent, "matrix.worker1", "matrix.worker2") == [sent, sent]


@pytest.mark.journal(SORT, "worker1")
def test_the_sort_workers_say_what_is_wrong_and_go_on(
    attacker: Attacker, probe: Probe, send: Send
) -> None:
    with ExitStack() as watched:
        watched.enter_context(attacker.unharmed("broker1", BROKER))
        for worker in attacker.lab.workers:  # what names no worker may go to any
            watched.enter_context(attacker.unharmed(worker, SORT))
        met = send("sort.pool1", "sort.pool2", 20_000)
        for name, words in {**REFUSED, "noise": "no whole number of integers"}.items():
            assert words in met[name], met
        assert probe.sort(1, "worker1", [3, 1, 2]) == ("worker1", [1, 2, 3])


@pytest.mark.journal(LISTENER, "worker1")
def test_the_listener_of_axis_goes_on_after_messages_that_it_does_not_expect(
    attacker: Attacker, probe: Probe, send: Send
) -> None:
    with attacker.unharmed("worker1", LISTENER), attacker.unharmed("broker1", BROKER):
        met = send("hello.worker1", "hello.worker2", 500)
        assert met["40 MiB"].startswith("refused "), met
        request = envelope('<h:hello xmlns:h="urn:rackbench:hello"><text>Hi</text></h:hello>')
        assert b"Hi" in probe.exchange(request, "hello.worker1")[0]
