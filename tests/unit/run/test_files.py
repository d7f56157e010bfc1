"""What is on disk when a file was written: its bytes, and the entries that lead to it."""

import os
from pathlib import Path

import pytest

from collect.errors import InputError
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


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250)  # the temporary name is longer than a file system takes
    with pytest.raises(OSError, match="too long") as caught:
        write_text(path, "half a result")
    assert caught.value.filename == str(path)


def test_a_pipe_or_a_device_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (pipe, Path(os.devnull)):
        with pytest.raises(InputError, match="is not a regular file; name a file"):
            write_text(place, "half a result")
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
