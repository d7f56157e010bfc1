"""The targets of the Makefile are those that its help and the pages name."""

import re
import shutil
import subprocess

import pytest
from test_doc_links import PAGES, ROOT

TARGETS = set(
    re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
)
PARTS = {"help", "may-install", "test-beside", "test-packages"}
"""Targets that nobody is told to make."""
NAMED = re.compile(r"(?:^ {4}|`|&& )make (?!room )((?:[a-z][a-z-]* ?)+)", re.M)


def make(*words, where=ROOT):
    done = subprocess.run(
        ["make", *words], cwd=where, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def test_help_names_every_target():
    named = set(re.findall(r"make (?!the )([a-z][a-z-]*)", make("help")))
    assert named == TARGETS - PARTS


def test_help_says_what_writes_the_site_and_the_page_of_benchmarks():
    text = make("help")
    assert re.search(r"make docs +build the pages as a site", text)
    for target in ("bench", "bench-page"):
        assert re.search(rf"make {target} .*docs/project/benchmarks\.md", text)


def test_help_has_the_times_that_a_long_test_estimates():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    steps = text.partition("\ntest-long:")[2].partition("\n\n")[0]
    estimates = re.findall(r"' (\d+) '\$\(MAKE\) --no-print-directory ([a-z-]+)'", steps)
    told = re.findall(r"make (test-[a-z-]+) .*: about (\d+) minutes", make("help"))
    assert len(estimates) == 6
    minutes = {target: int(seconds) / 60 for seconds, target in estimates}
    assert {target: int(about) for target, about in told} == pytest.approx(minutes, abs=3)


def test_every_target_that_a_page_names_is_there():
    named = {
        (page.name, target)
        for page in PAGES
        for found in NAMED.findall(page.read_text(encoding="utf-8"))
        for target in found.split()
    }
    assert len({target for _, target in named}) > 12
    assert [one for one in sorted(named) if one[1] not in TARGETS] == []


def test_a_wheel_that_is_built_leaves_the_site_where_it_is():
    commands = make("--dry-run", "--assume-old", ".venv/ready", "dist")
    removed = re.findall(r"rm -rf (.*)", commands)
    assert removed
    assert all("dist" not in words.split() for words in removed)


def test_no_root_is_needed_for_the_analysis_and_the_pages():
    for target in ("dist", "docs"):
        commands = make("--dry-run", "--assume-new", "requirements.txt", target)
        assert "sudo -k -n true" not in commands
    commands = make("--dry-run", "build", "AS_ROOT=sudo")
    assert "sudo -k -n true" in commands  # no password that sudo remembers for this terminal
    assert "needs root on this machine" in commands


@pytest.mark.parametrize("is_moved", [True, False])
def test_an_environment_that_names_another_path_is_recreated(tmp_path, is_moved):
    """A checkout that was moved, or copied with its .venv."""
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv").mkdir()
    named = ROOT if is_moved else tmp_path
    command = f"command = /usr/bin/python3 -m venv {named}/.venv"
    (tmp_path / ".venv/pyvenv.cfg").write_text(f"home = /usr/bin\n{command}\n")
    (tmp_path / ".venv/ready").touch()
    commands = make("--dry-run", "verify", where=tmp_path)
    assert ("rm -rf .venv && " in commands) == is_moved


def test_a_locale_that_this_machine_lacks_does_not_reach_ansible():
    assert "LC_ALL=C.UTF-8 ANSIBLE_CONFIG=" in make("--dry-run", "verify")
