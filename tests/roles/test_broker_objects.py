"""The broker's queues and store, by what the tools of OpenMQ print."""

import json
from pathlib import Path

import pytest
from loading import load

# imqcmd list dst -t q
LISTED = """\
-----------------------------------------------------------
      Name         Type    State      Producers     Consumers
-----------------------------------------------------------
mq.sys.dmq         Queue  RUNNING  0       -         0
sort.pool1         Queue  RUNNING  0       -         3
hello.rack01       Queue  RUNNING  0       -         1
news               Topic  RUNNING  0       -         0
"""
BINDINGS = "#Fri Nov 27 02:00:00 UTC 2026\nsample/ClassName=Queue\nConnectionFactory/ClassName=QF\n"


@pytest.fixture
def objects():
    return load("roles/openmq/library/broker_objects.py")


@pytest.fixture
def ran(objects, monkeypatch):
    """The calls of the tools, which answer as OpenMQ 5.1 does and write a store with a date."""
    calls = []

    def run(home, tool, *arguments):
        calls.append((tool, *arguments))
        for url in (word for word in arguments if word.startswith("java.naming.provider.url")):
            Path(url.partition("file://")[2], ".bindings").write_text(BINDINGS)
        return LISTED if arguments[0] == "list" else "Max Number of Active Consumers    unlimited\n"

    monkeypatch.setattr(objects, "run", run)
    return calls


@pytest.fixture
def play(objects, ran, monkeypatch, tmp_path):
    """Run the module for these queues; what it answers."""

    def answer(*queues, check=False):
        asked = {
            "home": str(tmp_path),
            "admin_port": 7678,
            "passfile": "passfile",
            "queues": list(queues),
            "queue_settings": {"maxNumActiveConsumers": -1},
            "record": str(tmp_path / "queues.json"),
            "factory": {"imqAddressList": "mq://192.0.2.1"},
            "store": str(tmp_path / "store"),
        }

        class Module:
            def __init__(self, **_):
                self.params, self.check_mode, self.said = asked, check, None

            def exit_json(self, **said):
                answered.update(said)

            def fail_json(self, msg):
                raise SystemExit(msg)

        answered = {}
        monkeypatch.setattr(objects, "AnsibleModule", Module)
        objects.main()
        return answered

    return answer


def test_the_queues_of_a_broker_are_those_that_it_lists(objects, ran):
    broker = {"home": "mq", "admin_port": 7678, "passfile": "passfile"}
    assert objects.queues(broker) == {"mq.sys.dmq", "sort.pool1", "hello.rack01"}


def test_what_is_missing_is_created_what_is_unknown_is_set_and_nothing_twice(play, ran, tmp_path):
    first = play("sort.pool1", "sort.pool3")
    assert first == {"changed": True}
    set_to = [(call[1], call[6]) for call in ran if call[1] in ("create", "update")]
    assert set_to == [("create", "sort.pool3"), ("update", "sort.pool1")]
    known = json.loads((tmp_path / "queues.json").read_text())["queues"]
    assert sorted(known) == ["sort.pool1", "sort.pool3"]
    ran.clear()
    assert play("sort.pool1") == {"changed": False}
    assert [call[:2] for call in ran] == [("imqcmd", "list")]


def test_check_mode_goes_on_where_the_broker_does_not_answer(objects, play, monkeypatch, tmp_path):
    """It is down, or is about to get another port or password."""

    def refuse(*_):
        raise objects.host.HostError("imqcmd failed: Unable to connect")

    monkeypatch.setattr(objects, "run", refuse)
    assert play("sort.pool1", check=True) == {"changed": True}
    assert not (tmp_path / "queues.json").exists()
    with pytest.raises(SystemExit, match=r"; read the journal of rackbench-broker\.service$"):
        play("sort.pool1")


def test_a_store_has_no_date_and_its_lines_in_order(play, tmp_path):
    play("sort.pool1")
    store = (tmp_path / "store/.bindings").read_text()
    assert store == "ConnectionFactory/ClassName=QF\nsample/ClassName=Queue\n"


def test_the_tools_have_rackbenchs_options_alone(objects, monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/imqcmd").write_text("env | sort\n")
    for name in ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"):
        monkeypatch.setenv(name, "-XX:+UseG1GC")
    said = objects.run(str(tmp_path), "imqcmd", "list")
    assert "UseG1GC" not in said
    assert "JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1" in said
