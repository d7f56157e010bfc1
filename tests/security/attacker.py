"""Attacks that run on the client node, and what the services attacked make of them."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labs import Lab

SOURCE = Path(__file__).with_name("attackers")
PLACE = "/var/tmp/attackers"  # noqa: S108 - on a node of the tests' own lab

TOMCAT = "rackbench-tomcat"
TCP = "rackbench-tcp-server"
SORT, MATRIX, LISTENER = (
    f"rackbench-{name}" for name in ("sort-worker", "matrix-worker", "hello-listener")
)
BROKER = "rackbench-broker"
HEALTH = "rackbench-health"
# What a JVM needs in addition to its heap: code, classes, threads, buffers.
BESIDE_HEAP_MIB = 300


@dataclass(frozen=True)
class Attacker:
    """Attacks services of the lab from its client node."""

    lab: Lab

    def run(self, what: str, node: str, *more: Any, given: str = "", timeout_s: float = 500) -> Any:
        """One attack; what it says it met."""
        words = " ".join([what, self.lab.nodes[node], *map(str, more)])
        done = self.lab.ssh(
            "client1", f"python3 {PLACE} {words}", given=given.encode(), timeout_s=timeout_s
        )
        return json.loads(done.stdout)

    @contextmanager
    def unharmed(self, node: str, *units: str) -> Iterator[None]:
        """These services live through it, and none grows beyond its heap."""
        before = self._state(node, units)
        yield
        after = self._state(node, units)
        for unit in units:
            assert after[unit]["MainPID"] == before[unit]["MainPID"], self.lab.journal(node, unit)
            assert after[unit]["ActiveState"] == "active"
            resident, bound = self._memory(node, after[unit])
            assert resident < bound, f"{unit} on {node}: {resident} MiB"

    def _state(self, node: str, units: Sequence[str]) -> dict[str, dict[str, str]]:
        shown = self.lab.output(
            node, f"systemctl show -p Id,MainPID,MemoryMax,ActiveState {' '.join(units)}"
        )
        blocks = [
            dict(line.split("=", 1) for line in block.split("\n")) for block in shown.split("\n\n")
        ]
        return {block["Id"].removesuffix(".service"): block for block in blocks}

    def _memory(self, node: str, unit: Mapping[str, str]) -> tuple[int, int]:
        """Most memory resident so far and what it may be, both in MiB."""
        process = f"/proc/{unit['MainPID']}"
        said = self.lab.output(
            node,
            f"grep VmHWM {process}/status; tr '\\0' '\\n' <{process}/cmdline | grep -e -Xmx"
            " || true",
        ).splitlines()
        peak = next(int(line.split()[1]) // 1024 for line in said if line.startswith("VmHWM"))
        heap = [line.removeprefix("-Xmx").removesuffix("m") for line in said if "-Xmx" in line]
        if heap:
            return peak, int(heap[0]) + BESIDE_HEAP_MIB
        return peak, int(unit["MemoryMax"]) // 1024**2


def deploy_attackers(lab: Lab) -> Attacker:
    """Lay the attackers on the client node."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for file in sorted(SOURCE.glob("*.py")):
            archive.add(file, file.name)
    lab.ssh("client1", f"mkdir -p {PLACE} && tar -x -C {PLACE}", given=packed.getvalue())
    return Attacker(lab)
