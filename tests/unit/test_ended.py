"""Tests that are asked to end leave nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from machine import wait_for
from project import ROOT

LONG = """
import time
from pathlib import Path
import pytest

HERE = Path(__file__).parent

@pytest.fixture
def made():
    (HERE / "made").touch()
    yield
    (HERE / "made").unlink()

def test_long(made):
    (HERE / "begun").touch()
    time.sleep(300)
"""


def test_who_is_asked_to_end_removes_what_was_made(tmp_path: Path) -> None:
    for name in ("conftest.py", "lab"):
        (tmp_path / name).symlink_to(ROOT / "tests" / name)
    (tmp_path / "test_long.py").write_text(LONG)
    settings = ["-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *settings, str(tmp_path / "test_long.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        wait_for((tmp_path / "begun").exists, "the test has begun")
        process.terminate()
        printed, _ = process.communicate(timeout=120)
    assert "KeyboardInterrupt" in printed
    assert not (tmp_path / "made").exists()
