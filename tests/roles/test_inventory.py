"""Inventories: what rackbench adds to them, and what is refused before any node is asked."""

import json
import os
import shutil
import subprocess

import pytest
import yaml
from loading import ROOT, load
from rendering import Role, trusted

from collect.front.commands import doctor

EXAMPLE = ROOT / "inventory/example"


readiness = load("playbooks/filter_plugins/readiness.py")


def told(*inventories, extra=()):
    """What Ansible knows of each host of these inventories, and of all of them."""
    listed = subprocess.run(
        [ROOT / ".venv/bin/ansible-inventory", "--list"]
        + [f"--inventory={path}" for path in inventories]
        + [f"--extra-vars={text}" for text in extra],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(listed.stdout)["_meta"]["hostvars"]


@pytest.fixture
def mine(tmp_path):
    """A copy of the example, as a user makes one, outside the repository."""
    shutil.copytree(EXAMPLE, tmp_path / "mine")
    return tmp_path / "mine"


def test_an_inventory_is_two_files():
    files = sorted(str(p.relative_to(EXAMPLE)) for p in EXAMPLE.rglob("*") if p.is_file())
    assert files == ["group_vars/all/lab.yml", "hosts.yml"]


def test_the_example_offers_no_key_of_an_agent_besides_the_one_it_names():
    """sshd ends a connection after it has refused a few keys."""
    nodes = yaml.safe_load((EXAMPLE / "hosts.yml").read_text())["all"]["children"]["nodes"]["vars"]
    assert "-o IdentitiesOnly=yes" in nodes["ansible_ssh_common_args"]
    assert nodes["ansible_ssh_private_key_file"]


def test_the_kit_adds_its_variables_and_the_inventory_overrides_them(mine):
    lab = mine / "group_vars/all/lab.yml"
    lab.write_text(lab.read_text() + "tomcat_heap_mb: 777\n")
    for node in ("rack01", "rack05"):
        known = told(mine)[node]
        assert (known["tomcat_heap_mb"], known["openmq_port"]) == (777, 7676)
    assert told(mine, extra=["tomcat_heap_mb=778"])["rack01"]["tomcat_heap_mb"] == "778"


def test_what_hosts_yml_says_of_all_wins_too(mine):
    hosts = mine / "hosts.yml"
    hosts.write_text(hosts.read_text().replace("all:\n", "all:\n  vars: {openmq_port: 7000}\n", 1))
    assert told(mine)["rack02"]["openmq_port"] == 7000


def test_a_second_inventory_leaves_the_settings_of_the_first(mine, tmp_path):
    lab = mine / "group_vars/all/lab.yml"
    lab.write_text(lab.read_text() + "tomcat_heap_mb: 777\n")
    (tmp_path / "more").mkdir()
    more = tmp_path / "more/more.yml"
    more.write_text(
        "all: {children: {nodes: {children: {workers: {hosts: {rack06: {ansible_host: 192.168.1.16"
        "}}}}}}}\n"
    )
    known = told(mine, more)
    assert known["rack06"]["tomcat_heap_mb"] == 777
    assert known["rack01"]["node_addresses"]["rack06"] == "192.168.1.16"


def test_addresses_are_resolved_however_they_are_written(mine):
    (mine / "hosts.yml").write_text("""
all:
  children:
    control: {hosts: {localhost: {ansible_connection: local}}}
    nodes:
      vars: {net: "10.5.{{ room }}", room: 7}
      children:
        client: {hosts: {plain: {ansible_host: 10.5.7.1}}}
        broker: {hosts: {written: {ansible_host: "{{ net }}.2"}}}
        workers:
          hosts:
            localhost.localdomain: {ansible_host: localhost}
            127.0.0.9:
            other: {ansible_host: "fd00::5", node_address: "{{ net }}.5"}
            nobody: {ansible_host: no-such-name.invalid}
""")
    known = told(mine)
    assert known["plain"]["node_addresses"] == {
        "plain": "10.5.7.1",
        "written": "10.5.7.2",
        "localhost.localdomain": "127.0.0.1",
        "127.0.0.9": "127.0.0.9",
        "other": "10.5.7.5",
        "nobody": "no-such-name.invalid",
    }
    assert known["written"]["ansible_host"] == "10.5.7.2"
    assert known["localhost.localdomain"]["ansible_host"] == "localhost"
    assert known["other"]["ansible_host"] == "fd00::5"
    again = told(mine, extra=["room=8"])
    assert again["plain"]["node_addresses"]["written"] == "10.5.8.2"


def test_a_key_without_a_value_is_an_empty_text(mine):
    text = (mine / "hosts.yml").read_text()
    for value in ("192.168.1.11", "~/.ssh/id_ed25519"):
        text = text.replace(f": {value}\n", ":\n", 1)
    (mine / "hosts.yml").write_text(text)
    known = told(mine)["rack01"]
    assert known["ansible_host"] == known["ansible_ssh_private_key_file"] == ""
    assert known["node_addresses"]["rack01"] == ""


def test_the_virtual_labs_addresses_follow_its_prefix():
    known = told(ROOT / "inventory/virtual", extra=["virtual_lab_prefix=10.99.0"])
    assert known["worker3"]["ansible_host"] == known["client1"]["node_addresses"]["worker3"]
    assert known["worker3"]["ansible_host"] == "10.99.0.23"


GROUPS = {"client": ["a"], "broker": ["b"], "workers": ["b", "c"], "nodes": ["a", "b", "c"]}


def refusals(groups=GROUPS, **addresses):
    nodes = {"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"} | addresses
    hostvars = {name: {"node_address": address} for name, address in nodes.items()}
    return readiness.ill_written(hostvars, groups)


def test_a_good_inventory_is_not_refused():
    assert refusals() == []
    alone = {group: ["a"] for group in GROUPS}
    assert refusals(alone, a="127.0.0.1") == []


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("rack03.lab", "no name server here knows the name rack03.lab"),
        ("", "no name server here knows the name "),
        ("10.0.0.300", "no name server here knows"),
        ("fd00::3", "need an IPv4 address, but fd00::3 is not one"),
        ("127.0.1.1", "other nodes cannot reach it at 127.0.1.1"),
        ("224.0.0.1", "other nodes cannot reach it"),
    ],
)
def test_an_address_that_no_service_can_have_is_refused_with_the_line_to_write(address, said):
    (refusal,) = refusals(c=address)
    assert refusal.startswith("c: ")
    assert said in refusal
    assert "node_address:" in refusal


