"""Builds of rackbench on a node: whole or not there, and no more of them than are needed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from loading import ROOT

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="builds are root's")

OLD, MIDDLE, NEW = ("0" * 12, "1" * 12, "2" * 12)
Play = Callable[..., tuple[int, str]]


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """What stands for /opt/rackbench."""
    (tmp_path / "opt").mkdir()
    return tmp_path / "opt"


@pytest.fixture
def play(tmp_path: Path, node: Path) -> Play:
    """Provisions this machine with a build of a component, and sets aside those before."""
    roles = [{"role": "unpack"}, {"role": "unpack", "tasks_from": "set_aside"}]

    def provision(digest: str, content: bytes | None = None, **more: Any) -> tuple[int, str]:
        archive = tmp_path / f"{digest}.tar.gz"
        archive.write_bytes(packed(tmp_path, digest) if content is None else content)
        builds = [{"directory": f"{node}/workers-{digest}", "archive": str(archive)}]
        own = {"__unpack_root": str(node), "__unpack_before": f"{node}/before"}
        tasks = [
            {
                "ansible.builtin.import_role": {
                    "name": role["role"],
                    "tasks_from": role.get("tasks_from", "main"),
                },
                "vars": {"unpack_builds": builds},
            }
            for role in roles
        ]
        written = {"hosts": "localhost", "gather_facts": False, "tasks": tasks}
        (tmp_path / "play.yml").write_text(yaml.safe_dump([written]))
        extra = {**own, "ansible_python_interpreter": sys.executable, **more}
        done = subprocess.run(
            [
                *(ROOT / ".venv/bin/ansible-playbook", tmp_path / "play.yml"),
                *("-i", "localhost,", "-c", "local", "-e", json.dumps(extra)),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, re.sub(r"\s+", " ", done.stdout)

    return provision


def packed(place: Path, digest: str) -> bytes:
    """An archive of two files."""
    (place / "worker").mkdir(exist_ok=True)
    for name in ("first.jar", "last.jar"):
        (place / "worker" / name).write_text(digest * 1000)
    with tarfile.open(place / "packed.tar.gz", "w:gz") as archive:
        archive.add(place / "worker", "worker")
    return (place / "packed.tar.gz").read_bytes()


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_build_is_unpacked_once(play: Play, node: Path) -> None:
    code, said = play(NEW)
    assert code == 0, said
    assert names(node) == [f"workers-{NEW}"]
    build = node / f"workers-{NEW}"
    assert names(build / "worker") == ["first.jar", "last.jar"]
    assert (build.stat().st_mode & 0o777, build.stat().st_uid) == (0o755, 0)
    said = play(NEW)[1]
    assert "changed=0" in said
    assert "skipped=2" in said  # each task takes time, even if skipped


def test_what_an_interrupted_run_left_is_not_taken_for_the_build(play: Play, node: Path) -> None:
    """Whatever file of it is there."""
    partial = node / f"workers-{NEW}.part/worker"
    partial.mkdir(parents=True)
    (partial / "first.jar").write_text("half")
    assert play(NEW)[0] == 0
    assert names(node) == [f"workers-{NEW}"]
    whole = NEW * 1000
    for jar in ("first.jar", "last.jar"):
        assert (node / f"workers-{NEW}/worker" / jar).read_text() == whole


def test_an_archive_that_cannot_be_unpacked_leaves_no_build(
    play: Play, node: Path, tmp_path: Path
) -> None:
    code, _ = play(NEW, packed(tmp_path, NEW)[:-60])
    assert code != 0
    assert not (node / f"workers-{NEW}").exists()
    assert play(NEW)[0] == 0


def test_a_zip_of_nothing_but_its_root_is_an_empty_build(
    play: Play, node: Path, tmp_path: Path
) -> None:
    """As the archive of clients that are programs is where there are none."""
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as archive:
        archive.writestr("./", "")
    code, said = play(NEW, (tmp_path / "empty.zip").read_bytes())
    assert code == 0, said
    assert (names(node), names(node / f"workers-{NEW}")) == ([f"workers-{NEW}"], [])
    assert "changed=0" in play(NEW)[1]


def test_without_room_where_builds_lie_nothing_is_unpacked(play: Play, node: Path) -> None:
    code, said = play(NEW, __unpack_needed_mb=10**9)
    assert code != 0
    assert f"MiB free on the file system of {node}, and unpacking {NEW}.tar.gz may take" in said
    assert "Make room there" in said
    assert names(node) == []


def test_an_archive_may_unpack_to_four_times_its_size(play: Play, node: Path) -> None:
    code, said = play(NEW, bytes(3 << 20), __unpack_free_mb=11)
    assert code != 0
    assert f"has 11 MiB free on the file system of {node}" in said
    assert f"{NEW}.tar.gz may take 12." in said


def test_the_build_before_is_set_aside_and_older_ones_are_removed(play: Play, node: Path) -> None:
    for digest in (OLD, MIDDLE, NEW):
        assert play(digest)[0] == 0
    assert names(node) == ["before", f"workers-{NEW}"]
    assert names(node / "before") == [f"workers-{MIDDLE}"]
    assert "changed=0" in play(NEW)[1]
    # And restored, without its archive.
    code, said = play(MIDDLE, b"not an archive")
    assert code == 0, said
    assert names(node) == ["before", f"workers-{MIDDLE}"]
    assert names(node / "before") == [f"workers-{NEW}"]


@pytest.mark.parametrize("piled", [(OLD, MIDDLE), (MIDDLE, OLD)])
def test_builds_that_piled_up_are_removed_but_for_the_last(
    play: Play, node: Path, piled: tuple[str, str]
) -> None:
    for digest in piled:
        (node / f"workers-{digest}").mkdir()
        time.sleep(0.05)  # the kernel's clock of files is coarse
    (node / "clients-333333333333").mkdir()
    assert play(NEW)[0] == 0
    assert names(node) == ["before", "clients-333333333333", f"workers-{NEW}"]
    assert names(node / "before") == [f"workers-{piled[-1]}"]


def test_what_is_set_aside_is_not_compared_between_nodes() -> None:
    defaults = yaml.safe_load((ROOT / "roles/fingerprint/defaults/main.yml").read_text())
    paths = yaml.safe_load((ROOT / "roles/unpack/vars/main.yml").read_text())
    assert f"{paths['__unpack_before']}/*" in defaults["fingerprint_files_not"]
