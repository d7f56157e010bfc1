"""The arithmetic that lays our calls beside those of JMeter and Gatling."""

import struct

import gatling_log
import pytest
from aims import (
    AS_LONG,
    GATLING,
    JMETER,
    LAZY,
    OUR_CALL,
    OURS,
    SHARED,
    Load,
    compared,
    load,
    own_load,
)
from row import Ratio

MS = 1_000_000


def test_only_calls_in_the_time_that_counts_do():
    warm_up, measured = [(0, 900)], [(i, i + 20) for i in range(1000, 1100, 10)]
    found = load(warm_up + measured, 1000, 2000)
    assert found.calls_per_s == pytest.approx(10)
    assert found.mean == pytest.approx(0.020)
    assert found.p50 == pytest.approx(0.020, abs=0.0005)


def test_a_run_without_a_call_is_no_measurement():
    with pytest.raises(SystemExit, match="no call"):
        load([], 0, 1000)


def test_our_median_is_of_times_rounded_as_theirs():
    # 1.25 ms one after the other: in whole milliseconds three of four last 1 ms, one lasts 2.
    calls = [(0, i * 1_250_000, 1_250_000, True) for i in range(400)]
    ours = own_load(calls)
    theirs = load([(s // MS, (s + took) // MS) for _, s, took, _ in calls], 0, 500)
    assert ours.p50 == theirs.p50 != 0.00125
    assert ours.mean == theirs.mean == pytest.approx(0.00125)
    assert ours.calls_per_s == pytest.approx(800)


def test_only_the_time_in_which_all_threads_call_counts():
    fast = [(0, i * MS, MS, True) for i in range(10)]
    slow = [(1, i * 4 * MS, 4 * MS, True) for i in range(10)]
    assert own_load(fast + slow).calls_per_s == pytest.approx(12.5 / 0.010)


@pytest.mark.parametrize("apart_ms", [0, 1, 2, 3])
def test_threads_in_step_are_counted_alike_wherever_the_time_that_counts_begins(apart_ms):
    # 4 ms each without a pause; the measured ones begin at 40 ms, in the other thread later.
    calls = [(0, i * 4 * MS, 4 * MS, i >= 10) for i in range(20)]
    calls += [(1, (apart_ms + i * 4) * MS, 4 * MS, i >= 10) for i in range(20)]
    ours = own_load(calls)
    assert ours.calls_per_s == pytest.approx(2 / 0.004)
    assert ours.mean == pytest.approx(0.004)
    theirs = [(s // MS, (s + took) // MS) for _, s, took, _ in calls]
    assert load(theirs, 40, 60 + apart_ms).calls_per_s == pytest.approx(2 / 0.004)


EVEN = Load(100, 0.010, 0.010)
AT = "100 Mbit/s, 1 thread"


def rows(**others: Load) -> dict[str, str]:
    """Targets by what and rival; all are as fast as EVEN but the tools named, over JMS."""
    names = {"jmeter": JMETER, "our_call": OUR_CALL, "gatling": GATLING, "shared": SHARED}
    runs = {(name, "jms", 1): [others.get(key, EVEN)] for key, name in names.items()}
    runs |= {(OUR_CALL, "soap", 1): [EVEN], (JMETER, "text", 1): [EVEN]}
    runs |= {(OURS, kind, 1): [EVEN] for kind in ("jms", LAZY, "soap", "text")}
    return {f"{row.what}, {row.yardstick}": row.target for row in compared(runs, 100, 1)}


def test_both_aims_stand_beside_the_rival_that_makes_most_calls_and_those_that_do_the_same():
    targets = rows(jmeter=Load(90, 0.005, 0.011), gatling=Load(120, 0.008, 0.008))
    assert targets[f"JMS request and reply, {AT}: rate, Gatling"] == ">= 1: missed"
    assert targets[f"JMS request and reply, {AT}: rate, JMeter"] == ""
    assert "missed" in targets[f"JMS request and reply, {AT}: p50 in whole ms, Gatling"]
    assert targets[f"JMS request and reply, {AT}: p50 in whole ms, JMeter"] == ""
    for what, rival, verdict in (
        ("JMS request and reply", OUR_CALL, "met"),
        ("JMS request and reply, acknowledged some at a time", GATLING, "missed"),
        ("SOAP call", OUR_CALL, "met"),
        ("its envelope, a ready text", JMETER, "met"),
    ):
        assert targets[f"{what}, {AT}: rate, {rival}"] == f">= 1: {verdict}"
        p50 = f"{what}, {AT}: p50 in whole ms, {rival}"
        assert targets[p50] == f"0.85 to 1.15: {verdict}"


def test_no_aim_stands_beside_users_that_share_a_connection():
    targets = rows(shared=Load(200, 0.005, 0.005))
    assert targets[f"JMS request and reply, {AT}: rate, Gatling, one connection"] == ""
    assert ">= 1: met" in targets.values()


@pytest.mark.parametrize(
    ("low", "mean", "high", "verdict"),
    [
        (0.9, 1.0, 1.1, "met"),
        (0.8, 1.0, 1.1, "likely met"),
        (0.7, 0.8, 0.9, "likely missed"),
        (0.7, 0.75, 0.8, "missed"),
        (1.2, 1.3, 1.4, "missed"),
        (0.848, 0.9, 1.154, "met"),
        (0.8, 0.848, 0.854, "met"),
    ],
)
def test_an_aim_is_surely_met_or_missed_where_the_whole_interval_says_so(low, mean, high, verdict):
    assert AS_LONG.of(Ratio(mean, low, high)) == f"0.85 to 1.15: {verdict}"


def test_the_ratio_of_protocols_is_compared_with_jmeters():
    by_the_same_calls = f"time over JMS / time over SOAP, {AT}: p50, JMeter, our call"
    by_its_own = f"time over JMS / time over HTTP with a ready text, {AT}: mean, JMeter"
    near, far = Load(100, 0.0105, 0.0105), Load(100, 0.0125, 0.0125)
    assert rows(our_call=near)[by_the_same_calls].endswith("met")
    assert rows(our_call=far)[by_the_same_calls].endswith("missed")
    assert rows(jmeter=far)[by_its_own].endswith("missed")
    whole = f"time over JMS / time over SOAP, {AT}: threads / rate, JMeter, our call"
    assert rows(our_call=far)[whole].endswith("met"), "its threads wait between calls"
    assert rows(our_call=Load(80, 0.010, 0.010))[whole].endswith("missed")


def text(words: str) -> bytes:
    return struct.pack(">i", len(words)) + words.encode() + b"\0" if words else b"\0\0\0\0"


def request(name: bytes, start: int, end: int, *, is_ok: bool, message: bytes) -> bytes:
    return b"\1" + struct.pack(">i", 0) + name + struct.pack(">ii?", start, end, is_ok) + message


RUN = b"\0" + text("3.15.1") + text("Simulation") + struct.pack(">q", 1) + text("")
SCENARIOS = struct.pack(">i", 1) + text("users") + struct.pack(">i", 0)
USER = b"\2" + struct.pack(">i?i", 0, True, 1)


def test_a_text_of_gatlings_log_is_written_once():
    one, two = struct.pack(">i", 1), struct.pack(">i", 2)
    first = request(one + text("request"), 5, 9, is_ok=True, message=two + text(""))
    second = request(one, 9, 20, is_ok=False, message=struct.pack(">i", 3) + text("late"))
    found = list(gatling_log.requests(RUN + SCENARIOS + USER + first + second))
    assert found == [gatling_log.Request(5, 9, True), gatling_log.Request(9, 20, False)]


def test_what_is_no_log_of_gatling_is_refused():
    with pytest.raises(ValueError, match="run"):
        list(gatling_log.requests(b"RUN\tolder"))
    with pytest.raises(ValueError, match="kind 9"):
        list(gatling_log.requests(RUN + SCENARIOS + b"\x09"))
