"""Random kills at random moments, long form: `pytest tests/faults --long`."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

import pytest
from faults import kill_unit
from labs import RUNNER, Lab, Say
from night import Night
from services import BROKER, SORT_WORKER, TOMCAT

KILLS = int(os.environ.get("RACKBENCH_KILLS", "100"))
SEED = int(os.environ.get("RACKBENCH_SEED", time.time()))

VICTIMS: dict[str, Callable[[Night], None]] = {
    "playbook": Night.kill,
    "runner": lambda night: kill_unit(night.lab, "client1", RUNNER),
    "trial": lambda night: (
        night.lab.ssh("client1", f"sudo kill -9 {night.trial_pid()}", check=False) and None
    ),
    "Tomcat": lambda night: kill_unit(night.lab, "worker1", TOMCAT),
    "worker": lambda night: kill_unit(night.lab, "worker2", SORT_WORKER),
    "broker": lambda night: kill_unit(night.lab, "broker1", BROKER),
}


@pytest.mark.long
@pytest.mark.journal(RUNNER, "client1")
def test_nothing_sealed_is_lost_by_kills_at_random(lab: Lab, say: Say) -> None:
    say(f"{KILLS} kills from seed {SEED}; again with RACKBENCH_SEED={SEED}")
    draw = random.Random(SEED)  # noqa: S311 - moments, not secrets
    run = 0
    night = Night(lab, f"kills-{run}")
    try:
        for kill in range(1, KILLS + 1):
            if night.sealed and night.sealed > len(night.planned) - 10:
                night.finish()
                night.prove()
                run += 1
                night = Night(lab, f"kills-{run}")
            night.more(draw.randint(0, 2))
            before = night.hashes
            night.go_on()
            time.sleep(draw.uniform(0, 3))
            victim = draw.choice(sorted(VICTIMS))
            VICTIMS[victim](night)
            night.more(1)
            assert before.items() <= night.hashes.items(), f"kill {kill}, of the {victim}"
            say(f"kill {kill} of {KILLS}: {victim}; {night.sealed} trials sealed in {night.run}")
        night.finish()
        night.prove()
    finally:
        night.stop()
