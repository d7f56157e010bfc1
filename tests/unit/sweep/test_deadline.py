"""The deadline of a sweep as it is written on the command line."""

import os
import time
from datetime import UTC, datetime

import pytest

from collect.errors import InputError
from collect.sweep.deadline import instant

EVENING = datetime(2026, 3, 1, 21, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _in_zagreb(monkeypatch):
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    assert os.environ.get("TZ") == before
    time.tzset()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("06:00", "2026-03-02T05:00:00Z"),
        ("23:30", "2026-03-01T22:30:00Z"),
        ("22:00", "2026-03-02T21:00:00Z"),  # that is now
        ("2026-03-05T06:30", "2026-03-05T05:30:00Z"),
        ("2026-03-05 06:30:15", "2026-03-05T05:30:15Z"),
        ("2026-03-05T06:30:00+00:00", "2026-03-05T06:30:00Z"),
    ],
)
def test_a_deadline_is_given_in_utc(text, expected):
    assert instant(text, EVENING) == expected


@pytest.mark.parametrize("text", [1320, "1320"])
def test_a_time_that_yaml_took_for_a_number_is_read_back(text):
    assert instant(text, EVENING) == instant("22:00", EVENING)


@pytest.mark.parametrize(
    ("evening", "text", "expected"),
    [
        (datetime(2026, 3, 28, 21, 0, tzinfo=UTC), "02:30", "2026-03-29T01:30:00Z"),  # skipped
        (datetime(2026, 10, 24, 21, 0, tzinfo=UTC), "02:30", "2026-10-25T00:30:00Z"),  # the first
    ],
)
def test_a_deadline_that_the_clock_skips_or_shows_twice_is_one_moment(evening, text, expected):
    assert instant(text, evening) == expected


def test_the_clock_may_be_set_for_summer_before_the_deadline():
    assert instant("06:00", datetime(2026, 3, 28, 21, 0, tzinfo=UTC)) == "2026-03-29T04:00:00Z"


@pytest.mark.parametrize("text", ["soon", "25:00", "6", "", "22:61", "0630"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(InputError, match="write HH:MM"):
        instant(text, EVENING)
