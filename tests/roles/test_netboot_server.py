"""The server of the installer, as a machine meets it: over HTTP and UDP, on loopback."""

import http.client
import importlib
import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[2] / "roles/netboot/files/serve.py"
sys.path.insert(0, str(SERVER.parent))
archives, kept_log, serve, states = map(
    importlib.import_module, ("archives", "kept_log", "serve", "states")
)
KEY = "ssh-ed25519 " + "A" * 68
MAC = "52:54:00:00:00:01"
TOKEN = "t" * 40
BOOT = "/boot/52-54-00-00-00-01"
MACHINE, OTHER = "127.0.0.2", "127.0.0.3"


def free_ports():
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        return tcp.getsockname()[1], udp.getsockname()[1]


class Served:
    """A running server with one machine."""

    def __init__(self, directory, *, more=(), **changes):
        self.directory = directory
        self.machine = directory / "machines/rack03"
        others = {mac: {**other, **self._kept(other["name"])} for mac, other in dict(more).items()}
        for name in ("near", "far", "installer"):
            (directory / name).mkdir(exist_ok=True)
        self.port, self.log_port = free_ports()
        plan = {
            "interface": "lo",
            "address": "127.0.0.1",
            "port": self.port,
            "log_port": self.log_port,
            "proxy": False,
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
                    "address": MACHINE,
                    "port": 1,
                    "token": TOKEN,
                    **self._kept("rack03"),
                },
                **others,
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

    def _kept(self, of):
        made = self.directory / "machines" / of
        made.mkdir(parents=True, exist_ok=True)
        names = ("preseed.cfg", "begin", "choose_disk", "finish", "boot.ipxe")
        return {
            "directory": str(made),
            "files": {name: f"the {name} of {of}\n" for name in names},
        }

    def get(self, path, data=None, source=MACHINE):
        """Status and text of an answer; waits for the server to begin."""
        for _ in range(200):
            asking = http.client.HTTPConnection(
                "127.0.0.1", self.port, timeout=10, source_address=(source, 0)
            )
            try:
                asking.request("GET" if data is None else "POST", path, data)
                answer = asking.getresponse()
                text = answer.read().decode()
            except ConnectionRefusedError:
                time.sleep(0.05)
            else:
                return answer.status, text if answer.status == 200 else ""
            finally:
                asking.close()
        raise AssertionError(self.process.stderr.read())

    def post(self, what, text, token=TOKEN, source=MACHINE):
        return self.get(f"/{token}/{what}", text.encode(), source)[0]

    def log(self, line, source=MACHINE):
        """Send a line as an installer's syslog does."""
        with socket.socket(type=socket.SOCK_DGRAM) as udp:
            udp.bind((source, 0))
            udp.sendto(line, ("127.0.0.1", self.log_port))

    def begin(self, *files):
        """Boot, and ask for these files, as the machine does."""
        assert self.get(BOOT) == (200, "the boot.ipxe of rack03\n")
        assert self.state() == ("loading", "")
        for name in files:
            assert self.get(f"/{TOKEN}/{name}") == (200, f"the {name} of rack03\n")
        if "preseed.cfg" in files:
            assert self.state() == ("installing", "preseed")

    def tell(self, **what):
        """Send the server a line of input."""
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def event(self):
        """The next line that is told."""
        return json.loads(self.process.stdout.readline())

    def state(self):
        """The next change that is told."""
        event = self.event()
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
    assert script.endswith("exit 1\n")
    server.begin()
    assert server.get("/boot.ipxe")[1].startswith("#!ipxe\nchain /boot/")
    assert server.get("/boot/$(reboot)")[0] == 404


def test_a_machine_that_comes_back_is_sent_to_its_disk_in_another_way(served):
    server = served()
    scripts = [server.get("/boot/52-54-00-00-00-99")[1] for _ in range(3)]
    assert "sanboot" not in scripts[0]
    assert "sanboot --no-describe --drive 0x80 || exit 1" in scripts[1]
    assert "iseq ${platform} pcbios && goto bios || goto efi" in scripts[1]
    assert "--filename \\EFI\\debian\\grubx64.efi ||" in scripts[1]
    assert scripts[2] == scripts[0]


