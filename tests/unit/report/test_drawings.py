"""What stands where in the drawings of the page."""

import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import numpy as np
import pytest
from made_up_studies import changed
from synthetic import edit_json, make_run, sort_times

from collect.cells.analysis import analyse
from collect.cells.notation import show_level
from collect.replication.claims import Bound, Claim, judge
from collect.replication.evidence import Published, Untested
from collect.replication.replicate import JudgedClaim
from collect.report.drawings.axis import Axis
from collect.report.drawings.claims import rows_of
from collect.report.drawings.distributions import settings_of
from collect.report.drawings.sequence import Sequenced
from collect.report.templates import page_templates
from collect.run.directory import open_run
from collect.stats.estimates import Estimate


def judged(statistic, bound, measured, printed=(), bounds=MappingProxyType({})):
    """A claim with these numbers, in the run and in the paper."""
    sides = [
        judge(
            Claim("It is so.", "section 1", statistic, bound, lambda _, numbers=numbers: numbers),
            Published({}),
        )
        for numbers in (printed, measured)
    ]
    claim = Claim("It is so.", "", statistic, bound, lambda _: (), bounds=bounds)
    return JudgedClaim(claim, *sides)


def test_a_number_with_a_bound_of_its_own_has_a_band_of_its_own():
    numbers = [(label, Estimate(1.1, 1, 1.2)) for label in "abc"]
    (row,) = rows_of([judged("a / b", Bound(1, 1.25), numbers, bounds={"b": Bound(high=0.5)})])
    place = row.axis.place
    usual = (1, place(1), place(1.25))
    assert row.bands == [usual, (1, 0, place(0.5)), usual]
    assert place(0.5) > 0


def test_an_axis_of_ratios_has_twice_and_half_equally_far_from_one():
    axis = Axis.over([0.25, 4], is_log=True)
    assert axis.place(2) - axis.place(1) == pytest.approx(axis.place(1) - axis.place(0.5))
    assert 0 < axis.place(0.25) < axis.place(4) < 100
    assert (axis.place(-math.inf), axis.place(0), axis.place(math.inf)) == (0, 0, 100)


@pytest.mark.parametrize("is_log", [True, False])
@pytest.mark.parametrize("ends", [(1, 1), (0.9, 1.1), (3, 40), (1e-3, 2e7), (300, 320)])
def test_an_axis_has_a_few_ticks_that_lie_on_it(ends, is_log):
    axis = Axis.over(ends, is_log=is_log)
    assert 2 <= len(axis.ticks) <= 7
    assert all(axis.holds(tick) for tick in axis.ticks)


def test_ratios_share_an_axis_on_which_their_bounds_numbers_and_one_stand():
    first, second, share = rows_of(
        [
            judged(
                "a / b", Bound(2, 4), [("x", Estimate(3, 2.5, 3.5))], [("x", Estimate(8, 8, 8))]
            ),
            judged("c / d", Bound(low=1), [("y", Estimate(0.5, 0.4, 0.6))]),
            judged("share", Bound(0.9), [("z", Estimate(0.5, 0.4, 0.6))]),
        ]
    )
    assert first.axis == second.axis != share.axis
    assert first.axis.is_log
    assert all(first.axis.holds(value) for value in (0.4, 1, 2, 4, 8))
    assert first.bands == [(1, first.axis.place(2), first.axis.place(4))]
    assert second.bands == [(1, second.axis.place(1), 100)]
    assert first.lines[0].printed.value == 8
    assert "Measured: 3.00 [2.50, 3.50]" in first.in_words


def test_an_interval_of_one_trial_too_many_does_not_flatten_all_others():
    (row,) = rows_of([judged("a / b", Bound(1, 2), [("x", Estimate(1.5, 1e-9, 1e9))])])
    assert row.axis.place(2) - row.axis.place(1) > 30


