"""OpenMQ's client loses an answer when a connection is started while its session is made.

docs/explain/upstream.md describes it, and rackbench's JMS transport avoids it. This fails when a
release of the client has mended it: then the page and the order in ``ClientConnector`` can go.
"""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from middleware import OPENMQ, ROOT, Programs, free_ports

SOURCE = ROOT / "tests/bench/unanswered/Unanswered.java"
PATIENCE_MS = 5000

pytestmark = pytest.mark.skipif(
    not shutil.which("javac") or not OPENMQ.is_file(), reason="JDK or OpenMQ is not here"
)


@pytest.fixture(scope="module")
def unanswered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], list[int]]]:
    """Make one call; how many were made, unanswered, and revived."""
    home = tmp_path_factory.mktemp("unanswered")
    shutil.unpack_archive(OPENMQ, home)
    path = f"{home}:{home}/mq/lib/imq.jar:{home}/mq/lib/jms.jar"
    subprocess.run(["javac", "-nowarn", "-d", home, "-cp", path, SOURCE], check=True)
    (port,) = free_ports(1)
    broker = Programs(home, Path()).broker(port)

    def call(order: str) -> list[int]:
        command = ["java", "-Xmx64m", f"-Dpatience={PATIENCE_MS}", "-cp", path, "Unanswered"]
        done = subprocess.run(
            [*command, f"mq://127.0.0.1:{port}/jms", order, "1", "1", "60"],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return [int(number) for number in re.findall(r"\d+", done.stdout)]

    try:
        yield call
    finally:
        broker.kill()
        broker.wait(30)


def test_an_answer_stays_with_the_client_that_missed_its_session(
    unanswered: Callable[[str], list[int]],
) -> None:
    assert unanswered("held") == [1, 1, 1]


def test_a_connection_that_is_started_first_gets_its_answer(
    unanswered: Callable[[str], list[int]],
) -> None:
    assert unanswered("start-first") == [1, 0, 0]