def test_files_need_the_machines_token(served):
    server = served()
    assert server.get(f"/{TOKEN}/preseed.cfg")[0] == 404
    server.begin("preseed.cfg", "begin")
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


def test_a_machine_is_told_the_time(served):
    server = served()
    assert server.get(f"/{TOKEN}/clock")[0] == 404
    server.begin()
    before = int(time.time())
    status, told = server.get(f"/{TOKEN}/clock")
    assert status == 200
    assert before <= int(told) <= time.time() + 1
    assert server.get(f"/{TOKEN}/clock", source=OTHER)[0] == 404


def test_success_is_kept_and_ends_the_offer(served):
    server = served()
    server.begin("preseed.cfg")
    assert server.post("installed", KEY) == 403
    assert server.get(f"/{TOKEN}/finish")[0] == 200
    assert server.post("installed", KEY, token="x" * 40) == 403
    assert server.post("installed", "ssh-ed25519 short") == 403
    assert not (server.machine / "installed.json").exists()
    assert server.post("installed", f"{KEY} root@rack03\n") == 200
    kept = json.loads((server.machine / "installed.json").read_text())
    assert kept["host_key"] == KEY
    assert "rack03 is rebooting" in server.get(BOOT)[1]
    assert server.post("installed", KEY) == 403
    assert server.get(f"/{TOKEN}/preseed.cfg")[0] == 404
    assert server.state()[0] == "rebooting"


def test_an_install_goes_on_under_a_server_that_was_started_anew(served):
    first = served()
    first.begin("preseed.cfg", "choose_disk")
    first.process.stdin.close()
    assert first.process.wait(20) == 0
    second = served()
    second.get("/boot.ipxe")
    second.log(b"main-menu[3]: INFO: Menu item 'pkgsel' selected")
    assert second.state() == ("installing", "packages")
    assert second.get(f"/{TOKEN}/finish")[0] == 200
    assert second.post("installed", KEY) == 200
    assert json.loads((second.machine / "installed.json").read_text())["host_key"] == KEY


@pytest.mark.parametrize("what", ["refused", "failed"])
def test_an_installer_that_stops_is_an_end(served, what):
    server = served()
    assert server.post(what, "before it has begun") == 403
    server.begin("preseed.cfg", "choose_disk")
    assert server.post(what, "0 disks fit\nthe \x1b[31mrule\x07") == 200
    assert server.state() == (what, "0 disks fit the ?[31mrule?")
    assert server.process.wait(20) == 0
    assert not (server.machine / "installed.json").exists()


def test_a_step_that_failed_is_an_end(served):
    server = served()
    server.begin("preseed.cfg")
    line = "Nov 22 13:32:38 main-menu[322]: WARNING **: Menu item 'pkgsel' failed."
    assert server.post("failed", line) == 200
    assert server.state() == ("failed", "packages")
    assert server.process.wait(20) == 0


def test_a_machine_that_begins_over_and_over_is_not_wiped_for_ever(served):
    server = served()
    scripts = [server.get(BOOT)[1] for _ in range(4)]
    assert scripts[:3] == ["the boot.ipxe of rack03\n"] * 3
    assert "rack03 failed 3 times" in scripts[3]
    assert server.post("installed", KEY) == 403


def test_nobody_else_gets_a_machines_script_or_speaks_for_it(served):
    server = served()
    for _ in range(5):
        assert f"{OTHER} is not the address of rack03" in server.get(BOOT, source=OTHER)[1]
    assert f"{OTHER} (card unknown) sent a request under its name" in server.event()["note"]
    server.begin("preseed.cfg", "choose_disk", "finish")
    for what in ("installed", "refused", "failed"):
        assert server.post(what, KEY, source=OTHER) == 403
    assert server.get(f"/{TOKEN}/preseed.cfg", source=OTHER)[0] == 404
    server.log(b"main-menu[3]: INFO: Menu item 'pkgsel' selected", source=OTHER)
    assert server.post("installed", KEY) == 200
    assert server.state() == ("rebooting", "")
    assert not (server.machine / "installer.log").exists()


