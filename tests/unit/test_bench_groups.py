"""The arithmetic of what a change between two groups of trials costs."""

import groups
import pytest
from groups import KINDS, changes, row
from row import interval


def trial(number, began, ended, node, outcome="ok"):
    return {
        "id": f"b01-t00{number}",
        "started_at": f"2026-11-27T05:00:{began:06.3f}Z",
        "ended_at": f"2026-11-27T05:00:{ended:06.3f}Z",
        "node": {"link_mbit": node},
        "outcome": outcome,
    }


TRIALS = [trial(3, 7, 8, 100), trial(1, 0, 1, 10), trial(2, 1.5, 2.5, 10), trial(4, 12.25, 13, 10)]


def test_the_time_between_two_settings_counts_and_that_within_a_group_does_not():
    assert changes(TRIALS) == pytest.approx([4.5, 4.25])


def test_a_trial_that_is_not_ok_ends_the_bench():
    with pytest.raises(SystemExit, match="b01-t005 ended as timeout"):
        changes([*TRIALS, trial(5, 20, 30, 10, "timeout")])


def test_the_aim_is_about_what_a_change_costs_beyond_what_it_does():
    kind = KINDS[1]
    found = row(kind, [(11.0, 8.5), (12.5, 10.0), (10.5, 8.0)])
    assert found.what == f"{kind.what} (2.5 s to 2.5 s beyond it)"
    assert (found.value, found.yardstick_value) == (11.0, 8.5)
    assert found.target == "< 3 s beyond it: met"
    assert found.paired.mean == pytest.approx((11 / 8.5 * 12.5 / 10 * 10.5 / 8) ** (1 / 3))
    assert row(kind, [(13.0, 8.5), (12.5, 10.0)]).target == "< 3 s beyond it: likely missed"


def test_an_interval_of_differences_is_by_students_t():
    half = 4.302653 / 3**0.5
    assert interval([2.0, 3.0, 4.0]) == pytest.approx((3, 3 - half, 3 + half))


def test_each_round_begins_with_what_the_round_before_ended_with(monkeypatch):
    order = []
    monkeypatch.setattr(groups, "sweep", lambda lab, study: order.append(study) or TRIALS)
    monkeypatch.setattr(groups, "at_once", lambda lab, kind: 1.0)
    assert [found.value for found in groups.rows(None)] == pytest.approx([4.375, 4.375])
    assert order == ["link", "threads", "threads", "link", "link", "threads"]
