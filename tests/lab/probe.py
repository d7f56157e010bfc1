"""An independent JMS client, compiled here against the API alone and run on the client node."""

from __future__ import annotations

import base64
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from labs import Lab
from project import DIST

from collect.files import unpack

SOURCE = Path(__file__).with_name("JmsProbe.java")
PLACE = "/var/tmp/jms-probe"  # noqa: S108 - on a node of the tests' own lab


@dataclass(frozen=True)
class Probe:
    """Speaks JMS to the broker from the client node."""

    lab: Lab

    def ask(self, *arguments: str, user: str, password: str, values: str = "") -> list[str]:
        """Run the probe; its lines."""
        command = (
            f"sudo -u rackbench java -cp '{PLACE}:/opt/rackbench/clients/sort-jms/*' "
            f"JmsProbe {' '.join(arguments)}"
        )
        given = f"{user} {password} {values}\n".encode()
        return self.lab.ssh("client1", command, given=given).stdout.decode().splitlines()

    @property
    def password(self) -> str:
        """The generated password, as clients find it on their node."""
        return self.lab.output("client1", "cat /etc/rackbench/broker.password")

    def exchange(self, request: bytes, *queues: str) -> list[bytes]:
        """Send a message of these bytes to each queue; the bytes of the answers."""
        said = self.ask(
            "exchange",
            *queues,
            user="bench",
            password=self.password,
            values=base64.b64encode(request).decode(),
        )
        answers = [line.removeprefix("answer ") for line in said if line.startswith("answer ")]
        assert len(answers) == len(queues), said
        return [base64.b64decode(answer) for answer in answers]

    def sort(self, servers: int, worker: str, values: list[int]) -> tuple[str, list[int]]:
        """Let a worker sort over the queue of a pool; who did it and what it answered."""
        lines = self.ask(
            "sort",
            f"sort.pool{servers}",
            worker,
            user="bench",
            password=self.password,
            values=" ".join(map(str, values)),
        )
        said = dict(line.partition(" ")[::2] for line in lines)
        assert said.get("of") == f"probe-{worker}", lines
        return said["by"], [int(word) for word in said["sorted"].split()]


def deploy_probe(lab: Lab, scratch: Path) -> Probe:
    """Compile the probe and lay it on the client node."""
    with tarfile.open(lab.player.project.root / DIST / "clients.tar.gz") as clients:
        jars = [one for one in clients if one.name.startswith("sort-jms/jakarta.jms-api")]
        unpack(clients, jars, scratch)
    api = next(scratch.glob("sort-jms/jakarta.jms-api*.jar"))
    classes = scratch / "classes"
    subprocess.run(
        ["javac", "--release", "17", "-cp", str(api), "-d", str(classes), str(SOURCE)],
        check=True,
        capture_output=True,
    )
    lab.ssh("client1", f"mkdir -p {PLACE}")
    compiled = (classes / "JmsProbe.class").read_bytes()
    lab.ssh("client1", f"cat >{PLACE}/JmsProbe.class", given=compiled)
    return Probe(lab)
