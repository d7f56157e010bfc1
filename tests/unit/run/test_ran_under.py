"""The settings that a trial was read to have run under, next to the plan's."""

import pytest

from collect.run.ran_under import differences

READ = {
    "tomcat on w1": {"options": "-Xms64m -Xmx64m -XX:+UseG1GC -Xss1m", "maxThreads": "8"},
    "sort-worker on w1": {"options": "-Xmx32m -XX:+UseG1GC"},
    "broker on b1": {"options": "-Xmx96m -XX:+UseG1GC -Dimq.persist.file.sync.enabled=true"},
    "connection factory on c1": {"imqPingInterval": "10"},
    "node on w1": {"link_mbit": "10", "sysctl.net.ipv4.tcp_rmem": "1\t2\t3"},
}
ASKED = {
    "tomcat_heap_mb": 64,
    "worker_heap_mb": 16,
    "sort_worker_heap_mb": 32,
    "broker_heap_mb": 96,
    "collector": "g1",
    "synced": True,
    "tomcat_threads": 8,
    "server_jvm_options.tomcat": "-Xss1m",
    "link_mbit": 10,
    "sysctl.net.ipv4.tcp_rmem": "1 2 3",
}


def test_what_ran_as_planned_is_no_finding():
    assert list(differences(ASKED, READ)) == []
    assert list(differences({}, {"tomcat on w1": {}})) == []


@pytest.mark.parametrize(
    ("name", "value", "where"),
    [
        ("tomcat_heap_mb", 128, "tomcat on w1 had -Xms64m -Xmx64m"),
        ("sort_worker_heap_mb", 64, "without -Xmx64m"),
        ("broker_heap_mb", 64, "broker on b1"),
        ("collector", "serial", "without -XX:+UseSerialGC"),
        ("synced", False, "without -Dimq.persist.file.sync.enabled=false"),
        ("tomcat_threads", 128, "tomcat on w1 had maxThreads 8, not 128"),
        ("server_jvm_options.tomcat", "-Xss2m", "without -Xss2m"),
        ("link_mbit", 100, "node on w1 had link_mbit 10, not 100"),
        ("sysctl.net.ipv4.tcp_rmem", "4 5 6", "node on w1 had sysctl.net.ipv4.tcp_rmem"),
    ],
)
def test_what_ran_otherwise_is_named_with_its_place(name, value, where):
    assert where in "; ".join(differences({**ASKED, name: value}, READ))
