"""The archive of what all nodes have: the same files give the same archive, and all are in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from loading import ROOT

FILES = ROOT / "roles/health/files"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A copy, as another checkout has it."""
    copy = tmp_path / "files"
    shutil.copytree(FILES, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path in copy.rglob("*"):
        os.utime(path, (1, 1))
    (copy / "health.py").chmod(0o600)
    (copy / "__pycache__").mkdir()
    return copy


def pack(files: Path, archive: Path) -> str:
    done = subprocess.run(["bash", files / "pack", archive], capture_output=True, check=True)
    return done.stdout.decode().strip()


def test_two_checkouts_give_the_same_archive(files: Path, tmp_path: Path) -> None:
    archives = [tmp_path / name / "health.tar" for name in ("ours", "theirs")]
    assert pack(FILES, archives[0]) == pack(files, archives[1])
    assert archives[0].read_bytes() == archives[1].read_bytes()
    assert [path.name for path in archives[0].parent.iterdir()] == ["health.tar"]


def test_another_unit_gives_another_digest(files: Path, tmp_path: Path) -> None:
    before = pack(files, tmp_path / "health.tar")
    with (files / "units/rackbench-health.service").open("a") as unit:
        unit.write("# another\n")
    assert pack(files, tmp_path / "health.tar") != before


def test_each_program_and_unit_lies_where_systemd_looks(tmp_path: Path) -> None:
    pack(FILES, tmp_path / "health.tar")
    with tarfile.open(tmp_path / "health.tar") as archive:
        members = archive.getmembers()
    assert {(member.uid, member.gid) for member in members} == {(0, 0)}
    files = {member.name for member in members if member.isfile()}
    units = (path for path in (FILES / "units").rglob("*") if path.is_file())
    assert files == {
        *(f"opt/rackbench/{path.name}" for path in FILES.glob("*.py")),
        *(f"etc/systemd/system/{path.relative_to(FILES / 'units')}" for path in units),
    }
    assert {member.mode for member in members if member.isfile()} == {0o644}
    directories = {member.name: member.mode for member in members if member.isdir()}
    assert directories.pop("usr/lib/rackbench") == 0o755  # for the profiler, and nothing above it
    assert all(name.startswith("etc/systemd/system/rackbench-") for name in directories)
