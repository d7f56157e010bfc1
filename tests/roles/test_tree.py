"""The module that lays down a role's directories and files, called as Ansible calls it."""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from loading import ROOT, load

MODULE = ROOT / "roles/tree/library/tree.py"
OWNER = {"owner": str(os.getuid()), "group": str(os.getgid())}
CALL = """
import runpy, sys, json
from ansible.module_utils.testing import patch_module_args
with patch_module_args(json.loads(sys.argv[2])):
    runpy.run_path(sys.argv[1], run_name="__main__")
"""


def tree(check: bool = False, **arguments: list[dict[str, Any]]) -> dict[str, Any]:
    for wanted in [*arguments.get("directories", []), *arguments.get("files", [])]:
        wanted.update(OWNER)
    given = {**arguments, "_ansible_check_mode": check, "_ansible_diff": True}
    argv = [sys.executable, "-c", CALL, str(MODULE), json.dumps(given)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


@pytest.fixture
def wanted(tmp_path: Path) -> dict[str, list[dict[str, Any]]]:
    return {
        "directories": [{"path": str(tmp_path / "etc"), "mode": "0750"}],
        "files": [
            {"path": str(tmp_path / "etc/units"), "content": "Ünit\n"},
            {"path": str(tmp_path / "etc/password"), "secret": "no one's\n", "mode": "0600"},
        ],
    }


def test_a_second_call_changes_nothing(wanted: dict[str, Any], tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("etc", "etc/units", "etc/password")]
    assert tree(**wanted)["changes"] == paths
    assert (tmp_path / "etc/units").read_text() == "Ünit\n"
    assert stat.S_IMODE((tmp_path / "etc").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "etc/password").stat().st_mode) == 0o600
    again = tree(**wanted)
    assert (again["changed"], again["changes"]) == (False, [])


def test_what_was_altered_is_put_right(wanted: dict[str, Any], tmp_path: Path) -> None:
    tree(**wanted)
    (tmp_path / "etc/units").write_text("another\n")
    (tmp_path / "etc/password").chmod(0o644)
    assert tree(**wanted)["changes"] == [str(tmp_path / n) for n in ("etc/units", "etc/password")]
    assert (tmp_path / "etc/units").read_text() == "Ünit\n"
    assert stat.S_IMODE((tmp_path / "etc/password").stat().st_mode) == 0o600


def test_check_mode_says_the_same_and_does_nothing(wanted: dict[str, Any], tmp_path: Path) -> None:
    planned = tree(check=True, **wanted)
    assert not (tmp_path / "etc").exists()
    assert tree(**wanted)["changes"] == planned["changes"]
    assert tree(check=True, **wanted)["changes"] == []


def test_an_account_that_is_missing_or_another_is_told() -> None:
    there = {"name": "daemon", "home": "/usr/sbin"}
    moved = {"name": "daemon", "home": "/var/lib/rackbench"}
    new = {"name": "rackbench-of-no-node", "home": "/var/lib/rackbench"}
    assert tree(check=True, accounts=[there, new])["changes"] == ["rackbench-of-no-node"]
    assert tree(check=True, accounts=[moved])["changes"] == ["daemon"]


def test_only_a_source_that_the_node_has_otherwise_is_to_be_sent(tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    wanted = {"path": str(library), "sha256": hashlib.sha256(b"\0code").hexdigest(), "mode": "0640"}
    assert tree(files=[dict(wanted)])["to_send"] == [str(library)]
    library.write_bytes(b"\0another")
    assert tree(files=[dict(wanted)])["to_send"] == [str(library)]
    library.write_bytes(b"\0code")
    answer = tree(files=[dict(wanted)])
    assert (answer["to_send"], answer["changes"]) == ([], [str(library)])
    assert stat.S_IMODE(library.stat().st_mode) == 0o640


def test_a_difference_is_shown_but_for_a_secret(wanted: dict[str, Any], tmp_path: Path) -> None:
    tree(**wanted)
    (tmp_path / "etc/units").write_text("another\n")
    (tmp_path / "etc/password").write_text("another\n")
    outcome = tree(**wanted)
    assert [(shown["before"], shown["after"]) for shown in outcome["diff"]] == [
        ("another\n", "Ünit\n")
    ]
    assert "no one's" not in json.dumps(outcome)


@pytest.mark.parametrize(
    ("kind", "message"), [("directories", "is no directory"), ("files", "is a directory where")]
)
def test_what_stands_in_the_way_is_named(tmp_path: Path, kind: str, message: str) -> None:
    way = tmp_path / "way"
    way.mkdir() if kind == "files" else way.write_text("")
    item = {"path": str(way)} | ({"content": "x"} if kind == "files" else {})
    outcome = tree(**{kind: [item]})
    assert outcome["failed"] and message in outcome["msg"] and str(way) in outcome["msg"]


def test_templates_are_filled_from_the_play_and_sources_sent(tmp_path: Path) -> None:
    (tmp_path / "built.so").write_bytes(b"\0code")
    source = {"path": str(tmp_path / "library.so"), "source": str(tmp_path / "built.so"), **OWNER}
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/units.j2").write_text(
        "{% for unit in units %}\n{{ unit }} of {{ machine.name }}\n{% endfor %}\nend\\d\n"
    )
    file = {"template": "units.j2", "vars": {"machine": {"name": "rack03"}}, **OWNER}
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "vars": {
            "ansible_python_interpreter": sys.executable,
            "units": ["one", "{{ 'oth' }}er"],
        },
        "roles": [str(ROOT / "roles/tree")],
        "tasks": [{"tree": {"files": [source, {"path": str(tmp_path / "units"), **file}]}}],
    }
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    command = [ROOT / ".venv/bin/ansible-playbook", tmp_path / "play.yml", "-i", "localhost,"]
    subprocess.run([*command, "-c", "local"], cwd=ROOT, capture_output=True, check=True)
    filled = "one of rack03\nother of rack03\nend\\d\n"
    assert (tmp_path / "units").read_text() == filled
    assert (tmp_path / "library.so").read_bytes() == b"\0code"


