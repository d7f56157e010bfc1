"""Serves the Debian installer to the machines of a plan, and reports their progress.

    serve.py PLAN      ends when its standard input does, or when every machine has come to an end

The plan is a JSON file, see plan.py. Standard output gets one JSON object a line: `at` (epoch
seconds), `name`, and either `state` and `detail` or a `note`; or `serving`, once all servers listen
and machines may be switched on. States are waiting, asked, loading,
installing, rebooting, and the ends ready, refused, failed, silent, absent, unstarted. Standard
input takes an object a line: the `name` of a machine that could not be switched on, and `why`.

A machine is offered the installer, at its own address, until it has reported success. After that it
is told to boot from its own disk, as is every other machine from the beginning.
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
from collections import Counter
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

from archives import Archives
from kept_log import KeptLog
from plan import Plan, read_plan
from states import Machines

INSTALLER_FILES = frozenset({"linux", "initrd.gz"})
BODY_BYTES = 65_536
TALK_S = 60
TALKS_OF_ONE = 16
TALKS = 1024
LOOK_S = 2
BIND_TO_DEVICE = 25
# The answer depends on the machine. iPXE would read an address with colons as a URI scheme.
BOOT = "#!ipxe\nchain /boot/${netX/mac:hexhyp} || exit 1\n"

_SERVES = re.compile(r"dnsmasq(?:\[\d+\])?: started, version")
_ASKED = re.compile(
    r"(?:DHCPDISCOVER|DHCPREQUEST|PXE)\(\S+\) (?:\S+ )?((?:[0-9a-f]{2}:){5}[0-9a-f]{2})"
)


class Handler(BaseHTTPRequestHandler):
    """Answers firmware, iPXE and the installer."""

    protocol_version = "HTTP/1.1"
    timeout = TALK_S
    machines: ClassVar[Machines]
    archives: ClassVar[Archives]
    plan: ClassVar[Plan]

    def do_GET(self) -> None:
        """Boot scripts, the files of a machine, the installer, the archives."""
        address = self.client_address[0]
        first, _, name = self.path.removeprefix("/").partition("/")
        if self.path == "/boot.ipxe":
            self._text(BOOT)
        elif first == "boot":
            self._text(self.machines.boot_script(name.lower().replace("-", ":"), address))
        elif first == "installer":
            self._file(self.plan.installer / name if name in INSTALLER_FILES else None)
        elif first in self.plan.archives:
            may = self.machines.installs_at(address)
            self._file(self.archives.file(unquote(self.path), address) if may else None)
        elif name == "clock":
            self._text(f"{time.time():.0f}\n" if self.machines.holds(first, address) else None)
        else:
            self._text(self.machines.file(first, name, address))

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
        if self.machines.report(token, what, text, self.client_address[0]):
            self._text("")
        else:
            self.send_error(HTTPStatus.FORBIDDEN)

    def log_message(self, *_: Any) -> None:
        """Nothing: standard output is for events, and a token has no place in a log."""

    def _text(self, text: str | None) -> None:
        if text is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
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
    """A server that listens on one interface only."""

    interface: str
    socket: socket.socket

    def server_bind(self) -> None:
        """Refuse packets from other interfaces, even for this address."""
        self.socket.setsockopt(socket.SOL_SOCKET, BIND_TO_DEVICE, self.interface.encode())
        super().server_bind()  # type: ignore[misc]


class Web(OnInterface, ThreadingHTTPServer):
    """The web server."""

    daemon_threads = True

    def __init__(self, plan: Plan) -> None:
        """Listen."""
        self.interface = plan.interface
        self._talks: Counter[str] = Counter()
        self._lock = threading.Lock()
        super().__init__((plan.address, plan.port), Handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Limit the number of connections at once, for one address and for all together."""
        address = client_address[0]
        with self._lock:
            may = self._talks[address] < TALKS_OF_ONE and self._talks.total() < TALKS
            self._talks[address] += may
        return may

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection, and release its place at the end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._talks[client_address[0]] -= 1
                self._talks += Counter()

    def handle_error(self, *_: Any) -> None:
        """Report nothing: a machine may be reset while it loads a file."""


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


def watch_dhcp(process: subprocess.Popen[str], machines: Machines, log: KeptLog) -> None:
    """Follow dnsmasq's log, and report when it serves; end when it ends."""
    assert process.stdout is not None  # noqa: S101
    log.begin()
    serves = False
    for line in process.stdout:
        log.add(line)
        # Once: later lines have what clients send, which may look like this one.
        if not serves and _SERVES.search(line):
            serves = True
            print(json.dumps({"serving": True}), flush=True)
        if asked := _ASKED.search(line):
            machines.asked(asked.group(1))
    end(1, f"dnsmasq has ended; the last of its log, {log.path}, says why")


def follow_input(machines: Machines) -> None:
    """Read which machines could not be switched on; end with the input, as the caller is gone."""
    for line in sys.stdin:
        told = json.loads(line)
        machines.unstarted(told["name"], told["why"])
    end(0)


def end(code: int, why: str = "") -> None:
    """End now, without waiting for other threads; dnsmasq ends with its own standard input."""
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
    threading.Thread(target=follow_input, args=(machines,), daemon=True).start()
    process = subprocess.Popen(
        plan.dnsmasq,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    log = KeptLog(file.with_name("dnsmasq.log"))
    threading.Thread(target=watch_dhcp, args=(process, machines, log), daemon=True).start()
    while machines.look():
        time.sleep(LOOK_S)
    end(0)


if __name__ == "__main__":
    main()