def test_a_line_of_the_log_in_a_machines_name_ends_nothing(served):
    server = served()
    server.log(b"main-menu[3]: INFO: Menu item 'finish-install' selected")
    server.begin("preseed.cfg", "finish")
    server.log(b"main-menu[3]: WARNING **: Menu item 'pkgsel' failed.")
    assert server.post("installed", KEY) == 200
    assert server.state() == ("rebooting", "")


def test_behind_another_dhcp_server_a_script_needs_the_machines_card(served):
    server = served(proxy=True)
    assert "is not the address of rack03" in server.get(BOOT)[1]


def test_steps_are_read_from_the_log_and_the_log_is_kept_clean(served):
    server = served()
    server.begin()
    lines = [
        b"<14>Nov 22 11:46:50 main-menu[323]: INFO: Menu item 'partman-base' selected",
        b"<13>Nov 22 11:46:51 partman: \x1b]0;title\x07working\0\n",
        b"<14>Nov 22 11:48:49 main-menu[323]: INFO: Menu item 'bootstrap-base' selected",
    ]
    for line in lines:
        server.log(line)
    assert server.state() == ("installing", "partitions")
    assert server.state() == ("installing", "base system")
    kept = (server.machine / "installer.log").read_text().splitlines()
    assert kept == [
        lines[0].decode(),
        "<13>Nov 22 11:46:51 partman: ?]0;title?working",
        lines[2].decode(),
    ]


def test_a_machine_that_cannot_be_started_is_an_end_and_may_come_all_the_same(served):
    server = served()
    server.get("/boot.ipxe")
    server.tell(name="rack03", why="Redfish got no answer within 60 s")
    assert server.state() == ("unstarted", "Redfish got no answer within 60 s")
    assert server.process.wait(20) == 0


def test_the_server_does_not_end_while_an_end_is_being_told(served, tmp_path):
    served()
    plan = serve.read_plan(tmp_path / "plan.json")
    told = []

    def tell(line):
        looking.start()
        looking.join(0.5)
        assert looking.is_alive(), "the server would end before this line is out"
        told.append(line)

    machines = states.Machines(plan, tell)
    looking = threading.Thread(target=machines.look)
    machines.unstarted("rack03", "ipmitool said no")
    looking.join(20)
    assert len(told) == 1
    assert not machines.look()


def test_one_that_cannot_be_started_does_not_end_the_others(served):
    other = {"name": "rack04", "address": OTHER, "port": 1, "token": "o" * 40}
    server = served(more={"52:54:00:00:00:02": other})
    server.get("/boot.ipxe")
    server.tell(name="rack03", why="ipmitool said no")
    assert server.state() == ("unstarted", "ipmitool said no")
    server.begin("preseed.cfg")
    server.tell(name="rack03", why="too late: it is there")
    assert server.get("/boot/52-54-00-00-00-02", source=OTHER)[1] == "the boot.ipxe of rack04\n"
    assert server.state() == ("loading", "")
    assert server.process.poll() is None


@pytest.mark.parametrize(
    ("limits", "begin", "end"),
    [({"wait_s": 0}, False, "absent"), ({"silence_s": 0}, True, "silent")],
)
def test_a_machine_that_says_nothing_is_not_waited_for_for_ever(served, limits, begin, end):
    server = served(**limits)
    if begin:
        server.begin()
    assert server.state()[0] == end
    assert server.process.wait(20) == 0


def test_an_archives_file_is_fetched_once_and_its_indices_once_a_run(served):
    server = served()
    server.begin()
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
    assert server.get("/debian/pool/main/a_1+b2_amd64.udeb", source=OTHER)[0] == 404


