"""Compares rackbench's JMS and SOAP clients with other load generators, JMeter and Gatling.

All send a message of the same size to the same queue of the same broker, where one worker returns
it, or the same envelope to the same service. They run on the client node one after the other, with
the same heap and collector. Each warms up for three times as long as it is measured. After a third
of that time JVMs still compile, and on one core JMeter made half as many SOAP calls as later.
"""

from __future__ import annotations

import csv
import io
import shlex
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import gatling_run
import jmeter_run
import pinned_jars
from aims import GATLING, LAZY, OUR_CALL, OURS, RIVALS, SHARED, Load, compared, load, own_load
from bench_lab import PREFIX, ROOT, BenchLab, said
from by_hand import CLIENT, HandRun, study
from row import Row, rate, seconds


@dataclass(frozen=True)
class Link:
    """The rate of each node's link, our approximate calls a second over it, and its rounds."""

    mbit: int
    pace: int
    rounds: int


HERE = Path(__file__).parent
WORKER, BROKER = "worker1", "broker1"
CONCURRENCY = (1, 30, 100)
# Over a link of 100 Mbit/s a call of this size waits for the cores, which tool and servers share in
# the lab. Over the slow one it waits for the link, so a tool does not slow down the servers.
LINKS = (Link(100, pace=2000, rounds=6), Link(10, pace=400, rounds=3))
WARM_UP_S = 12
SECONDS = 4
BYTES = 512  # of the body, and of the envelope: the smallest of the study `binding`
HEAP_MB = 512
COLLECTOR = "parallel"
JVM_OPTIONS = ["-XX:+UseParallelGC", "-XX:+AlwaysPreTouch"]  # as in the harness
JAVA = [f"-Xms{HEAP_MB}m", f"-Xmx{HEAP_MB}m", *JVM_OPTIONS]
# JMeter brings a parser of its own, which Axis would use in its JVM.
PARSER = (
    "-Djavax.xml.parsers.SAXParserFactory="
    "com.sun.org.apache.xerces.internal.jaxp.SAXParserFactoryImpl"
)
AXIS, PATH = f"http://{PREFIX}.21:8080/axis", "/services/Hello"
QUEUE = f"matrix.{WORKER}"  # the echo takes the place of the matrix worker
JNDI, FACTORY = "file:///etc/rackbench/jndi", "ConnectionFactory"
USER, PASSWORD = "bench", "/etc/rackbench/broker.password"
AT = "/opt/reference"  # on the nodes
CLIENTS = "/opt/rackbench/clients"
FILE, EXPECTED = f"{AT}/envelope.xml", "HelloHello"
LAB = {
    "axis_url": AXIS,
    "matrix_queue": QUEUE,
    "jndi_url": JNDI,
    "connection_factory": FACTORY,
    "username": USER,
    "password_file": PASSWORD,
}
"""The settings of the nodes that the other tools need, by their names in lab.json."""
OWN: dict[str, tuple[str, dict[str, object]]] = {
    "jms": ("echo-jms", {"pooled": True, "persistence": "written", "acknowledge": "auto"}),
    LAZY: ("echo-jms", {"pooled": True, "persistence": "written", "acknowledge": "dups-ok"}),
    "soap": ("hello-http", {"pooled": True}),
    "text": ("posted-envelope", {"service": PATH, "envelope": FILE, "expect": EXPECTED}),
}
"""Our client and its constants, by the kind of call."""
CLASSES = {
    "jms": ("org.rackbench.clients.jakartajms.EchoJms", f"{AT}/echo-jms"),
    "soap": (
        "org.rackbench.clients.axis.HelloHttp",
        f"{CLIENTS}/hello-http:{AT}/posted-envelope/reference.jar",
    ),
}
"""The class of a client whose calls JMeter makes, and its class path."""
ENVELOPE = (
    '<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope '
    'xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" '
    'xmlns:xsd="http://www.w3.org/2001/XMLSchema" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body><ns1:hello '
    'soapenv:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/" '
    'xmlns:ns1="urn:rackbench:hello"><text xsi:type="xsd:string">TEXT</text></ns1:hello>'
    "</soapenv:Body></soapenv:Envelope>"
)  # as Axis 1.4 writes it


def rows(lab: BenchLab) -> list[Row]:
    """Alternate the tools."""
    install(lab)
    with sending_at(lab, LINKS[0].mbit), echoing(lab):
        return [row for link in LINKS for row in measured(lab, link)]


def measured(lab: BenchLab, link: Link) -> list[Row]:
    """Run all rounds over this link, every second one in the opposite order."""
    send_at(lab, link.mbit)
    own = {kind: planned(lab, kind, link, paces(lab, kind, link)) for kind in OWN}
    order = [(tool, kind) for kind, rivals in RIVALS.items() for tool in (OURS, *rivals)]
    order.remove((GATLING, LAZY))  # the same runs as "jms"
    runs: dict[tuple[str, str, int], list[Load]] = defaultdict(list)
    for block in range(1, link.rounds + 1):
        for c in CONCURRENCY:
            place = f"{link.mbit} Mbit/s, {c} threads"
            print(f"JMS and SOAP at {place}, round {block} of {link.rounds} …", flush=True)
            for tool, kind in order if block % 2 else reversed(order):
                found = harness(own[kind], block, c) if tool == OURS else rival(lab, tool, kind, c)
                runs[tool, kind, c].append(found)
                print(
                    f"  {kind}, {tool}: {rate(found.calls_per_s)}, "
                    f"p50 {seconds(found.p50)}, mean {seconds(found.mean)}",
                    flush=True,
                )
    return [row for c in CONCURRENCY for row in compared(runs, link.mbit, c)]


