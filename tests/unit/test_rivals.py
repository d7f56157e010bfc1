"""The arithmetic that lays our call log beside what wrk prints."""

from collections import Counter

import pytest
from rivals import correct, own_load, percentiles

MS = 1_000_000


def test_calls_that_a_slow_one_kept_from_being_sent_are_added():
    # One connection, a call expected every 10 us; the slow one hides those of 40, 30 and 20 us.
    corrected = correct(Counter({10: 9, 50: 1}), 100, 1)
    assert corrected == Counter({10: 9, 50: 1, 40: 1, 30: 1, 20: 1})


def test_even_calls_are_not_corrected():
    assert correct(Counter({10: 100}), 1000, 1) == Counter({10: 100})


def test_percentiles_are_values_that_were_counted():
    assert percentiles(Counter({1: 50, 2: 49, 9: 1})) == {50: 1, 99: 2}


def test_only_the_time_in_which_all_threads_call_counts():
    fast = [(0, i * MS, MS) for i in range(10)]
    slow = [(1, i * 4 * MS, 4 * MS) for i in range(10)]
    load = own_load(fast + slow, 2)
    assert load.calls_per_s == pytest.approx(12 / 0.010)  # ten fast calls and two slow ones
    assert load.raw_p50 == pytest.approx(0.001)
    assert load.mean == pytest.approx(0.0015)
    assert load.busy == pytest.approx(0.9)


def test_waiting_between_calls_is_not_time_inside_them():
    assert own_load([(0, i * 2 * MS, MS) for i in range(100)], 1).busy == pytest.approx(
        0.5, rel=0.02
    )
