"""Runs of every version are read alike: what they lack is filled in once, when they are opened."""

import json
import zipfile
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trial_layout import faults, validator

from collect.run.plan import PlannedTrial
from collect.run.trials import PLANNED_KEYS, read_trial
from collect.run.upgrade import LEFT_OUT, NOT_RECORDED, lift_planned, lift_trial

ROOT = Path(__file__).parents[3]
ARCHIVES = sorted((*ROOT.glob("collect/samples/*.zip"), *ROOT.glob("docs/replication/*.zip")))
NEEDED = {
    *("schema", "id", "study", "profile", "block", "position", "attempt", "client", "factors"),
    *("constants", "node", "seed", "outcome", "reason", "started_at", "ended_at"),
    *("calls_rows", "calls_sha256"),
}
"""What the first version recorded already, and what counting relies on."""


@pytest.fixture
def record(run_of):
    """What a made-up trial seals, as today's runner does."""
    run = run_of(until=1)
    return json.loads((run.directories()[0] / "trial.json").read_text())


def of_first_version(record):
    return {**{key: value for key, value in record.items() if key in NEEDED}, "schema": 1}


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)
def test_each_trial_of_an_archive_has_todays_layout_once_it_is_lifted(archive):
    with zipfile.ZipFile(archive) as packed:
        names = [name for name in packed.namelist() if name.endswith("/trial.json")]
        records = [json.loads(packed.read(name)) for name in names]
    assert records
    assert {fault for record in records for fault in faults(lift_trial(record))} == set()


def test_the_layout_describes_every_key_and_requires_it():
    schema = validator().schema
    assert sorted(schema["required"]) == sorted(schema["properties"])
    assert {*NEEDED, *NOT_RECORDED} == set(schema["properties"])
    assert set(PLANNED_KEYS) < set(schema["properties"])


def test_what_a_trial_of_the_first_version_lacks_is_not_known(record):
    assert faults(record) == []
    lifted = lift_trial(of_first_version(record))
    assert faults(lifted) == []
    assert {key: lifted[key] for key in NOT_RECORDED} == NOT_RECORDED


def test_what_versions_added_inside_a_key_is_not_known_either(record):
    warmup, gc = {"calls": 3, "rows": 3, "steady": None}, {"count": 4, "millis": 5}
    first = of_first_version(record)
    lifted = lift_trial({**first, "warmup": warmup, "gc": gc, "restart": None})
    assert lifted["warmup"] == {**warmup, "lead_calls": None}
    assert lifted["gc"] == {**gc, "measured_ns": None}
    assert lifted["restart"] == ""
    assert faults(lifted) == []


@given(st.dictionaries(st.sampled_from(sorted(NOT_RECORDED)), st.sampled_from([7, "x", [], None])))
def test_a_value_of_another_kind_stays_for_the_reader_to_judge(foreign):
    lifted = lift_trial({"schema": 1, **foreign})
    kept = {key: value for key, value in foreign.items() if (key, value) != ("restart", None)}
    assert {key: lifted[key] for key in kept} == kept


def test_a_record_of_todays_layout_is_left_alone(record):
    assert lift_trial(record) is record


@pytest.mark.parametrize("schema", [0, 3, True, "1", None, [1]])
def test_a_layout_that_is_not_known_is_refused(schema):
    with pytest.raises(ValueError, match="this version reads schema 1 to 2"):
        lift_trial({"schema": schema})


def test_a_trial_of_the_first_version_is_read_like_one_of_today(run_of):
    run = run_of(until=1)
    path = run.directories()[0] / "trial.json"
    today = read_trial(path.parent)
    path.write_text(json.dumps(of_first_version(json.loads(path.read_text()))))
    before = read_trial(path.parent)
    assert before.asked == today.asked
    assert (before.warmup, before.phases) == (None, {})
    assert (before.resources, before.capture) == (None, None)


def test_a_line_means_by_a_key_that_it_lacks_what_a_planned_trial_does_by_default():
    of_fields = {
        one.name: one.default_factory() if one.default is MISSING else one.default
        for one in fields(PlannedTrial)
        if (one.default, one.default_factory) != (MISSING, MISSING)
    }
    assert lift_planned({}) == of_fields
    assert LEFT_OUT.items() <= of_fields.items()