def install(lab: BenchLab) -> None:
    """Build the bench's additions to rackbench, and put them and the other tools on the nodes."""
    built, done = lab.state / "reference-classes", lab.state / "reference-installed"
    if done.exists():
        return
    shutil.rmtree(built, ignore_errors=True)  # an installation that was interrupted
    jmeter_run.install(lab)
    shutil.unpack_archive(ROOT / "java-apps/dist/clients.tar.gz", lab.state / "clients")
    jars = lab.state / "reference"
    pinned_jars.fetch(HERE / "gatling", jars)
    shutil.copytree(HERE / "reference", built, ignore=shutil.ignore_patterns("*.java"))
    needed = ("reference", "clients/sort-jms", "clients/hello-http", "jmeter/lib", "jmeter/lib/ext")
    path = ":".join(f"{lab.state}/{directory}/*" for directory in needed)
    sources = map(str, (HERE / "reference").rglob("*.java"))
    said(["javac", "--release", "17", "-proc:none", "-d", str(built), "-cp", path, *sources])
    said(["jar", "--create", "--file", str(jars / "reference.jar"), "-C", str(built), "."])
    # A directory for each, because jars of javax.jms and jakarta.jms must not mix.
    put(lab, CLIENT, f"{AT}/gatling", jars, "*.jar")
    put(lab, CLIENT, f"{AT}/echo-jms", jars, "reference.jar")
    put(lab, CLIENT, f"{AT}/posted-envelope", jars, "reference.jar")
    put(lab, WORKER, f"{AT}/echo", jars, "reference.jar")
    broker = "imq.jar fscontext.jar"
    text = ENVELOPE.replace("TEXT", ("Hello" * BYTES)[: BYTES - len(ENVELOPE) + len("TEXT")])
    on(
        lab,
        CLIENT,
        f"cd {CLIENTS}/sort-jms && cp {broker} {AT}/gatling && cp *.jar {AT}/echo-jms && "
        f"ln -sfn {AT}/echo-jms {CLIENTS}/echo-jms && "
        f"cp {CLIENTS}/hello-http/*.jar {AT}/posted-envelope && "
        f"ln -sfn {AT}/posted-envelope {CLIENTS}/posted-envelope && cd {CLIENTS}/hello-jms && "
        f"mkdir -p {AT}/jmeter && cp imq-*.jar fscontext-*.jar javax.jms-api-*.jar {AT}/jmeter && "
        f"printf %s {shlex.quote(text)} > {FILE}",
    )
    done.touch()


@contextmanager
def echoing(lab: BenchLab) -> Iterator[None]:
    """Let the echo answer at the queue of the matrix worker during the block."""
    try:
        echo(lab)
        yield
    finally:
        on(lab, WORKER, "systemctl stop rackbench-echo; systemctl start rackbench-matrix-worker")


def echo(lab: BenchLab) -> None:
    """Start the echo in place of the matrix worker."""
    command = [
        *("systemd-run", "--quiet", "--unit=rackbench-echo", "--property=DynamicUser=yes"),
        *("--property=SupplementaryGroups=rackbench", "--property=RuntimeDirectory=rackbench-echo"),
        *("java", "-Xms128m", "-Xmx128m", *JVM_OPTIONS, "-cp", f"{AT}/echo/*"),
        *("org.rackbench.reference.EchoWorker", "--queue", QUEUE, "--jndi-url", JNDI),
        *("--connection-factory", FACTORY, "--username", USER, "--password-file", PASSWORD),
        *("--ready-file", "/run/rackbench-echo/ready"),
    ]
    on(
        lab,
        WORKER,
        f"cp $(dirname $(ls -d /opt/rackbench/*/matrix-worker/imq.jar))/*.jar {AT}/echo && "
        f"systemctl stop rackbench-matrix-worker && {shlex.join(command)} && "
        "timeout 30 sh -c 'until [ -e /run/rackbench-echo/ready ]; do sleep 0.2; done' || "
        "{ journalctl --unit=rackbench-echo --lines=30 >&2; exit 1; }",
    )


def send_at(lab: BenchLab, mbit: int) -> None:
    """Set the sending rate of all nodes of the reference tools."""
    for node in (CLIENT, BROKER, WORKER):
        on(
            lab,
            node,
            f"tc qdisc replace dev host0 root tbf rate {mbit}mbit burst 3200 latency 100ms",
        )


@contextmanager
def sending_at(lab: BenchLab, mbit: int) -> Iterator[None]:
    """Let all nodes of the reference tools send at this rate meanwhile."""
    try:
        send_at(lab, mbit)
        yield
    finally:
        send_at(lab, LINKS[0].mbit)


