"""Nodes laid beside one another: what differs, what is within tolerance, what was declared."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError

PLUGIN = Path(__file__).parents[2] / "roles/fingerprint/filter_plugins/differences.py"
TOLERANCES = {"clock_ms": 50, "link_share": 0.2, "rtt_ms": 2}
GROUPS = {"client": ["client1"], "workers": ["worker1", "worker2", "worker3"]}


@pytest.fixture(scope="module")
def differences():
    spec = spec_from_file_location("differences", PLUGIN)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.fingerprint_differences


def fingerprint(**items):
    """One node's fingerprint."""
    return {
        "kernel": "6.12.0",
        "packages": {"zip": "3.0-14"},
        "packages_sha256": "ab",
        "sysctls": {"vm.swappiness": "60"},
        "files": {"/opt/rackbench/a.jar": "cd"},
        "jvms": {"rackbench-tomcat heap": "-Xms256m -Xmx256m"},
        "link_shaped_mbit": 100.0,
        "link_measured_mbit": 95.0,
        "link_rtt_ms": 0.1,
        "clock_offset_ms": 1.0,
        "clock_uncertainty_ms": 1.0,
    } | items


def nodes(odd="worker2", **items):
    """Four nodes of which one has other items."""
    names = [name for members in GROUPS.values() for name in members]
    return {name: fingerprint(**items if name == odd else {}) for name in names}


def rows(differences, taken, exceptions=()):
    found = differences(taken, GROUPS, TOLERANCES, exceptions)
    return [(row["item"], row["node"], row["value"], row["others"]) for row in found]


def test_equal_nodes_have_no_differences(differences):
    assert rows(differences, nodes()) == []


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ({"kernel": "6.12.9"}, ("kernel", "6.12.9", "6.12.0")),
        ({"sysctls": {"vm.swappiness": "1"}}, ("sysctls vm.swappiness", "1", "60")),
        (
            {"packages": {"zip": "3.1"}, "packages_sha256": "ff"},
            ("packages zip", "3.1", "3.0-14"),
        ),
        ({"packages": {}}, ("packages zip", "(absent)", "3.0-14")),
        (
            {"files": {"/opt/rackbench/a.jar": "ee"}},
            ("files /opt/rackbench/a.jar", "ee", "cd"),
        ),
        (
            {"jvms": {"rackbench-tomcat heap": "-Xmx1g"}},
            ("jvms rackbench-tomcat heap", "-Xmx1g", "-Xms256m -Xmx256m"),
        ),
        ({"link_measured_mbit": 70.0}, ("link_measured_mbit", "70.0", "within 20% of 95")),
        ({"link_measured_mbit": 120.0}, ("link_measured_mbit", "120.0", "within 20% of 95")),
        ({"link_measured_mbit": None}, ("link_measured_mbit", "(absent)", "within 20% of 95")),
        ({"link_rtt_ms": 2.3}, ("link_rtt_ms", "2.3", "at most 2 above 0.1")),
        ({"clock_offset_ms": -60.0}, ("clock_offset_ms", "-60.0", "within 50")),
    ],
)
def test_what_differs_is_named_with_its_node(differences, items, expected):
    item, value, others = expected
    assert rows(differences, nodes(**items)) == [(item, "worker2", value, others)]


@pytest.mark.parametrize(
    "items",
    [
        {"link_measured_mbit": 80.0, "link_rtt_ms": 1.9},
        {"clock_offset_ms": 70.0, "clock_uncertainty_ms": 30.0},
        {"jvms": {}},
    ],
    ids=["readings within tolerance", "an uncertain clock", "a service that is down"],
)
def test_what_is_no_difference(differences, items):
    assert rows(differences, nodes(**items)) == []


def test_files_and_jvms_of_other_groups_are_not_compared(differences):
    taken = nodes(odd="client1", files={"/opt/rackbench/b.jar": "aa"}, jvms={})
    assert rows(differences, taken) == []


def test_rates_that_nothing_limits_are_not_compared(differences):
    taken = nodes(link_measured_mbit=9000.0)
    for items in taken.values():
        del items["link_shaped_mbit"]
    assert rows(differences, taken) == []


def test_rates_below_what_the_links_allow_are_not_compared(differences):
    taken = nodes(link_measured_mbit=300.0)
    for items in taken.values():
        items["link_shaped_mbit"] = 1000.0
    assert rows(differences, taken) == []


def test_units_that_failed_are_a_difference_unless_they_are_left_out(differences):
    taken = nodes(failed_units="logrotate.service")
    assert [row["item"] for row in differences(taken, GROUPS, TOLERANCES)] == ["failed_units"]
    assert differences(taken, GROUPS, TOLERANCES, but=["failed_units"]) == []


def test_a_declared_difference_is_left_out_and_the_others_are_not(differences):
    taken = nodes(kernel="6.12.9", link_rtt_ms=9.0)
    declared = [{"node": "worker2", "item": "kernel", "reason": "a newer board needs it"}]
    assert [row[0] for row in rows(differences, taken, declared)] == ["link_rtt_ms"]


@pytest.mark.parametrize(
    ("item", "left"),
    [
        ("packages", ["sysctls vm.swappiness"]),
        ("packages zip", ["packages nano", "sysctls vm.swappiness"]),
        ("pack", ["packages nano", "packages zip", "sysctls vm.swappiness"]),
    ],
)
def test_all_items_of_a_kind_are_declared_at_once(differences, item, left):
    other = {"packages": {"zip": "3.1", "nano": "8"}, "sysctls": {"vm.swappiness": "1"}}
    declared = [{"node": "worker2", "item": item, "reason": "an older release"}]
    assert [row[0] for row in rows(differences, nodes(**other), declared)] == left


@pytest.mark.parametrize(
    ("exception", "message"),
    [
        ({"node": "worker2", "item": "kernel"}, "lacks node, item or reason"),
        ({"node": "worker2", "item": "kernel", "reason": "  "}, "lacks node, item or reason"),
        ({"node": "worker9", "item": "kernel", "reason": "old"}, "there is no node worker9"),
    ],
)
def test_an_exception_that_is_not_whole_is_refused(differences, exception, message):
    with pytest.raises(AnsibleFilterError, match=message):
        differences(nodes(), GROUPS, TOLERANCES, [exception])
