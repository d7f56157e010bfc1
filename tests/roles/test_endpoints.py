"""What roles declare to serve, and a server more: the one of docs/guides/add-a-server.md."""

import json
import shutil

import pytest
from loading import ROOT
from new_server import LISTED, write_role
from node_variables import of_nodes

from collect.run.setting import OF_SERVICES

UNPACKED = {"directory": "/opt/rackbench/parrot-0123456789ab", "archive": "/srv/parrot.zip"}
# As the role `unpack` takes it, and a directory that comes from no archive.
DIRECTORIES = [{**UNPACKED, "group": "parrot"}, "/opt/rackbench/parrot"]
SHOWN = {
    "lab": "runner_lab",
    "ports": "packet_filter_ports",
    "owned": "packet_filter_owned_ports",
    "sockets": "baseline_sockets",
    "service_ports": "baseline_service_ports",
    "captured": "runner_capture_ports",
    "probes": "health_probes",
    "heaps": "bench_heaps_mb",
    "accounts": "baseline_accounts",
    "more": "bench_more_here",
    "archives": "bench_all_archives",
}


def project(directory, *, with_server):
    """Lay down what rackbench's variables come from, with or without the new server."""
    shutil.copytree(ROOT / "playbooks", directory / "playbooks")
    shutil.copytree(ROOT / "roles", directory / "roles")
    shutil.copytree(ROOT / "inventory/example", directory / "inventory")
    shutil.copy(ROOT / "ansible.cfg", directory)
    (directory / ".venv").symlink_to(ROOT / ".venv")
    dist = directory / "java-apps/dist"
    dist.mkdir(parents=True)
    archives = ("axis.war", "mtom.war", "tomcat.tar.gz", "openmq.zip", "workers.tar.gz")
    sums = [f"{'0' * 64}  {name}\n" for name in (*archives, "harness.tar.gz", "clients.tar.gz")]
    (dist / "SHA256SUMS").write_text("".join(sums))
    if with_server:
        write_role(directory)
        with (directory / "roles/parrot/vars/serves.yml").open("a") as file:
            file.write(f"    directories: {json.dumps(DIRECTORIES)}\n")
        with (directory / "inventory/group_vars/all/lab.yml").open("a") as file:
            file.write(LISTED)
    return directory


def shown(directory):
    """Return by node what these variables come to."""
    asked = ", ".join(f"'{key}': {name}" for key, name in SHOWN.items())
    return of_nodes(directory, "inventory", f"{{{asked}}}")


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    return shown(project(tmp_path_factory.mktemp("without"), with_server=False))


@pytest.fixture(scope="module")
def with_server(tmp_path_factory):
    return shown(project(tmp_path_factory.mktemp("with"), with_server=True))


def test_lab_json_has_what_the_kits_roles_declare(without):
    lab = without["rack01"]["lab"]
    assert lab["groups"] == {"workers": ["rack03", "rack04", "rack05"], "broker": ["rack02"]}
    assert {*lab["endpoints"]} == {"rack02", "rack03", "rack04", "rack05"}
    worker, broker = lab["endpoints"]["rack04"], lab["endpoints"]["rack02"]
    assert {key: value for key, value in worker.items() if key != "services"} == {
        "name": "rack04",
        "address": "192.168.1.14",
        "url": "http://192.168.1.14:8080/axis",
        "axis_url": "http://192.168.1.14:8080/axis",
        "tcp_port": 9100,
        "matrix_queue": "matrix.rack04",
        "hello_queue": "hello.rack04",
    }
    (service,) = broker["services"].values()
    assert service["group"] == "broker"
    assert broker["jndi_url"] == "file:///etc/rackbench/jndi"


def test_services_declare_the_settings_that_studies_may_set_of_them(without):
    nodes = without["rack01"]["lab"]["endpoints"].values()
    services = [service for node in nodes for service in node["services"].values()]
    assert {name for service in services for name in service["settings"]} == OF_SERVICES


def test_every_port_that_is_opened_is_asked_about(without):
    opened = {"rack01": [9102], "rack02": [7676, 7677, 9102], "rack03": [8080, 9100, 9102]}
    for node, ports in opened.items():
        assert without[node]["ports"] == ports
        sockets = without[node]["sockets"].values()
        assert {int(socket.rpartition(":")[2]) for socket in sockets} == {*without[node]["owned"]}
    assert without["rack02"]["sockets"]["openmq_admin_port"] == "127.0.0.1:7678"
    assert [*without["rack02"]["probes"]] == ["broker"]
    assert without["rack03"]["accounts"] == {"tomcat": "/etc/rackbench/tomcat"}


def test_a_server_more_is_declared_where_it_runs_and_known_to_the_client(without, with_server):
    lab = with_server["rack01"]["lab"]
    for node, address in (("rack03", "192.168.1.13"), ("rack05", "192.168.1.15")):
        told = lab["endpoints"][node]
        url = f"http://{address}:9300"
        service = {"group": "workers", "settings": [], "url": url}
        assert told["services"]["parrot"] == service
        assert told["url"] == f"http://{address}:8080/axis"
        assert with_server[node]["more"] == ["parrot"]
        assert with_server[node]["ports"] == [8080, 9100, 9102, 9300]
        assert with_server[node]["sockets"]["parrot_port"] == f"{address}:9300"
        assert with_server[node]["probes"]["parrot"]["port"] == 9300
        assert with_server[node]["heaps"] == without[node]["heaps"]
    for node in ("rack01", "rack02"):
        same = {"ports", "owned", "sockets", "probes", "heaps", "accounts", "more"}
        assert {k: with_server[node][k] for k in same} == {k: without[node][k] for k in same}
        # A kernel setting that is the same on all nodes.
        assert 9300 in with_server[node]["service_ports"]
    assert 9300 in with_server["rack01"]["captured"]
    for node in lab["groups"]["workers"]:
        del lab["endpoints"][node]["services"]["parrot"]
    assert lab == without["rack01"]["lab"]


def test_an_archive_that_a_server_more_declares_is_compared_on_its_nodes(without, with_server):
    for node, told in with_server.items():
        of_kit, with_more = without[node]["archives"], told["archives"]
        assert with_more["workers"][len(of_kit["workers"]) :] == [UNPACKED]
        assert len(with_more["broker"]) == len(of_kit["broker"])
