"""A node that fails during site.yml: its reason stays whole; nothing continues without a broker."""

import pytest
import yaml
from loading import ROOT
from played_nodes import ADDRESSES, Lab

TASKS = f"{ROOT}/playbooks/tasks"
UNIT = "rackbench-jms2-worker.service"
SYSTEMD_SAYS = f"Job for {UNIT} failed, see journalctl -xeu {UNIT} for details."
DEAD = {"ansible_ssh_executable": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
SITE = yaml.safe_load((ROOT / "playbooks/site.yml").read_text())


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


def failing(task):
    return f"""
- hosts: worker1
  gather_facts: false
  any_errors_fatal: false
  tasks:
    - block:
        - name: Do it
{task}
      rescue:
        - ansible.builtin.import_tasks: {TASKS}/leave_out.yml
"""


@pytest.mark.parametrize(
    ("task", "kept"),
    [
        (
            "          ansible.builtin.raw: echo no room on it >&2; exit 3",
            ": worker1: Do it: non-zero return code; exit status 3; no room on it Origin",
        ),
        (
            "          ansible.builtin.raw: 'true'\n          failed_when: true",
            ": worker1: Do it: it gave no reason; run site.yml -vvv --limit worker1 Origin",
        ),
        (
            "          ansible.builtin.raw: echo half of it\n          failed_when: true",
            ": worker1: Do it: half of it Origin",
        ),
        (
            "          ansible.builtin.raw: echo {{ item }} is bad >&2; exit {{ item }}\n"
            "          loop: [0, 4, 5]",
            "exit status 4; exit status 5; 4 is bad; 5 is bad Origin",
        ),
        (
            f"          ansible.builtin.raw: echo {SYSTEMD_SAYS} >&2; exit 1",
            f"{SYSTEMD_SAYS}; the journal of {UNIT} ends: it is all in the journal; more with "
            f"journalctl -u {UNIT} on the node, then run site.yml again Origin",
        ),
        (
            f"          ansible.builtin.command: {{argv: [sh, -c, echo no >&2; exit 1, {UNIT}]}}",
            "; exit status 1; no Origin",
        ),
        (
            f"          ansible.builtin.raw: test {{{{ item }}}} = {UNIT}\n"
            f"          loop: [{UNIT}, another]",
            "; exit status 1 Origin",
        ),
        (
            f"          ansible.builtin.raw: echo /etc/systemd/system/{UNIT} is there >&2; exit 1",
            f"/etc/systemd/system/{UNIT} is there Origin",
        ),
        (
            f"          ansible.builtin.raw: echo read journalctl -u {UNIT} >&2; exit 1",
            f"exit status 1; read journalctl -u {UNIT} Origin",
        ),
    ],
)
def test_the_reason_of_a_node_that_is_left_out_is_whole(lab, task, kept):
    _, said = lab.play(failing(task))
    assert kept in said.replace('\\"', '"'), said


LOST = f"""
- hosts: nodes
  gather_facts: false
  any_errors_fatal: false
  tasks:
    - ansible.builtin.set_fact: {{validate_answer: {{}}}}
    - ansible.builtin.raw: "true"
- import_playbook: {ROOT}/playbooks/left_out.yml
"""


@pytest.mark.parametrize("node", ["client1", "worker2"])
def test_a_node_whose_connection_ended_is_named_at_the_end_with_its_reason(lab, node):
    lab.write(**{node: DEAD})
    code, said = lab.play(LOST)
    summary = said.partition("TASK [Name the nodes that are not ready]")[2]
    assert code != 0
    assert f"{node}: its connection ended during this playbook (" in summary
    assert "Connection refused" in summary
    assert "worker1" not in summary.partition("PLAY RECAP")[0]


def test_a_site_where_all_are_there_to_the_end_names_nobody(lab):
    code, said = lab.play(LOST)
    assert code == 0, said


UNREADY = f"""
- import_playbook: {ROOT}/playbooks/validate.yml
  vars: {{at_work_holds: true, validate_leaves_out: true}}
- hosts: nodes
  gather_facts: false
  any_errors_fatal: false
  tasks:
    - ansible.builtin.raw: touch "$NODE/went-on"
- import_playbook: {ROOT}/playbooks/left_out.yml
"""


def unready(lab, **hosts):
    """What came of a site with these variables of nodes, and the nodes that went on."""
    for name, text in {"ip": "", "id": "echo 0"}.items():
        stub = lab.directory / "stubs" / name
        stub.write_text(f"#!/bin/sh\n{text}\n")
        stub.chmod(0o755)
    lab.write(**{name: {"validate_free_mb": 0, **hosts.get(name, {})} for name in ADDRESSES})
    code, said = lab.play(UNREADY)
    return code, said, {name for name in ADDRESSES if (lab.node(name) / "went-on").exists()}


def test_nodes_that_are_not_ready_are_named_at_the_end_and_the_others_go_on(lab):
    dead = {**DEAD, "node_address": ADDRESSES["worker2"]}
    code, said, went_on = unready(lab, worker1={"validate_free_mb": 10**9}, worker2=dead)
    summary = said.partition("TASK [Name the nodes that are not ready]")[2]
    assert code != 0
    assert went_on == {"client1", "broker1"}, said
    assert "worker1 (192.0.2.3) has" in summary
    assert "1000000000 are needed" in summary
    assert "worker2 (127.0.0.1) cannot be reached: " in summary
    assert "its connection ended" not in summary
    assert (lab.node("client1") / "stopped").exists()


def test_nothing_goes_on_without_a_client_that_is_ready(lab):
    unfit = {"validate_free_mb": 10**9}
    code, said, went_on = unready(lab, client1=unfit, worker1=unfit)
    assert code == 2
    assert went_on == set()
    assert "client1 (192.0.2.1) has" in said


CLIENTS_OF_THE_BROKER = f"""
- hosts: control:workers
  gather_facts: false
  any_errors_fatal: false
  tasks:
    - ansible.builtin.meta: end_host
      when: inventory_hostname not in groups['workers']
    - ansible.builtin.set_fact: {{validate_answer: {{}}}}
    - block:
        - ansible.builtin.import_role: {{name: jms_client}}
      rescue:
        - ansible.builtin.import_tasks: {TASKS}/leave_out.yml
- import_playbook: {ROOT}/playbooks/left_out.yml
"""


def test_no_play_of_the_site_ends_it_when_all_of_its_nodes_fail():
    plays = [play for play in SITE if play.get("any_errors_fatal") is False]
    assert len(plays) >= 6
    for play in plays:
        control, _, group = play["hosts"].partition(":")
        first = play["tasks"][0]
        assert (control, first["ansible.builtin.meta"]) == ("control", "end_host")
        assert first["when"] == f"inventory_hostname not in groups['{group}']"
        assert first["tags"] == "always"


def test_a_broker_that_is_off_is_named_and_not_the_workers_connections(lab):
    lab.write(broker1=DEAD)
    given = {"jms_client_password": "x", "jms_client_queues": ["sort.pool1"]}
    code, said = lab.play(CLIENTS_OF_THE_BROKER, **given)
    summary = said.partition("TASK [Name the nodes that are not ready]")[2]
    assert code != 0
    assert summary.count("administered objects on broker1 cannot be read") >= 2, said
    assert "worker2: Configure | Refuse to continue without them" in summary
    assert "its connection ended" not in said


READY = f"""
- hosts: {{asked}}
  gather_facts: false
  any_errors_fatal: false
  tasks:
    - ansible.builtin.set_fact: {{{{validate_answer: {{{{}}}}}}}}
    - ansible.builtin.raw: "true"
- hosts: broker
  gather_facts: false
  tasks:
    - ansible.builtin.set_fact: {{{{site_broker_is_ready: true}}}}
- hosts: workers
  gather_facts: false
  tasks:
    - ansible.builtin.import_tasks: {TASKS}/broker_ready.yml
"""


def test_workers_do_not_go_on_without_a_broker_whose_connection_ended(lab):
    lab.write(broker1=DEAD)
    code, said = lab.play(READY.format(asked="nodes"))
    assert code != 0
    assert "the broker on broker1 is not ready, and nothing works without it" in said


@pytest.mark.parametrize("limit", ["nodes", "worker1"])
def test_workers_go_on_with_a_broker_that_is_ready_or_that_limit_leaves_out(lab, limit):
    code, said = lab.play(READY.format(asked="nodes"), "--limit", limit)
    assert code == 0, said