ACTION = load("roles/tree/action_plugins/tree.py", "tree_action")


def is_laid(**arguments: Any) -> bool:
    """Whether a shell answers what the plug-in takes as nothing to be done."""
    asked = ["sh", "-c", ACTION.question(arguments)]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)
    return bool(ACTION.is_laid(arguments, answer.stdout.splitlines()))


def test_a_node_on_which_all_is_laid_is_not_asked_by_the_module(
    wanted: dict[str, Any], tmp_path: Path
) -> None:
    library = tmp_path / "library.so"
    library.write_bytes(b"\0code")
    library.chmod(0o644)
    there = pwd.getpwnam("bin")
    account = {"name": there.pw_name, "home": there.pw_dir}
    tree(**wanted)
    sent = {"path": str(library), "sha256": hashlib.sha256(b"\0code").hexdigest(), **OWNER}
    assert is_laid(**wanted | {"files": [*wanted["files"], sent]}, accounts=[account])
    assert is_laid()


@pytest.mark.parametrize(
    "alter",
    [
        lambda etc: (etc / "units").write_text("another\n"),
        lambda etc: (etc / "units").chmod(0o600),
        lambda etc: (etc / "units").unlink(),
        lambda etc: (etc / "units").rename(etc / "moved") and (etc / "units").symlink_to("moved"),
        lambda etc: (etc / "units").unlink() or os.mkfifo(etc / "units", 0o644),
        pytest.param(
            lambda etc: os.chown(etc / "password", 4711, 4711),
            marks=pytest.mark.skipif(os.getuid() != 0, reason="gives a file to another account"),
        ),
        lambda etc: etc.chmod(0o755),
        shutil.rmtree,
    ],
    ids=["content", "mode", "missing", "link", "pipe", "owner", "directory", "all"],
)
def test_a_node_on_which_something_was_altered_is_asked_by_the_module(
    wanted: dict[str, Any], tmp_path: Path, alter: Callable[[Path], object]
) -> None:
    tree(**wanted)
    alter(tmp_path / "etc")
    assert not is_laid(**wanted)


def test_an_account_that_is_missing_or_another_is_seen_without_the_module() -> None:
    there = pwd.getpwnam("bin")
    assert not is_laid(accounts=[{"name": "rackbench-of-no-node", "home": "/"}])
    assert not is_laid(accounts=[{"name": there.pw_name, "home": "/elsewhere"}])


@pytest.mark.parametrize("wrong", [{"mode": "u=rwX"}, {"mode": 488}, {"content": "x"}])
def test_what_the_shell_cannot_compare_is_left_to_the_module(wrong: dict[str, Any]) -> None:
    file = wrong if "content" in wrong else {"path": "/etc/hosts", "content": "x", **wrong}
    assert not is_laid(files=[file])


SYSTEMCTL = """#!/bin/sh
cat <<END
Id=old.service
ActiveState=active
UnitFileState=enabled
ActiveEnterTimestamp=@{before}

Id=new.service
ActiveState=active
UnitFileState=disabled
ActiveEnterTimestamp=@{after}

Id=away.service
ActiveState=inactive
UnitFileState=enabled
ActiveEnterTimestamp=
END
"""


def test_a_service_that_is_older_than_its_files_is_told_and_what_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [tmp_path / "old.conf", tmp_path / "new.conf"]
    for place, file in enumerate(settings):
        file.touch()
        os.utime(file, (0, 1_000_000 + place))
    (tmp_path / "systemctl").write_text(SYSTEMCTL.format(before=1_000_000, after=1_000_001))
    (tmp_path / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    asked = ACTION.question({"files": [{"path": str(file)} for file in settings]}, ["any"])
    answer = subprocess.run(["sh", "-c", asked], capture_output=True, text=True, check=True)
    assert ACTION.stale_and_idle(answer.stdout.splitlines()) == (
        ["old.service"],
        ["new.service", "away.service"],
    )
    assert ACTION.stale_and_idle([]) == ([], [])
