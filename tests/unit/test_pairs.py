"""The arithmetic that lays two variants of a trial beside each other."""

import math
from dataclasses import dataclass

import pytest
from alike import renamed
from pairs import SAME, Times, alternate, compared
from row import Ratio

COLUMNS = "seq,thread,phase,start_ns,elapsed_ns,status"


@dataclass
class Sealed:
    record: dict[str, object]
    calls: bytes


def sealed(*measured_ns: int, outcome: str = "ok", status: str = "ok") -> Sealed:
    lines = [COLUMNS, f"0,0,warmup,0,{10**12},ok"]
    lines += [f"{i},0,measure,{i},{ns},{status}" for i, ns in enumerate(measured_ns)]
    record = {"id": "b01-t001", "outcome": outcome, "reason": "no such worker"}
    return Sealed(record, "\n".join(lines).encode())


def test_the_times_of_a_trial_are_those_of_its_measured_calls():
    found = Times.of(sealed(1_000_000, 2_000_000, 9_000_000))
    assert (found.p50, found.mean) == pytest.approx((0.002, 0.004))


@pytest.mark.parametrize(
    "trial",
    [sealed(1000, outcome="failed"), sealed(1000, status="timeout"), sealed()],
    ids=["failed", "a call failed", "no call"],
)
def test_a_trial_that_failed_ends_the_bench_and_is_in_no_ratio(trial):
    with pytest.raises(SystemExit, match=r"b01-t001 .*no such worker"):
        Times.of(trial)


def test_each_round_begins_with_what_the_round_before_ended_with():
    order = []

    def variant(name):
        return lambda number: order.append((name, number)) or Times(1, 1)

    found = alternate({name: variant(name) for name in "AB"}, rounds=4)
    assert "".join(name for name, _ in order) == "ABBAABBA"
    assert [number for _, number in order] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [len(times) for times in found.values()] == [4, 4]


def test_a_machine_that_slows_down_changes_no_ratio_and_widens_no_interval():
    pace = [1.0, 7.0, 2.0, 30.0]
    rounds = {
        "B": [Times(p50=1.1 * slow, mean=2.2 * slow) for slow in pace],
        "A": [Times(p50=slow, mean=2 * slow) for slow in pace],
    }
    p50, mean = compared("calls", rounds, "B", "A", SAME)
    for row in (p50, mean):
        assert (row.paired.low, row.paired.mean, row.paired.high) == pytest.approx((1.1,) * 3)
        assert row.target == "0.98 to 1.02: missed"
    assert p50.what == "calls: p50, B" and p50.yardstick == "A"
    assert (p50.value, mean.value) == pytest.approx((4.5 * 1.1, 9 * 1.1))
    assert "| 1.100 (1.100 to 1.100) |" in p50.line()


def test_the_interval_is_over_rounds_on_logarithms():
    ratios = [1.02, 0.99, 1.01, 1.0]
    rounds = {"B": [Times(r, r) for r in ratios], "A": [Times(1, 1)] * 4}
    found = compared("calls", rounds, "B", "A")[0].paired
    logs = [math.log(r) for r in ratios]
    middle = sum(logs) / 4
    spread = math.sqrt(sum((one - middle) ** 2 for one in logs) / 3)
    half = 3.182446 * spread / 2  # Student's t at three degrees of freedom
    assert (math.log(found.low), math.log(found.high)) == pytest.approx(
        (middle - half, middle + half)
    )


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (Ratio(1.0, 0.99, 1.01), "met"),
        (Ratio(1.019, 1.015, 1.0204), "met"),
        (Ratio(1.015, 1.005, 1.025), "likely met"),
        (Ratio(1.024, 1.021, 1.027), "missed"),
    ],
)
def test_the_aim_of_the_observers_is_judged_in_thousandths(ratio, verdict):
    assert SAME.of(ratio) == f"0.98 to 1.02: {verdict}"


def test_a_queue_is_found_by_the_name_that_clients_look_up():
    store = "hello.v1/ClassName=Queue\nhello.v10/ClassName=Queue\nfactory/ClassName=Factory\n"
    found = renamed(store, {"hello.w1": "hello.v1"}).splitlines()
    assert "hello.w1/ClassName=Queue" in found
    assert len(found) == 4
