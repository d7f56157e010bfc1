"""A client that opens a connection for each call has a port for each, by what the role sets."""

import ast
import json
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
import yaml
from loading import ROOT, load

ALONE = ["unshare", "--user", "--map-root-user", "--net"]
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def seen():
    """What became of connections in a network namespace with 2000 ports."""
    try:
        subprocess.run([*ALONE, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no network namespace can be made here")
    command = [*ALONE, sys.executable, HERE / "few_ports.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_without_the_settings_a_client_runs_out_of_ports(seen):
    assert seen["before"] == [0, 1000]


def test_with_them_each_connection_has_one(seen):
    assert seen["reused"] == 0


def test_the_kernel_takes_them_once_and_gets_its_own_back(seen):
    assert seen["wide"] == ["10240", "65535"]
    assert seen["again"] == []
    assert seen["reset"] == [["20000", "21999"], ["2"]]


def test_the_role_asks_for_all_that_the_module_can_set():
    settings = load("roles/baseline/library/tuning.py").SETTINGS
    (task,) = yaml.safe_load((ROOT / "roles/baseline/tasks/tuning.yml").read_text())
    assert set(chain(*settings.values())) == task["tuning"]["settings"].keys()


def test_what_is_set_of_the_network_is_in_the_fingerprint():
    compared = yaml.safe_load((ROOT / "roles/fingerprint/defaults/main.yml").read_text())
    wanted = {"net.ipv4.ip_local_port_range", "net.ipv4.tcp_tw_reuse"}
    assert wanted <= set(compared["fingerprint_sysctls"])


def test_the_range_holds_no_port_of_the_bench():
    ask = ["-i", "inventory/example", "rack02", "-c", "local", "-m", "ansible.builtin.debug"]
    asked = "msg={{ [baseline_port_range, baseline_service_ports] | string }}"
    built = ("axis.war", "mtom.war", "tomcat.tar.gz", "openmq.zip", "workers.tar.gz")
    sums = json.dumps({"rackbench_manifest": dict.fromkeys(built, "0" * 64)})
    done = subprocess.run(
        [ROOT / ".venv/bin/ansible", *ask, "-a", asked, "-e", sums],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    said = re.search(r"\[\[.*\]\]", done.stdout)
    assert said, done.stdout + done.stderr
    (first, last), ports = ast.literal_eval(said[0])
    assert ports == [22, 7676, 7677, 8080, 9100, 9102]
    assert not [port for port in ports if first <= port <= last]
