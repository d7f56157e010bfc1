"""What is on disk when a file was written: its bytes, and the entries that lead to it."""

import os
from pathlib import Path

import pytest

from collect.files import make_directory, write_text


@pytest.fixture
def flushed(monkeypatch):
    """Return the list to which every path that is flushed to disk is added."""
    paths: list[Path] = []

    def fsync(number: int) -> None:
        paths.append(Path(f"/proc/self/fd/{number}").readlink())

    monkeypatch.setattr(os, "fsync", fsync)
    return paths


def test_each_directory_that_was_made_is_flushed_into_the_one_above(tmp_path, flushed):
    make_directory(tmp_path / "results" / "night" / "trials")
    assert flushed == [tmp_path, tmp_path / "results", tmp_path / "results/night"]
    make_directory(tmp_path / "results" / "night" / "trials")
    assert len(flushed) == 3


def test_the_directory_of_a_replaced_file_is_flushed_after_its_bytes(tmp_path, flushed):
    write_text(tmp_path / "state.json", "{}")
    assert [path.parent for path in flushed] == [tmp_path, tmp_path.parent]
