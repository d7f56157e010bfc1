"""Percentiles over trials that differ, and the calls that part a mean from a median."""

import numpy as np
import pytest

from collect.logs.columns import MISSING
from collect.logs.pooled import pool
from collect.logs.summaries import count_calls
from collect.run.trials import CALLS_HEADER, PHASES, STATUSES

MEASURE, OK = PHASES.index("measure"), STATUSES.index("ok")


def trial(times_ms):
    """One trial whose measured calls took so long."""
    times = np.round(np.asarray(times_ms) * 1e6).astype(np.int64)
    columns = {name: np.zeros(len(times), np.int64) for name in CALLS_HEADER.split(",")}
    columns |= {
        "seq": np.arange(len(times)),
        "phase": np.full(len(times), MEASURE),
        "status": np.full(len(times), OK),
        "intended_ns": np.full(len(times), MISSING),
        "start_ns": np.cumsum(np.append(0, times[:-1] + 1000)),
        "elapsed_ns": times,
    }
    return count_calls(columns)


def cell(rng, trials, calls, forks):
    """Trials whose levels vary as `forks` says, of calls that vary by a tenth."""
    levels = rng.lognormal(0, forks, trials)
    return [trial(10 * level * rng.lognormal(0, 0.1, calls)) for level in levels]


def test_intervals_of_percentiles_hold_the_true_one_though_trials_differ():
    rng = np.random.default_rng(2)
    forks, calls, trials, cells = 0.1, 60, 20, 250
    spread = (forks**2 + 0.1**2) ** 0.5
    true = {"p50": 10.0, "p99": 10 * np.exp(2.3263 * spread)}
    hits = dict.fromkeys(true, 0)
    too_narrow = 0
    for _ in range(cells):
        members = cell(rng, trials, calls, forks)
        found = pool(members)
        for name, value in true.items():
            estimate = getattr(found, name)
            hits[name] += estimate.low <= value <= estimate.high
        times = np.sort(np.concatenate([member.times_ns for member in members])) / 1e6
        # Order statistics that take calls for independent: the places of a 95 % interval of p50.
        half = 1.96 * (len(times) * 0.25) ** 0.5
        low, high = (times[round(len(times) / 2 + sign * half)] for sign in (-1, 1))
        too_narrow += low <= true["p50"] <= high
    assert hits["p50"] / cells > 0.9
    assert hits["p99"] / cells > 0.75
    assert too_narrow / cells < 0.6


@pytest.mark.parametrize(("trials", "has_interval"), [(9, False), (10, True)])
def test_an_interval_takes_ten_trials(trials, has_interval):
    found = pool(cell(np.random.default_rng(1), trials, 40, 0.1))
    assert (found.p50.low is not None, found.p99.low is not None) == (has_interval, has_interval)
    assert found.p50.value == found.p50_ms


def test_a_percentile_that_is_one_tick_of_a_clock_has_no_interval():
    found = pool([trial([5.0] * 40 + [9.0] * (place % 3)) for place in range(10)])
    assert (found.p50.value, found.p50.low, found.p50.high) == (5.0, None, None)
    assert found.p99.low < found.p99.value


def test_the_calls_that_part_mean_and_median_are_named():
    slow = [trial([10.0] * 18 + [150.0] * (2 if place in {1, 4, 5} else 0)) for place in range(10)]
    rare = pool(slow).rare
    assert (rare.trials, rare.are_slow) == (3, True)
    assert (rare.calls, rare.from_ms) == (6, 150.0)  # ties go together
    fast = pool([trial([10.0] * 12 + [0.1] * 8)]).rare
    assert (fast.trials, fast.are_slow) == (1, False)
    assert fast.from_ms == pytest.approx(0.1)
    assert pool([trial([10.0] * 20)]).rare is None


def test_a_slow_trial_parts_no_mean_from_its_median():
    """The pooled calls have a mean of 12.2 and a median of 10; each trial has like ones."""
    assert pool([trial([32.0 if place == 3 else 10.0] * 20) for place in range(10)]).rare is None
    assert pool([trial([0.0] * 20), trial([0.0] * 15 + [9.0] * 5)]).rare is None


def test_trials_of_unequal_length_have_the_moments_of_all_their_calls():
    rng = np.random.default_rng(8)
    members = [trial(level * rng.lognormal(2, 0.3, n)) for level, n in ((1, 3), (2, 50), (9, 200))]
    found = pool(members)
    times = np.concatenate([member.times_ns for member in members]) / 1e6
    assert found.mean_ms == pytest.approx(times.mean())
    assert found.variance_ms2 == pytest.approx(times.var(ddof=1))
    assert (found.p50_ms, found.p99_ms) == pytest.approx(tuple(np.quantile(times, [0.5, 0.99])))
    assert pool(members[:1]).variance_ms2 == pytest.approx(times[:3].var(ddof=1))


def test_the_calls_named_are_the_fewest():
    rng = np.random.default_rng(7)
    members = [trial(rng.lognormal(2, 1, calls)) for calls in (50, 20, 80, 35)]
    found = pool(members)
    each = [member.times_ns / 1e6 for member in members]
    times = np.sort(np.concatenate(each))
    left = len(times) - found.rare.calls

    def parted(limit):
        kept = [own[own < limit].mean() / np.median(own) for own in each]
        return np.exp(np.mean(np.log(kept)))

    assert parted(times[left]) <= 1.2 < parted(times[left + 1])
    assert found.rare.from_ms == pytest.approx(times[left])


def test_a_trial_is_summarised_by_its_median_and_by_its_logs():
    times = np.random.default_rng(3).lognormal(1, 0.8, 31)
    found = trial(times).summary
    assert found.median_ms == pytest.approx(np.median(times), rel=1e-5)
    logs = np.log(times)
    assert (found.log_mean, found.log_variance) == pytest.approx(
        (np.mean(logs), np.var(logs, ddof=1)), rel=1e-5
    )
    assert found.log_moments.count == 31
    assert trial([2.0, 0.0, 4.0]).summary.log_moments is None
    assert trial([2.0]).summary.log_variance is None
