"""Serves the Debian installer to the machines of a plan, and tells what becomes of them.

    serve.py PLAN      ends when its standard input does, or when every machine has come to an end

The plan is a JSON file, see `Plan`. Standard output gets one JSON object a line: `at` (epoch
seconds), `name`, `state`, `detail`. States are waiting, asked, loading, installing, rebooting, and
the ends ready, refused, failed, silent, absent.

A machine is offered the installer until it has reported success; from then on, and for every other
machine from the beginning, the answer is to boot from its own disk.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

from collect.writing import write_text

ENDS = frozenset({"ready", "refused", "failed", "silent", "absent"})
DONE = ENDS | {"rebooting"}
MACHINE_FILES = frozenset({"preseed.cfg", "choose_disk", "finish"})
INSTALLER_FILES = frozenset({"linux", "initrd.gz"})
STEPS = {
    "choose-mirror": "package source",
    "download-installer": "installer components",
    "disk-detect": "disks",
    "partman-base": "partitions",
    "bootstrap-base": "base system",
    "apt-setup-udeb": "package sources",
    "pkgsel": "packages",
    "grub-installer": "boot loader",
    "finish-install": "last steps",
}
ATTEMPTS = 3
BODY_BYTES = 65_536
LOG_BYTES = 32 << 20
FETCH_S = 600
TALK_S = 60
BIND_TO_DEVICE = 25
LOCAL = "#!ipxe\necho rackbench: {reason}, so this machine boots from its own disk\nexit\n"
# The answer depends on who asks. With colons iPXE would take the address for the scheme of a URI.
BOOT = "#!ipxe\nchain /boot/${netX/mac:hexhyp} || exit\n"

_STEP = re.compile(r"Menu item '([^']+)' (selected|failed)")
_ASKED = re.compile(
    r"(?:DHCPDISCOVER|DHCPREQUEST|PXE)\(\S+\) (?:\S+ )?((?:[0-9a-f]{2}:){5}[0-9a-f]{2})"
)
_ARCHIVE = re.compile(r"/([a-z-]+)/((?:dists|pool)/[A-Za-z0-9.+_~:/-]+)")


@dataclass
class Machine:
    """One machine of the plan and how far it is; times are monotonic seconds."""

    name: str
    address: str
    port: int
    directory: Path
    token: str
    state: str = "waiting"
    attempts: int = 0
    began: float = 0.0
    sign: float = field(default_factory=time.monotonic)
    host_key: str = ""
    step: str = ""


@dataclass(frozen=True)
class Plan:
    """What is served: to whom, on which interface, from where.

    `machines` by MAC address; `archives` are URIs of Debian archives by the name they are served
    under, each a list that is asked in order. A machine may take `wait_s` until it loads the
    installer, and say nothing for `silence_s`.
    """

    interface: str
    address: str
    port: int
    log_port: int
    dnsmasq: list[str]
    installer: Path
    cache: Path
    archives: dict[str, list[str]]
    fetch: list[str]
    wait_s: float
    silence_s: float
    machines: dict[str, Machine]


def read_plan(path: Path) -> Plan:
    """Read a plan file; raises KeyError or ValueError where it is none."""
    given = json.loads(path.read_text())
    machines = {
        mac: Machine(**{**machine, "directory": Path(machine["directory"])})
        for mac, machine in given.pop("machines").items()
    }
    given |= {name: Path(given[name]) for name in ("installer", "cache")}
    return Plan(**given, machines=machines)


class Machines:
    """The machines and what is known of each; every change is told at once."""

    def __init__(self, plan: Plan, out: Callable[[str], None]) -> None:
        """Begin with all waiting."""
        self._plan = plan
        self._out = out
        self._lock = threading.Lock()
        self._by_token = {machine.token: machine for machine in plan.machines.values()}
        self._by_address = {machine.address: machine for machine in plan.machines.values()}

    def asked(self, mac: str) -> None:
        """A machine sent a DHCP request."""
        machine = self._plan.machines.get(mac)
        if machine and machine.state == "waiting":
            self._to(machine, "asked")

    def boot_script(self, mac: str) -> str:
        """What iPXE shall do on the machine with this address."""
        machine = self._plan.machines.get(mac)
        if machine is None:
            return LOCAL.format(reason=f"{mac} is not to be installed")
        with self._lock:
            if machine.state in DONE:
                return LOCAL.format(reason=f"{machine.name} is {machine.state}")
            machine.attempts += 1
            machine.began = time.monotonic()
        if machine.attempts > ATTEMPTS:
            self._to(machine, "failed", f"it began {ATTEMPTS} times and never reported success")
            return LOCAL.format(reason=f"{machine.name} failed {ATTEMPTS} times")
        (machine.directory / "installer.log").unlink(missing_ok=True)
        self._to(machine, "loading", "" if machine.attempts == 1 else "once more")
        return (machine.directory / "boot.ipxe").read_text()

    def file(self, token: str, name: str) -> Path | None:
        """One of the files of the machine that holds this token."""
        machine = self._by_token.get(token)
        if machine is None or name not in MACHINE_FILES or machine.state in DONE:
            return None
        if name == "preseed.cfg":
            self._to(machine, "installing", "preseed")
        return machine.directory / name

    def report(self, token: str, what: str, text: str) -> bool:
        """Take what an installer reports: installed (its host key), refused or failed (why)."""
        machine = self._by_token.get(token)
        if machine is None or machine.state in DONE:
            return False
        if what in ("refused", "failed"):
            self._to(machine, what, " ".join(text.split())[:300])
            return True
        key = re.match(r"ssh-ed25519 [A-Za-z0-9+/]{68}(?=\s|$)", text)
        if what != "installed" or key is None:
            return False
        machine.host_key = key.group(0)
        took = time.monotonic() - machine.began
        installed = {"host_key": machine.host_key, "at": time.time(), "took_s": round(took)}
        write_text(machine.directory / "installed.json", json.dumps(installed) + "\n")
        self._to(machine, "rebooting")
        return True

    def logged(self, address: str, line: bytes) -> None:
        """Keep a line of an installer's log, and see from it which step runs."""
        machine = self._by_address.get(address)
        if machine is None:
            return
        machine.sign = time.monotonic()
        log = machine.directory / "installer.log"
        with log.open("ab") as file:
            if file.tell() < LOG_BYTES:
                file.write(line.rstrip(b"\n\0") + b"\n")
        step = _STEP.search(line.decode(errors="replace"))
        if step and machine.state not in DONE:
            item, what = step.groups()
            if what == "failed":
                # It waits for someone at its console now.
                self._to(machine, "failed", STEPS.get(item, item))
            elif item in STEPS:
                self._to(machine, "installing", STEPS[item])

    def look(self) -> bool:
        """See who is back, who is late; whether any machine has not come to an end."""
        now = time.monotonic()
        for machine in self._plan.machines.values():
            silent_s = now - machine.sign
            if machine.state in ("waiting", "asked"):
                if silent_s > self._plan.wait_s:
                    self._to(machine, "absent", "it never loaded the installer")
            elif machine.state == "rebooting" and machine.host_key in shown_keys(machine):
                self._to(machine, "ready")
            elif silent_s > self._plan.silence_s:
                self._to(machine, "silent", f"nothing was heard of it for {silent_s:.0f} s")
        return any(machine.state not in ENDS for machine in self._plan.machines.values())

    def _to(self, machine: Machine, state: str, detail: str = "") -> None:
        with self._lock:
            machine.sign = time.monotonic()
            if (machine.state, machine.step) == (state, detail) or machine.state in ENDS:
                return
            machine.state, machine.step = state, detail
        event = {"at": time.time(), "name": machine.name, "state": state, "detail": detail}
        self._out(json.dumps(event))


