"""The lab of the tests: made once by the project's own playbooks, removed whatever happens."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from archive import usable_archive
from boots import Archive, Boots, booting
from labs import WORKERS, Lab, Say, remove, standing
from playbook import Player
from probe import Probe, deploy_probe
from project import ROOT, Project, copy_project

LAB_FILE = Path(__file__).parent / "lab/lab.yml"
LAB = yaml.safe_load(LAB_FILE.read_text())
LOCK = Path(f"/run/lock/rackbench-{LAB['rackbench_lab']}.lock")

# Cheap and telling ones first; those that change the lab last. Machines boot, at the lowest
# priority, between the first and the last tests of the network install.
ORDER = [
    "netboot_meant",
    "bad_study",
    "nodes",
    "foreign_clients",
    "netboot_boots",
    "services",
    "units",
    "ports",
    "access",
    "way_in",
    "refusals",
    "site",
    "sweep",
    "programs",
    "bad_trials",
    "hostile_soap",
    "crowds_and_noise",
    "hostile_messages",
    "cves",
    "health",
    "restart",
    "overnight_timer",
    "one_at_a_time",
    "one_run",
    "open_loop",
    "groups",
    "mixed",
    "without",
    "kills",
    "disks",
    "clock",
    "bad_input",
    "growth",
    "new_server",
    "upkeep",
    "example",
    "jdks",
    "histories",
    "older_system",
    "rack",
    "virtual_lab",
]


def pytest_configure(config: pytest.Config) -> None:
    # As Ctrl-C does: what was made is removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.addinivalue_line("markers", "long: takes minutes; needs --long")
    config.addinivalue_line(
        "markers", "journal(unit, *nodes): on failure show the unit's journal on these nodes"
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long forms of tests as well")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        subject = item.path.stem.removeprefix("test_")
        return ORDER.index(subject) if subject in ORDER else -1

    items.sort(key=rank)
    if not config.getoption("--long"):
        config.hook.pytest_deselected(
            items=[item for item in items if item.get_closest_marker("long")]
        )
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    lab = getattr(item, "funcargs", {}).get("lab")
    if report.failed and isinstance(lab, Lab):
        for mark in item.iter_markers("journal"):
            unit, *nodes = mark.args
            for node in nodes:
                report.sections.append((f"journal of {unit} on {node}", lab.journal(node, unit)))
    return report


@pytest.fixture(scope="session")
def long_form(request: pytest.FixtureRequest) -> bool:
    """Whether the tests may take their time."""
    return bool(request.config.getoption("--long"))


@pytest.fixture(scope="session")
def say(request: pytest.FixtureRequest) -> Say:
    """Writes a line of progress to the terminal, captured or not."""
    reporter: Any = request.config.pluginmanager.get_plugin("terminalreporter")

    def line(text: str) -> None:
        reporter.ensure_newline()
        reporter.write_line(text)

    return line


@pytest.fixture(scope="session")
def alone() -> Iterator[None]:
    """Holds off a second run of these tests on the same lab, which would remove ours."""
    if os.geteuid() != 0:
        pytest.exit("the lab tests kill nodes and look into them; run them as root or by sudo", 2)
    with LOCK.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pytest.exit(f"another run of the lab tests holds {LOCK}; wait for its end", 2)
        yield


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys, secrets, connections and logs of this run alone."""
    directory = tmp_path_factory.mktemp("lab")
    (directory / "cp").mkdir()
    return directory


@pytest.fixture(scope="session")
def project(alone: None, home: Path, tmp_path_factory: pytest.TempPathFactory, say: Say) -> Project:
    """The project as a user has it after `make build`, in a directory of its own."""
    say("build.yml …")
    Player(Project(ROOT), home, [], [Path("inventory/virtual")]).run("build.yml", stock=True)
    return copy_project(tmp_path_factory.mktemp("project"), len(WORKERS))


@pytest.fixture(scope="session")
def bare_lab(project: Project, home: Path, say: Say) -> Lab:
    """The lab's description; nothing is made."""
    prefix = LAB["virtual_lab_prefix"]
    nodes = {"client1": f"{prefix}.11", "broker1": f"{prefix}.12"}
    nodes |= {worker: f"{prefix}.{20 + k}" for k, worker in enumerate(WORKERS, 1)}
    player = Player(project, home, [f"@{LAB_FILE}"], [Path("inventory/virtual")])
    return Lab(LAB["rackbench_lab"], nodes, player, say)


@pytest.fixture(scope="session")
def booted_lab(bare_lab: Lab) -> Iterator[Lab]:
    """The lab up, not provisioned yet."""
    with standing(bare_lab) as lab:
        yield lab


@pytest.fixture(scope="session")
def no_lab(bare_lab: Lab) -> Lab:
    """The lab's description once it is gone: a machine has room for so many nodes only."""
    if bare_lab.traces():
        remove(bare_lab)
    return bare_lab


@pytest.fixture(scope="session")
def lab(booted_lab: Lab) -> Lab:
    """The lab up and provisioned."""
    booted_lab.play("site.yml")
    return booted_lab


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    """A Debian archive for the installer, looked for while the lab is made."""
    with ThreadPoolExecutor(1) as meanwhile:
        yield meanwhile.submit(usable_archive, tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="session")
def boots(archive: Archive, lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boots]:
    """Machines on the lab's bridge that boot from the network."""
    with booting(lab, tmp_path_factory.mktemp("boots"), archive) as machines:
        yield machines


@pytest.fixture(scope="session")
def probe(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Probe:
    """A JMS client that is not ours, on the client node."""
    return deploy_probe(lab, tmp_path_factory.mktemp("probe"))
