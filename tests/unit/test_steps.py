"""The steps of a long command."""

from collect.steps import Step, run


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
