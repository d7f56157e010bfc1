"""How long something will still take."""

import pytest

from collect.time_left import in_words, of_kinds, of_steps

ESTIMATES = [100, 200, 50]


def test_steps_that_ended_correct_the_estimates_of_the_rest():
    assert of_steps(ESTIMATES, [], 0) == 350
    assert of_steps(ESTIMATES, [], 30) == 320
    assert of_steps(ESTIMATES, [], 900) == 900 / 10 + 250  # it is late
    assert of_steps(ESTIMATES, [200], 100) == pytest.approx(1.4 * 250 - 100)
    assert of_steps(ESTIMATES, [200, 400], 0) == 100


def test_a_step_that_had_nothing_to_do_says_little_about_the_others():
    assert of_steps(ESTIMATES, [1], 0) == pytest.approx(0.8 * 250)
    assert of_steps(ESTIMATES, [10_000], 0) == pytest.approx(2.2 * 250)


def test_an_item_is_expected_to_take_the_mean_of_its_kind_else_of_all():
    taken = {"short": [1.0, 3.0], "long": [10.0]}
    assert of_kinds(["short", "long", "long"], taken) == 2 + 10 + 10
    assert of_kinds(["unknown"], taken) == pytest.approx(14 / 3)
    assert of_kinds([], taken) == 0
    assert of_kinds(["short"], {}) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "10 s"),
        (44, "40 s"),
        (100, "2 min"),
        (590, "10 min"),
        (5390, "1 h 30 min"),
        (36_000, "10 h 0 min"),
    ],
)
def test_a_time_to_wait_is_said_in_words(seconds, words):
    assert in_words(seconds) == f"about {words}"
