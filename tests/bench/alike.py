"""Measures each difference between the two sides of a study, on loopback: A/A and A/B.

Each subject has a pair of equal variants, which shows the smallest difference that the bench can
detect, and a pair that differ in one thing. docs/explain/fairness.md has the results. Run it after
`make build`, on an otherwise idle machine: `.venv/bin/python tests/bench/alike.py guard`.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from by_hand import study
from loopback import LoopbackRun
from pairs import ROUNDS, Times, alternate, compared
from row import Row

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit"))

from middleware import DIST, OPENMQ, Programs, free_ports

AS_IS, AGAIN = "as it is", "the same again"
GUARD = """  <filter-mapping>
    <filter-name>guard</filter-name>
    <url-pattern>/*</url-pattern>
  </filter-mapping>
"""
ACCESS_LOG = """<Valve className="org.apache.catalina.valves.AccessLogValve" directory="logs"
  pattern="%h %{yyyy-MM-dd'T'HH:mm:ss.SSSZ}t &quot;%r&quot; %s %b %D"/>"""
CONNECTOR = """<Connector port="{port}" address="{address}" maxThreads="128"
  keepAliveTimeout="20000" maxKeepAliveRequests="-1"/>
"""
JVM = ("-Xms192m", "-Xmx192m", "-XX:+UseParallelGC", "-XX:+AlwaysPreTouch")
SMALL_JVM = ("-Xms32m", "-Xmx32m", "-XX:+UseParallelGC")
COLD_ROUNDS = 2
"""Rounds before the counted ones, because the server's JVM compiles each variant's own classes."""
SORT_WORKERS = 5
ACCOUNT = ("--username", "guest", "--password-file")

Lab = Mapping[str, Any]
Labs = Mapping[str, Lab]


@dataclass
class Bench:
    """The programs of this machine, and the services that run until the bench ends."""

    programs: Programs
    stack: contextlib.ExitStack
    other: Path | None  # classes that precede one variant's own
    password: Path = field(init=False)

    def __post_init__(self) -> None:
        self.password = self.programs.home / "password"
        self.password.write_text("guest\n")

    def keep(self, process: subprocess.Popen[bytes]) -> None:
        """Register this service to end with the bench."""
        self.stack.callback(process.wait, 30)
        self.stack.callback(process.kill)

    def tomcats(self, changed: str, logs: Sequence[str], free: Sequence[str]) -> Labs:
        """Start one Tomcat with a host for each variant, those of `logs` with an access log.

        Those of `free` have no request guard. One JVM serves all, so that none has a better one.
        """
        names = (AS_IS, AGAIN, changed)
        base, (library,) = (
            self.programs.home / "base",
            (self.programs.home / "tomcat").glob("*/lib"),
        )
        for folder in ("conf", "logs", "temp", "work"):
            (base / folder).mkdir()
        shutil.copy(library.parent / "conf/web.xml", base / "conf")
        port = free_ports(1)[0]
        connectors, hosts, labs = "", "", {}
        for number, name in enumerate(names, start=1):
            address = f"127.0.0.{number}"
            self._application(base / f"webapps-{number}/axis", guarded=name not in free)
            connectors += CONNECTOR.format(port=port, address=address)
            valve = ACCESS_LOG if name in logs else ""
            hosts += f'<Host name="{address}" appBase="webapps-{number}">{valve}</Host>\n'
            labs[name] = lab({"axis_url": f"http://{address}:{port}/axis", "address": address})
        (base / "conf/server.xml").write_text(
            f'<Server port="-1"><Service name="Catalina">\n{connectors}'
            f'<Engine name="Catalina" defaultHost="127.0.0.1">\n{hosts}</Engine></Service></Server>'
        )
        home = library.parent
        command = ("java", *JVM, f"-Dcatalina.home={home}", f"-Dcatalina.base={base}")
        command += (f"-Djava.io.tmpdir={base}/temp", "-cp", f"{home}/bin/*")
        command += ("org.apache.catalina.startup.Bootstrap", "start")
        addresses = [worker["address"] for each in labs.values() for worker in each["workers"]]
        self.keep(self.programs.start("tomcat", lambda: listen(addresses, port), *command))
        return labs

    def _application(self, target: Path, *, guarded: bool) -> None:
        shutil.copytree(self.programs.home / "base/webapps/axis", target)
        if not guarded:
            file = target / "WEB-INF/web.xml"
            text = file.read_text()
            if GUARD not in text:
                raise SystemExit(f"{file} does not map the guard as GUARD does; correct GUARD")
            file.write_text(text.replace(GUARD, ""))

    def stores(self, queues: Mapping[str, Mapping[str, str]]) -> dict[str, Path]:
        """Start a broker; return, by variant, the names of its queues for the clients."""
        (port,) = free_ports(1)
        self.keep(self.programs.broker(port))
        every = [queue for names in queues.values() for queue in names.values()]
        written = (self.programs.administered_objects(port, every) / ".bindings").read_text()
        found = {}
        for variant, names in queues.items():
            found[variant] = self.programs.home / f"jndi-{len(found)}"
            found[variant].mkdir()
            (found[variant] / ".bindings").write_text(renamed(written, names))
        return found

    def worker(
        self,
        name: str,
        main: str,
        *arguments: object,
        before: Path | None = None,
        jvm: Sequence[str] = JVM,
    ) -> None:
        """Start a worker program; several of a name may run."""
        number = len(list(self.programs.home.glob(f"{name}-*.ready")))
        ready = self.programs.home / f"{name}-{number}.ready"
        path = ":".join(
            map(str, [*([before] if before else []), self.programs.home / "workers" / name / "*"])
        )
        command = ("java", *jvm, "-cp", path, main, *arguments, "--ready-file", ready)
        self.keep(self.programs.start(f"{name}-{number}", ready.exists, *command))

    def broker_of(self, store: Path) -> Lab:
        """Return the broker's entry of a lab file."""
        account = {"username": "guest", "password_file": str(self.password)}
        return {"jndi_url": f"file://{store}", "connection_factory": "ConnectionFactory"} | account


