"""Random kills at random moments, long form: `pytest tests/faults --long`."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

import pytest
from faults import kill_unit
from interrupted import InterruptedRun
from labs import RUNNER, Lab, Say
from services import BROKER, SORT_WORKER, TOMCAT

KILLS = int(os.environ.get("RACKBENCH_KILLS", "100"))
PROFILE = "interrupted-long"
SEED = int(os.environ.get("RACKBENCH_SEED", time.time()))

VICTIMS: dict[str, Callable[[InterruptedRun], None]] = {
    "playbook": InterruptedRun.kill,
    "runner": lambda sweep: kill_unit(sweep.lab, "client1", RUNNER),
    "trial": lambda sweep: (
        sweep.lab.ssh("client1", f"sudo kill -9 {sweep.trial_pid()}", check=False) and None
    ),
    "Tomcat": lambda sweep: kill_unit(sweep.lab, "worker1", TOMCAT),
    "worker": lambda sweep: kill_unit(sweep.lab, "worker2", SORT_WORKER),
    "broker": lambda sweep: kill_unit(sweep.lab, "broker1", BROKER),
}


@pytest.mark.long
@pytest.mark.journal(RUNNER, "client1")
def test_nothing_sealed_is_lost_by_kills_at_random(lab: Lab, say: Say) -> None:
    say(f"{KILLS} kills from seed {SEED}; again with RACKBENCH_SEED={SEED}")
    draw = random.Random(SEED)  # noqa: S311 - moments, not secrets
    run = 0
    sweep = InterruptedRun(lab, f"kills-{run}", PROFILE)
    try:
        for kill in range(1, KILLS + 1):
            if sweep.sealed and sweep.sealed > len(sweep.planned) - 10:
                sweep.finish()
                sweep.prove()
                run += 1
                sweep = InterruptedRun(lab, f"kills-{run}", PROFILE)
            sweep.more(draw.randint(0, 2))
            before = sweep.hashes
            sweep.go_on()
            time.sleep(draw.uniform(0, 3))
            victim = draw.choice(sorted(VICTIMS))
            VICTIMS[victim](sweep)
            sweep.more(1)
            assert before.items() <= sweep.hashes.items(), f"kill {kill}, of the {victim}"
            say(f"kill {kill} of {KILLS}: {victim}; {sweep.sealed} trials sealed in {sweep.run}")
        sweep.finish()
        sweep.prove()
    finally:
        sweep.stop()
