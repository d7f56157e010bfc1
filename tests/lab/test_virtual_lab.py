"""The virtual lab made twice, killed whole, killed while it boots, and removed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import machine
import pytest
from labs import Lab, small_lab, standing

# Every run of the tests makes a lab and removes it; here it is killed in between, again and again.
pytestmark = pytest.mark.long

NAME, PREFIX = "rbcrash", "10.82.0"


@pytest.fixture(scope="module")
def crashing(no_lab: Lab) -> Iterator[Lab]:
    """Two nodes that reach beyond the lab, so that forwarding and the firewall take part."""
    described = small_lab(no_lab, NAME, PREFIX, ["one", "two"], virtual_lab_internet=True)
    with standing(described) as lab:
        yield lab


def assert_whole(lab: Lab) -> None:
    for node in lab.nodes:
        assert lab.output(node, "hostname") == node
        assert "rate 100Mbit" in lab.output(node, "tc qdisc show dev host0")
        assert lab.output(node, "ip -4 route show default").startswith(f"default via {PREFIX}.1")


def test_nodes_boot_with_a_way_out(crashing: Lab) -> None:
    assert_whole(crashing)
    left = crashing.traces()
    assert f"table ip rackbench_{NAME}" in left
    assert f"link {NAME}-0" in left
    assert machine.kernel_settings()["/proc/sys/net/ipv4/ip_forward"].strip() == "1"


def test_lab_up_twice_changes_nothing(crashing: Lab) -> None:
    before = machine.first_process(NAME, "one"), machine.first_process(NAME, "two")
    assert crashing.play("lab.yml").changed == {}
    assert (machine.first_process(NAME, "one"), machine.first_process(NAME, "two")) == before


def test_lab_up_works_after_everything_was_killed(crashing: Lab) -> None:
    crashing.output("one", "echo kept >/var/tmp/kept; sync")
    assert machine.kill_nodes(NAME) > 10
    assert crashing.play("lab.yml").changed
    crashing.hang_up()
    assert_whole(crashing)
    assert crashing.output("one", "cat /var/tmp/kept") == "kept"


def test_stock_ansible_reaches_the_nodes_after_they_were_killed(crashing: Lab) -> None:
    crashing.player.run("lab.yml", stock=True)
    inventory = crashing.player.home / "two-nodes.yml"
    config = crashing.ssh_directory / "config"
    nodes = {
        "children": {"client": {"hosts": {"one": None}}, "broker": {"hosts": {"one": None}}}
        | {"workers": {"hosts": {"two": None}}},
        "hosts": {name: {"node_address": address} for name, address in crashing.nodes.items()},
        "vars": {
            "ansible_become": True,
            "ansible_ssh_common_args": f"-F {config}",
            "validate_free_mb": 10,
        },
    }
    control = {"hosts": {"localhost": {"ansible_connection": "local"}}}
    inventory.write_text(json.dumps({"all": {"children": {"nodes": nodes, "control": control}}}))
    crashing.player.run("validate.yml", inventory=[inventory], stock=True)
    assert machine.kill_nodes(NAME)
    crashing.player.run("lab.yml", stock=True)
    crashing.player.run("validate.yml", inventory=[inventory], stock=True)


def test_one_killed_node_is_booted_again_and_the_other_left_alone(crashing: Lab) -> None:
    other = machine.first_process(NAME, "two")
    crashing.hang_up()
    machine.kill_node(NAME, "one")
    assert crashing.play("lab.yml").changed
    assert machine.first_process(NAME, "two") == other
    assert_whole(crashing)


def test_lab_up_works_after_it_was_killed_while_nodes_boot(crashing: Lab) -> None:
    crashing.play("lab_down.yml")
    crashing.hang_up()
    process, _ = crashing.player.start("lab.yml")
    machine.wait_for(lambda: machine.processes(NAME), "the first node's process")
    machine.kill_group(process)
    machine.kill_nodes(NAME)
    assert crashing.play("lab.yml").changed
    assert_whole(crashing)


def test_a_link_of_another_rate_is_set_without_a_boot(crashing: Lab) -> None:
    before = machine.first_process(NAME, "one")
    crashing.play("lab.yml", {"virtual_lab_link_mbit": 10})
    assert "rate 10Mbit" in crashing.output("one", "tc qdisc show dev host0")
    assert machine.first_process(NAME, "one") == before


def test_lab_down_after_everything_was_killed_leaves_nothing(crashing: Lab) -> None:
    machine.kill_nodes(NAME)
    crashing.hang_up()
    crashing.play("lab_down.yml")
    assert crashing.traces() == []


def test_lab_down_twice_changes_nothing(crashing: Lab) -> None:
    assert crashing.play("lab_down.yml").changed == {}
