"""Trials planned by hand and run by the runner on the client node, without a sweep around them."""

from __future__ import annotations

import csv
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labs import Lab

PLACE = "/tmp/hand-made-run"  # noqa: S108 - on a node of the tests' own lab
JNDI = "/etc/rackbench/jndi/.bindings"


@dataclass(frozen=True)
class Planned:
    """One trial, of few calls."""

    client: str
    factors: Mapping[str, Any]
    constants: Mapping[str, Any] = field(default_factory=dict)
    calls: int = 2
    threads: int = 1
    timeout_s: int = 180
    needs: Sequence[str] = ()

    def line(self, position: int) -> str:
        """Its line of plan.jsonl."""
        record = {
            "schema": 1,
            "id": f"t{position}",
            "study": "by-hand",
            "profile": "by-hand",
            "block": 1,
            "position": position,
            "client": self.client,
            "factors": self.factors,
            "constants": {"client_heap_mb": 64, "call_timeout_s": 60, **self.constants},
            "node": {},
            "needs": list(self.needs),
            "calls": self.calls,
            "warmup": 0,
            "threads": self.threads,
            "timeout_s": self.timeout_s,
            "seed": position,
        }
        return json.dumps(record)


@dataclass(frozen=True)
class Sealed:
    """What came of one trial."""

    record: Mapping[str, Any]
    rows: Sequence[Mapping[str, str]]

    @property
    def outcome(self) -> str:
        """Its outcome."""
        return str(self.record["outcome"])

    @property
    def reason(self) -> str:
        """Why, or nothing."""
        return str(self.record["reason"])

    def request_bytes(self, *, headers: bool = False) -> float:
        """Mean bytes of a request."""
        sizes = [int(row["request_bytes"]) for row in self.rows]
        return sum(sizes) / len(sizes) + (self.record["request_header_bytes"] if headers else 0)


def run(lab: Lab, *trials: Planned, store: tuple[str, str] = ("^", "")) -> list[Sealed]:
    """Run trials one after the other; what was sealed, in this order.

    `store` is what sed replaces, and by what, in each line of the administered objects.
    """
    plan = "".join(trial.line(position) + "\n" for position, trial in enumerate(trials, 1))
    old, new = store
    lab.output("client1", f"rm -rf {PLACE}; install -d -o rackbench {PLACE} {PLACE}/jndi")
    lab.ssh("client1", f"sudo tee {PLACE}/plan.jsonl >/dev/null", given=plan.encode())
    command = (
        f"sed 's|{old}|{new}|' {JNDI} >{PLACE}/jndi/.bindings; "
        f"sed s,/etc/rackbench/jndi,{PLACE}/jndi, /etc/rackbench/lab.json >{PLACE}/lab.json; "
        f"chmod -R a+rX {PLACE}; "
        "runuser -u rackbench -- java -Xmx64m -cp '/opt/rackbench/harness/*' "
        f"org.rackbench.harness.runner.Runner --run {PLACE} --lab {PLACE}/lab.json "
        f"--clients /opt/rackbench/clients:/opt/rackbench/programs --lock {PLACE}/lock"
    )
    lab.output("client1", command, timeout_s=60 + sum(trial.timeout_s for trial in trials))
    return [_sealed(lab, f"t{position}") for position, _ in enumerate(trials, 1)]


def _sealed(lab: Lab, name: str) -> Sealed:
    packed = lab.ssh("client1", f"sudo tar -C {PLACE}/trials/{name} -c .").stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        contents = {
            member.name: stream.read().decode()
            for member in files
            if (stream := files.extractfile(member))
        }
    calls = contents.get("./calls.csv", "")
    return Sealed(json.loads(contents["./trial.json"]), list(csv.DictReader(io.StringIO(calls))))