def shown_keys(machine: Machine) -> str:
    """The host keys that a machine's SSH server shows; nothing where none answers."""
    asked = ["ssh-keyscan", "-T", "5", "-t", "ed25519", "-p", str(machine.port), machine.address]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout


class Archives:
    """Debian archives, each file fetched once by apt's own helper.

    Nothing is checked here: installer and apt check all they get against Debian's signatures.
    """

    def __init__(self, plan: Plan) -> None:
        """Begin with what earlier installs left."""
        self._plan = plan
        self._locks: dict[Path, threading.Lock] = {}
        self._fetched: set[Path] = set()

    def file(self, path: str) -> Path | None:
        """The file of an archive, or None where the archive has none."""
        place = _ARCHIVE.fullmatch(path)
        if place is None or place.group(1) not in self._plan.archives or ".." in path:
            return None
        archive, inner = place.groups()
        kept = self._plan.cache / archive / inner
        with self._locks.setdefault(kept, threading.Lock()):
            # What lies there changes never; indices are asked for once in each run.
            lasting = inner.startswith("pool/") or "/by-hash/" in inner
            if kept not in self._fetched and not (lasting and kept.is_file()):
                for mirror in self._plan.archives[archive]:
                    if self._fetch(f"{mirror.rstrip('/')}/{inner}", kept):
                        break
            self._fetched.add(kept)
        return kept if kept.is_file() else None

    def _fetch(self, uri: str, target: Path) -> bool:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(target.name + ".partial")
        partial.unlink(missing_ok=True)
        done = subprocess.run(
            [*self._plan.fetch, uri, str(partial)],
            capture_output=True,
            check=False,
            timeout=FETCH_S,
        )
        if done.returncode or not partial.is_file():
            return False
        partial.rename(target)
        return True


