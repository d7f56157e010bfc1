"""Labs, nodes and builds that cannot be had: one clear message, nothing half-done."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import machine
import pytest
from labs import Lab, small_lab
from playbook import Outcome
from project import ROOT

OTHER = "rbother"
FREE_PREFIX = "10.81.0"


def assert_refused(outcome: Outcome, *says: str) -> None:
    assert outcome.code == 2 or outcome.code == 4, outcome.excerpt  # noqa: PLR1714
    for words in says:
        assert words in outcome.flat, outcome.excerpt
    assert "Traceback" not in outcome.text
    assert "MODULE FAILURE" not in outcome.text


@contextmanager
def foreign_link(name: str, address: str | None = None) -> Iterator[None]:
    """A link of somebody else on this machine; a bridge, because every lab needs that kind."""
    subprocess.run(["ip", "link", "delete", "dev", name], check=False, capture_output=True)
    subprocess.run(["ip", "link", "add", "name", name, "type", "bridge"], check=True)
    try:
        if address:
            subprocess.run(["ip", "address", "add", address, "dev", name], check=True)
        subprocess.run(["ip", "link", "set", "dev", name, "up"], check=True)
        yield
    finally:
        subprocess.run(["ip", "link", "delete", "dev", name], check=True)


# The virtual lab. In the short form tests/roles/test_virtual_lab_module.py alone refuses most.


@pytest.fixture
def other(bare_lab: Lab) -> Iterator[Lab]:
    """A lab that must not come to be."""
    lab = small_lab(bare_lab, OTHER, FREE_PREFIX, ["one", "two"])
    yield lab
    assert lab.traces() == []
    assert not lab.ssh_directory.exists()


@pytest.mark.long
def test_a_lab_is_refused_where_memory_is_too_little(other: Lab) -> None:
    outcome = other.player.attempt("lab.yml", {"virtual_lab_memory_mb": 10**7})
    need = "needs 10000000 MiB of memory (half of 10000000 for each of 2 nodes)"
    assert_refused(outcome, need, "lower virtual_lab_memory_mb")


@pytest.mark.long
def test_a_lab_is_refused_where_the_disk_has_too_little_room(other: Lab) -> None:
    outcome = other.player.attempt("lab.yml", {"virtual_lab_disk_mb": 10**9})
    assert_refused(outcome, "MiB of disk below", "make room or set virtual_lab_root")


def test_a_lab_is_refused_where_its_address_range_is_taken(other: Lab) -> None:
    with foreign_link("rbtaken0", f"{FREE_PREFIX}.5/24"):
        outcome = other.player.attempt("lab.yml")
        says = f"{FREE_PREFIX}.0/24 is taken on this machine by", "rbtaken0", "virtual_lab_prefix"
        assert_refused(outcome, *says)


def test_a_bridge_of_somebody_else_is_neither_used_nor_removed(other: Lab) -> None:
    with foreign_link(f"{OTHER}-0"):
        outcome = other.player.attempt("lab.yml")
        assert_refused(outcome, f"a link named {OTHER}-0 exists", "set virtual_lab_bridge")
        down = other.player.attempt("lab_down.yml")
        links = subprocess.run(["ip", "link", "show", f"{OTHER}-0"], check=False).returncode
        assert links == 0, "lab_down.yml removed a link that is not its own"
        assert_refused(down, f"a link named {OTHER}-0 exists")


@pytest.mark.long
def test_a_lab_with_two_nodes_of_one_address_is_refused(other: Lab) -> None:
    nodes = {"one": f"{FREE_PREFIX}.11", "two": f"{FREE_PREFIX}.11"}
    outcome = other.player.attempt("lab.yml", {"virtual_lab_nodes": nodes})
    assert_refused(outcome, "nodes one and two share the address", "correct the inventory")


@pytest.mark.long
def test_a_lab_name_that_cannot_name_links_is_refused(other: Lab) -> None:
    outcome = other.player.attempt("lab.yml", {"virtual_lab_name": "Lab 1"})
    assert_refused(outcome, "virtual_lab_name is 'Lab 1'", "use at most")


# Nodes


def test_nodes_with_other_faults_each_are_named_and_the_others_go_on(
    lab: Lab, tmp_path: Path
) -> None:
    more = tmp_path / "more.yml"
    more.write_text("all: {hosts: {worker2: {ansible_port: 1}}}\n")
    edit = "sed -i '/^tomcat:/s|:{}:|:{}:|' /etc/passwd"
    own, foreign = "/etc/rackbench/tomcat", "/var/lib/tomcat"
    rule = machine.LABS / lab.name / "nodes/worker3/tree/etc/sudoers.d/rack"
    aside = rule.parents[1] / "sudoers.rack.aside"
    lab.output("worker1", edit.format(own, foreign))
    rule.rename(aside)
    try:
        outcome = lab.player.attempt("site.yml", inventory=[*lab.player.inventory, more])
    finally:
        aside.rename(rule)
        lab.output("worker1", edit.format(foreign, own))
    assert_refused(outcome)
    (*_, summary) = outcome.flat.split("TASK [Name the nodes that are not ready]")
    for words in (
        f"worker1 has an account tomcat with the home {foreign}",
        f"worker2 ({lab.nodes['worker2']}) cannot be reached",
        f"worker3 ({lab.nodes['worker3']}): rack may not use sudo",
    ):
        assert words in summary, outcome.excerpt
    assert re.search(r"client1 +: ok=\d+ +changed=0 +unreachable=0 +failed=0", outcome.text)
    assert "TASK [runner : " in outcome.text
    assert outcome.changed == {}
    assert lab.output("worker3", "id -u") == "0"


def test_a_node_without_room_is_named_and_no_node_is_changed(lab: Lab) -> None:
    outcome = lab.player.attempt("site.yml", {"validate_free_mb": 10**9})
    says = "MiB free on /, but 1000000000 are needed"
    assert_refused(outcome, "client1 (", says, "make room there")
    assert outcome.changed == {}


def test_a_node_without_memory_for_its_services_is_named_and_left_out(lab: Lab) -> None:
    outcome = lab.player.attempt("site.yml", {"openmq_heap_mb": 10**7}, "--limit=broker1")
    assert_refused(outcome, "broker1 has", "but its services need 10000090: heaps of 10000000,")
    assert "broker1" not in outcome.changed


def test_a_sweep_without_room_is_refused_and_leaves_nothing(lab: Lab) -> None:
    extra = {"study": "sort", "profile": "tiny", "run": "roomless", "sweep_free_mb": 10**9}
    assert_refused(lab.player.attempt("sweep.yml", extra), "make room or set sweep_free_mb")
    assert not lab.player.project.results("roomless").exists()
    assert "roomless" not in lab.output("client1", "ls /var/lib/rackbench/runs")


# The build


@pytest.mark.long
def test_a_build_with_an_artefact_of_another_checksum_writes_nothing(
    lab: Lab, tmp_path: Path
) -> None:
    apps = tmp_path / "java-apps"
    shutil.copytree(ROOT / "java-apps", apps, copy_function=shutil.copy2)
    before = {path.name: path.read_bytes() for path in (apps / "dist").iterdir()}
    pins = apps / "artefacts.sha256"
    found = hashlib.sha256(before["openmq.zip"]).hexdigest()
    (pin,) = (line for line in pins.read_text().splitlines() if line.startswith(found))
    pins.write_text(pins.read_text().replace(pin, "0" * 64 + pin[64:]))
    with lab.phase("build.yml with a wrong checksum"):
        outcome = lab.player.attempt("build.yml", {"java_apps_directory": str(apps)})
    assert_refused(outcome, "openmq.zip", "artefacts.sha256", "0" * 12, "dist is not written")
    assert {path.name: path.read_bytes() for path in (apps / "dist").iterdir()} == before


def test_an_artefact_that_was_changed_after_the_build_is_not_deployed(lab: Lab) -> None:
    archive = lab.player.project.root / "java-apps/dist/axis.war"
    content = archive.read_bytes()
    archive.write_bytes(content + b"!")
    try:
        outcome = lab.player.attempt("site.yml")
        assert_refused(
            outcome, "are not those that were built there", "axis.war: FAILED", "Run make build"
        )
        assert outcome.hosts == {"localhost"}
    finally:
        archive.write_bytes(content)


def test_without_a_build_the_user_is_told_to_make_one(lab: Lab) -> None:
    dist = lab.player.project.root / "java-apps/dist"
    dist.rename(dist.with_name("aside"))
    try:
        assert_refused(lab.player.attempt("site.yml"), "java-apps/dist", "make build")
    finally:
        dist.with_name("aside").rename(dist)
