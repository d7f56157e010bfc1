"""Runs for the tests, made in a fresh directory each."""

from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic import make_run, sort_times

from collect.run import Run, open_run

MakeRun = Callable[..., Run]


@pytest.fixture
def run_of(tmp_path: Path) -> MakeRun:
    """Give a function that makes a run and opens it; see synthetic.make_run."""

    def make(times=sort_times, name="night", **options) -> Run:
        make_run(tmp_path / "results" / name, times, **options)
        return open_run(str(tmp_path / "results" / name))

    return make
