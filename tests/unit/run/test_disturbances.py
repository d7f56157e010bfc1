"""Trials that ran beside something else, and trials that were repeated."""

from pathlib import Path

import pytest
from synthetic import make_run, seal, sort_times

from collect.cells.analysis import analyse
from collect.report.warnings import find_warnings
from collect.run.directory import open_run
from collect.run.interference import disturbances
from collect.run.plan import read_plan
from collect.run.trials import read_trial

CALM = {
    "cores": 2,
    "load1": [0.5, 2.9],
    "steal_percent": 0.4,
    "cpu_mhz": [2600, 2590],
    "temperature_c": [60.0, 71.5],
    "retransmits": 3,
    "maintenance": [],
    "discarded_bytes": 2**20,
}


@pytest.fixture
def sealed(tmp_path: Path):
    directory = tmp_path / "night"
    plan = make_run(directory, sort_times, until=0)

    def make(**record):
        return read_trial(seal(directory / "trials", plan[0], [1.0] * plan[0].calls, **record))

    return make


def texts(trial):
    return [disturbance.text for disturbance in disturbances(trial)]


def test_a_service_that_was_restarted_is_a_disturbance(sealed):
    restart = {"at": "2026-03-01T22:05:00.000000Z", "service": "tomcat on worker1"}
    trial = sealed(restarts=[restart, "no restart"])
    assert texts(trial) == [
        "tomcat on worker1 hung and was restarted before it, at 2026-03-01T22:05:00 UTC"
    ]


def test_a_calm_trial_is_not_disturbed(sealed):
    clock = {"elapsed_ns": 10**10}
    trial = sealed(interference={"client1": CALM}, gc={"count": 9, "millis": 900}, clock=clock)
    assert disturbances(trial) == []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"load1": [3.1, 0.2]}, "load 3.1 on worker2"),
        ({"steal_percent": 2.5}, "2.5 % stolen on worker2"),
        ({"steal_percent": 2.04}, "2.04 % stolen on worker2"),
        ({"cpu_mhz": [2600, 1800]}, "clock rate from 2600 to 1800 MHz on worker2"),
        ({"cpu_mhz": [1800, 2600]}, "clock rate from 1800 to 2600 MHz on worker2"),
        ({"temperature_c": [60.0, 91.0]}, "91 °C on worker2"),
        ({"retransmits": 21}, "21 segments retransmitted on worker2"),
        ({"maintenance": ["check of md0"]}, "check of md0 on worker2"),
        ({"discarded_bytes": 5 * 2**30}, "5.0 GiB trimmed on worker2"),
        ({"discarded_bytes": 1.04 * 2**30}, "1.04 GiB trimmed on worker2"),
    ],
)
def test_each_disturbance_is_named_with_its_node(sealed, change, text):
    nodes = {"client1": CALM, "worker2": {**CALM, **change}}
    assert texts(sealed(interference=nodes)) == [text]


def test_what_reaches_its_limit_is_no_disturbance(sealed):
    at_limits = {
        **{"load1": [3.0], "steal_percent": 2.0, "cpu_mhz": [2000, 2100], "retransmits": 20},
        **{"temperature_c": [60.0, 90.0], "discarded_bytes": 2**30},
    }
    assert texts(sealed(interference={"client1": CALM | at_limits})) == []


@pytest.mark.parametrize(("millis", "share"), [(1100, "11"), (1030, "10.3")])
def test_long_collections_are_named(sealed, millis, share):
    trial = sealed(gc={"count": 9, "millis": millis}, clock={"elapsed_ns": 10**10})
    assert texts(trial) == [f"{share} % in garbage collection"]


def test_collections_are_a_share_of_the_measured_phase(sealed):
    """Not of the life of the JVM, most of which may be its start and its warm-up."""
    gc = {"count": 9, "millis": 150, "measured_ns": 10**9}
    assert texts(sealed(gc=gc, clock={"elapsed_ns": 10**10})) == ["15 % in garbage collection"]


@pytest.mark.parametrize(
    "recorded", [None, [], {"client1": None}, {"client1": dict.fromkeys(CALM)}]
)
def test_what_was_not_recorded_disturbs_nobody(sealed, recorded):
    assert disturbances(sealed(interference=recorded, gc=None, clock=None)) == []


def test_the_report_lists_both(tmp_path):
    directory = tmp_path / "night"
    make_run(directory, sort_times, until=3)
    plan = read_plan(directory / "plan.jsonl")
    seal(
        directory / "trials",
        plan[3],
        [1.0] * plan[3].calls,
        attempt=2,
        earlier_attempts=[{"attempt": 1, "reason": "tomcat on worker1 ended"}],
        interference={"client1": {**CALM, "steal_percent": 7.25}},
    )
    seal(
        directory / "trials",
        plan[4],
        [1.0] * plan[4].calls,
        interference={name: {**CALM, "steal_percent": 2.5} for name in ("client1", "worker1")},
        restarts=[{"at": "2026-03-01T22:05:00.000000Z", "service": "tomcat on worker1"}],
    )
    told = {t.text: t for t in find_warnings(analyse(open_run(str(directory))))}
    beside = next(t for text, t in told.items() if "during a disturbance" in text)
    assert beside.text == (
        "2 of 5 counted trials ran during a disturbance (stolen time over 2 %: 2; a service "
        "restarted before it: 1). The results include them."
    )
    again = next(t for text, t in told.items() if "took more than one attempt" in text)
    restarted = "tomcat on worker1 hung and was restarted before it, at 2026-03-01T22:05:00 UTC"
    assert set(beside.details) == {
        f"{plan[3].id}: 7.2 % stolen on client1",
        f"{plan[4].id}: 2.5 % stolen on client1; 2.5 % stolen on worker1; {restarted}",
    }
    assert again.details == (f"{plan[3].id}: attempt 2 (tomcat on worker1 ended)",)
    assert not beside.is_grave
    assert not again.is_grave
