"""What the health service answers, without a node: no unit of rackbench is installed here."""

import json
import socket
import threading
import time
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from loading import load


@pytest.fixture
def health(monkeypatch, tmp_path):
    module = load("roles/health/files/health.py", "health")
    (tmp_path / "rackbench-tomcat.service").touch()
    monkeypatch.setattr(module, "UNITS", tmp_path)
    monkeypatch.setattr(module.Handler, "sampler", Sampler())
    return module


class Sampler:
    """Stands in for the sampler, which reads control groups."""

    sampled_ns = 7

    def __init__(self):
        self.looks = 0

    def look(self):
        self.looks += 1

    def sample(self, fresh_s):
        pass

    def running(self):
        return ["rackbench-tomcat"]

    def maintenance(self):
        return ["check of md0"]

    def discarded_bytes(self):
        return 5

    def cpu_us(self, unit):
        return {"rackbench-tomcat": 1500}[unit]


@pytest.fixture
def ask(health):
    server = ThreadingHTTPServer(("127.0.0.1", 0), health.Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def get(path, source="127.0.0.1", **headers):
        connection = HTTPConnection(
            "127.0.0.1", server.server_port, timeout=10, source_address=(source, 0)
        )
        connection.request("GET", path, headers=headers)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    yield get
    server.shutdown()
    server.server_close()


def test_a_check_tells_processor_time_and_keeps_the_sampling_alive(health, ask):
    told = ask("/")
    assert told["services"]["tomcat"]["cpu_us"] == 1500
    assert told["now_ns"] > 0
    assert told["machine"]["cores"] > 0
    assert told["machine"]["maintenance"] == ["check of md0"]
    assert told["machine"]["discarded_bytes"] == 5
    assert told["sampled_ns"] == 7
    assert health.Handler.sampler.looks == 1


def test_a_check_of_a_trial_without_observers_samples_nothing(health, ask):
    told = ask("/?observe=none")
    assert told["services"]["tomcat"]["cpu_us"] == 1500
    assert told["services"]["tomcat"]["state"] == "down"
    assert told["machine"] == {}
    assert told["sampled_ns"] is None
    assert health.Handler.sampler.looks == 0


MACHINE = {
    "/proc/stat": "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 12\n",
    "/proc/loadavg": "0.25 0.50 0.75 1/99 1234\n",
    "/proc/cpuinfo": "processor\t: 0\ncpu MHz\t\t: 2000.000\n\n"
    "processor\t: 1\ncpu MHz\t\t: 3000.500\n",
    "/proc/net/snmp": "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
    "Tcp: InSegs OutSegs RetransSegs InErrs\nTcp: 70 80 21 3\nUdp: InDatagrams\nUdp: 5\n",
}
"""As the kernel writes them. The last two times of a processor are guests', counted already."""


def test_the_state_of_a_machine_is_read_from_the_columns_of_the_kernel(health, monkeypatch):
    monkeypatch.setattr(health, "_text", lambda path: MACHINE.get(str(path), ""))
    told = health.machine(Sampler())
    assert (told["cpu_ticks"], told["steal_ticks"]) == (36, 8)
    assert told["load1"] == 0.25
    assert told["cpu_mhz"] == 2500
    assert told["retransmits"] == 21
    monkeypatch.setattr(health, "_text", lambda path: "")
    names = ("cpu_ticks", "steal_ticks", "load1", "cpu_mhz", "retransmits")
    assert {health.machine(Sampler())[name] for name in names} == {None}


def test_the_health_checks_of_another_nodes_runner_are_noted_and_no_others(
    health, ask, monkeypatch, tmp_path
):
    monkeypatch.setattr(health, "POLLED", tmp_path / "polls")
    runner = {"User-Agent": "Java/21.0.5"}
    asked = SimpleNamespace(client_address=("127.0.0.2", 1), headers=runner)
    health.Handler._note_runner(asked, "127.0.0.1")  # where nothing can be noted
    (tmp_path / "polls").mkdir()
    ask("/", **runner)  # the node's own
    ask("/", "127.0.0.3")
    ask("/", "127.0.0.4", **{"User-Agent": "curl/8.14.1"})
    ask("/sample", "127.0.0.5", **runner)  # right before a measured call
    ask("/?observe=none", "127.0.0.6", **runner)
    ask("/", "127.0.0.7", **runner)
    until = time.monotonic() + 5
    marks = set()
    while len(marks) < 2 and time.monotonic() < until:  # the answer comes first
        time.sleep(0.01)
        marks = {path.name for path in (tmp_path / "polls").iterdir()}
    assert marks == {f"polled-by-127.0.0.{place}" for place in (6, 7)}


UNIT = "rackbench-tomcat"
CLOSED = {"port": 9, "expect": "200"}  # nobody answers there


@pytest.fixture
def process(health, monkeypatch, tmp_path):
    """A service that was started and is silent, and a maker of its processes in a /proc of ours."""
    proc, invocations = tmp_path / "proc", tmp_path / "invocations"
    proc.mkdir()
    invocations.mkdir()
    (invocations / f"invocation:{UNIT}.service").symlink_to("4f3c")
    monkeypatch.setattr(health, "PROC", proc)
    monkeypatch.setattr(health, "INVOCATIONS", invocations)
    monkeypatch.setattr(health, "PROBE_PAUSE_S", 0.001)

    def make(pid, states, unit=UNIT, ticks=0):
        lines = [f"{pid} (a (java) b) {state} {'0 ' * 10}{ticks} 0 0\n" for state in states]
        for place, line in enumerate(lines):
            task = proc / str(pid) / "task" / str(pid + place)
            task.mkdir(parents=True)
            (task / "stat").write_text(line)
        (proc / str(pid) / "stat").write_text(lines[0])
        (proc / str(pid) / "cgroup").write_text(f"0::/system.slice/{unit}.service\n")

    return make


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        ("S", ""),
        ("SSI", ""),
        ("SR", "it works"),
        ("SD", "it works"),
        ("D", "it works"),
    ],
)
def test_a_service_hangs_unless_a_thread_runs_or_waits_for_a_disk(health, process, states, verdict):
    process(100, states)
    process(200, "RD", "rackbench-broker")
    assert health.judge(UNIT, "127.0.0.1", CLOSED) == verdict


