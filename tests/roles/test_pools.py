"""Workers by their names: their queues, and what each is told of the others."""

import re
import shutil
from base64 import b64encode

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from loading import ROOT, load
from node_variables import of_nodes
from rendering import Role

bench = load("playbooks/filter_plugins/bench.py")


# Names


@pytest.mark.parametrize(
    ("worker", "queue"),
    [
        ("worker1", "hello.worker1"),
        ("rack-03", "hello.rack_2d03"),
        ("rack_03", "hello.rack_5f03"),
        ("rack03.lab", "hello.rack03_2elab"),
        ("gerät", "hello.ger_c3_a4t"),
    ],
)
def test_a_queue_is_called_what_openmq_takes(worker, queue):
    assert bench.queue_of(worker, "hello") == queue


@given(st.text(min_size=1), st.text(min_size=1))
def test_two_workers_never_share_a_queue(one, other):
    assert (bench.queue_of(one, "m") == bench.queue_of(other, "m")) == (one == other)


def test_clients_are_told_of_each_node_what_its_services_declare():
    hostvars = {
        name: {
            "node_address": address,
            "web_serves": [
                {"name": "web", "endpoint": {"url": f"http://{address}", "web_url": "w"}},
                {"name": "plain", "settings": ["heap"], "endpoint": {"url": "tcp://"}},
            ],
            "store_serves": [{"name": "store", "probe": {"port": 1}}],
        }
        for name, address in {"rack-04": "10.0.0.4", "rack-03": "10.0.0.3"}.items()
    }
    groups = {"workers": ["rack-04", "rack-03"], "broker": ["rack-03"], "client": ["rack-04"]}
    told = bench.served_by(hostvars, groups, {"workers": ["web"], "broker": ["store"]})
    assert told["groups"] == {"workers": ["rack-04", "rack-03"], "broker": ["rack-03"]}
    assert told["endpoints"]["rack-03"] == {
        "name": "rack-03",
        "address": "10.0.0.3",
        "url": "http://10.0.0.3",
        "web_url": "w",
        "services": {
            "web": {"group": "workers", "settings": [], "url": "http://10.0.0.3", "web_url": "w"},
            "plain": {"group": "workers", "settings": ["heap"], "url": "tcp://"},
            "store": {"group": "broker", "settings": []},
        },
    }
    assert set(told["endpoints"]["rack-04"]["services"]) == {"web", "plain"}


# What a node is given


OWN = ("jms_client_queues", "worker_programs_environment", "worker_programs_list")


def test_what_a_worker_is_given_does_not_depend_on_the_others(tmp_path):
    shutil.copytree(ROOT / "inventory/example", tmp_path / "mine")
    hosts = tmp_path / "mine/hosts.yml"
    before = of_nodes(ROOT, hosts, f"[{', '.join(OWN)}]")
    known = yaml.safe_load(hosts.read_text())
    group = known["all"]["children"]["nodes"]["children"]["workers"]["hosts"]
    first, _, last = group.items()
    another = ("rack-04.b", {"ansible_host": "192.168.1.44"})
    known["all"]["children"]["nodes"]["children"]["workers"]["hosts"] = dict([first, another, last])
    hosts.write_text(yaml.safe_dump(known, sort_keys=False))
    after = of_nodes(ROOT, hosts, f"[{', '.join(OWN)}]")
    assert {node: after[node] for node in ("rack03", "rack05")} == {
        node: before[node] for node in ("rack03", "rack05")
    }
    assert [queue for queue in after["rack05"][0] if "pool" not in queue] == [
        "matrix.rack05",
        "hello.rack05",
    ]
    assert {"matrix.rack_2d04_2eb", "hello.rack05"} < set(after["rack01"][0])
    assert "matrix.rack04" not in after["rack01"][0]


@pytest.mark.parametrize(("lab", "place"), [("virtual", "/var/lib"), ("example", "/run")])
def test_a_nodes_own_kernel_settings_are_kept_as_long_as_a_studys_last(lab, place):
    kept = of_nodes(ROOT, ROOT / f"inventory/{lab}/hosts.yml", "bench_sysctls_kept")
    assert set(kept.values()) == {f"{place}/rackbench-sysctls"}
    text = (ROOT / "roles/baseline/files/remove_kit").read_text()
    (restored,) = re.findall(r"^for kept in (.+?); do .*sysctl --quiet --load=", text, re.M)
    assert place in restored.split()


# Administered objects

SAMPLE = """#Sun Nov 22 22:02:36 UTC 2026
ConnectionFactory/ClassName=com.sun.messaging.QueueConnectionFactory
ConnectionFactory/RefAddr/0/Content=http\\://localhost/sample
sample/ClassName=com.sun.messaging.Queue
sample/RefAddr/2/Content=sample
sample/RefAddr/2/Type=imqDestinationName
sample/RefAddr/3/Content=A sample
"""


def client_of(store, *queues):
    """Return the role on a node that uses these queues of a broker with this store."""
    content = b64encode(store.encode()).decode()
    known = {"__jms_client_sample": {"content": content}, "jms_client_broker": "rack02"}
    return Role("jms_client", jms_client_queues=list(queues), **known)


def test_a_store_holds_the_factory_and_each_queue_once():
    client = client_of(SAMPLE, "sort.pool3", "hello.rack_2d03", "sort.pool3")
    assert client.template("bindings.j2").splitlines() == [
        "ConnectionFactory/ClassName=com.sun.messaging.QueueConnectionFactory",
        "ConnectionFactory/RefAddr/0/Content=http\\://localhost/sample",
        "hello.rack_2d03/ClassName=com.sun.messaging.Queue",
        "hello.rack_2d03/RefAddr/2/Content=hello.rack_2d03",
        "hello.rack_2d03/RefAddr/2/Type=imqDestinationName",
        "hello.rack_2d03/RefAddr/3/Content=A sample",
        "sort.pool3/ClassName=com.sun.messaging.Queue",
        "sort.pool3/RefAddr/2/Content=sort.pool3",
        "sort.pool3/RefAddr/2/Type=imqDestinationName",
        "sort.pool3/RefAddr/3/Content=A sample",
    ]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        (SAMPLE, True),
        ("", False),
        ("#Sun Nov 22\n", False),
        ("sample/ClassName=com.sun.Queue\n", False),
    ],
)
def test_a_store_without_a_queue_to_copy_is_refused(text, holds):
    client = client_of(text, "sort.pool1")
    demand = client.of_task("main", "Refuse to continue without them")["ansible.builtin.assert"]
    assert client.holds(demand["that"]) is holds
    said = r"lack the queue sample\. Remove .* site\.yml again"
    assert re.search(said, client.render(demand["fail_msg"]))
