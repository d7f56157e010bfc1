"""What is read of the settings that services run with."""

import json

import pytest
from loading import load

QUERY = """\
Querying the destination where:

-------------------------------------------------
Destination Name                Destination Type
-------------------------------------------------
sort.pool1                      Queue

Destination Name                                 sort.pool1
Destination State                                RUNNING
Current Number of Messages
    Actual                                       0
Max Number of Active Consumers                   unlimited (-1)
Consumer Flow Limit                              1000
Limit Behavior                                   REJECT_NEWEST
Successfully queried the destination.
"""


@pytest.fixture(scope="module")
def health():
    return load("roles/health/files/health.py")


def test_of_a_running_jvm_its_options_count_and_no_place(health):
    command = [
        *("/usr/bin/java", "-Xmx8m", "-XX:+UseParallelGC", "-Dimq.home=/opt/mq"),
        *("-Dimq.jms.tcp.hostname=10.0.0.1", "-Dimq.message.max_size=32m", "-cp", "a.jar"),
        *("org.x.Main", "--sessions", "128", "--port", "9100", "--name", "rack01", ""),
    ]
    assert health.command_settings(command) == {
        "options": ["-Xmx8m", "-XX:+UseParallelGC", "-Dimq.message.max_size=32m"],
        "arguments": {"--sessions": "128"},
    }
    assert health.command_settings(["java", "-Xmx8m", "Main"]) == {"options": ["-Xmx8m"]}


@pytest.mark.parametrize(
    "option",
    ["-Xlog:gc:file=/tmp/gc.log", "-Xrunjdwp:transport=dt_socket", "-XX:HeapDumpPath=/tmp/home=1"],
)
def test_an_option_that_a_study_may_set_is_told_also_where_it_names_a_file(health, option):
    own = "-Xlog:gc:file=/run/rackbench-tomcat/gc.log:uptime:filecount=1,filesize=64K"
    told = health.command_settings(["/usr/bin/java", "-Xmx8m", own, option, "Main"])
    assert told == {"options": ["-Xmx8m", option]}


def test_the_connection_factory_is_read_without_addresses_and_accounts(health):
    lines = [
        "#dated",
        "ConnectionFactory/ClassName=com.sun.messaging.QueueConnectionFactory",
        "ConnectionFactory/RefAddr/4/Type=imqPingInterval",
        "ConnectionFactory/RefAddr/4/Content=10",
        "ConnectionFactory/RefAddr/5/Type=imqDefaultPassword",
        "ConnectionFactory/RefAddr/5/Content=guest",
        "ConnectionFactory/RefAddr/6/Type=imqAddressList",
        "ConnectionFactory/RefAddr/6/Content=mq\\://10.0.0.1",
        "sort.pool1/RefAddr/4/Type=imqDestinationName",
        "sort.pool1/RefAddr/4/Content=sort.pool1",
    ]
    assert health.factory_settings(lines) == {"imqPingInterval": "10"}


def test_queues_that_are_alike_are_told_once(health, tmp_path, monkeypatch):
    monkeypatch.setattr(health, "QUEUES", tmp_path / "queues.json")
    assert health.queue_settings() == {}
    for other, told in (("1", {"a": "1"}), ("2", {"x": {"a": "1"}, "y": {"a": "2"}})):
        content = {"inputs": "", "queues": {"x": {"a": "1"}, "y": {"a": other}}}
        health.QUEUES.write_text(json.dumps(content))
        assert health.queue_settings() == {"queues": told}


def test_of_what_the_broker_says_of_a_queue_the_settings_are_kept():
    objects = load("roles/openmq/library/broker_objects.py")
    assert objects.limits(QUERY) == {
        "Max Number of Active Consumers": "unlimited (-1)",
        "Consumer Flow Limit": "1000",
        "Limit Behavior": "REJECT_NEWEST",
    }


def test_queues_that_were_set_otherwise_are_not_known(tmp_path):
    objects = load("roles/openmq/library/broker_objects.py")
    record = tmp_path / "queues.json"
    assert objects.recorded(record, "new") == {}
    record.write_text(json.dumps({"inputs": "old", "queues": {"sort.pool1": {}}}))
    assert objects.recorded(record, "old") == {"sort.pool1": {}}
    assert objects.recorded(record, "new") == {}


def test_the_jdk_of_a_jvm_is_that_of_the_program_it_was_started_from(health, tmp_path):
    home = tmp_path / "java-25"
    (home / "bin").mkdir(parents=True)
    (home / "bin/java").touch()
    (home / "release").write_text('IMPLEMENTOR="Debian"\nJAVA_VERSION="25.0.3"\n')
    (tmp_path / "jdk-25").symlink_to(home)
    assert health.jdk_of(f"{tmp_path}/jdk-25/bin/java") == {"jdk": "25.0.3"}
    for other in (f"{tmp_path}/gone/bin/java", "/usr/bin/python3", "java", ""):
        assert health.jdk_of(other) == {}
