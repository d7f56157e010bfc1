"""The settings that a trial was read to have run under, next to the plan's."""

import pytest

from collect.run.ran_under import differences
from collect.run.setting import release_of

SYNCED = "-Dimq.persist.file.sync.enabled=true"
READ = {
    "tomcat on w1": {
        "options": "-Xms64m -Xmx64m -XX:+UseG1GC -Xss1m",
        "jdk": "25.0.3",
        "maxThreads": "8",
    },
    "sort-worker on w1": {"options": "-Xmx32m -XX:+UseG1GC", "jdk": "25"},
    "broker on b1": {"options": f"-Xmx96m -XX:+UseG1GC {SYNCED}", "jdk": "25.0.3"},
    "connection factory on c1": {"imqPingInterval": "10"},
    "parrot on w1": {"options": ""},
    "node on w1": {
        "link_mbit": "10",
        "link_delay_ms": "2.5",
        "link_loss": "0",
        "governor": "powersave",
        "sysctl.net.ipv4.tcp_rmem": "1\t2\t3",
    },
}
ASKED = {
    "tomcat_heap_mb": 64,
    "worker_heap_mb": 16,
    "sort_worker_heap_mb": 32,
    "broker_heap_mb": 96,
    "collector": "g1",
    "jdk": 25,
    "governor": "powersave",
    "synced": True,
    "tomcat_threads": 8,
    "server_jvm_options.tomcat": "-Xss1m",
    "link_mbit": 10,
    "link_delay_ms": 2.50001,  # tc prints some digits
    "link_loss": 0.0,
    "sysctl.net.ipv4.tcp_rmem": "1 2 3",
}


def test_what_ran_as_planned_is_no_finding():
    assert list(differences(ASKED, READ)) == []
    assert list(differences({}, {"tomcat on w1": {}})) == []


def test_a_further_server_is_compared_in_what_its_role_declares_alone():
    parrot = {"parrot on w1": {"options": "-Xmx64m", "jdk": "21"}}
    assert list(differences(ASKED, parrot)) == []
    assert list(differences({**ASKED, "parrot_heap_mb": 32}, parrot)) == [
        "parrot on w1 had -Xmx64m, without -Xmx32m"
    ]


@pytest.mark.parametrize(
    ("name", "value", "where"),
    [
        ("tomcat_heap_mb", 128, "tomcat on w1 had -Xms64m -Xmx64m"),
        ("sort_worker_heap_mb", 64, "without -Xmx64m"),
        ("broker_heap_mb", 64, "broker on b1"),
        ("collector", "serial", "without -XX:+UseSerialGC"),
        ("jdk", 21, "tomcat on w1 had JDK 25.0.3, not 21; sort-worker on w1 had JDK 25, not 21"),
        ("jdk", 2, "broker on b1 had JDK 25.0.3, not 2"),
        ("governor", "performance", "node on w1 had governor powersave, not performance"),
        ("synced", False, "without -Dimq.persist.file.sync.enabled=false"),
        ("tomcat_threads", 128, "tomcat on w1 had maxThreads 8, not 128"),
        ("server_jvm_options.tomcat", "-Xss2m", "without -Xss2m"),
        ("link_mbit", 100, "node on w1 had link_mbit 10, not 100"),
        ("link_delay_ms", 2.6, "node on w1 had link_delay_ms 2.5, not 2.6"),
        ("link_loss", 1, "node on w1 had link_loss 0, not 1"),
        ("sysctl.net.ipv4.tcp_rmem", "4 5 6", "node on w1 had sysctl.net.ipv4.tcp_rmem"),
    ],
)
def test_what_ran_otherwise_is_named_with_its_place(name, value, where):
    assert where in "; ".join(differences({**ASKED, name: value}, READ))


def test_a_jvm_that_told_no_jdk_is_named_where_the_plan_asks_for_one():
    read = {"tomcat on w1": {"options": "-Xmx64m"}}
    assert list(differences({"jdk": 25}, read)) == ["tomcat on w1 does not record its JDK"]
    assert list(differences({}, read)) == []


@pytest.mark.parametrize(
    ("version", "release"),
    [("21.0.9+10-Debian-1", "21"), ("25", "25"), ("25-ea", "25"), ("25+36-Debian", "25"), ("", "")],
)
def test_the_release_is_the_first_number_of_a_version(version, release):
    assert release_of(version) == release