def test_an_endless_list_of_names_leaves_nothing_and_stops_no_other_file(served):
    server = served()
    server.begin()
    pool = server.directory / "far/pool/main"
    pool.mkdir(parents=True)
    (pool / "b_1_all.deb").write_text("package")
    assert server.get("/debian/pool/main/b_1_all.deb")[0] == 200
    for number in range(archives.MISSES_OF_ONE + 20):
        assert server.get(f"/debian/pool/x/{number}/n_{number}_all.deb")[0] == 404
    assert server.get("/debian/pool/main/b_1_all.deb") == (200, "package")
    assert sorted(file.name for file in (server.directory / "cache/debian/pool").iterdir()) == [
        "main"
    ]
    (pool / "c_1_all.deb").write_text("package")
    assert server.get("/debian/pool/main/c_1_all.deb")[0] == 404


def test_what_is_no_file_of_an_archive_is_not_asked_for(served):
    server = served()
    server.begin()
    (server.directory / "far/pool/main").mkdir(parents=True)
    for path in ("pool/main", "pool/main/", "dists/trixie", "dists/trixie/main", "pool/a.html"):
        assert server.get(f"/debian/{path}")[0] == 404
    assert list((server.directory / "cache").iterdir()) == []
    (server.directory / "far/dists/trixie/main/debian-installer").mkdir(parents=True)
    inner = "dists/trixie/main/debian-installer/Packages.xz"
    (server.directory / "far" / inner).write_text("index")
    assert server.get(f"/debian/{inner}") == (200, "index")


def test_one_address_does_not_take_all_connections(served):
    server = served()
    server.get("/boot.ipxe")
    held = []
    try:
        for _ in range(serve.TALKS_OF_ONE):
            held.append(
                socket.create_connection(("127.0.0.1", server.port), 10, source_address=(OTHER, 0))
            )
        with socket.create_connection(
            ("127.0.0.1", server.port), 10, source_address=(OTHER, 0)
        ) as more:
            assert more.recv(1) == b""
        server.begin()
    finally:
        for one in held:
            one.close()


def test_a_log_is_bounded_and_keeps_the_newest(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_log, "FILE_BYTES", 1000)
    log = kept_log.KeptLog(tmp_path / "log")
    for number in range(1000):
        log.add(f"line {number}")
    log.add("x" * 100_000)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 4000
    assert (tmp_path / "log").read_text().splitlines()[-1] == "x" * 999 + "…"
    log.begin()
    assert list(tmp_path.iterdir()) == []


def test_a_neighbour_is_known_by_its_card(tmp_path):
    table = tmp_path / "arp"
    table.write_text(
        "IP address       HW type     Flags       HW address            Mask     Device\n"
        "10.80.0.11       0x1         0x2         52:54:00:AA:00:01     *        rb-0\n"
        "10.80.0.12       0x1         0x0         00:00:00:00:00:00     *        rb-0\n"
    )
    assert states.neighbour("10.80.0.11", table) == "52:54:00:aa:00:01"
    assert states.neighbour("10.80.0.12", table) == ""
    assert states.neighbour("10.80.0.1", table) == ""


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


DNSMASQ = """echo 'dnsmasq[1]: started, version 2.90'
echo 'dnsmasq-dhcp[1]: 7 vendor class: dnsmasq: started, version'
echo 'dnsmasq-dhcp[1]: 7 DHCPDISCOVER(lo) 52:54:00:00:00:01 '
cat"""


def test_a_client_that_talks_like_dnsmasq_starts_nothing_again(served):
    server = served(dnsmasq=["sh", "-c", DNSMASQ])
    assert server.event() == {"serving": True}
    assert server.state() == ("asked", "")


def test_a_file_that_could_not_be_fetched_is_asked_for_again(served):
    server = served()
    server.begin()
    assert server.get("/debian/pool/main/d_1_all.deb")[0] == 404
    pool = server.directory / "far/pool/main"
    pool.mkdir(parents=True)
    (pool / "d_1_all.deb").write_text("package")
    assert server.get("/debian/pool/main/d_1_all.deb") == (200, "package")