@pytest.mark.parametrize(
    ("method", "become", "is_refused"),
    [
        ("doas", True, True),
        ("community.general.doas", "yes", True),
        ("su", None, True),
        ("su", False, False),
        ("sudo", True, False),
        ("ansible.builtin.sudo", True, False),
    ],
)
def test_another_way_to_root_than_sudo_is_refused_by_its_name(method, become, is_refused):
    node = {"node_address": "10.0.0.1", "ansible_become_method": method}
    node |= {} if become is None else {"ansible_become": become}
    found = readiness.ill_written({"a": node}, {group: ["a"] for group in GROUPS})
    said = f"a: ansible_become_method is {method}, but rackbench becomes root by sudo only"
    assert [said in one for one in found] == [True] * is_refused


@pytest.mark.parametrize(
    ("method", "own", "is_refused"),
    [("doas", {}, True), ("doas", {"ansible_become_method": "sudo"}, False), ("sudo", {}, False)],
)
def test_another_way_to_root_in_the_environment_or_command_is_refused_once(
    method, own, is_refused, monkeypatch
):
    monkeypatch.setattr(readiness.context, "CLIARGS", {"become_method": method})
    nodes = {name: {"node_address": f"10.0.0.{n}", **own} for n, name in enumerate("abc", 1)}
    found = readiness.ill_written(nodes, GROUPS)
    said = "ANSIBLE_BECOME_METHOD or --become-method is doas, but rackbench becomes root by sudo"
    assert [said in one for one in found] == [True] * is_refused


