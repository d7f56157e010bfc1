"""A rack of four machines that rackbench did not make, with disks of their own; in emulation.

The whole way takes long: every machine is emulated, and they share the processors of this one.
"""

from __future__ import annotations

import csv
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from emulated import ACCOUNT, InsidePlayer, Machine, Network, install_tree, run
from example_inventory import fill_in
from labs import Say
from machine import wait_for
from playbook import Outcome
from project import Project

pytestmark = pytest.mark.long

NETWORK = Network("rbrack-emulated", "10.88.1")
CONTROL = f"{NETWORK.prefix}.1"
TIME_SERVER = [sys.executable, str(Path(__file__).with_name("time_server.py")), CONTROL]
# The second machine of a rack may well be of a later delivery.
FIRMWARE = {"rack01": "bios", "rack02": "uefi", "rack03": "bios", "rack04": "bios"}
WORKERS = ["rack03", "rack04"]
BOOT_S, PLAY_S = 1200, 3 * 3600
LEFT_BY_THE_KIT = "ls -d /opt/rackbench /etc/rackbench /etc/systemd/system/*rackbench* 2>/dev/null"


@dataclass(frozen=True)
class Rack:
    """The machines, how their owner reaches them, and the playbooks."""

    machines: dict[str, Machine]
    ssh_config: Path
    player: InsidePlayer
    say: Say

    def ssh(self, name: str, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command on a machine as its owner."""
        options = ["-F", str(self.ssh_config), "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
        return subprocess.run(
            [*NETWORK.within, "ssh", *options, self.machines[name].address, command],
            capture_output=True,
            text=True,
            check=False,
        )

    def await_boot(self, *names: str) -> None:
        """Wait until systemd on these machines has started all."""

        def is_up(name: str) -> Callable[[], bool]:
            return lambda: self.ssh(name, "systemctl is-system-running --wait").returncode == 0

        for name in names:
            try:
                wait_for(is_up(name), f"{name} is up", BOOT_S)
            except TimeoutError as late:
                console = self.machines[name].console[-3000:]
                raise AssertionError(f"{late}; its console says:\n{console}") from late

    def play(self, playbook: str, *options: str, **extra: str) -> Outcome:
        """Run a playbook that must succeed."""
        outcome = self.attempt(playbook, *options, **extra)
        assert outcome.code == 0, outcome.excerpt
        return outcome

    def cells(self, run: str) -> list[dict[str, str]]:
        """The rows of a run's cells."""
        printed = self.player.project.collect("export", run, "--format", "cells", "-o", "-")
        assert printed.returncode == 0, printed.stderr
        return list(csv.DictReader(printed.stdout.splitlines()))

    def attempt(self, playbook: str, *options: str, **extra: str) -> Outcome:
        """Run a playbook, with a line on the terminal."""
        self.say(f"emulated rack: {playbook} …")
        return self.player.attempt(playbook, extra, *options, timeout_s=PLAY_S)


@pytest.fixture(scope="module")
def rack(
    project: Project, home: Path, say: Say, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rack]:
    directory = tmp_path_factory.mktemp("rack")
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / "key"))
    machines = {
        name: Machine(
            name,
            f"52:54:00:7d:00:{place:02}",
            NETWORK.bridge,
            directory / name,
            firmware,
            network=NETWORK,
            address=f"{NETWORK.prefix}.{10 + place}",
        )
        for place, (name, firmware) in enumerate(FIRMWARE.items(), 1)
    }
    say("emulated rack: Debian on four disks …")
    install_tree(directory / "tree")
    key = (directory / "key.pub").read_text().strip()
    known = {m.address: m.install(directory / "tree", key) for m in machines.values()}
    shutil.rmtree(directory / "tree")
    inventory = _inventory(project, directory, machines, known)
    player = InsidePlayer(project, home, [], [inventory], NETWORK)
    rack = Rack(machines, directory / "ssh_config", player, say)
    NETWORK.remove()
    time_server = None
    try:
        NETWORK.make()
        time_server = subprocess.Popen([*NETWORK.within, *TIME_SERVER])
        for machine in machines.values():
            machine.make()
            machine.start()
        rack.await_boot(*machines)
        yield rack
    finally:
        for machine in machines.values():
            machine.remove()
        if time_server is not None:
            time_server.kill()
            time_server.wait()
        NETWORK.remove()
        shutil.rmtree(directory)


def _inventory(
    project: Project, directory: Path, machines: dict[str, Machine], known: dict[str, str]
) -> Path:
    """`inventory/example`, filled in; and settings for ssh by hand."""
    known_hosts = directory / "known_hosts"
    known_hosts.write_text("".join(f"{address} {key}\n" for address, key in known.items()))
    trusted = f"-o UserKnownHostsFile={known_hosts} -o StrictHostKeyChecking=yes"
    (directory / "ssh_config").write_text(
        f"Host *\n  User {ACCOUNT}\n  IdentityFile {directory}/key\n"
        f"  UserKnownHostsFile {known_hosts}\n  StrictHostKeyChecking yes\n"
    )
    settings: dict[str, Any] = {
        "ansible_user": ACCOUNT,
        "ansible_ssh_private_key_file": str(directory / "key"),
        "ansible_ssh_common_args": trusted,
        # Of a machine that shares its processor with three others and with this host's own work.
        "ansible_timeout": 120,
        "baseline_time_servers": [CONTROL],
        # Every heap is touched when its JVM starts, which takes long in emulation.
        **{"tomcat_heap_mb": 96, "bench_worker_heap_mb": 48, "openmq_heap_mb": 96},
    }
    groups = {"client": ["rack01"], "broker": ["rack02"], "workers": WORKERS}
    members = {
        group: {name: {"ansible_host": machines[name].address} for name in names}
        for group, names in groups.items()
    }
    return fill_in(project, directory / "mylab", settings, members)


