"""rackbench's own services and clients as processes of this machine, from what was built."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from collect.files import unpack

ROOT = Path(__file__).parents[2]
DIST = ROOT / "java-apps/dist"
OPENMQ = Path.home() / ".m2/repository/org/glassfish/mq/mq-distribution/5.1.4"
OPENMQ /= "mq-distribution-5.1.4.zip"
"""The release whose client Axis has; its broker runs on each Java, that of the nodes from 21 on."""

QUEUES = ["hello.w1"]
READY_S = 60
FILE_STORE = "com.sun.jndi.fscontext.RefFSContextFactory"
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SERVER_XML = """<Server port="-1"><Service name="Catalina">
  <Connector port="{port}" address="127.0.0.1"/>
  <Engine name="Catalina" defaultHost="localhost">
    <Host name="localhost" appBase="webapps" autoDeploy="false"/>
  </Engine>
</Service></Server>
"""


def free_ports(count: int) -> list[int]:
    """Return ports on which nobody listens now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def answers(port: int, wanted: bytes) -> bool:
    """Return whether a service takes a connection and, if a text is wanted, greets with it."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            return not wanted or wanted in connection.recv(4096)
    except OSError:
        return False


@dataclass(frozen=True)
class Programs:
    """What was built, unpacked; programs may find classes of ``shadow`` before their own."""

    home: Path
    shadow: Path

    @classmethod
    def unpack(cls, home: Path, shadow: Path, openmq: Path) -> Programs:
        """Unpack what was built."""
        for name in ("harness", "clients", "workers", "tomcat"):
            with tarfile.open(DIST / f"{name}.tar.gz") as archive:
                unpack(archive, archive, home / name)
        shutil.unpack_archive(openmq, home)
        shutil.unpack_archive(DIST / "axis.war", home / "base/webapps/axis", "zip")
        return cls(home, shadow)

    def start(
        self, name: str, is_ready: Callable[[], bool], *command: object
    ) -> subprocess.Popen[bytes]:
        """Start a program and wait until it is ready; what it says goes into a file."""
        with (self.home / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(word) for word in command], stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        end = time.monotonic() + READY_S
        while not is_ready():
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                said = (self.home / f"{name}.log").read_text(errors="replace")
                raise AssertionError(f"{name} did not get ready: {said}")
            time.sleep(0.05)
        return process

    def worker(self, name: str, main: str, *arguments: object) -> subprocess.Popen[bytes]:
        """Start a worker program and wait until it says that it is ready."""
        ready = self.home / f"{name}.ready"
        path = f"{self.shadow}:{self.home}/workers/{name}/*"
        command = ("java", "-Xmx128m", "-cp", path, main, *arguments, "--ready-file", ready)
        return self.start(name, ready.exists, *command)

    def tomcat(self, port: int) -> subprocess.Popen[bytes]:
        """Start Tomcat with the SOAP services, and wait for it."""
        (installed,) = (self.home / "tomcat").glob("*/lib")
        base, home = self.home / "base", installed.parent
        shutil.copytree(self.shadow, base / "webapps/axis/WEB-INF/classes", dirs_exist_ok=True)
        for folder in ("conf", "logs", "temp", "work"):
            (base / folder).mkdir()
        shutil.copy(home / "conf/web.xml", base / "conf")
        (base / "conf/server.xml").write_text(SERVER_XML.format(port=port))
        return self.start(
            "tomcat",
            lambda: answers(port, b""),
            *("java", "-Xmx256m", f"-Dcatalina.home={home}", f"-Dcatalina.base={base}"),
            *(f"-Djava.io.tmpdir={base}/temp", "-cp", f"{home}/bin/*"),
            *("org.apache.catalina.startup.Bootstrap", "start"),
        )

    def broker(self, port: int) -> subprocess.Popen[bytes]:
        """Start the broker, and wait for it."""
        mq, state = self.home / "mq", self.home / "broker"
        state.mkdir()
        return self.start(
            "broker",
            lambda: answers(port, b"jms tcp NORMAL"),
            *("java", "-Xmx192m", "--add-exports=java.base/sun.security.action=ALL-UNNAMED"),
            *("-cp", mq / "lib/imqbroker.jar", f"-Dimq.home={mq}"),
            *(f"-Dimq.varhome={state}", f"-Dimq.etchome={mq}/etc"),
            *(f"-Dimq.libhome={mq}/lib", f"-Dimq.portmapper.port={port}"),
            *("-Dimq.portmapper.hostname=127.0.0.1", "-Dimq.jms.tcp.hostname=127.0.0.1"),
            *("-Dimq.service.activelist=jms", "-Dimq.jmx.enabled=false"),
            *("-Dimq.cluster.hostname=127.0.0.1", "com.sun.messaging.jmq.jmsserver.Broker"),
        )

    def administered_objects(self, port: int, queues: Sequence[str]) -> Path:
        """Write a JNDI file store with the connection factory and these queues."""
        factory = f"imqAddressList=mq://127.0.0.1:{port}/jms"
        wanted = [("ConnectionFactory", "qf", factory)]
        wanted += [(name, "q", f"imqDestinationName={name}") for name in queues]
        java = Path(shutil.which("java") or "java").resolve().parents[1]
        environment = {**os.environ, "IMQ_JAVAHOME": str(java), "JAVA_TOOL_OPTIONS": SHORT_LIVED}

        def add(name: str, kind: str, given: str) -> str:
            place = self.home / f"store-{name}"
            place.mkdir()
            subprocess.run(
                [
                    *("sh", f"{self.home}/mq/bin/imqobjmgr", "add", "-f", "-t", kind, "-l", name),
                    *("-o", given, "-j", f"java.naming.factory.initial={FILE_STORE}"),
                    *("-j", f"java.naming.provider.url=file://{place}"),
                ],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=True,
            )
            return (place / ".bindings").read_text()

        with ThreadPoolExecutor() as pool:
            written = "".join(pool.map(lambda each: add(*each), wanted))
        store = self.home / "store"
        store.mkdir()
        (store / ".bindings").write_text(written)
        return store


@dataclass(frozen=True)
class Services:
    """The running services of one worker and of the broker."""

    programs: Programs
    lab: Path

    def trial(
        self,
        client: str,
        factors: Mapping[str, object],
        constants: Mapping[str, object],
        *,
        calls: int,
        warmup: int,
        before: Sequence[Path] = (),
        directory: str = "",
    ) -> Path:
        """Run a trial in a JVM of its own; the directory with what it left."""
        home = self.programs.home
        work = Path(tempfile.mkdtemp(prefix=f"trial-{client}-", dir=home))
        plan = {"schema": 1, "id": "t1", "client": client, "calls": calls, "warmup": warmup}
        plan |= {"threads": 1, "timeout_s": 60, "seed": 42}
        plan |= {"factors": dict(factors), "constants": dict(constants)}
        (work / "plan.json").write_text(json.dumps(plan))
        path = [str(each) for each in before]
        path += [f"{home}/clients/{directory or client}/*", f"{home}/harness/*"]
        with (work / "log").open("wb") as log:
            trial = subprocess.Popen(
                [
                    *("java", "-Xmx256m", "-cp", ":".join(path)),
                    *("org.rackbench.harness.trial.Trial", str(work), str(self.lab)),
                ],
                stdin=subprocess.PIPE,  # a trial ends when its runner does
                stdout=log,
                stderr=log,
            )
            status = trial.wait(60)
        said = (work / "log").read_text()
        assert status == 0 and (work / "calls.csv").exists(), said
        return work


def measured_rows(work: Path) -> list[list[str]]:
    """Return the rows of a trial's measured calls, which must all be ok."""
    lines = [line.split(",") for line in (work / "calls.csv").read_text().splitlines()]
    measured = [row for row in lines if row[2] == "measure"]
    assert all(row[8] == "ok" for row in measured), (work / "log").read_text()
    return measured