def test_two_names_for_one_address_are_refused():
    assert refusals(c="10.0.0.1") == [
        "a and c have the same address 10.0.0.1. One machine has one name, which may stand in "
        "several groups; correct hosts.yml"
    ]


@pytest.mark.parametrize("group", ["client", "broker", "workers"])
def test_an_empty_group_is_refused(group):
    (refusal,) = refusals({**GROUPS, group: []})
    assert f"the group {group} has no node; write one into it" in refusal


@pytest.mark.parametrize("group", ["client", "broker"])
def test_a_second_client_or_broker_is_refused_with_the_reason(group):
    (refusal,) = refusals({**GROUPS, group: ["a", "b"]})
    assert refusal.startswith(f"the group {group} has a and b, and no study uses more than one")
    assert "Keep one of them in hosts.yml" in refusal


def test_a_node_outside_the_group_nodes_is_refused():
    (refusal,) = refusals({**GROUPS, "workers": ["c", "d"]})
    assert "d is not in the group nodes" in refusal


FIT = (
    "hello from .bashrc\n\ncan-sudo\nhas-python\ncan-write\nplace /home/me ext4\nfree-mb 9000\n"
    "addresses 10.0.0.1 192.168.1.1\n"
)


def answered(answer, become=True, **options):
    node = {"ansible_host": "10.0.0.1", "node_address": "10.0.0.1", "ansible_user": "me"}
    node |= {"ansible_become": become, "validate_answer": answer}
    return readiness.not_ready({"a": node}, ["a"], **options)


def beyond_memory(memory_mb):
    """What is said of two heaps on a node of this memory, by the variables of every inventory."""
    declared = yaml.safe_load((ROOT / "playbooks/vars/bench.yml").read_text())
    names = ("bench_needs_mb", "bench_has_mb", "bench_beyond_memory", "bench_memory_refusal")
    node = {name: trusted(declared[name]) for name in names}
    node |= {"bench_heaps_mb": [192, 192], "bench_beside_heap_mb": "90"}
    node |= {"validate_answer": {"stdout": f"{FIT}memory-mb {memory_mb}\n"}}
    return Role("fingerprint", **node).render("{{ bench_beyond_memory }}")


def test_heaps_beyond_the_memory_are_told_with_what_they_take():
    assert beyond_memory(564) == ""
    said = beyond_memory(563)
    assert said.startswith("has 563 MiB of memory, but its services need 564: heaps of 192 + 192,")
    assert "and 90 more for each. Lower the heaps" in said


def test_a_node_that_answers_is_ready():
    assert answered({"stdout": FIT}) == []
    assert answered({"stdout": FIT.replace(" 10.0.0.1 192.168.1.1", "")}) == []


def test_a_bench_of_one_machine_may_be_on_its_loopback():
    node = {"node_address": "127.0.0.1", "ansible_become": True, "validate_answer": {"stdout": FIT}}
    assert readiness.not_ready({"a": node}, ["a"]) == []


