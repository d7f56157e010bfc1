"""What a pilot says of the costs of a trial that warms up for a number of seconds."""

from dataclasses import replace

import pytest
from synthetic import TWELVE_CELLS

from collect.planning.pilot import PilotCell
from collect.run.arrival import Arrival
from collect.run.plan import make_plan
from collect.run.study import parse_study
from collect.run.warmup import Warmup

PLANNED = make_plan(parse_study(TWELVE_CELLS, "x").profile("demo", 5))[0]


def pilot_of(planned):
    return PilotCell(
        planned=planned,
        service_ms=2.0,
        logs={},
        calls=8,
        call_variance=0.1,
        shared=0,
        fork_s=1.0,
        warmup_calls=40,
    )


def test_a_trial_of_a_program_costs_what_it_took_whatever_the_plan_says():
    pilot = replace(pilot_of(PLANNED), is_program=True)
    assert (pilot.call_s, pilot.fork_s_of(replace(PLANNED, warmup=5000))) == (0, 1.0)


@pytest.mark.parametrize(
    ("warmup", "calls"),
    [
        (Warmup(10, 5000, 0.05), 40),
        (Warmup(10, 5000, 0.05, 0.01), 40),  # five calls: fewer than the pilot needed
        (Warmup(10, 5000, 0.05, 2), 1000),
        (Warmup(10, 500, 0.05, 2), 500),  # `most` ends it before
        (Warmup(1200, 5000, 0.05, 2), 1200),
        (7, 7),
    ],
)
def test_a_warmup_of_seconds_takes_as_many_calls_as_fit_into_them(warmup, calls):
    planned = replace(PLANNED, warmup=warmup)
    assert pilot_of(PLANNED).fork_s_of(planned) == pytest.approx(1.0 + (calls - 40) * 0.002)


def test_a_measured_call_of_an_open_loop_takes_until_the_next_is_due():
    pilot = pilot_of(replace(PLANNED, arrival=Arrival(10, "even", 2)))
    assert pilot.call_s == pytest.approx(PLANNED.threads / 10)
    longer = replace(PLANNED, warmup=140)
    assert pilot.fork_s_of(longer) == pytest.approx(1.0 + 100 * 0.002)
    late = pilot_of(replace(PLANNED, arrival=Arrival(1000, "even", 2)))
    assert late.call_s == pytest.approx(0.002)
