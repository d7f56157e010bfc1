"""The steps of a long command."""

import os
import subprocess
import sys
from pathlib import Path

from collect.steps import Step, run

ROOT = Path(__file__).parents[2]


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
    assert said[-1].startswith("step 2 of 3, two: failed with exit code 7")
    assert run(steps[:1], said.append) == 0
    assert said[-1].startswith("all 1 steps done")


def test_a_step_may_block_on_its_input_whatever_was_handed_over():
    ask = "import os; raise SystemExit(not os.get_blocking(0))"
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    done = subprocess.run(
        [sys.executable, "-m", "collect.steps", "asking", "1", f"{sys.executable} -c '{ask}'"],
        cwd=ROOT,
        stdin=reading,
        capture_output=True,
        check=False,
    )
    os.close(reading)
    os.close(writing)
    assert done.returncode == 0, done.stdout