def listen(addresses: Sequence[str], port: int) -> bool:
    """Return whether a service accepts connections at each of these addresses."""
    try:
        for address in addresses:
            socket.create_connection((address, port), timeout=1).close()
    except OSError:
        return False
    return True


def renamed(bindings: str, names: Mapping[str, str]) -> str:
    """Return bindings in which each of these queues has the name that clients look up."""
    lines = bindings.splitlines()
    for looked_up, queue in names.items():
        entries = [line for line in lines if line.startswith(f"{queue}/")]
        lines += [looked_up + line.removeprefix(queue) for line in entries]
    return "\n".join(lines) + "\n"


def lab(worker: Lab, broker: Lab | None = None) -> Lab:
    """Return a lab file of one worker."""
    return {"schema": 1, "workers": [{"name": "w1", **worker}]} | (
        {"broker": broker} if broker else {}
    )


@dataclass(frozen=True)
class Subject:
    """A subject: the services, and the trials against each variant."""

    changed: str
    services: Callable[[Bench, str], Labs]
    client: str
    needs: Sequence[str]
    trials: Mapping[str, Mapping[str, Any]]  # settings of the study, by name
    openmq: Path = OPENMQ


def soap(message_bytes: int, calls: int, threads: int = 1) -> dict[str, Any]:
    """Return the settings of a trial of SOAP calls."""
    constants = {"message_bytes": message_bytes, "pooled": True, "client_heap_mb": 256}
    constants |= {"collector": "parallel", "persistence": "written", "acknowledge": "dups-ok"}
    return {"constants": constants, "calls": calls, "warmup": calls // 2, "threads": threads}


def guard(bench: Bench, changed: str) -> Labs:
    return bench.tomcats(changed, logs=(), free=(changed,))


def access_log(bench: Bench, changed: str) -> Labs:
    return bench.tomcats(changed, logs=(AS_IS, AGAIN), free=())


def listeners(bench: Bench, changed: str) -> Labs:
    names = (AS_IS, AGAIN, changed)
    queues = {name: {"hello.w1": f"hello.v{i}"} for i, name in enumerate(names)}
    labs = {}
    for name, store in bench.stores(queues).items():
        bench.worker(
            "hello-listener",
            "org.rackbench.workers.hello.HelloListener",
            *("--queue", "hello.w1", "--sessions", 128, "--jndi-url", f"file://{store}"),
            *(*ACCOUNT, bench.password),
            before=bench.other if name == changed else None,
        )
        labs[name] = lab(
            {"hello_queue": "hello.w1", "address": "127.0.0.1"}, bench.broker_of(store)
        )
    return labs


def selectors(bench: Bench, changed: str) -> Labs:
    names = (AS_IS, AGAIN, changed)
    queues = {name: {"sort.pool1": f"sort.v{i}"} for i, name in enumerate(names)}
    labs = {}
    for name, store in bench.stores(queues).items():
        # Calls go to the last one opened, so a message passes the selectors of the others first.
        for number in range(1 if name == changed else SORT_WORKERS, 0, -1):
            bench.worker(
                "sort-worker",
                "org.rackbench.workers.sort.SortWorker",
                *("--name", f"w{number}", "--pools", "1", "--jndi-url", f"file://{store}"),
                *(*ACCOUNT, bench.password),
                jvm=SMALL_JVM,
            )
        labs[name] = lab({"address": "127.0.0.1"}, bench.broker_of(store))
    return labs


SORT = {"integers": 500, "servers": 1, "pooled": True, "persistence": "written"}
SORT |= {"acknowledge": "auto", "client_heap_mb": 256, "collector": "parallel"}
SUBJECTS = {
    "guard": Subject(
        "without the request guard",
        guard,
        "hello-http",
        ["tomcat"],
        {"512 bytes": soap(512, 600), "102 KB": soap(104_448, 80)},
    ),
    "log": Subject(
        "without an access log",
        access_log,
        "hello-http",
        ["tomcat"],
        {"512 bytes": soap(512, 600)},
    ),
    "listener": Subject(
        "with the other classes",
        listeners,
        "hello-jms",
        ["broker", "hello-listener"],
        {"512 bytes, 1 thread": soap(512, 300), "512 bytes, 30 threads": soap(512, 20, 30)},
    ),
    "selectors": Subject(
        "one worker on the queue",
        selectors,
        "sort-jms",
        ["broker", "sort-worker"],
        {"500 integers": {"constants": SORT, "calls": 400, "warmup": 200, "threads": 1}},
        DIST / "openmq.zip",  # its client, like that of the sort worker, needs Java 21
    ),
}


def measured(bench: Bench, subject: Subject, rounds: int) -> list[Row]:
    """Return the rows of one subject."""
    labs = subject.services(bench, subject.changed)
    rows: list[Row] = []
    for number, (what, settings) in enumerate(subject.trials.items()):
        plan = study(f"alike-{number}", subject.client, needs=list(subject.needs), servers=1,
                     restart="none", replicates=COLD_ROUNDS + rounds, **settings)  # fmt: skip
        runs = {
            name: LoopbackRun.planned(
                bench.programs.home / f"run-{number}-{i}", bench.programs.home, plan
            )
            for i, name in enumerate(labs)
        }

        def times(name: str, of: int, runs: Mapping[str, LoopbackRun] = runs) -> Times:
            return Times.of(runs[name].run(runs[name].ids[of], labs[name]))

        print(f"{subject.client}, {what}: {rounds} rounds of {len(labs)} trials …", flush=True)
        every = alternate({n: lambda of, n=n: times(n, of) for n in labs}, COLD_ROUNDS + rounds)
        found = {name: warm[COLD_ROUNDS:] for name, warm in every.items()}
        for other in (AGAIN, subject.changed):
            rows += compared(f"{subject.client}, {what}", found, AS_IS, other)
    return rows


def main() -> int:
    """Measure the named subjects, and print their rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subjects", nargs="+", choices=[*SUBJECTS], metavar="SUBJECT",
                        help=", ".join(SUBJECTS))  # fmt: skip
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    other = "compiled classes that precede one listener's own"
    parser.add_argument("--other", type=Path, metavar="DIR", help=other)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    for name in options.subjects:
        with tempfile.TemporaryDirectory(prefix="alike-") as home, contextlib.ExitStack() as stack:
            shadow = Path(home, "shadow")
            shadow.mkdir()
            programs = Programs.unpack(Path(home), shadow, SUBJECTS[name].openmq)
            bench = Bench(programs, stack, options.other)
            for row in measured(bench, SUBJECTS[name], options.rounds):
                print(row.line(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
