"""Runs for the tests, made in a fresh directory each, or shared by tests that only read them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import synthetic
import vl_convert
from hypothesis import HealthCheck, settings
from synthetic import make_run, sort_times

from collect.run.directory import Run, open_run

MakeRun = Callable[..., Run]

# The same examples each time, and however long a busy machine takes for one.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.fixture(scope="session", autouse=True)
def _draw_each_chart_once():
    """Drawing is most of what a report takes, and many tests report the same numbers."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("vegalite_to_svg", "vegalite_to_pdf"):
            patch.setattr(vl_convert, name, cache(getattr(vl_convert, name)))
        yield


@pytest.fixture
def run_of(tmp_path: Path) -> MakeRun:
    """Return a function that makes a run and opens it; see synthetic.make_run."""

    def make(times=sort_times, name="night", **options) -> Run:
        make_run(tmp_path / "results" / name, times, **options)
        return open_run(str(tmp_path / "results" / name))

    return make


@pytest.fixture(scope="session")
def shared_run(tmp_path_factory) -> Callable[[str, str], Run]:
    """Return a function that makes a plausible run of a study in a profile once for all tests.

    Its times and sizes are those of synthetic; a test must not change it. The trials of the demo
    of `binding` have the load, and the parts of their calls.
    """
    results = tmp_path_factory.mktemp("shared") / "results"

    @cache
    def make(study: str, profile: str) -> Run:
        times = getattr(synthetic, f"{study}_times")
        sizes = getattr(synthetic, f"{study}_sizes", lambda planned: (2000, 1900))
        directory = results / f"{profile}-{study}"
        plan = make_run(directory, times, study=study, profile=profile, sizes=sizes)
        if (study, profile) == ("binding", "demo"):
            synthetic.add_beside(directory, plan)
        return open_run(str(directory))

    return make
