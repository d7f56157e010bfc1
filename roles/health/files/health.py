"""Answers each request with the health of this node and of rackbench's services, as a JSON object.

Started by systemd with the listening socket as its file descriptor 3. It reads a few small files
and probes each service once a request, and starts no process. For some time after a request it
samples the resources of the services. On request it decides whether a service hangs, and reports
one that does to the unit that may restart it. A client with the password may have services
restarted that are well.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import socket
import sys
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

sys.path.append(str(Path(__file__).parent))  # which python3 -I leaves out
from sampler import Sampler, retransmits

SCHEMA = 1
PROC = Path("/proc")
KERNEL = Path("/proc/sys")
UNITS = Path("/etc/systemd/system")
INVOCATIONS = Path("/run/systemd/units")
ENDS = Path("/run/rackbench-ends")
PREFIX = "rackbench-"
OWN = {"rackbench-health", "rackbench-restart", "rackbench-profile", "rackbench-capture"}
ASKED = Path("/run/rackbench-health/asked")
PROFILE_ASKED = ASKED.with_name("profile")
POLLED = ASKED.parent
RUNNER = "Java"  # in the User-Agent of the runner's requests; nothing else here asks from a JVM
PROFILES = Path("/run/rackbench-profile")
PROFILE_S = 30.0
PROFILE_PAUSE_S = 0.1
CREDENTIAL = "restart.password"
REQUEST_BYTES = 1 << 16
PROBE_TIMEOUT_S = 1.0
PROBES = 5
PROBE_PAUSE_S = 2.0
IDLE_SHARE = 0.02  # of one processor; a service that works at all uses more
ANSWER_BYTES = 4096
BINDINGS = Path("/etc/rackbench/jndi/.bindings")
QUEUES = Path("/etc/rackbench/queues.json")
FACTORY = (
    r"imq(Ack|ConnectionFlow|ConnectionType|Consumer|Override|Ping|PortMapper|Reconnect|Socket)"
)
PLACE = r"-Dimq\..*(home|hostname|port)=|.*file=/run/rackbench-"
STREAM_S = 0.1
STREAM_BYTES = 1 << 25
STREAM_BLOCK = bytes(1 << 16)
LISTENING = 3
MOST_SAMPLES = 3600


def services(address: str, probes: dict[str, Any]) -> dict[str, Any]:
    """Return every service of rackbench that is installed here."""
    units = sorted(path.stem for path in UNITS.glob(f"{PREFIX}*.service") if path.stem not in OWN)
    stopped = _stopped()
    return {
        (name := unit.removeprefix(PREFIX)): service(
            unit, address, probes.get(name), stopped=unit in stopped
        )
        for unit in units
    }


def service(
    unit: str, address: str, probe: dict[str, Any] | None, *, stopped: bool
) -> dict[str, Any]:
    """Return whether a service runs and answers, its start time, and how it ended last."""
    link = INVOCATIONS / f"invocation:{unit}.service"
    invocation = since = None
    with suppress(OSError):  # systemd removes the link when the unit ends
        invocation = str(link.readlink())
        since = _utc(link.lstat().st_mtime)
    ready = Path("/run", unit, "ready")
    answers = (ready.exists() and not stopped) if probe is None else _answers(address, probe)
    ends = _lines(ENDS / unit)
    keys = ("at", "invocation", "result", "code", "status")
    return {
        "state": ("up" if answers else "silent") if invocation else "down",
        "since": since,
        "invocation": invocation,
        "ended": dict(zip(keys, ends[-1].split(), strict=False)) if ends else None,
        "ends": len(ends),
        "profiled": bool(invocation) and _text(PROFILES / unit) == invocation,
    }


def _answers(address: str, probe: dict[str, Any]) -> bool:
    """Return whether the service's answer contains the probe's text."""
    said = b""
    expected = probe["expect"].encode()
    try:
        with socket.create_connection((address, probe["port"]), PROBE_TIMEOUT_S) as connection:
            connection.sendall(probe.get("send", "").encode())
            while expected not in said and len(said) < ANSWER_BYTES:
                part = connection.recv(ANSWER_BYTES)
                if not part:
                    break
                said += part
    except OSError:
        return False
    return expected in said


def judge(unit: str, address: str, probe: dict[str, Any] | None) -> str:
    """Watch a service for a while; return why it does not hang, or "" if it does.

    It hangs if at every check it is silent, none of its threads runs or waits for a processor or a
    disk, and it hardly used a processor. A service that cannot be probed must also be stopped by a
    signal, because without its ready file it may wait for the broker. If its processes are not
    visible, nobody can tell.
    """
    began, ticks, first = time.monotonic(), _ticks(unit), None
    for _ in range(PROBES):
        stopped = unit in _stopped()
        found = service(unit, address, probe, stopped=stopped)
        if found["state"] != "silent":
            return f"it is {found['state']}"
        if probe is None and not stopped:
            return "it is not ready, but runs"
        if found["invocation"] != (first or found)["invocation"]:
            return "it was restarted"
        if not _processes(unit):
            return (
                "none of its processes is visible in /proc, so nobody can tell whether it hangs; "
                "mount /proc without hidepid there, or restart it by hand if it does"
            )
        if _is_busy(unit):
            return "it works"
        first = found
        time.sleep(PROBE_PAUSE_S)
    share = (_ticks(unit) - ticks) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - began)
    return f"it works: {share:.2f} of a processor" if share > IDLE_SHARE else ""


def _stopped() -> set[str]:
    """Return the units with a process that a signal has stopped."""
    return {
        unit
        for stat in PROC.glob("[0-9]*/stat")
        if _fields(stat)[:1] == ["T"]
        for unit in _units(stat)
    }


def _ticks(unit: str) -> int:
    """Processor time that the processes of a unit have used so far."""
    return sum(
        int(word) for process in _processes(unit) for word in _fields(process / "stat")[11:13]
    )


def _is_busy(unit: str) -> bool:
    """Return whether a thread of the unit runs, or would if a processor or a disk were free."""
    return any(
        _fields(thread)[:1] in (["R"], ["D"])
        for process in _processes(unit)
        for thread in process.glob("task/*/stat")
    )


def _processes(unit: str) -> list[Path]:
    return [stat.parent for stat in PROC.glob("[0-9]*/stat") if unit in _units(stat)]


def _fields(stat: Path) -> list[str]:
    """Return the fields of a process in /proc, from its state on."""
    return _text(stat).rpartition(")")[2].split()


def _units(stat: Path) -> list[str]:
    return re.findall(rf"/({PREFIX}[\w-]+)\.service$", _text(stat.with_name("cgroup")), re.M)


def settings(address: str, probes: dict[str, Any], sysctls: list[str]) -> dict[str, Any]:
    """Return the running services' options, and the settings that they report.

    Also the connection factory of this node's JMS clients, as it is deployed, and the values that
    the kernel has of `sysctls`.
    """
    found = {}
    for path in sorted(UNITS.glob(f"{PREFIX}*.service")):
        name = path.stem.removeprefix(PREFIX)
        if path.stem not in OWN and (processes := _processes(path.stem)):
            command = _text(processes[0] / "cmdline").split("\0")
            found[name] = command_settings(command) | jdk_of(command[0])
            found[name] |= _told(address, probes.get(name, {}))
    if "broker" in found:
        found["broker"] |= queue_settings()
    if factory := factory_settings(_lines(BINDINGS)):
        found["connection factory"] = factory
    if kernel := kernel_settings(sysctls):
        found["node"] = kernel
    return found


def kernel_settings(sysctls: list[str]) -> dict[str, str]:
    """Return the kernel's values of these parameters, without those that it does not have."""
    names = [name for name in sysctls if re.fullmatch(r"[\w-]+(\.[\w-]+)+", name)]
    held = {name: _text(KERNEL.joinpath(*name.split("."))).strip() for name in names}
    return {f"sysctl.{name}": value for name, value in held.items() if value}