def test_a_claim_without_a_number_says_why_in_its_row():
    (row,) = rows_of([judged("share", Bound(0.9), [("x", Untested("soap: not run"))])])
    assert row.axis is None
    assert row.found == "soap: not run"


def test_of_several_numbers_the_row_says_how_many_hold():
    numbers = [("x", Estimate(3, 2.5, 3.5)), ("y", Estimate(3, 2, 5)), ("z", Untested("gone"))]
    (row,) = rows_of([judged("a / b", Bound(2, 4), numbers, [("y", Estimate(9, 9, 9))])])
    assert row.found == "1 holds, 1 inconclusive, 1 not tested"
    assert [(line.label, bool(line.printed)) for line in row.lines] == [
        ("x", False),
        ("y", True),
        ("z", False),
    ]


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    directory = tmp_path_factory.mktemp("drawn")
    make_run(directory, sort_times)
    return analyse(open_run(str(directory))).cells


def corners(path):
    """The points of a path that moves, then goes right and up alone."""
    x, y = 0, 0
    for command, numbers in re.findall(r"([Mhv])([-\d ]+)", path):
        values = [int(number) for number in numbers.split()]
        if command == "M":
            x, y = values
        else:
            assert values[0] * (1 if command == "h" else -1) > 0
            x, y = (x + values[0], y) if command == "h" else (x, y + values[0])
        yield x, y


def test_systems_stand_side_by_side_on_one_axis(cells):
    settings = settings_of(cells, "transport", {"soap": "SOAP", "jms": "JMS"})
    assert len(settings) == 6
    for setting in settings:
        assert [one.system for one in setting.cells] == ["SOAP", "JMS"]
        assert {one.axis for one in setting.cells} == {setting.axis}
        (name,) = {one.cell.cell.without("transport") for one in setting.cells}
        assert setting.name == f"servers {name['servers']}, integers {show_level(name['integers'])}"


def test_a_curve_rises_from_no_call_to_all_of_them(cells):
    (one, *_) = settings_of(cells, "transport", {})[0].cells
    *_, (x, y) = corners(one.pooled)
    slowest = max(trial.spread_ms[-1] for trial in one.cell.counted)
    assert (x, y) == (round(one.axis.place(slowest) * 4), 0)
    half = max(y for x, y in corners(one.pooled) if x > one.axis.place(one.percentiles[0][1]) * 4)
    assert half <= 50
    assert [name for name, _, _ in one.percentiles] == ["p50"]  # 24 calls are too few for p99


def test_a_curve_of_few_calls_has_no_percentile_as_its_table_has_none(cells):
    few = replace(cells[0], pooled=replace(cells[0].pooled, p50=None))
    (setting,) = settings_of([few], "transport", {})
    assert setting.cells[0].percentiles == []
    template = page_templates(is_markup=True).get_template("drawings.html.j2")
    page = str(template.module.distributions([setting]))
    assert f"<p>{few.calls} calls: no p50" in page
    assert re.search(r'aria-label="Distribution of [^"]* trials"', page)


def test_a_night_of_many_trials_does_not_fill_the_page(cells):
    trial = replace(cells[0].counted[0], spread_ms=np.geomspace(1, 50, 200))
    many = replace(cells[0], trials=(trial,) * 400)
    (setting,) = settings_of([many] * 100, "transport", {})[:1]
    (one, *_) = setting.cells
    assert len(one.drawn) < 10
    assert len(one.trials) < 5000


def test_without_a_module_each_cell_stands_alone(cells):
    assert len(settings_of(cells, None, {})) == len(cells)


