"""Calls that come at a rate: what a study may say of them, and what the plan makes of it."""

import json

import pytest
import yaml
from synthetic import STUDIES

from collect.errors import InputError
from collect.run.arrival import Arrival, geometric_rates
from collect.run.plan import PlannedTrial, make_plan
from collect.run.study import parse_study

LOAD = yaml.safe_load((STUDIES / "load.yml").read_text())


def study(**changes):
    content = {**LOAD, "profiles": {"paper": {}}, **changes}
    given = {key: value for key, value in content.items() if value is not None}
    return parse_study(yaml.safe_dump(given, sort_keys=False), "x.yml")


def message_of(**changes):
    with pytest.raises(InputError) as caught:
        study(**changes).profile("paper", 5)
    return str(caught.value)


def rates(**changes):
    profile = study(**changes).profile("paper", 5)
    return sorted({profile.settings(cell).arrival.rate for cell in profile.cells()})


def test_from_to_and_steps_make_a_geometric_factor():
    profile = study().profile("paper", 5)
    assert profile.grids[0]["rate"] == (25, 50, 100, 200, 400)
    assert {cell["rate"] for cell in profile.cells()} == {25, 50, 100, 200, 400}
    assert geometric_rates({"from": 10, "to": 5000, "steps": 9}) == [
        *(10, 21.7, 47.3, 103, 224),
        *(486, 1060, 2300, 5000),
    ]


def test_a_rate_is_a_number_or_the_name_of_a_factor():
    assert rates(arrival={"rate": 7.5}, capacity=None) == [7.5]
    factors = {**LOAD["factors"], "load": [10, 20]}
    assert rates(factors=factors, arrival={"rate": "load"}) == [10, 20]


def test_spacing_and_lead_have_defaults():
    profile = study(arrival={"rate": 7}, capacity=None).profile("paper", 5)
    arrival = profile.settings(profile.cells()[0]).arrival
    assert arrival == Arrival(7, "poisson", 2)


def test_a_profile_may_close_the_loop():
    closed = {"paper": {"arrival": "none"}}
    profile = study(profiles=closed, capacity=None).profile("paper", 5)
    assert profile.settings(profile.cells()[0]).arrival is None
    assert "rate" not in profile.grids[0]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"arrival": {"rate": 0}}, "arrival.rate: 0 is less than or equal to the minimum of 0"),
        ({"arrival": {"rate": -5}}, "arrival.rate: -5 is less than or equal to the minimum of 0"),
        ({"arrival": {"rate": "fast"}}, "arrival.rate is 'fast', which is not a factor"),
        ({"arrival": {"rate": 5, "spacing": "odd"}}, "arrival.spacing: 'odd' is not one of"),
        ({"arrival": {"rate": 5, "lead_s": 0.1}}, "arrival.lead_s: 0.1 is less than the minimum"),
        ({"arrival": {}}, "rate is missing in arrival; add it"),
        (
            {"arrival": {"rate": {"from": 50, "to": 10, "steps": 3}}},
            "arrival.rate goes from 50 to 10; write the lower rate first",
        ),
        (
            {"arrival": {"rate": {"from": 10, "to": 10.1, "steps": 90}}},
            "arrival.rate has steps so close that two rates become one",
        ),
        (
            {"factors": {**LOAD["factors"], "rate": [1]}},
            "which make the factor rate, but the study has that factor already; write `rate: rate`",
        ),
        (
            {"factors": {**LOAD["factors"], "rate": [10, "many"]}, "arrival": {"rate": "rate"}},
            "factors.rate has the level 'many', which is not a rate; write numbers of calls",
        ),
        (
            {"factors": {**LOAD["factors"], "rate": [10, 0]}, "arrival": {"rate": "rate"}},
            "factors.rate has the level 0, which is not a rate",
        ),
        (
            {"arrival": {"rate": 50}},
            "capacity is read off the levels of a rate, but arrival.rate is",
        ),
        (
            {"arrival": None},
            "capacity needs an open loop, but the profile paper has no arrival",
        ),
        ({"capacity": {"achieved": 0.9}}, "p99_ms is missing in capacity"),
        ({"capacity": {"p99_ms": 0}}, "capacity.p99_ms: 0 is less than or equal to"),
        (
            {"calls": 10_000},
            "80000 calls at 25 a second take 3202 s for soap, 1, 500, 25, but timeout_s = 180"
            " leaves",
        ),
        (
            {"factors": {**LOAD["factors"], "response_p99_ms": [1]}},
            "factors.response_p99_ms has the name of a column of cells.csv",
        ),
    ],
)
def test_what_is_no_arrival_is_refused_by_its_place(changes, part):
    assert part in message_of(**changes)


def test_a_plan_states_the_arrival_and_reads_it_back():
    plan = make_plan(study().profile("paper", 5), capture=True)
    first = next(trial for trial in plan if trial.counts)
    line = json.loads(first.line())
    assert line["arrival"] == {
        "lead_s": 2,
        "rate": first.factors["rate"],
        "spacing": "poisson",
    }
    assert PlannedTrial.parse(first.line()) == first
    captured = next(trial for trial in plan if trial.captured)
    assert "arrival" not in json.loads(captured.line())


def test_the_shortest_lead_of_a_study_is_read_from_its_plan():
    shortest = {"rate": 5, "spacing": "even", "lead_s": 0.5}
    assert Arrival.parse(shortest) == Arrival(5, "even", 0.5)


def test_a_closed_loop_has_the_plan_that_it_always_had():
    plan = make_plan(parse_study((STUDIES / "sort.yml").read_text(), "sort.yml").profile("demo", 5))
    assert all("arrival" not in json.loads(trial.line()) for trial in plan)


@pytest.mark.parametrize(
    "arrival",
    [
        5,
        {"rate": 5},
        {"rate": 0, "spacing": "even", "lead_s": 2},
        {"rate": True, "spacing": "even", "lead_s": 2},
        {"rate": 5, "spacing": "odd", "lead_s": 2},
        {"rate": 5, "spacing": "even", "lead_s": 0.1},
    ],
)
def test_a_line_with_another_arrival_is_refused(arrival):
    plan = make_plan(study().profile("paper", 5))
    line = json.dumps({**json.loads(plan[0].line()), "arrival": arrival}).encode()
    with pytest.raises(ValueError, match="has the arrival"):
        PlannedTrial.parse(line)
