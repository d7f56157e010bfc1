"""Interim analyses: the levels of their tests, and how often all of them together err."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from collect.stats.estimates import geometric_t
from collect.stats.spending import ERROR, corrected, equal_errors, errors_of

RUNS = 100_000
CHANCE = 2.6 * (ERROR * (1 - ERROR) / RUNS) ** 0.5
"""What one count in two hundred is beyond by chance."""


def rejected(looks, errors, seed=11):
    """How often a t test rejects at any of the analyses in runs in which nothing differs."""
    values = np.random.default_rng(seed).normal(size=(RUNS, looks[-1]))
    found = np.zeros(RUNS, dtype=bool)
    for look, error in zip(looks, errors, strict=True):
        p_values = stats.ttest_1samp(values[:, :look], 0, axis=1).pvalue
        found |= p_values < error
    return found.mean()


LOOKS = [(3, 4, 5), (5, 7, 10), (10, 20, 40), (2, 9), (2, 3, 4, 5, 6, 7, 8, 12)]


@pytest.mark.parametrize("looks", LOOKS)
def test_all_analyses_together_err_in_no_more_than_5_percent(looks):
    assert rejected(looks, errors_of(looks)) <= ERROR + CHANCE


@pytest.mark.parametrize("looks", LOOKS)
def test_most_is_left_to_the_last_analysis(looks):
    errors = errors_of(looks)
    assert list(errors) == sorted(errors)
    assert errors[-1] > 0.65 * ERROR > equal_errors(looks)[-1]
    assert rejected(looks, errors) > 0.8 * ERROR


def test_large_samples_have_the_levels_that_are_tabled():
    """The levels of Lan and DeMets for three equal parts: 3.71, 2.51 and 1.99 deviations."""
    found = [float(stats.norm.isf(error / 2)) for error in errors_of((400, 800, 1200))]
    assert found == pytest.approx([3.71, 2.51, 1.99], abs=0.04)


def test_the_guide_has_the_levels_of_its_example():
    page = " ".join((Path(__file__).parents[3] / "docs/guides/nights.md").read_text().split())
    errors = errors_of((5, 7, 10))
    levels = [f"{100 * error:.1f} %" for error in errors]
    assert f"tests at a level of {levels[0]}, {levels[1]} and {levels[2]}" in page
    wider = stats.t.isf(errors[-1] / 2, 9) / stats.t.isf(ERROR / 2, 9) - 1
    assert f"has intervals {100 * wider:.0f} % wider than a run of fixed size" in page


def test_one_analysis_alone_costs_nothing():
    assert errors_of((7,)) == (ERROR,)
    assert corrected(0.03, ERROR) == 0.03


def test_a_p_value_and_an_interval_are_corrected_alike():
    sample = [1.3, 1.1, 1.4, 1.25, 1.2]
    for error in (ERROR, 0.01, 0.002):
        interval = geometric_t(sample, error)
        p_value = float(stats.ttest_1samp(np.log(sample), 0).pvalue)
        assert interval.p_outside(1, 1) == pytest.approx(corrected(p_value, error), rel=1e-6)
        assert (interval.low > 1) == (corrected(p_value, error) < ERROR)
    assert corrected(0.6, 0.01) == 1
