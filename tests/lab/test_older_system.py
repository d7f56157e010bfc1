"""A rack of Debian 12, with the JDK and the broker that docs/guides/nodes.md names for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from labs import Lab, standing
from playbook import Player
from project import ROOT, copy_project

# An image of its own, another build, and three new nodes take minutes.
pytestmark = pytest.mark.long

NAME, PREFIX = "rbolder", "10.89.0"
RUN = {"study": "sort", "profile": "one-server", "run": "older"}


def settings_of_page() -> str:
    """The lines for `group_vars/all/lab.yml`, as the page has them."""
    page = (ROOT / "docs/guides/nodes.md").read_text()
    found = re.search(r"When all nodes run Debian 12,[^`]+`[^`]+`[^`]+?\n\n((?: {4}\S.*\n)+)", page)
    assert found is not None
    return dedent(found[1])


@pytest.fixture(scope="module")
def older(no_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The lab with one worker, provisioned from a project with another broker."""
    project = copy_project(tmp_path_factory.mktemp("older"), 1)
    with (project.root / "inventory/virtual/group_vars/all/lab.yml").open("a") as file:
        file.write(settings_of_page())
    variables = {
        "rackbench_lab": NAME,
        "virtual_lab_prefix": PREFIX,
        "virtual_lab_suite": "bookworm",
    }
    inventory = [Path("inventory/virtual")]
    player = Player(project, no_lab.player.home, [json.dumps(variables)], inventory)
    player.run("build.yml")
    nodes = {"client1": f"{PREFIX}.11", "broker1": f"{PREFIX}.12", "worker1": f"{PREFIX}.21"}
    with standing(Lab(NAME, nodes, player, no_lab.say)) as lab:
        lab.play("site.yml")
        yield lab


def test_the_nodes_have_what_the_page_names(older: Lab) -> None:
    for node in older.nodes:
        assert older.output(node, ". /etc/os-release; echo $VERSION_ID") == "12"
        assert 'version "17.' in older.output(node, "/opt/rackbench/jdk/bin/java -version 2>&1")
    manifest = "unzip -p /opt/rackbench/openmq-*/mq/lib/imqbroker.jar META-INF/MANIFEST.MF"
    assert "Specification-Version: 6.5.1" in older.output("broker1", manifest)


def test_site_changes_nothing_the_second_time(older: Lab) -> None:
    assert older.play("site.yml").changed == {}


def test_the_nodes_are_identical_and_healthy(older: Lab) -> None:
    older.play("verify.yml")


def test_a_sweep_measures_both_systems(older: Lab) -> None:
    older.play("sweep.yml", RUN)
    trials = [
        json.loads(path.read_text())
        for path in older.player.project.results("older").glob("trials/*/trial.json")
    ]
    assert {trial["factors"]["transport"] for trial in trials} == {"soap", "jms"}
    assert {trial["outcome"] for trial in trials} == {"ok"}
    assert {trial["jvm"]["version"].partition(".")[0] for trial in trials} == {"17"}
    done = older.player.project.collect("check", "older")
    assert done.returncode == 0, done.stdout + done.stderr


def test_reset_removes_it(older: Lab) -> None:
    older.play("reset.yml", {"node": "nodes"})
    places = "/opt/rackbench /etc/rackbench /etc/systemd/system/rackbench-*"
    for node in older.nodes:
        assert older.output(node, f"ls -d {places} 2>/dev/null || true") == ""
    assert older.play("reset.yml", {"node": "nodes"}).changed == {}