def test_a_service_that_used_a_processor_works_however_its_threads_are_met(
    health, process, monkeypatch
):
    process(100, "S")
    used = iter([0, 10_000])
    monkeypatch.setattr(health, "_ticks", lambda unit: next(used))
    assert health.judge(UNIT, "127.0.0.1", CLOSED).endswith("of a processor")


def test_a_program_without_a_probe_hangs_only_once_a_signal_stopped_it(health, process):
    process(100, "S")
    assert health.judge(UNIT, "127.0.0.1", None) == "it is not ready, but runs"
    process(101, "T")
    assert health.judge(UNIT, "127.0.0.1", None) == ""


def test_nothing_is_judged_by_who_sees_no_process_of_the_service(health, process):
    unseen = "none of its processes is visible in /proc"
    assert health.judge(UNIT, "127.0.0.1", CLOSED).startswith(unseen)
    process(1, "S", "rackbench-health")  # its own, which hidepid leaves
    assert health.judge(UNIT, "127.0.0.1", CLOSED).startswith(unseen)


def test_a_service_has_used_a_processor_for_itself_and_in_the_kernel(health, process, tmp_path):
    process(100, "S", ticks=5)
    stat = tmp_path / "proc/100/stat"
    stat.write_text(stat.read_text().replace(" 5 0 0", " 5 70 900"))
    process(101, "S", ticks=20)
    process(102, "S", "rackbench-broker", ticks=4000)
    assert health._ticks(UNIT) == 95


def test_a_service_that_was_restarted_meanwhile_does_not_hang(health, process, monkeypatch):
    process(100, "S")
    starts = iter(["4f3c", "4f3c", "77aa"])
    silent = {"state": "silent"}
    monkeypatch.setattr(
        health, "service", lambda *a, **more: {**silent, "invocation": next(starts)}
    )
    assert health.judge(UNIT, "127.0.0.1", CLOSED) == "it was restarted"


def test_an_answer_that_comes_in_parts_is_an_answer(health):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                for part in (b"HTTP/1.0 ", b"200 ", b"OK"):
                    connection.sendall(part)
                    time.sleep(0.05)

        threading.Thread(target=answer, daemon=True).start()
        probe = {"port": server.getsockname()[1], "expect": " 200 "}
        assert health._answers("127.0.0.1", probe)


def test_the_kernels_values_are_told_by_name_and_nothing_outside_of_them(
    health, ask, monkeypatch, tmp_path
):
    kernel = tmp_path / "sys"
    (kernel / "net/ipv4").mkdir(parents=True)
    (kernel / "net/ipv4/tcp_rmem").write_text("4096\t131072\t6291456\n")
    (tmp_path / "secret").write_text("hunter2")
    monkeypatch.setattr(health, "KERNEL", kernel)
    wanted = "sysctl=net.ipv4.tcp_rmem&sysctl=net.core.absent&sysctl=../secret&sysctl=net..secret"
    told = ask(f"/settings?{wanted}")["settings"]
    assert told["node"] == {"sysctl.net.ipv4.tcp_rmem": "4096\t131072\t6291456"}
    assert "node" not in ask("/settings")["settings"]
