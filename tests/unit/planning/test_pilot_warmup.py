"""What a pilot says of the costs of a trial that warms up for a number of seconds."""

from dataclasses import replace

import pytest
from synthetic import TWELVE_CELLS

from collect.planning.pilot import PilotCell
from collect.run.plan import make_plan
from collect.run.study import parse_study
from collect.run.warmup import Warmup

PLANNED = make_plan(parse_study(TWELVE_CELLS, "x").profile("demo", 5))[0]


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
    pilot = PilotCell(
        planned=PLANNED,
        mean_ms=2.0,
        logs={},
        calls=8,
        call_variance=0.1,
        shared=0,
        fork_s=1.0,
        warmup_calls=40,
    )
    planned = replace(PLANNED, warmup=warmup)
    assert pilot.fork_s_of(planned) == pytest.approx(1.0 + (calls - 40) * 0.002)
