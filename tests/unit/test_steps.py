"""The steps of a long command, and what is left to wait."""

import pytest

from collect.steps import Step, left_s, run, span

STEPS = [Step("one", 100, "exit 0"), Step("two", 200, "exit 0"), Step("three", 50, "exit 0")]


def test_what_is_left_is_corrected_by_the_steps_that_ended():
    assert left_s(STEPS, [], 0) == 350
    assert left_s(STEPS, [], 30) == 320
    assert left_s(STEPS, [], 900) == 900 / 10 + 250  # it is late
    assert left_s(STEPS, [200], 100) == 2 * 250 - 100
    assert left_s(STEPS, [200, 400], 0) == 100


def test_a_step_that_had_nothing_to_do_says_little_about_the_others():
    assert left_s(STEPS, [1], 0) == 0.5 * 250
    assert left_s(STEPS, [10_000], 0) == 4 * 250


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "10 s"), (44, "40 s"), (100, "2 min"), (590, "10 min")]
)
def test_a_time_to_wait_is_said_in_words(seconds, words):
    assert span(seconds) == f"about {words}"


def test_steps_run_in_order_until_one_fails(tmp_path):
    log, said = tmp_path / "log", []
    steps = [
        Step("one", 1, f"echo one >> {log}"),
        Step("two", 1, f"echo two >> {log}; sleep 0.3; exit 7"),
        Step("three", 1, f"echo three >> {log}"),
    ]
    assert run(steps, said.append, every_s=0.1) == 7
    assert log.read_text().split() == ["one", "two"]
    assert said[0].startswith("step 1 of 3, one: about ")
    assert sum(line.startswith("step 2 of 3, two: about ") for line in said) >= 2
    assert said[-1].startswith("step 2 of 3, two: ended with 7")
    assert run(steps[:1], said.append) == 0
    assert said[-1].startswith("all 1 steps done")