@pytest.mark.parametrize(
    ("stdout", "said"),
    [
        (FIT.replace("can-sudo", ""), "me may not use sudo without a password; give that account"),
        (
            FIT.replace("can-sudo", "sudo-wants-tty"),
            "me may use sudo only at a terminal (requiretty), and modules have none; write "
            "Defaults:me !requiretty into a file in /etc/sudoers.d there",
        ),
        (
            FIT.replace("can-sudo", "is-root"),
            "me needs no sudo, and the node has none; write",
        ),
        (
            FIT.replace("can-write", "").replace("ext4", "nfs4"),
            "me and root must both be able to write to /home/me nfs4 (its path and file system)",
        ),
        (FIT.replace("has-python", ""), "has no python3; apt-get install python3 there"),
        (
            FIT.replace("9000", "1499"),
            "has 1499 MiB free on /, but 1500 are needed; make room there, or set validate_free_mb",
        ),
        (
            FIT.replace("free-mb 9000", "has-jdk\nfree-mb 199"),
            "has 199 MiB free on /, but 200 are needed; make room there, or set validate_free_mb",
        ),
        (FIT.replace("9000", ""), "has an unknown number of MiB free"),
        (
            FIT.replace(" 10.0.0.1", ""),
            "call it at 10.0.0.1, which is not one of its addresses: 192.168.1.1. Write the right "
            "one into hosts.yml: node_address: 192.168.1.1",
        ),
    ],
)
def test_a_node_that_is_not_ready_is_told_with_the_next_step(stdout, said):
    (problem,) = answered({"stdout": stdout})
    assert problem.startswith("a (10.0.0.1)")
    assert said in problem


def test_a_provisioned_node_needs_less_room_unless_the_inventory_names_its_own():
    provisioned = {"stdout": FIT.replace("free-mb 9000", "has-jdk\nfree-mb 200")}
    assert answered(provisioned) == []
    assert answered({"stdout": FIT.replace("9000", "1500")}) == []
    (problem,) = answered(provisioned, free_mb="201")
    assert "but 201 are needed" in problem
    assert answered({"stdout": FIT.replace("9000", "10")}, free_mb=10) == []


@pytest.mark.parametrize(
    ("printed", "becomes", "problems"),
    [("hello", False, 1), ("hello", True, 0), ("hello\n", False, 0), ("", False, 0)],
)
def test_a_login_that_prints_without_an_end_of_the_line_is_named_where_nothing_follows_it(
    printed, becomes, problems
):
    """With sudo, Ansible prints a line of its own between that and the answer of a module."""
    fit = FIT.replace("can-sudo", "is-root\ncan-sudo")
    found = answered({"stdout": f"{printed}\nbegins\n{fit}"}, become=becomes)
    assert len(found) == problems
    assert all("prints 'hello' without an end of the line" in one for one in found)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_why_a_node_is_away_is_told_without_what_a_terminal_adds(end):
    said = (
        "Task failed: Failed to connect to the host via ssh: Pseudo-terminal will not be allocated "
        f"because stdin is not a terminal.{end}connect to host 10.0.0.1\x07: No route{end}"
    )
    (problem,) = answered({"unreachable": True, "msg": said})
    assert problem.startswith(
        "a (10.0.0.1) cannot be reached: Failed to connect to the host via ssh: connect to host "
        "10.0.0.1 : No route; check that it is powered on"
    )


def test_root_by_key_needs_no_sudo_where_nothing_is_to_become_root():
    assert answered({"stdout": FIT.replace("can-sudo", "is-root")}, become=False) == []
    (problem,) = answered({"stdout": FIT}, become=False)
    assert "me is not root; write ansible_become: true" in problem


@pytest.mark.parametrize("become", ["off", "n", "no", False, 0])
def test_a_word_that_ansible_takes_for_false_is_no_sudo(become):
    (problem,) = answered({"stdout": FIT}, become=become)
    assert "me is not root" in problem
    assert answered({"stdout": FIT.replace("can-sudo", "is-root")}, become=become) == []


def test_an_inventory_that_asks_for_no_sudo_gets_none_unless_the_command_asks(monkeypatch):
    node = {"node_address": "10.0.0.1", "ansible_user": "me", "validate_answer": {"stdout": FIT}}
    (problem,) = readiness.not_ready({"a": node}, ["a"])
    assert "me is not root; write ansible_become: true into hosts.yml" in problem
    monkeypatch.setattr(readiness.context, "CLIARGS", {"become": True})
    assert readiness.not_ready({"a": node}, ["a"]) == []