def put(lab: BenchLab, node: str, directory: str, source: Path, pattern: str) -> None:
    """Copy files to a node."""
    names = [file.name for file in source.glob(pattern)]
    archive = said(["tar", "-cf", "-", "-C", str(source), *names])
    on(lab, node, f"mkdir -p {directory} && tar -xf - --no-same-owner -C {directory}", archive)


def on(lab: BenchLab, node: str, script: str, given: bytes = b"") -> bytes:
    """Run a shell script on a node as root."""
    return said([*lab.ssh(node), f"sudo sh -c {shlex.quote(script)}"], given)


def paces(lab: BenchLab, kind: str, link: Link) -> dict[int, float]:
    """Return our calls a second by concurrency; the fastest is first and warms up the servers."""
    first = planned(lab, kind, link, dict.fromkeys(CONCURRENCY, link.pace), suffix="-pace")
    return {c: harness(first, 1, c).calls_per_s for c in reversed(CONCURRENCY)}


def planned(
    lab: BenchLab, kind: str, link: Link, pace: Mapping[int, float], suffix: str = ""
) -> HandRun:
    """Plan a trial a round and concurrency, with calls for WARM_UP_S and SECONDS."""
    where = [
        {
            "cells": {"concurrency": c},
            "calls": max(1, round(speed * SECONDS / c)),
            "warmup": max(1, round(speed * WARM_UP_S / c)),
        }
        for c, speed in pace.items()
    ]
    client, constants = OWN[kind]
    constants = {
        **constants,
        "client_heap_mb": HEAP_MB,
        "collector": COLLECTOR,
        "message_bytes": BYTES,
    }
    name = f"bench-reference-{kind}-{link.mbit}{suffix}"
    plan = study(
        name,
        client,
        factors={"concurrency": list(CONCURRENCY)},
        constants=constants,
        replicates=link.rounds,
        where=where,
    )
    return HandRun.planned(lab, name, plan)


def harness(run: HandRun, block: int, threads: int) -> Load:
    """Run our trial of this block at this concurrency."""
    sealed = run.trial(block, threads)
    calls = list(csv.DictReader(io.StringIO(sealed.calls.decode())))
    if sealed.record["outcome"] != "ok" or any(call["status"] != "ok" for call in calls):
        raise SystemExit(f"{run.name} has calls that failed: {sealed.record}")
    return own_load(
        (
            int(call["thread"]),
            int(call["start_ns"]),
            int(call["elapsed_ns"]),
            call["phase"] == "measure",
        )
        for call in calls
    )


def rival(lab: BenchLab, tool: str, kind: str, threads: int) -> Load:
    """Run one of the other tools at this concurrency; the last SECONDS of its run count.

    They end with the last start of a call, because fewer and fewer threads call while the last
    calls end.
    """
    if tool in (GATLING, SHARED):
        calls = gatling(lab, threads, 1 if tool == SHARED else threads)
    else:
        calls = jmeter(lab, kind, threads, is_our_call=tool == OUR_CALL)
    if not calls or not all(is_ok for _, _, is_ok in calls):
        failed = sum(not is_ok for _, _, is_ok in calls)
        raise SystemExit(f"{tool}, {kind}: {failed} of {len(calls)} calls failed")
    end = max(start for start, _, _ in calls)
    return load(((start, done) for start, done, _ in calls), end - SECONDS * 1000, end)


def jmeter(
    lab: BenchLab, kind: str, threads: int, *, is_our_call: bool
) -> list[tuple[int, int, bool]]:
    """Start and end of each call in milliseconds, and whether it was good."""
    options: dict[str, object] = {"threads": threads, "seconds": WARM_UP_S + SECONDS, **LAB}
    if is_our_call:
        plan = "call"
        options["client"], options["user.classpath"] = CLASSES[kind]
        constants = {**OWN[kind][1], "message_bytes": BYTES}
        options |= {f"constant.{name}": str(value).lower() for name, value in constants.items()}
    elif kind == "jms":
        plan = "jms"
        options |= {"user.classpath": f"{AT}/jmeter", "bytes": BYTES}
    else:
        plan = "text"
        url = urlsplit(AXIS + PATH)
        options |= {"host": url.hostname, "port": url.port, "path": url.path}
        options |= {"envelope": FILE, "expect": EXPECTED}
    found = jmeter_run.samples(lab, f"{plan}.jmx", options, [*JAVA, PARSER])
    return [(call.start, call.start + call.elapsed, call.is_ok) for call in found]


def gatling(lab: BenchLab, threads: int, connections: int) -> list[tuple[int, int, bool]]:
    """Start and end of each call in milliseconds, and whether it was good."""
    options = {
        **LAB,
        "threads": threads,
        "connections": connections,
        "seconds": WARM_UP_S + SECONDS,
        "bytes": BYTES,
    }
    calls = gatling_run.requests(lab, f"{AT}/gatling", "RequestReply", options, JAVA)
    return [(call.start, call.end, call.is_ok) for call in calls]