class Handler(BaseHTTPRequestHandler):
    """Answers firmware, iPXE and the installer."""

    protocol_version = "HTTP/1.1"
    timeout = TALK_S
    machines: ClassVar[Machines]
    archives: ClassVar[Archives]
    plan: ClassVar[Plan]

    def do_GET(self) -> None:
        """Boot scripts, the files of a machine, the installer, the archives."""
        _, first, *rest = self.path.split("/")
        name = "/".join(rest)
        if self.path == "/boot.ipxe":
            self._text(BOOT)
        elif first == "boot":
            self._text(self.machines.boot_script(name.lower().replace("-", ":")))
        elif first == "installer":
            self._file(self.plan.installer / name if name in INSTALLER_FILES else None)
        elif first in self.plan.archives:
            self._file(self.archives.file(unquote(self.path)))
        else:
            self._file(self.machines.file(first, name))

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        """Reports of an installer."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > BODY_BYTES:
            self.close_connection = True
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        text = self.rfile.read(int(length)).decode(errors="replace")
        _, token, what = [*self.path.split("/", 2), "", ""][:3]
        if self.machines.report(token, what, text):
            self._text("")
        else:
            self.send_error(HTTPStatus.FORBIDDEN)

    def log_message(self, *_: Any) -> None:
        """Nothing: standard output is for events, and a token has no place in a log."""

    def _text(self, text: str) -> None:
        body = text.encode()
        self._head(len(body))
        if self.command != "HEAD":
            self.wfile.write(body)

    def _file(self, path: Path | None) -> None:
        if path is None or not path.is_file():
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        with path.open("rb") as file:
            self._head(os.fstat(file.fileno()).st_size)
            if self.command != "HEAD":
                shutil.copyfileobj(file, self.wfile, 1 << 20)

    def _head(self, length: int) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Length", str(length))
        self.end_headers()


class OnInterface(socketserver.BaseServer):
    """A server that hears one interface alone."""

    interface: str
    socket: socket.socket

    def server_bind(self) -> None:
        """Refuse what comes in by other interfaces, even for this address."""
        self.socket.setsockopt(socket.SOL_SOCKET, BIND_TO_DEVICE, self.interface.encode())
        super().server_bind()  # type: ignore[misc]


class Web(OnInterface, ThreadingHTTPServer):
    """The web server."""

    daemon_threads = True

    def __init__(self, plan: Plan) -> None:
        """Listen."""
        self.interface = plan.interface
        super().__init__((plan.address, plan.port), Handler)

    def handle_error(self, *_: Any) -> None:
        """A machine that is reset in the middle of a file is no news."""


class Logs(OnInterface, socketserver.UDPServer):
    """The receiver of the installers' logs."""

    max_packet_size = 65_536

    def __init__(self, plan: Plan, machines: Machines) -> None:
        """Listen."""
        self.interface, self._machines = plan.interface, machines
        super().__init__((plan.address, plan.log_port), socketserver.BaseRequestHandler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Keep the line."""
        self._machines.logged(client_address[0], request[0])


def watch_dhcp(process: subprocess.Popen[str], machines: Machines, log: Path) -> None:
    """Follow dnsmasq's log; its end is ours."""
    assert process.stdout is not None  # noqa: S101
    with log.open("w", buffering=1) as kept:
        for line in process.stdout:
            kept.write(line)
            if asked := _ASKED.search(line):
                machines.asked(asked.group(1))
    end(1, f"dnsmasq has ended; the last of its log, {log}, says why")


def end_with_input() -> None:
    """Whoever started this has gone."""
    while sys.stdin.buffer.read(4096):
        pass
    end(0)


def end(code: int, why: str = "") -> None:
    """End now, whatever other threads do; dnsmasq ends with its own standard input."""
    if why:
        sys.stderr.write(why + "\n")
        sys.stderr.flush()
    os._exit(code)


def main() -> None:
    """Serve until every machine has come to an end."""
    file = Path(sys.argv[1])
    plan = read_plan(file)
    machines = Machines(plan, lambda line: print(line, flush=True))
    Handler.machines, Handler.archives, Handler.plan = machines, Archives(plan), plan
    try:
        servers = [Web(plan), Logs(plan, machines)]
    except OSError as error:
        end(
            2,
            f"{plan.address}, ports {plan.port} and {plan.log_port}: {error}; name other ports",
        )
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    threading.Thread(target=end_with_input, daemon=True).start()
    process = subprocess.Popen(
        plan.dnsmasq,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    log = file.with_name("dnsmasq.log")
    threading.Thread(target=watch_dhcp, args=(process, machines, log), daemon=True).start()
    while machines.look():
        time.sleep(2)
    end(0)


if __name__ == "__main__":
    main()