@pytest.fixture(scope="module")
def provisioned(rack: Rack) -> Rack:
    assert set(rack.play("site.yml").changed) == set(FIRMWARE)
    return rack


def test_each_machine_boots_its_own_way_from_a_disk_of_its_own(rack: Rack) -> None:
    uefi = {n for n in FIRMWARE if rack.ssh(n, "test -d /sys/firmware/efi").returncode == 0}
    assert uefi == {"rack02"}
    lines = {rack.ssh(name, "cat /proc/cmdline").stdout for name in FIRMWARE}
    assert len(lines) == len(FIRMWARE)


def test_a_second_run_changes_nothing(provisioned: Rack) -> None:
    again = provisioned.play("site.yml")
    assert set(FIRMWARE) <= again.hosts
    assert again.changed == {}, again.changed_tasks


def test_the_machines_are_alike_and_nothing_had_to_be_declared(provisioned: Rack) -> None:
    assert set(FIRMWARE) <= provisioned.play("verify.yml").hosts


def test_the_clocks_follow_the_time_server_that_was_named(provisioned: Rack) -> None:
    ask = "timedatectl show-timesync --property=ServerAddress --value"
    for name in FIRMWARE:
        said = provisioned.ssh(name, f"{ask}; timedatectl show --property=NTPSynchronized --value")
        assert said.stdout.split() == [CONTROL, "yes"], name


def test_a_sweep_of_the_overhead_study_runs(provisioned: Rack) -> None:
    provisioned.play("sweep.yml", study="overhead", profile="emulated", run="emulated")
    done = provisioned.player.project.collect("check", "emulated")
    assert done.returncode == 0, done.stdout


def test_a_client_held_to_a_tenth_of_a_core_is_named_as_the_limit(provisioned: Rack) -> None:
    quota = "/run/systemd/system/rackbench-runner.service.d"
    hold = f"mkdir -p {quota} && printf '[Service]\\nCPUQuota=10%%\\n' >{quota}/quota.conf"
    release = f"rm -r {quota}"
    meant = json.dumps({"fingerprint_drop_ins": [f"{quota}/quota.conf"]})
    for command in (hold, "systemctl daemon-reload"):
        assert provisioned.ssh("rack01", f"sudo sh -c {shlex.quote(command)}").returncode == 0
    try:
        given = {"study": "overhead", "profile": "held", "run": "held"}
        provisioned.play("sweep.yml", f"--extra-vars={meant}", **given)
    finally:
        provisioned.ssh("rack01", f"sudo {release} && sudo systemctl daemon-reload")
    (cell,) = provisioned.cells("held")
    assert cell["outcome"] == "ok"
    assert cell["limited_by"] == "client"
    (trial,) = provisioned.player.project.results("held").glob("trials/*/trial.json")
    nodes = json.loads(trial.read_text())["resources"]["nodes"]
    assert nodes["rack01"]["limits"] == {"runner": 0.1}


def test_disks_and_links_of_the_machines_were_counted(provisioned: Rack) -> None:
    rows = []
    for file in provisioned.player.project.results("emulated").glob("trials/*/resources.csv"):
        rows += list(csv.DictReader(file.read_text().splitlines()))
    of_nodes = [row for row in rows if not row["service"]]
    for column in ("cpu_cores", "rx_bytes", "tx_bytes", "disk_write_bytes"):
        assert sum(float(row[column] or 0) for row in of_nodes) > 0, column


def test_a_worker_whose_power_is_cut_is_missed_and_comes_back(provisioned: Rack) -> None:
    worker = provisioned.machines["rack04"]
    worker.stop()
    missed = provisioned.attempt("verify.yml")
    assert missed.code != 0
    assert "rack04" in missed.flat
    assert "cannot be reached" in missed.flat
    worker.start()
    provisioned.await_boot("rack04")
    assert provisioned.play("site.yml").changed == {}
    provisioned.play("verify.yml")


def test_a_machine_that_has_chrony_keeps_it_and_follows_the_time_server(provisioned: Rack) -> None:
    # As docs/guides/nodes.md says of packages that are held.
    free = "sudo apt-mark unhold systemd-timesyncd"
    install = "sudo apt-get install --yes --quiet --no-download chrony"
    installed = provisioned.ssh("rack04", f"{free} && {install}")
    assert installed.returncode == 0, installed.stdout + installed.stderr
    repaired = provisioned.play("site.yml", "--limit=rack04")
    assert set(repaired.changed) == {"rack04"}
    sources = provisioned.ssh("rack04", "chronyc -n -c sources").stdout.splitlines()
    followed = [row for row in csv.reader(sources) if row[1] == "*"]
    assert [row[2] for row in followed] == [CONTROL], sources
    ask = "dpkg-query --show --showformat='${db:Status-Status}' systemd-timesyncd"
    assert provisioned.ssh("rack04", ask).stdout != "installed"


def test_reset_leaves_the_machines_as_they_were_found(provisioned: Rack) -> None:
    provisioned.play("reset.yml", node="nodes")
    for name in FIRMWARE:
        assert provisioned.ssh(name, LEFT_BY_THE_KIT).stdout == ""
        hosts = f"127.0.0.1 localhost\n127.0.1.1 {name}-box\n# ours\n"
        assert provisioned.ssh(name, "cat /etc/hosts").stdout == hosts