@contextlib.contextmanager
def services(home: Path, shadow: Path, openmq: Path = OPENMQ) -> Iterator[Services]:
    """Run all services of one worker and the broker, with the classes of ``shadow`` in them."""
    programs = Programs.unpack(home, shadow, openmq)
    tomcat, broker, tcp = free_ports(3)
    password = home / "password"
    password.write_text("guest\n")
    with contextlib.ExitStack() as stack:

        def keep(process: subprocess.Popen[bytes]) -> None:
            stack.callback(process.wait, 30)
            stack.callback(process.kill)

        keep(programs.broker(broker))
        keep(programs.tomcat(tomcat))
        store = programs.administered_objects(broker, QUEUES)
        account = ("--jndi-url", f"file://{store}", "--username", "guest")
        account += ("--password-file", str(password))
        main = "org.rackbench.workers"
        keep(programs.worker("hello-listener", f"{main}.hello.HelloListener", "--queue", "hello.w1",
                             *account))  # fmt: skip
        keep(programs.worker("tcp-server", f"{main}.tcp.TcpServer", "--address", "127.0.0.1",
                             "--port", tcp))  # fmt: skip
        worker = {"name": "w1", "address": "127.0.0.1", "hello_queue": "hello.w1"}
        worker |= {"axis_url": f"http://127.0.0.1:{tomcat}/axis", "tcp_port": tcp}
        found = {"jndi_url": f"file://{store}", "connection_factory": "ConnectionFactory"}
        found |= {"username": "guest", "password_file": str(password)}
        lab = home / "lab.json"
        lab.write_text(json.dumps({"schema": 1, "broker": found, "workers": [worker]}))
        yield Services(programs, lab)


def replace_once(text: str, pattern: str, by: str) -> str:
    """Return text with its one match of a pattern followed by ``by``."""
    changed, matches = re.subn(f"({pattern})", rf"\1 {by}", text)
    assert matches == 1, pattern
    return changed
