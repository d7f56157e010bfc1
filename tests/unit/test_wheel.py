"""The wheel that `make dist` builds, installed where there is no checkout, by an ordinary user."""

import ast
import getpass
import os
import resource
import subprocess
import sys
import sysconfig
import tomllib
import venv
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOBODY = 65534
MOST_LOADS = 5
"""Ten seconds on a machine that takes two to load the libraries."""
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def others_may_enter(path):
    return all(parent.stat().st_mode & 0o001 for parent in (path, *path.parents))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A clean environment with the wheel; what it depends on comes from this one."""
    directory = tmp_path_factory.mktemp("wheel")
    for path in (directory, *directory.parents):
        if path.owner() == getpass.getuser() and "pytest" in path.name:
            path.chmod(0o755)  # for another user
    source = directory / "source"
    listed = subprocess.run(
        [
            "git",
            "ls-files",
            "-z",
            "collect",
            "playbooks/studies",
            "LICENSE",
            "README.md",
            "pyproject.toml",
        ],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split("\0")
    for name in filter(None, listed):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink():
            (source / name).symlink_to((ROOT / name).readlink())
        elif (ROOT / name).is_file():
            (source / name).write_bytes((ROOT / name).read_bytes())
    build = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", directory, source]
    subprocess.run(build, check=True)
    (wheel,) = directory.glob("*.whl")
    venv.create(directory / "env", symlinks=True)
    python = directory / "env/bin/python"
    install = [*PIP, "--python", python, "install", "--no-deps", "--no-index", wheel]
    subprocess.run(install, check=True)
    (site,) = (directory / "env").glob("lib/python3*/site-packages")
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    (directory / "empty").mkdir()
    (directory / "empty").chmod(0o777)
    return directory


def used_s():
    """Processor time of what was started, which others' load does not change."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rackbench(installed, *words, program="rackbench"):
    """Run the program from an empty directory, as an ordinary user where that is possible."""
    used = (Path(sys.executable).resolve(), Path(sysconfig.get_path("purelib")), installed)
    may_change = os.geteuid() == 0 and all(others_may_enter(path) for path in used)
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if may_change else {}
    return subprocess.run(
        [installed / "env/bin" / program, *words],
        cwd=installed / "empty",
        env={"PATH": "/usr/bin:/bin", "HOME": str(installed / "empty")},
        capture_output=True,
        text=True,
        check=False,
        **user,
    )


def test_it_writes_a_report_below_the_current_directory_in_little_time(installed):
    began = used_s()
    rackbench(installed, "-c", "import scipy.stats, statsmodels.api", program="python")
    loaded = used_s()
    done = rackbench(installed, "report", "sample-sort")
    reported = used_s()
    assert done.returncode == 0, done.stderr
    page = installed / "empty/results/sample-sort.html"
    assert done.stdout.splitlines()[-1] == page.as_uri()
    assert "</html>" in page.read_text()
    assert reported - loaded < MOST_LOADS * (loaded - began)


def test_it_has_the_studies_and_no_more_of_the_playbooks(installed):
    plan = rackbench(installed, "plan", "sort", "--profile", "demo", "--workers", "5")
    assert plan.returncode == 0, plan.stderr
    assert len(plan.stdout.splitlines()) == 30
    assert rackbench(installed, "check", "sample-mtom", "--json").returncode == 0


@pytest.mark.parametrize("words", ["site", "run sort", "lab up", "init mylab", "rerun sample-sort"])
def test_what_provisions_says_where_to_get_it(installed, words):
    done = rackbench(installed, *words.split())
    assert done.returncode == 2
    assert "a clone of rackbench" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_collect_itself_says_where_to_get_the_playbooks(installed):
    done = rackbench(installed, "rerun", "sample-sort", "--dry-run", program="collect")
    assert done.returncode == 2
    assert "run `make .venv/ready` there, then its .venv/bin/collect rerun" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {line.split(">")[0].lower() for line in project["dependencies"]}
    imported = {
        name.partition(".")[0]
        for file in (ROOT / "collect").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    known = packages_distributions()
    needed = {known[name][0].lower() for name in imported - {"collect"} if name in known}
    assert needed
    assert needed <= declared
    assert all("<" in line for line in project["dependencies"])
