"""What is refused before the first trial of a sweep, and what is recorded of its nodes."""

import pytest
from loading import load
from rendering import Role

sweep = load("playbooks/filter_plugins/sweep.py")


@pytest.mark.parametrize(("code", "is_refused"), [(0, False), (2, True), (None, False)])
def test_a_kernel_without_netem_is_refused_before_the_first_trial(code, is_refused):
    kernel = {"stderr": "Error: Specified qdisc kind is unknown.\n"}
    role = Role(
        "sweep",
        inventory_hostname="rack01",
        sweep_settings=[{"node": {"link_delay_ms": 10, "link_loss": 1}}],
        sweep_runs=[{"study": "far", "run": "far-demo"}],
        __sweep_netem=kernel if code is None else {**kernel, "rc": code},
    )
    task = role.task("free", "Stop where it cannot")
    assert role.holds(task["when"]) == is_refused
    said = role.render(task["ansible.builtin.fail"]["msg"])
    assert said.startswith(
        "rack01 cannot set link_delay_ms and link_loss of far-demo: its kernel has no sch_netem "
        "(Error: Specified qdisc kind is unknown.). Sweep on a machine"
    )


HOSTVARS = {
    "rack02": {
        "node_address": "10.0.0.2",
        "group_names": ["broker", "nodes", "sweep_uses", "workers"],
        "fingerprint_taken": {"fingerprint": {"os": "Debian", "packages": {"a": "1"}}},
    },
}


def test_a_node_is_recorded_with_its_part_in_the_bench_and_without_its_long_list_of_packages():
    assert sweep.nodes_of(HOSTVARS, ["rack02"]) == [
        {"name": "rack02", "address": "10.0.0.2", "groups": ["broker", "workers"], "os": "Debian"}
    ]