def question_of_validate(place):
    """The shell text that asks a node whether it is ready, for this directory of Ansible's."""
    (ask, *_) = yaml.safe_load((ROOT / "playbooks/validate.yml").read_text())
    (task,) = (task for task in ask["tasks"] if "ansible.builtin.raw" in task)
    text = task["ansible.builtin.raw"]
    return text.replace("{{ ansible_remote_tmp | default('~') }}", str(place))


def test_the_question_is_answered_by_this_machine_after_what_its_shell_prints(tmp_path):
    text = question_of_validate(tmp_path)
    said = subprocess.run(
        ["sh", "-c", f"printf hello; {text}"], capture_output=True, text=True, check=False
    ).stdout
    lines = said.splitlines()
    assert lines[0] == "hello"
    assert "is-root" in lines or "can-sudo" in lines or os.geteuid()
    assert "has-python" in lines
    assert any(line.startswith(f"place {tmp_path} ") for line in lines)
    assert ("can-write" in lines) == bool({"is-root", "can-sudo"} & set(lines))


REQUIRETTY = """#!/bin/sh
(exec </dev/tty) 2>/dev/null || { echo 'sudo: sorry, you must have a tty to run sudo' >&2; exit 1; }
"""


def test_sudo_is_tried_without_the_terminal_that_ssh_gives_this_question_alone(tmp_path):
    """Modules get none, so an account for which sudo demands one is named."""
    (tmp_path / "sudo").write_text(REQUIRETTY)
    (tmp_path / "sudo").chmod(0o755)
    (tmp_path / "question").write_text(question_of_validate(tmp_path))
    at_a_terminal = ["script", "--quiet", "--command", f"sh {tmp_path}/question", "/dev/null"]
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    commands = (at_a_terminal, ["setsid", "--wait", "sh", "-c", doctor._ASKED])
    for command in commands:
        said = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.split()
        assert "has-python" in said
        assert "sudo-wants-tty" in said
        assert "can-sudo" not in said


@pytest.mark.parametrize(
    ("huge", "mb"), [("", 2048), ("Hugetlb:         1048576 kB\n", 1024)], ids=["none", "1 GiB"]
)
def test_reserved_huge_pages_are_no_memory_for_heaps(tmp_path, huge, mb):
    """Left from a database: the kernel lends them to nobody who does not ask for them."""
    meminfo = tmp_path / "meminfo"
    total = "MemTotal:        2097152 kB\nHugePages_Total:     512\nHugepagesize:    2048 kB\n"
    meminfo.write_text(total + huge)
    for asked in (question_of_validate(tmp_path), doctor._ASKED):
        said = subprocess.run(
            ["sh", "-c", asked.replace("/proc/meminfo", str(meminfo))],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        assert f"memory-mb {mb}" in said.splitlines()
    assert "vm.nr_hugepages" in Role("fingerprint").render("{{ fingerprint_sysctls }}")


def test_a_sweep_may_go_on_without_a_node_that_is_no_client():
    away = {"unreachable": True, "msg": "Task failed: no route"}
    assert "cannot be reached: no route; check" in answered(away)[0]
    assert "or skip it: -e without=a" in answered(away, may_go=["a"])[0]
    for word in ("unreachable", "a"):
        assert answered(away, may_go=["a"], left_out=[word]) == []
        assert "without=" not in answered(away, left_out=[word])[0]


@pytest.mark.parametrize("word", ["No such file or directory", "not found"])
def test_a_node_whose_python_mitogen_misses_is_told_apart_from_one_that_is_away(word):
    said = f"Task failed: EOF on stream; last 100 lines received: sh: 1: /usr/bin/python3: {word}"
    told = answered({"unreachable": True, "msg": said})
    assert told == ["a (10.0.0.1) has no python3; apt-get install python3 there"]


def test_a_host_key_is_told_apart_from_a_node_that_is_away():
    (problem,) = answered({"unreachable": True, "msg": "Host key verification failed."})
    assert "Run rackbench trust -e node=a, which adds a missing key." in problem
    assert "replace_node.yml -e node=a -e fingerprint=SHA256:" in problem
