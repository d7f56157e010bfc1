"""Runs Apache JMeter on the client node without its GUI."""

from __future__ import annotations

import csv
import io
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench_lab import BenchLab, said
from by_hand import CLIENT
from jmeter_home import jmeter_home

PLANS = Path(__file__).parent / "jmeter"
JMETER = "/opt/jmeter"


@dataclass(frozen=True)
class Sample:
    """A call as JMeter logs it, in whole milliseconds; `start` is by the node's clock."""

    start: int
    elapsed: int
    is_ok: bool


def install(lab: BenchLab, java: Sequence[str] = ()) -> None:
    """Put JMeter, its test plans and a start script with JVM options on the client."""
    home = jmeter_home(lab.state)
    for plan in PLANS.glob("*.jmx"):
        shutil.copy(plan, home)
    unpack = f"sudo mkdir -p {JMETER} && sudo tar -xf - -C {JMETER}"
    said([*lab.ssh(CLIENT), unpack], said(["tar", "-cf", "-", "-C", str(home), "."]))
    script = f'#!/bin/sh\nexec java {shlex.join(java)} -jar {JMETER}/bin/ApacheJMeter.jar "$@"\n'
    place = "sudo tee /usr/local/bin/jmeter >/dev/null && sudo chmod 0755 /usr/local/bin/jmeter"
    said([*lab.ssh(CLIENT), place], script.encode())


def samples(
    lab: BenchLab, plan: str, options: Mapping[str, object], java: Sequence[str]
) -> list[Sample]:
    """Run a test plan with these properties and a log of the needed columns; return its calls."""
    given = dict(options) | {f"jmeter.save.saveservice.{name}": "false" for name in _UNSAVED}
    command = (
        'cd "$(mktemp -d)" && trap \'rm -rf "$PWD"\' EXIT && '
        f"java {shlex.join(java)} -jar {JMETER}/bin/ApacheJMeter.jar -n -t {JMETER}/{plan} "
        "-l calls.csv "
        + shlex.join(f"-J{name}={value}" for name, value in given.items())
        + " >out 2>&1 || { cat out jmeter.log >&2; exit 1; }; cat calls.csv"
    )
    script = f"sudo -u rackbench bash -c {shlex.quote(command)}"
    printed = said([*lab.ssh(CLIENT), script]).decode()
    return [
        Sample(int(call["timeStamp"]), int(call["elapsed"]), call["success"] == "true")
        for call in csv.DictReader(io.StringIO(printed))
    ]


_UNSAVED = (
    *("label", "response_code", "response_message", "thread_name", "data_type", "bytes"),
    *("sent_bytes", "thread_counts", "url", "latency", "idle_time", "connect_time"),
    "assertion_results_failure_message",
)