def command_settings(command: list[str]) -> dict[str, Any]:
    """Return the options of a JVM's command line, and a program's numbers after its main class.

    Without values that belong to this node: addresses, ports, paths.
    """
    options, arguments, words = [], {}, iter(command[1:])
    for word in words:
        if word in ("-cp", "-classpath"):
            next(words, None)
        elif not word.startswith("-"):
            break
        elif word.startswith(("-X", "-Dimq.")) and not re.match(PLACE, word):
            options.append(word)
    rest = list(words)
    for name, value in pairwise(rest):
        if name.startswith("--") and name != "--port" and re.fullmatch(r"[\d,]+", value):
            arguments[name] = value
    return {"options": options} | ({"arguments": arguments} if arguments else {})


def jdk_of(program: str) -> dict[str, str]:
    """Return the version of a process's JDK; nothing for other programs.

    Only root may read /proc/PID/exe of other accounts; the module fingerprint does.
    """
    path = Path(program)
    if path.name != "java" or not path.is_absolute():
        return {}
    said = _text(path.resolve().parent.parent / "release")
    version = re.search(r'^JAVA_VERSION="(.*)"', said, re.M)
    return {"jdk": version[1]} if version else {}


def _told(address: str, probe: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that a service reports over HTTP, lines of name=value, if it has any."""
    if "settings" not in probe:
        return {}
    try:
        connection = HTTPConnection(address, probe["port"], timeout=PROBE_TIMEOUT_S)
        connection.request("GET", probe["settings"])
        answer = connection.getresponse()
        text = answer.read(ANSWER_BYTES).decode() if answer.status == 200 else ""
        connection.close()
    except (OSError, HTTPException):
        return {}
    told: dict[str, Any] = {}
    for name, value in re.findall(r"^(\w+)=(.*?)\r?$", text, re.M):
        told.setdefault(name, []).append(value)
    return {name: ", ".join(values) for name, values in told.items()}


def queue_settings() -> dict[str, Any]:
    """Return the broker's record of its queues' settings: once if all queues are alike."""
    with suppress(ValueError, KeyError):
        queues = json.loads(_text(QUEUES))["queues"]
        alike = {json.dumps(queue, sort_keys=True) for queue in queues.values()}
        return {"queues": json.loads(alike.pop()) if len(alike) == 1 else queues}
    return {}


def factory_settings(lines: list[str]) -> dict[str, Any]:
    """Return the properties of the connection factory in a JNDI file store."""
    kept: dict[str, Any] = {}
    for line in lines:
        entry = re.fullmatch(r"ConnectionFactory/RefAddr/(\d+)/(Type|Content)=(.*)", line)
        if entry:
            kept.setdefault(entry[1], {})[entry[2]] = entry[3]
    named = {one["Type"]: one.get("Content", "") for one in kept.values() if "Type" in one}
    return {name: named[name] for name in sorted(named) if re.match(FACTORY, name)}


def machine(sampler: Sampler) -> dict[str, Any]:
    """Return the machine's state as far as it may disturb a trial.

    Ticks, retransmits and discarded bytes count from boot, None is not readable.
    """
    ticks = [int(word) for word in (_lines(Path("/proc/stat")) or ["cpu"])[0].split()[1:9]]
    load = (_lines(Path("/proc/loadavg")) or [""])[0].split()
    rates = [float(rate) for rate in re.findall(r"cpu MHz\s*: (.*)", _text(Path("/proc/cpuinfo")))]
    heats = [
        int(_lines(zone)[0]) / 1000
        for zone in Path("/sys/class/thermal").glob("thermal_zone*/temp")
        if _lines(zone)
    ]
    return {
        "load1": float(load[0]) if load else None,
        "cores": os.cpu_count(),
        "cpu_ticks": sum(ticks) if ticks else None,
        "steal_ticks": ticks[7] if len(ticks) > 7 else None,
        "cpu_mhz": round(sum(rates) / len(rates)) if rates else None,
        "temperature_c": max(heats) if heats else None,
        "retransmits": retransmits(_text(Path("/proc/net/snmp"))),
        "energy_uj": _energy(),
        "maintenance": sampler.maintenance(),
        "discarded_bytes": sampler.discarded_bytes(),
    }


def _energy() -> int | None:
    """Return the energy of the processors' packages in microjoules; most need root to be read."""
    packages = [
        int(lines[0])
        for counter in Path("/sys/class/powercap").glob("intel-rapl:?/energy_uj")
        if (lines := _lines(counter))
    ]
    return sum(packages) if packages else None


def _lines(path: Path) -> list[str]:
    return _text(path).splitlines()


def _text(path: Path) -> str:
    """Return a file's text, or nothing when it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def report(
    address: str, probes: dict[str, Any], sampler: Sampler, *, observed: bool = True
) -> dict[str, Any]:
    """Return the answer to a request that came in on `address`.

    It keeps the sampling alive and reports the state of the machine, unless the trial has no
    observers. `cpu_us` is how long a service has used processors since it was started, as read
    between `now_ns` and the answer.
    """
    room = os.statvfs("/var/lib")
    if observed:
        sampler.look()
    now = time.monotonic_ns()
    used = {unit: sampler.cpu_us(unit) for unit in sampler.running()}
    found = services(address, probes)
    for name, service in found.items():
        service["cpu_us"] = used.get(PREFIX + name)
    return {
        "schema": SCHEMA,
        "node": os.uname().nodename,
        "now_ns": now,
        "services": found,
        "disk_free_mb": room.f_bavail * room.f_frsize >> 20,
        "machine": machine(sampler) if observed else {},
        "sampled_ns": sampler.sampled_ns if observed else None,
    }


def resources(query: str, sampler: Sampler) -> dict[str, Any]:
    """Return the use since a moment: `since` in ns of the node's clock, `most` samples each.

    Raises ValueError if one is not a number. The request arrived at `now_ns`, and its answer left
    the node `took_ns` later.
    """
    began = time.monotonic_ns()
    asked = {name: int(values[0]) for name, values in parse_qs(query).items()}
    sampler.look()
    most = min(asked.get("most", MOST_SAMPLES), MOST_SAMPLES)
    told = sampler.told(asked.get("since", 0), most)
    took = time.monotonic_ns() - began
    return {"node": os.uname().nodename, "now_ns": began, "took_ns": took, **told}


def ask(verb: str, units: list[str]) -> None:
    """Name units to rackbench-restart.service, which may kill or restart them."""
    new = ASKED.with_suffix(".new")  # a watcher must never see half of it
    new.write_text(" ".join([verb, *(f"{unit}.service" for unit in units)]) + "\n")
    new.chmod(0o644)
    new.replace(ASKED)


def profile(action: str, starts: dict[str, str]) -> dict[str, Any] | None:
    """Ask rackbench-profile.service to start or stop the profiler in units.

    Returns its answer for each unit, or None if there is none in time.
    """
    wish = {"id": os.urandom(8).hex(), "action": action, "starts": starts}
    new = PROFILE_ASKED.with_suffix(".new")
    new.write_text(json.dumps(wish))
    new.chmod(0o644)
    new.replace(PROFILE_ASKED)
    until = time.monotonic() + PROFILE_S
    while time.monotonic() < until:
        with suppress(ValueError):
            answer = json.loads(_text(PROFILES / "answer") or "{}")
            if answer.get("id") == wish["id"]:
                units: dict[str, Any] = answer["units"]
                return units
        time.sleep(PROFILE_PAUSE_S)
    return None


class Handler(BaseHTTPRequestHandler):
    """Answers GET; systemd's journal needs no line for each."""

    timeout = 5
    wbufsize = -1  # headers and body in one packet: a second would wait for an acknowledgement
    probes: ClassVar[dict[str, Any]] = {}
    password: ClassVar[bytes] = b""
    sampler: ClassVar[Sampler] = Sampler()
    judging = threading.Lock()
    profiling = threading.Lock()

    def do_GET(self) -> None:
        """Send the report, the samples, the settings, or the stream that measures a link.

        Or take a sample at once, and send its time.
        """
        if self.path == "/stream":
            self._stream()
            return
        if self.path == "/sample":
            self.sampler.sample(0)
            self._send(200, {"sampled_ns": self.sampler.sampled_ns})
            return
        address = self.connection.getsockname()[0]
        place = urlsplit(self.path)
        if place.path == "/settings":
            sysctls = parse_qs(place.query).get("sysctl", [])
            held = settings(address, self.probes, sysctls)
            self._send(200, {"schema": SCHEMA, "node": os.uname().nodename, "settings": held})
            return
        if place.path == "/resources":
            try:
                used = resources(place.query, self.sampler)
            except ValueError:
                self._send(400, {"error": "since and most are whole numbers"})
            else:
                self._send(200, {"schema": SCHEMA, **used})
            return
        observed = "none" not in parse_qs(place.query).get("observe", [])
        self._send(200, report(address, self.probes, self.sampler, observed=observed))
        self._note_runner(address)

    def _note_runner(self, address: str) -> None:
        """Note when a runner of another node polled last, for playbooks of other inventories."""
        peer = self.client_address[0]
        if peer != address and RUNNER in self.headers.get("User-Agent", ""):
            with suppress(OSError):  # a health check matters more
                (POLLED / f"polled-by-{peer}").touch()

    def do_POST(self) -> None:
        """Have the services of a signed request restarted, or that of /restart/NAME if it hangs.

        Answers 202 at once; it checks services for hanging one at a time. Or have the profiler
        started or stopped in services, and send its answer.
        """
        if self.path == "/restart":
            if wanted := self._starts("restart"):
                print(f"{' '.join(wanted)}: restart, as the runner asks", flush=True)
                ask("restart", list(wanted))
                self._send(202, {"restarted": list(wanted)})
            return
        if self.path == "/profile":
            if wanted := self._starts("profile"):
                self._profile(wanted)
            return
        name = self.path.removeprefix("/restart/")
        unit = PREFIX + name
        if (
            unit in OWN
            or not re.fullmatch(r"[\w-]+", name)
            or not (UNITS / f"{unit}.service").exists()
        ):
            self._send(404, {"error": f"no service {name!r} here; ask for one that GET / names"})
        elif not self.judging.acquire(blocking=False):
            self._send(409, {"error": "another service is being examined; ask again later"})
        else:
            self._send(202, {"looked_at": name})
            try:
                self._restart(unit, self.probes.get(name))
            finally:
                self.judging.release()

    def _restart(self, unit: str, probe: dict[str, Any] | None) -> None:
        why_not = judge(unit, self.connection.getsockname()[0], probe)
        print(f"{unit}: {why_not or 'hangs, restart'}", flush=True)
        if not why_not:
            ask("kill", [unit])

    def _profile(self, starts: dict[str, str]) -> None:
        with self.profiling:
            said = profile(str(self.request_body.get("action")), starts)
        if said is None:
            self._send(503, {"error": "no answer; see journalctl -u rackbench-profile"})
        else:
            self._send(200, {"services": {u.removeprefix(PREFIX): s for u, s in said.items()}})

    def _starts(self, what: str) -> dict[str, str]:
        """Return the units that a signed request names, each with the id of its present start.

        So a repetition of the request does nothing once they are restarted. If the request is
        refused, sends the reason and returns none.
        """
        length = self.headers.get("Content-Length", "")
        body = self.rfile.read(min(int(length), REQUEST_BYTES)) if length.isdecimal() else b""
        signature = hmac.new(self.password, body, "sha256").hexdigest()
        given = self.headers.get("Authorization", "")
        if not self.password or not hmac.compare_digest(signature.encode(), given.encode()):
            self._send(403, {"error": "the request is not signed with this lab's password"})
            return {}
        self.request_body = json.loads(body)
        wanted = {PREFIX + name: start for name, start in self.request_body[what].items()}
        present = {unit: INVOCATIONS / f"invocation:{unit}.service" for unit in wanted}
        if any(unit in OWN or not (UNITS / f"{unit}.service").exists() for unit in wanted):
            self._send(404, {"error": "not all of these services are here"})
        elif any(
            not link.is_symlink() or str(link.readlink()) != wanted[unit]
            for unit, link in present.items()
        ):
            self._send(409, {"error": "not all of these starts are the present ones"})
        else:
            return wanted
        return {}

    def _send(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _stream(self) -> None:
        """Send zeros for a tenth of a second, or up to a number of bytes."""
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.end_headers()
        left, until = STREAM_BYTES, time.monotonic() + STREAM_S
        while left > 0 and time.monotonic() < until:
            self.wfile.write(STREAM_BLOCK)
            left -= len(STREAM_BLOCK)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Serve on the socket that systemd hands over."""
    Handler.probes = json.loads(Path(sys.argv[1]).read_text())
    with suppress(OSError, KeyError):  # without the password no request counts as signed
        Handler.password = (
            Path(os.environ["CREDENTIALS_DIRECTORY"], CREDENTIAL).read_bytes().strip()
        )
    threading.Thread(target=Handler.sampler.run, name="sampler", daemon=True).start()
    server = ThreadingHTTPServer(("", 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = socket.socket(fileno=LISTENING)
    server.serve_forever()


if __name__ == "__main__":
    main()
