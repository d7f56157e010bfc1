import gzip
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import TWELVE_CELLS, edit_json, seal

from collect.run.plan import make_plan
from collect.run.recorded import WarmedUp
from collect.run.study import parse_study
from collect.run.trials import (
    TrialError,
    calls_path,
    proven_calls,
    read_trial,
    verify_seal,
    verify_trial,
)
from collect.run.warmup import Warmup

PLANNED, OTHER = make_plan(parse_study(TWELVE_CELLS, "studies/test.yml").profile("demo", 5))[:2]
TIMES = [float(n) for n in range(1, PLANNED.calls + 1)]


@pytest.fixture
def sealed(tmp_path):
    return seal(tmp_path, PLANNED, TIMES)


def edit(directory, **changes):
    edit_json(directory / "trial.json", **changes)


def refusal(directory, planned=PLANNED):
    with pytest.raises(TrialError) as caught:
        verify_trial(directory, planned)
    return str(caught.value)


def test_a_sealed_trial_is_read(sealed):
    trial = verify_trial(sealed, PLANNED)
    assert (trial.id, trial.block, trial.outcome) == (PLANNED.id, PLANNED.block, "ok")
    assert trial.calls_rows == PLANNED.warmup_rows[0] + PLANNED.calls
    assert trial.seconds == 1.5


def test_a_compressed_log_is_proven_by_its_uncompressed_bytes(sealed):
    plain = sealed / "calls.csv"
    (sealed / "calls.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert calls_path(sealed).name == "calls.csv.gz"
    assert verify_trial(sealed, PLANNED).calls_rows == PLANNED.warmup_rows[0] + PLANNED.calls
    (sealed / "calls.csv.gz").write_bytes((sealed / "calls.csv.gz").read_bytes()[:-20])
    assert "cannot be read" in refusal(sealed)


def test_a_torn_log_is_refused(sealed):
    path = sealed / "calls.csv"
    path.write_bytes(path.read_bytes()[:-7])
    assert "ends in the middle of a line" in refusal(sealed)


def test_a_log_with_fewer_rows_is_refused(sealed):
    path = sealed / "calls.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert "has 12 rows, but trial.json says 13" in refusal(sealed)


def test_an_edited_log_is_refused(sealed):
    path = sealed / "calls.csv"
    path.write_bytes(path.read_bytes().replace(b"1000000,", b"1000001,", 1))
    assert "changed after sealing" in refusal(sealed)


@given(place=st.integers(0, 10_000), bit=st.integers(0, 7))
@settings(max_examples=50)
def test_any_flipped_bit_is_refused(tmp_path_factory, place, bit):
    directory = seal(tmp_path_factory.mktemp("trials"), PLANNED, TIMES)
    path = directory / "calls.csv"
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << bit
    path.write_bytes(content)
    assert refusal(directory).startswith(PLANNED.id)


@given(content=st.binary(max_size=200))
@settings(max_examples=50)
def test_any_other_trial_json_is_refused_without_a_traceback(tmp_path_factory, content):
    directory = seal(tmp_path_factory.mktemp("trials"), PLANNED, TIMES)
    (directory / "trial.json").write_bytes(content)
    assert "trial.json cannot be used" in refusal(directory)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"schema": 3}, "schema 3, but this version reads schema 1 to 2"),
        ({"outcome": "fine"}, "unknown outcome 'fine'"),
        ({"calls_rows": "13"}, 'calls_rows is "13"'),
        ({"calls_rows": True}, "calls_rows is true"),
        ({"started_at": "yesterday"}, "yesterday"),
        ({"started_at": "2026-03-01T22:00:00"}, "started_at has no time zone"),
        ({"factors": ["soap"]}, "factors is"),
        ({"seed": 1}, "seed is 1 in trial.json"),
        ({"shift": 1}, "shift is 1 in trial.json"),
        ({"client": "other"}, 'client is "other" in trial.json'),
        ({"node": {"link_mbit": 10}}, 'node is {"link_mbit": 10} in trial.json'),
        ({"position": 99}, "position is 99 in trial.json"),
        ({"block": 99}, "block is 99 in trial.json"),
        ({"constants": {}}, "constants is {} in trial.json"),
        ({"id": OTHER.id}, f"belongs to the trial {OTHER.id}"),
    ],
)
def test_a_seal_that_does_not_fit_is_refused(sealed, changes, part):
    edit(sealed, **changes)
    assert part in refusal(sealed)


