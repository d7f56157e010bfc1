"""Two JDKs side by side: services and clients run on the one that their trial asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from interrupted import InterruptedRun
from labs import Lab, standing
from services import BROKER, SORT_WORKER, TOMCAT

pytestmark = pytest.mark.long

NAME, PREFIX = "rbjdk", "10.84.0"
OTHERS = [{"package": "openjdk-25-jre-headless", "release": 25}]
SERVICES = (("worker1", TOMCAT), ("worker2", SORT_WORKER), ("broker1", BROKER))


@pytest.fixture(scope="module")
def two_jdks(no_lab: Lab) -> Iterator[Lab]:
    """A lab whose inventory lists two JDKs."""
    variables = {"rackbench_lab": NAME, "virtual_lab_prefix": PREFIX, "jdk_others": OTHERS}
    player = replace(no_lab.player, variables=[json.dumps(variables)])
    nodes = {node: f"{PREFIX}.{at.rpartition('.')[2]}" for node, at in no_lab.nodes.items()}
    with standing(Lab(NAME, nodes, player, no_lab.say)) as lab:
        lab.play("site.yml")
        assert lab.play("site.yml").changed == {}
        yield lab


@pytest.fixture(scope="module")
def sweep(two_jdks: Lab) -> Iterator[InterruptedRun]:
    sweep = InterruptedRun(two_jdks, "jdks", "jdks", study="jvm")
    try:
        yield sweep
    finally:
        sweep.stop()


def releases(lab: Lab) -> set[str]:
    """The Java that a service of each kind runs on, by its program."""
    program = "readlink /proc/$(systemctl show -P MainPID {})/exe"
    return {lab.output(node, program.format(unit)).split("-")[1] for node, unit in SERVICES}


def test_services_and_clients_run_on_the_jdk_that_their_trial_asks_for(
    sweep: InterruptedRun,
) -> None:
    sweep.runs_a_trial()
    sweep.kill()
    sweep.more(3)
    sweep.kill()
    sweep.finish()
    sweep.prove()
    for record in sweep.records:
        of_services, of_client = (record["factors"][name] for name in ("server_jdk", "client_jdk"))
        tomcat = record["settings"]["tomcat on worker1"]
        assert tomcat["jdk"].startswith(f"{of_services}."), record["id"]
        assert record["jvm"]["version"].startswith(f"{of_client}."), record["id"]
    last = max(sweep.records, key=lambda record: record["started_at"])
    assert releases(sweep.lab) == {str(last["factors"]["server_jdk"])}


def test_a_jdk_that_the_inventory_does_not_list_is_refused_before_the_first_trial(
    two_jdks: Lab,
) -> None:
    run = {"study": "jvm", "profile": "no-such-jdk", "run": "none"}
    refused = two_jdks.player.attempt("sweep.yml", run)
    assert refused.code != 0
    assert "client1 cannot run none: /opt/rackbench/jdk-26/bin/java: this node has no JDK 26" in (
        refused.flat
    )
    assert "add it to jdk_others of the inventory and run site.yml" in refused.flat
    assert not (two_jdks.player.project.results("none") / "trials").exists()


def test_site_puts_the_services_back_on_the_jdk_of_the_inventory(two_jdks: Lab) -> None:
    two_jdks.play("site.yml")
    assert releases(two_jdks) == {"21"}
    assert two_jdks.play("site.yml").changed == {}
