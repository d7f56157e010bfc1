"""What a pilot says of the costs of a trial, also of one in another profile."""

from dataclasses import replace

import pytest
from synthetic import TWELVE_CELLS

from collect.planning.night import Way, _best_forks, _cancelled, _served_apart
from collect.planning.pilot import PilotCell
from collect.run.arrival import Arrival
from collect.run.cell import Cell
from collect.run.plan import make_plan
from collect.run.study import parse_study
from collect.run.warmup import Warmup
from collect.stats.sample_size import Spread

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
    longer = replace(PLANNED, warmup=5000)
    assert (pilot.call_s_of(longer), pilot.fork_s_of(longer)) == (0, 1.0)


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
    slow, late = (replace(PLANNED, arrival=Arrival(rate, "even", 2)) for rate in (10, 1000))
    pilot = pilot_of(slow)
    assert pilot.call_s_of(slow) == pytest.approx(PLANNED.threads / 10)
    longer = replace(PLANNED, warmup=140)
    assert pilot.fork_s_of(longer) == pytest.approx(1.0 + 100 * 0.002)
    assert pilot_of(late).call_s_of(late) == pytest.approx(0.002)


def test_a_call_costs_what_the_planned_profile_asks_and_not_what_the_pilot_did():
    slow = replace(PLANNED, arrival=Arrival(10, "even", 2))
    assert pilot_of(PLANNED).call_s_of(slow) == pytest.approx(PLANNED.threads / 10)
    assert pilot_of(PLANNED).call_s_of(replace(slow, threads=4)) == pytest.approx(4 / 10)
    assert pilot_of(slow).call_s_of(PLANNED) == pytest.approx(0.002)


def test_the_forks_of_a_start_are_those_of_the_planned_number_of_threads():
    """Calls alone vary: with 16 of them a fork has a 16th of their variance, a start 1/256."""
    pilot = replace(pilot_of(replace(PLANNED, threads=1)), call_variance=1.0, shared=1 / 256)
    planned = replace(PLANNED, threads=4)
    way = Way({planned.factors: 4}, 200.0, None, 0, None, (), 2)
    assert _best_forks(pilot, Spread(1 / 256, 3, 0.0), planned, way, 100.0) == 4


@pytest.mark.parametrize(
    ("contrast", "cancelled"), [(None, 0), ("link_mbit", 0.01), ("servers", 0.03)]
)
def test_a_ratio_is_free_of_what_both_of_its_cells_share(contrast, cancelled):
    """Two settings of the nodes share the block alone; two cells of one plot that as well."""
    pilot = replace(pilot_of(PLANNED), shared=0.01, plot=0.02)
    assert _cancelled(pilot, contrast, ("link_mbit",)) == pytest.approx(cancelled)


def test_a_ratio_of_two_services_is_not_free_of_their_starts():
    pilot = replace(pilot_of(PLANNED), shared=0.01, plot=0.02)
    assert _cancelled(pilot, "transport", (), across=0.004) == pytest.approx(0.004)
    assert _cancelled(pilot, None, (), across=0.004) == 0
    soap, jms = (Cell.of(transport=name, servers=1) for name in ("soap", "jms"))
    needs = {soap: ["tomcat"], jms: ["broker"], soap.at(servers=3): ["tomcat"]}
    planned = {cell: replace(PLANNED, factors=cell, needs=of) for cell, of in needs.items()}
    assert _served_apart(planned, "transport") == {soap, jms}
    assert _served_apart(planned, "servers") == _served_apart(planned, None) == set()
