"""A worker more, or a worker less: the other nodes' services run on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from labs import Lab

pytestmark = pytest.mark.long

BROKER = ["broker"]
WORKER = ["tomcat", "sort-worker", "matrix-worker", "hello-listener", "tcp-server"]
NAMES = "Let the names of other nodes resolve"
# What a worker more or less may change on the nodes that are there.
TOLD_OF_WORKERS = {
    "client1": {NAMES, "Describe the lab to the clients", "Write the administered objects"},
    "broker1": {"Write the access list", "Create the queues"},
    "worker": set(),
}


RUN = {"study": "sort", "profile": "three-servers", "run": "grown"}
NOT_PROVISIONED = "Run playbooks/site.yml, and then the same command again"


@pytest.fixture(scope="module")
def grown(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The lab's inventory with a fourth worker, which stands third."""
    here, mine = lab.player.project.root / "inventory/virtual", tmp_path_factory.mktemp("grown")
    hosts = yaml.safe_load((here / "hosts.yml").read_text())
    workers = hosts["all"]["children"]["nodes"]["children"]["workers"]
    workers["hosts"] = dict.fromkeys([*lab.workers[:2], "worker4", *lab.workers[2:]])
    (mine / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False))
    (mine / "group_vars").symlink_to(here / "group_vars")
    return [mine]


def test_a_worker_more_leaves_the_others_alone(lab: Lab, grown: list[Path]) -> None:
    before = _services(lab)
    assert lab.play("lab.yml", inventory=grown).changed == {"localhost": 2}
    outcome = lab.play("site.yml", None, "--limit=worker4:broker:client", inventory=grown)
    assert outcome.changed["worker4"] > 10
    _assert_no_more_changed(lab, outcome.changed_tasks)
    assert lab.play("site.yml", inventory=grown).changed == {}
    assert _services(lab) == before
    line = f"{_prefix(lab)}.24 worker4"
    know = {node for node in [*lab.nodes, "worker4"] if line in lab.output(node, "cat /etc/hosts")}
    assert know == {"client1", "worker4"}
    lab.play("sweep.yml", RUN, inventory=grown)
    by_jms = [json.loads(path.read_text()) for path in _trials(lab, "grown")]
    used = {name for record in by_jms for name in record["interference"]}
    assert used == {"client1", "broker1", "worker1", "worker2", "worker4"}


def test_a_worker_less_in_the_middle_leaves_the_others_alone(lab: Lab) -> None:
    before = _services(lab)
    run = {**RUN, "run": "shrunk"}
    refused = lab.player.attempt("sweep.yml", run)
    assert refused.code != 0
    assert (
        "its /etc/rackbench/lab.json differs from inventory and studies in endpoints, groups."
        in refused.flat
    )
    assert NOT_PROVISIONED in refused.flat
    outcome = lab.play("site.yml")
    _assert_no_more_changed(lab, outcome.changed_tasks)
    assert _services(lab) == before
    lab.play("sweep.yml", run)
    for name in ("grown", "shrunk"):
        done = lab.player.project.collect("check", name)
        assert done.returncode == 0, done.stdout + done.stderr


def _assert_no_more_changed(lab: Lab, changed: dict[str, set[str]]) -> None:
    for node, tasks in changed.items():
        kind = "worker" if node in lab.workers else node
        allowed = TOLD_OF_WORKERS.get(kind, {""})
        assert [t for t in tasks if not any(part in t for part in allowed)] == [], node


def _trials(lab: Lab, run: str) -> list[Path]:
    return list((lab.player.project.results(run) / "trials").glob("*/trial.json"))


def _prefix(lab: Lab) -> str:
    return lab.nodes["client1"].rpartition(".")[0]


def _services(lab: Lab) -> dict[str, str]:
    """Process and start of each of rackbench's services that stay up."""
    shown = {}
    for node in lab.nodes:
        kinds = WORKER if node in lab.workers else BROKER if node == "broker1" else []
        for kind in kinds:
            unit = f"rackbench-{kind}.service"
            said = lab.output(node, f"systemctl show -p MainPID,InvocationID,ActiveState {unit}")
            assert "ActiveState=active" in said
            shown[f"{unit} on {node}"] = said
    return shown