def test_the_run_is_drawn_over_the_clock_with_its_blocks_starts_and_disturbances(run_of):
    run = run_of(study=changed(profiles={"demo": {"replicates": 2, "restart": "block"}}))
    edit_json(
        run.trials_directory / run.plan[4].id / "trial.json",
        interference={"client": {"load1": [9.0, 9.0], "cores": 2}},
    )
    drawn = Sequenced(analyse(run).cells, "transport", {"soap": "SOAP", "jms": "JMS"})
    assert [strip.name for strip in drawn.strips] == ["JMS", "SOAP"]
    assert sum(strip.dots.count("M") for strip in drawn.strips) == len(run.plan)
    first, second = drawn.blocks
    assert (first.number, second.number) == (1, 2)
    assert 0 == first.start < first.end < second.start < second.end == 100
    assert all(first.end < start.at < second.end for start in drawn.starts)
    assert {
        name for start in drawn.starts for name in re.findall(r"[\w-]+(?= on)", start.text)
    } == {
        "tomcat",
        "broker",
        "sort-worker",
    }
    (disturbed,) = [mark for strip in drawn.strips for mark in strip.disturbed]
    assert disturbed.text.startswith(run.plan[4].id)
    assert "load 9" in disturbed.text
    assert drawn.disturbed == 1
    assert all(0 <= place <= 100 for place, _ in drawn.ticks)


def test_a_slower_half_of_the_night_lies_above_the_line(run_of):
    def times(planned, rng):
        return [2.0 if planned.block == 2 else 1.0] * planned.calls

    run = run_of(times, study=changed(profiles={"demo": {"replicates": 2}}))
    drawn = Sequenced(analyse(run).cells, None, {})
    (strip,) = drawn.strips
    (one,) = [y for value, y in drawn.levels if value == 1]
    dots = [tuple(map(int, dot)) for dot in re.findall(r"M(\d+) (\d+)h0", strip.dots)]
    middle = 10 * drawn.blocks[1].start
    assert all((y < one) == (x >= round(middle)) for x, y in dots)


def test_one_trial_has_no_order(run_of):
    assert Sequenced(analyse(run_of(until=1)).cells, None, {}).is_empty
    assert Sequenced(analyse(run_of(until=0, name="none")).cells, None, {}).is_empty


def drawn_of(cells, number, hours, blocks):
    """The order of so many trials, evenly over these hours, each with a new start of a service."""
    start = datetime(2026, 3, 1, 22, tzinfo=UTC)
    one = cells[0].counted[0]
    trials = []
    for place in range(number):
        at = start + timedelta(hours=hours * place / number)
        trial = replace(
            one.trial,
            block=1 + place * blocks // number,
            started_at=at,
            ended_at=at + timedelta(seconds=1),
            services={"tomcat on worker1": str(place)},
            readings={},
        )
        trials.append(replace(one, trial=trial))
    return Sequenced([replace(cells[0], trials=tuple(trials))], None, {})


def page_of(drawn):
    template = page_templates(is_markup=True).get_template("drawings.html.j2")
    return str(template.module.sequence(drawn))


def test_the_clock_of_several_days_has_dates(cells):
    texts = [text for _, text in drawn_of(cells, 36, 43, 1).ticks]
    assert texts == ["02 Mar", "12:00", "03 Mar", "12:00"]
    assert "02 Mar" in [text for _, text in drawn_of(cells, 36, 5, 1).ticks]


def test_marks_beyond_their_room_are_drawn_evenly_and_all_counted(cells):
    drawn = drawn_of(cells, 301, 10, 110)
    page = page_of(drawn)
    assert "in 110 blocks; 0 during a disturbance, 300 new starts of services" in page
    assert "200 of 300 new starts are drawn." in page
    places = [start.at for start in drawn.starts]
    assert (len(places), max(places)) == (200, pytest.approx(100, abs=0.5))
    assert len(re.findall(r'y="9">(?:block )?\d+<', page)) <= 12


def test_a_run_with_room_for_its_marks_tells_no_rest(cells):
    drawn = drawn_of(cells, 4, 1, 2)
    page = page_of(drawn)
    assert "are drawn" not in page
    assert re.findall(r'y="9">([^<]*)<', page) == ["block 1", "2"]
