"""Provisioning again: nothing changes, and check mode works."""

from __future__ import annotations

import pytest
from labs import Lab


def test_a_second_run_with_stock_ansible_changes_nothing(lab: Lab) -> None:
    outcome = lab.play("site.yml", stock=True)
    assert set(lab.nodes) <= outcome.hosts
    assert outcome.changed == {}, outcome.changed_tasks


def test_check_mode_works_on_a_provisioned_lab_and_reports_nothing(lab: Lab) -> None:
    outcome = lab.play("site.yml", None, "--check", "--diff")
    assert set(lab.nodes) <= outcome.hosts
    assert outcome.changed == {}, outcome.changed_tasks


def test_check_mode_of_the_lab_itself_reports_nothing(lab: Lab) -> None:
    outcome = lab.play("lab.yml", None, "--check")
    assert outcome.changed == {}, outcome.changed_tasks


def test_the_nodes_pass_verification(lab: Lab) -> None:
    outcome = lab.play("verify.yml")
    assert set(lab.nodes) <= outcome.hosts
    assert outcome.changed == {}


@pytest.mark.journal("rackbench-tomcat.service", "worker3")
def test_verification_names_the_node_that_differs(lab: Lab) -> None:
    lab.output("worker3", "printf '# changed\\n' >>/etc/systemd/system/rackbench-tomcat.service")
    try:
        outcome = lab.player.attempt("verify.yml")
        assert outcome.code != 0
        assert "worker3" in outcome.excerpt
        assert "rackbench-tomcat.service" in outcome.excerpt
    finally:
        lab.output("worker3", "sed -i '$d' /etc/systemd/system/rackbench-tomcat.service")
