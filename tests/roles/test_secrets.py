"""What is secret is told to nobody: not in a terminal, not in a log."""

import re
from pathlib import Path

import jinja2
import pytest
import yaml

ROOT = Path(__file__).parents[2]
ROLES = ROOT / "roles"


def options_of(spec):
    """Every option of an argument specification by its name, those inside others as well."""
    for name, option in spec.get("options", {}).items():
        yield name, option
        yield from options_of(option)


@pytest.mark.parametrize(
    "path", sorted(ROLES.glob("*/meta/argument_specs.yml")), ids=lambda path: path.parts[-3]
)
def test_an_option_that_holds_a_secret_says_so(path):
    entries = yaml.safe_load(path.read_text())["argument_specs"].values()
    secret = {
        name: option.get("no_log", False)
        for entry in entries
        for name, option in options_of(entry)
        if re.search(r"(password|secret|token|hook_environment|overnight_variables)$", name)
    }
    assert all(secret.values()), secret


BENCH = {
    "bench_client": "client1",
    "bench_broker": "broker1",
    "bench_workers": ["worker1", "worker2"],
}
HOSTS = {
    "control": ["localhost"],
    "nodes": ["client1", "broker1", "worker1", "worker2", "extra1"],
    "broker": ["broker1"],
    "workers": ["worker1", "worker2"],
    "client": ["client1"],
}
PASSWORD_ROLES = {"openmq", "jms_client"}  # they lay down the broker's password
MARK = "tasks/passwords_of.yml"


def test_a_node_has_the_mark_of_new_passwords_only_once_it_has_the_brokers():
    """Else a playbook that was killed would leave nodes that nothing tells from whole ones."""
    plays = yaml.safe_load((ROOT / "playbooks/rotate_secrets.yml").read_text())
    given, marked = set(), []
    for play in plays:
        hosts = HOSTS.get(play.get("hosts"), [])
        if {role["role"] for role in play.get("roles", [])} & PASSWORD_ROLES:
            given.update(hosts)
        for task in play.get("post_tasks", []):
            assert task["ansible.builtin.import_tasks"] == MARK
            is_due = jinja2.Environment(autoescape=True).compile_expression(
                task.get("when", "true")
            )
            now = [host for host in hosts if is_due(inventory_hostname=host, **BENCH)]
            assert set(now) - {"extra1"} <= given, play["name"]
            marked += now
    assert sorted(marked) == sorted(HOSTS["nodes"])


def test_passwords_are_made_once_before_any_node_reads_them():
    """The lookup that makes them locks their files, and fails where many hosts wait for it."""
    places = [
        path
        for path in sorted((ROOT / "playbooks").rglob("*.yml"))
        if "ansible.builtin.password'" in path.read_text()
    ]
    assert places == [ROOT / "playbooks/tasks/passwords.yml"]
    (made,) = yaml.safe_load(places[0].read_text())
    variables = (ROOT / "playbooks/vars/bench.yml").read_text()
    read = re.findall(r"rackbench_secrets ~ '/(\w+)'", variables)
    assert {*read, "id"} == set(made["loop"])
    for playbook in ("site", "rotate_secrets"):
        text = (ROOT / f"playbooks/{playbook}.yml").read_text()
        assert text.index("tasks/passwords.yml") < text.index("tasks/passwords_of.yml")
