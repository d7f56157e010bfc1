"""A node that fails during site.yml: its reason is kept whole, and nothing goes on without the broker."""

import pytest
from loading import ROOT
from played_nodes import Lab

TASKS = f"{ROOT}/playbooks/tasks"
DEAD = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}


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
- hosts: control
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: "kept <{{{{ hostvars.worker1.site_reason }}}}>"
"""


@pytest.mark.parametrize(
    ("task", "kept"),
    [
        (
            "          ansible.builtin.raw: echo no room on it >&2; exit 3",
            "<worker1: Do it: non-zero return code; exit status 3; no room on it>",
        ),
        (
            "          ansible.builtin.raw: 'true'\n          failed_when: true",
            "<worker1: Do it: it gave no reason; run site.yml -vvv --limit worker1>",
        ),
        (
            "          ansible.builtin.raw: echo {{ item }} is bad >&2; exit {{ item }}\n"
            "          loop: [0, 4, 5]",
            "exit status 4; exit status 5; 4 is bad; 5 is bad>",
        ),
        (
            "          ansible.builtin.raw: echo Job for rackbench-tomcat.service failed >&2; exit 1",
            "Job for rackbench-tomcat.service failed; the journal of rackbench-tomcat.service ends: it is all in the journal;"
            " more with journalctl -u rackbench-tomcat.service on the node, then run site.yml again>",
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


def test_a_node_whose_connection_ended_is_named_at_the_end_with_its_reason(lab):
    lab.write(worker2=DEAD)
    code, said = lab.play(LOST)
    summary = said.partition("TASK [Name the nodes that are not ready]")[2]
    assert code != 0
    assert "worker2: its connection ended during this playbook (" in summary
    assert "Connection refused" in summary
    assert "worker1" not in summary.partition("PLAY RECAP")[0]


def test_a_site_where_all_are_there_to_the_end_names_nobody(lab):
    code, said = lab.play(LOST)
    assert code == 0, said


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