def test_a_trial_of_another_plan_is_refused(tmp_path):
    assert "in the plan" in refusal(seal(tmp_path, OTHER, TIMES))


def test_an_ok_trial_that_lost_calls_is_refused(tmp_path):
    assert "calls are lost" in refusal(seal(tmp_path, PLANNED, TIMES[:-2]))


def test_a_directory_without_a_seal_is_refused(sealed):
    (sealed / "trial.json").unlink()
    assert "is not sealed" in refusal(sealed)


def test_a_missing_log_is_refused(sealed):
    (sealed / "calls.csv").unlink()
    assert "has no calls.csv" in refusal(sealed)


def test_another_header_is_refused(tmp_path):
    directory = seal(tmp_path, PLANNED, TIMES)
    path = directory / "calls.csv"
    path.write_text(path.read_text().replace("elapsed_ns", "elapsed_us"))
    assert "header of schema 1" in refusal(directory)


def test_a_seal_is_verified_without_its_log(sealed):
    (sealed / "calls.csv").unlink()
    assert verify_seal(sealed, PLANNED) == read_trial(sealed)


@pytest.mark.parametrize("is_packed", [False, True])
def test_proven_calls_are_the_bytes_of_the_log(sealed, is_packed):
    path = sealed / "calls.csv"
    content = path.read_bytes()
    if is_packed:
        path.with_name("calls.csv.gz").write_bytes(gzip.compress(content))
        path.unlink()
    assert proven_calls(read_trial(sealed).seal) == content


def test_calls_of_the_cooldown_are_told_in_the_seal_and_are_no_more_than_the_measured(tmp_path):
    extra = [0.1] * PLANNED.calls
    whole = seal(tmp_path / "whole", PLANNED, TIMES, cooldown_ms=extra)
    trial = verify_trial(whole, PLANNED)
    assert (trial.calls_rows, trial.cooldown_rows) == (PLANNED.rows + len(extra), len(extra))
    many = seal(tmp_path / "many", PLANNED, TIMES, cooldown_ms=[0.1, *extra])
    assert "calls are lost" in refusal(many)
    edit(whole, cooldown={"calls": 90, "rows": len(extra) - 1})
    assert "calls are lost" in refusal(whole)


def test_a_warmup_that_the_calls_ended_has_the_number_of_its_seal(tmp_path):
    planned = replace(PLANNED, warmup=Warmup(2, 50, 0.05))
    recorded = {"calls": 2, "rows": 2 * planned.threads, "steady": True}
    sealed = seal(tmp_path, planned, TIMES, warmup=recorded)
    assert verify_trial(sealed, planned).warmup == WarmedUp(**recorded)
    edit(sealed, warmup={**recorded, "rows": 3})
    assert "but the plan says 10 to 58; calls are lost" in refusal(sealed, planned)
    edit(sealed, warmup=None)
    assert "calls are lost" in refusal(sealed, planned)


@pytest.mark.parametrize(
    "warmup", [4, Warmup(2, 4, 0.05), Warmup(2, 4, 0.05, 1.5)], ids=["fixed", "rule", "seconds"]
)
def test_calls_that_warm_threads_made_are_told_in_the_seal_and_bounded(tmp_path, warmup):
    planned = replace(PLANNED, warmup=warmup, threads=2, calls=4)
    times, most = TIMES[:8], 2 * 4 + 2 * 64

    def sealed(name, lead, **recorded):
        rows = planned.warmup_rows[0] + lead
        told = {"calls": 4, "rows": rows, "steady": None, "lead_calls": lead, **recorded}
        return seal(tmp_path / name, planned, times, lead_ms=[0.1] * lead, warmup=told)

    lead = most - planned.warmup_rows[0]
    trial = verify_trial(sealed("whole", lead, lead_calls=5000), planned)
    assert (trial.warmup.rows, trial.warmup.lead_calls) == (most, 5000)
    # One more than each thread may log, more rows than calls, or rows that the seal does not tell.
    assert "calls are lost" in refusal(sealed("many", lead + 1, lead_calls=5000), planned)
    fewer = lead - planned.threads * 4
    assert "calls are lost" in refusal(sealed("more", lead, lead_calls=fewer), planned)
    assert "calls are lost" in refusal(sealed("other", lead, rows=most - 1), planned)
    # A runner of an earlier version makes no such calls.
    old = sealed("old", lead)
    edit(old, warmup={"calls": 4, "rows": most, "steady": None})
    assert "calls are lost" in refusal(old, planned)
    edit(old, warmup=None)
    assert "calls are lost" in refusal(old, planned)
