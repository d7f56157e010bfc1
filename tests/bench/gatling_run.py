"""Gatling on the client node, without its reports."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

import gatling_log
from bench_lab import BenchLab, said
from by_hand import CLIENT

OPENS = "--add-opens=java.base/java.lang=ALL-UNNAMED"


def requests(
    lab: BenchLab,
    jars: str,
    simulation: str,
    options: Mapping[str, object],
    java: Sequence[str],
) -> list[gatling_log.Request]:
    """Run a simulation of `jars`, a directory on the node, with these system properties."""
    words = [*java, OPENS, *(f"-D{name}={value}" for name, value in options.items())]
    words += ["-cp", f"{jars}/*", "io.gatling.app.Gatling"]
    words += ["--simulation", f"org.rackbench.reference.{simulation}"]
    words += ["--no-reports", "--results-folder", "results"]
    command = (
        'cd "$(mktemp -d)" && trap \'rm -rf "$PWD"\' EXIT && '
        f"java {shlex.join(words)} >out 2>&1 || {{ cat out >&2; exit 1; }}; "
        "cat results/*/simulation.log"
    )
    script = f"sudo -u rackbench bash -c {shlex.quote(command)}"
    return list(gatling_log.requests(said([*lab.ssh(CLIENT), script])))
