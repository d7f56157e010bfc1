"""What the health service answers, without a node: no unit of the kit is installed here."""

import json
import threading
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer

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

    def get(path):
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())

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
