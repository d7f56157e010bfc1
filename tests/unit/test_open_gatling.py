"""The rows that lay our open loop beside Gatling's open model."""

import json

import pytest
from by_hand import Trial
from open_gatling import due_and_done, rows_of, sent

HEADER = "seq,thread,phase,intended_ns,start_ns,elapsed_ns,request_bytes,response_bytes,status\n"


def trial(*rows):
    text = "".join(f"{seq},0,{row}\n" for seq, row in enumerate(rows))
    return Trial(json.loads('{"id": "t", "outcome": "ok", "reason": ""}'), (HEADER + text).encode())


def test_our_times_count_from_when_a_call_was_due_in_whole_milliseconds():
    calls = due_and_done(
        trial(
            "warmup,,1,1,0,0,ok",
            "measure,1000000,3900000,1000000,0,0,ok",
            "measure,2000000,2000000,1000000,0,0,error",
            "measure,11000000,11000000,400000,0,0,ok",
        )
    )
    assert calls == [(1, 4), (11, 11)]
    found = sent(calls)
    assert found.calls_per_s == pytest.approx(2 / 0.010)
    assert (found.mean, found.p99) == pytest.approx((0.0015, 0.003))


def test_a_trial_without_a_good_call_ends_the_bench():
    with pytest.raises(SystemExit, match="t ok"):
        due_and_done(trial("measure,0,0,1,0,0,error"))


def test_times_below_a_millisecond_have_no_ratio():
    ours, theirs = sent([(0, 1), (5, 7)]), sent([(0, 0), (6, 8)])
    rate, mean, p50, p99 = rows_of("open", [ours, ours], [theirs, theirs])
    assert rate.paired.mean == pytest.approx(8 / 7)
    assert mean.paired.mean == pytest.approx(1.5)
    assert p50.paired.mean == pytest.approx(1)
    low = sent([(0, 0), (4, 4), (6, 7)])
    assert rows_of("open", [ours], [low])[2].paired is None
    assert p99.yardstick == "Gatling"
