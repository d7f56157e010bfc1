"""A worker more: the nodes that are there hardly notice. The last tests of the main lab."""

from __future__ import annotations

from pathlib import Path

from labs import Lab

# What a worker more may change on the nodes that are there.
TOLD_OF_A_NEW_WORKER = {
    "client1": {"Let every name of the lab resolve", "describe the lab to the clients"},
    "broker1": {"Let every name of the lab resolve"},
    "worker": {"Let every name of the lab resolve"},
}


def test_a_worker_more_leaves_the_others_nearly_alone(lab: Lab, tmp_path: Path) -> None:
    more = tmp_path / "more.yml"
    more.write_text("all: {children: {nodes: {children: {workers: {hosts: {worker6: }}}}}}\n")
    inventory = [*lab.player.inventory, more]
    tomcats = {node: _process_of(lab, node, "rackbench-tomcat") for node in lab.workers}
    assert lab.play("lab.yml", inventory=inventory).changed == {"localhost": 2}
    outcome = lab.play("site.yml", inventory=inventory)
    assert outcome.changed["worker6"] > 10
    for node, tasks in outcome.changed_tasks.items():
        kind = "worker" if node in lab.workers else node
        allowed = TOLD_OF_A_NEW_WORKER.get(kind, {""})
        assert [t for t in tasks if not any(part in t for part in allowed)] == [], node
    assert {node: _process_of(lab, node, "rackbench-tomcat") for node in lab.workers} == tomcats
    for node in lab.nodes:
        assert f"{_prefix(lab)}.26 worker6" in lab.output(node, "cat /etc/hosts")
    assert "worker6" in lab.output("client1", "cat /etc/rackbench/lab.json")


def _prefix(lab: Lab) -> str:
    return lab.nodes["client1"].rpartition(".")[0]


def _process_of(lab: Lab, node: str, unit: str) -> str:
    return lab.output(node, f"systemctl show -P MainPID {unit}")
