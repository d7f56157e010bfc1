"""The server of the installer, as a machine meets it: over HTTP and UDP, on loopback."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[2] / "roles/netboot/files/serve.py"
KEY = "ssh-ed25519 " + "A" * 68
MAC = "52:54:00:00:00:01"
TOKEN = "t" * 40


def free_ports():
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        return tcp.getsockname()[1], udp.getsockname()[1]


class Served:
    """A running server with one machine."""

    def __init__(self, directory, **changes):
        self.directory = directory
        self.machine = directory / "machines/rack03"
        self.machine.mkdir(parents=True)
        for name in ("preseed.cfg", "choose_disk", "finish", "boot.ipxe"):
            (self.machine / name).write_text(f"the {name} of rack03\n")
        for name in ("near", "far", "installer", "cache"):
            (directory / name).mkdir()
        self.port, self.log_port = free_ports()
        plan = {
            "interface": "lo",
            "address": "127.0.0.1",
            "port": self.port,
            "log_port": self.log_port,
            # Ends with its input, as dnsmasq's wrapper does, and logs nothing of its own.
            "dnsmasq": ["cat"],
            "installer": str(directory / "installer"),
            "cache": str(directory / "cache"),
            "archives": {"debian": [str(directory / "near"), str(directory / "far")]},
            "fetch": ["cp"],
            "wait_s": 60,
            "silence_s": 60,
            "machines": {
                MAC: {
                    "name": "rack03",
                    "address": "127.0.0.1",
                    "port": 1,
                    "directory": str(self.machine),
                    "token": TOKEN,
                }
            },
        } | changes
        file = directory / "plan.json"
        file.write_text(json.dumps(plan))
        self.process = subprocess.Popen(
            [sys.executable, str(SERVER), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def get(self, path, data=None):
        """Status and text of an answer; waits for the server to begin."""
        for _ in range(100):
            try:
                with urllib.request.urlopen(
                    f"http://127.0.0.1:{self.port}{path}", data=data, timeout=10
                ) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, ""
            except OSError:
                time.sleep(0.05)
        raise AssertionError(self.process.stderr.read())

    def post(self, what, text, token=TOKEN):
        return self.get(f"/{token}/{what}", text.encode())[0]

    def state(self):
        """The next change that is told."""
        event = json.loads(self.process.stdout.readline())
        return event["state"], event["detail"]


@pytest.fixture
def served(tmp_path):
    started = []

    def start(**changes):
        started.append(Served(tmp_path, **changes))
        return started[-1]

    yield start
    for server in started:
        with server.process as process:
            process.kill()


def test_only_machines_of_the_plan_get_an_installer(served):
    server = served()
    status, script = server.get("/boot/52-54-00-00-00-99")
    assert status == 200
    assert "52:54:00:00:00:99 is not to be installed" in script
    assert script.endswith("exit\n")
    assert server.get("/boot/52-54-00-00-00-01") == (200, "the boot.ipxe of rack03\n")
    assert server.state() == ("loading", "")
    assert server.get("/boot.ipxe")[1].startswith("#!ipxe\nchain /boot/")


def test_files_need_the_machines_token(served):
    server = served()
    assert server.get(f"/{TOKEN}/preseed.cfg") == (200, "the preseed.cfg of rack03\n")
    assert server.state() == ("installing", "preseed")
    for path in (
        f"/{'x' * 40}/preseed.cfg",
        f"/{TOKEN}/boot.ipxe",
        f"/{TOKEN}/installed.json",
        f"/{TOKEN}/../../plan.json",
        "/plan.json",
        "/installer/../plan.json",
        "/debian/../plan.json",
        "/debian/pool/../../../plan.json",
        "/debian/pool/%2e%2e/plan.json",
        "/",
        "",
    ):
        assert server.get(path or "/x")[0] == 404, path


def test_success_is_kept_and_ends_the_offer(served):
    server = served()
    server.get("/boot/52-54-00-00-00-01")
    assert server.post("installed", KEY, token="x" * 40) == 403
    assert server.post("installed", "ssh-ed25519 short") == 403
    assert not (server.machine / "installed.json").exists()
    assert server.post("installed", f"{KEY} root@rack03\n") == 200
    kept = json.loads((server.machine / "installed.json").read_text())
    assert kept["host_key"] == KEY
    assert "rack03 is rebooting" in server.get("/boot/52-54-00-00-00-01")[1]
    assert server.post("installed", KEY) == 403
    assert server.get(f"/{TOKEN}/preseed.cfg")[0] == 404
    assert [server.state()[0] for _ in range(2)] == ["loading", "rebooting"]


@pytest.mark.parametrize("what", ["refused", "failed"])
def test_an_installer_that_stops_is_an_end(served, what):
    server = served()
    assert server.post(what, "0 disks fit\nthe rule") == 200
    assert server.state() == (what, "0 disks fit the rule")
    assert server.process.wait(20) == 0
    assert not (server.machine / "installed.json").exists()


def test_a_machine_that_begins_over_and_over_is_not_wiped_for_ever(served):
    server = served()
    scripts = [server.get("/boot/52-54-00-00-00-01")[1] for _ in range(4)]
    assert scripts[:3] == ["the boot.ipxe of rack03\n"] * 3
    assert "rack03 failed 3 times" in scripts[3]
    assert server.post("installed", KEY) == 403


def test_steps_are_read_from_the_log_and_the_log_is_kept(served):
    server = served()
    server.get("/boot/52-54-00-00-00-01")
    assert server.state() == ("loading", "")
    lines = [
        b"<14>Nov 22 11:46:50 main-menu[323]: INFO: Menu item 'partman-base' selected",
        b"<13>Nov 22 11:46:51 partman: working",
        b"<14>Nov 22 11:48:49 main-menu[323]: INFO: Menu item 'bootstrap-base' selected",
    ]
    with socket.socket(type=socket.SOCK_DGRAM) as udp:
        for line in lines:
            udp.sendto(line, ("127.0.0.1", server.log_port))
    assert server.state() == ("installing", "partitions")
    assert server.state() == ("installing", "base system")
    assert (server.machine / "installer.log").read_bytes() == b"\n".join(lines) + b"\n"


def test_a_step_that_failed_is_an_end(served):
    server = served()
    server.get("/boot/52-54-00-00-00-01")
    assert server.state() == ("loading", "")
    line = b"<12>Nov 22 13:32:38 main-menu[322]: WARNING **: Menu item 'pkgsel' failed."
    with socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.sendto(line, ("127.0.0.1", server.log_port))
    assert server.state() == ("failed", "packages")
    assert server.process.wait(20) == 0


@pytest.mark.parametrize(
    ("limits", "begin", "end"),
    [({"wait_s": 0}, False, "absent"), ({"silence_s": 0}, True, "silent")],
)
def test_a_machine_that_says_nothing_is_not_waited_for_for_ever(served, limits, begin, end):
    server = served(**({"wait_s": 3} | limits))
    if begin:
        server.get("/boot/52-54-00-00-00-01")
        server.state()
    assert server.state()[0] == end
    assert server.process.wait(20) == 0


def test_an_archives_file_is_fetched_once_and_its_indices_once_a_run(served):
    server = served()
    near, far = server.directory / "near", server.directory / "far"
    for root, text in ((near, "near"), (far, "far")):
        (root / "pool/main").mkdir(parents=True)
        (root / "dists/trixie").mkdir(parents=True)
        (root / "dists/trixie/Release").write_text(text)
    (far / "pool/main/a_1+b2_amd64.udeb").write_text("package")
    assert server.get("/debian/pool/main/a_1%2bb2_amd64.udeb") == (200, "package")
    assert server.get("/debian/dists/trixie/Release") == (200, "near")
    (near / "dists/trixie/Release").write_text("newer")
    (far / "pool/main/a_1+b2_amd64.udeb").unlink()
    assert server.get("/debian/pool/main/a_1+b2_amd64.udeb") == (200, "package")
    assert server.get("/debian/dists/trixie/Release") == (200, "near")
    assert server.get("/debian/pool/main/none_1_all.deb")[0] == 404
    assert server.get("/other/pool/main/a_1+b2_amd64.udeb")[0] == 404


def test_it_ends_with_its_input(served):
    server = served()
    server.get("/boot.ipxe")
    server.process.stdin.close()
    assert server.process.wait(20) == 0


def test_it_says_that_dnsmasq_has_ended(served):
    server = served(dnsmasq=["sh", "-c", "echo failed to bind; exit 2"])
    assert server.process.wait(20) == 1
    assert "dnsmasq has ended" in server.process.stderr.read()
    assert (server.directory / "dnsmasq.log").read_text() == "failed to bind\n"


def test_a_taken_port_is_named(served):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = served(port=port)
        assert server.process.wait(20) == 2
    assert f"ports {port} and" in server.process.stderr.read()


@pytest.mark.parametrize("length", ["x", "999999999"])
def test_a_report_without_bounds_is_refused(served, length):
    server = served()
    server.get("/boot.ipxe")
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        head = f"POST /{TOKEN}/installed HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 413 " in connection.recv(200)
