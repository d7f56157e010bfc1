"""The generated reference is what its sources say, and its sources describe everything."""

import json
import re
import zipfile
from pathlib import Path

import make_reference
import pytest
import yaml
from jsonschema import Draft202012Validator
from synthetic import make_run, sort_times

from collect.planning.capacity import ACHIEVED
from collect.run.arrival import LEAD_S, SPACINGS
from collect.run.cell import CELL_COLUMNS, OPEN_COLUMNS
from collect.run.study import load_study
from collect.run.trials import CALLS_HEADER

ROOT = Path(__file__).parents[3]
STUDY = json.loads((ROOT / "collect/run/study.schema.json").read_text())
RUN = json.loads((ROOT / "collect/run/run.schema.json").read_text())
COLUMNS = json.loads((ROOT / "collect/run/columns.json").read_text())
SAMPLES = sorted((ROOT / "collect/samples").glob("*.zip"))


@pytest.mark.parametrize("name", make_reference.pages())
def test_a_page_is_what_its_source_says(name):
    stands = (ROOT / "docs/reference" / name).read_text(encoding="utf-8")
    assert stands == make_reference.pages()[name], "run: make reference"


def test_a_page_that_differs_is_named_and_nothing_is_written(tmp_path, monkeypatch, capsys):
    for name, text in make_reference.pages().items():
        (tmp_path / name).write_text(text)
    (tmp_path / "files.md").write_text("old")
    monkeypatch.setattr(make_reference, "PAGES", tmp_path)
    assert make_reference.main(["--check"]) == 1
    assert "files.md: differs" in capsys.readouterr().out
    assert (tmp_path / "files.md").read_text() == "old"
    assert make_reference.main([]) == 0
    assert make_reference.main(["--check"]) == 0


def test_every_key_of_a_study_has_a_meaning_and_an_example():
    for key, own in STUDY["properties"].items():
        kind = STUDY["$defs"].get(own.get("$ref", "").rpartition("/")[2], {})
        whole = {**kind, **own}
        assert whole.get("description"), key
        assert "examples" in whole or "const" in whole, key
        assert "default" in whole or key in STUDY["required"] or key in ("source", "domains"), key


def inner_keys(schema):
    """Yield the keys that a schema names, at any depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
    for inner in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(inner, dict | list):
            yield from inner_keys(inner)


@pytest.mark.parametrize("key", ["domains", "stop", "node", "warmup", "arrival", "capacity"])
def test_what_a_key_holds_is_explained(key):
    own = STUDY["properties"][key]
    kind = STUDY["$defs"].get(own.get("$ref", "").rpartition("/")[2], {})
    keys = {*inner_keys({**kind, **own})}
    assert keys
    told = {**kind, **own}["description"]
    assert [one for one in sorted(keys) if f"`{one}`" not in told] == []


def test_the_defaults_inside_a_key_are_those_of_the_code():
    arrival = STUDY["$defs"]["arrival"]["description"]
    assert f"`{SPACINGS[0]}` (the default)" in arrival
    assert f"`lead_s` seconds ({LEAD_S} by default)" in arrival
    assert f"`achieved` ({ACHIEVED} by default)" in STUDY["properties"]["capacity"]["description"]


@pytest.mark.parametrize("name", ["sweep-options.md", "inventory.md", "files.md", "commands.md"])
def test_every_row_of_a_table_has_a_meaning(name):
    rows = re.findall(r"^\| `.*\|$", make_reference.pages()[name], re.M)
    assert rows
    assert [row for row in rows if not re.split(r"(?<!\\)\|", row)[-2].strip()] == []


def test_every_example_of_a_key_is_valid():
    study = yaml.safe_load((ROOT / "playbooks/studies/sort.yml").read_text())
    for key, own in STUDY["properties"].items():
        kind = STUDY["$defs"].get(own.get("$ref", "").rpartition("/")[2], {})
        for example in {**kind, **own}.get("examples", ()):
            errors = list(Draft202012Validator(STUDY).iter_errors({**study, key: example}))
            assert not errors, (key, errors[0].message)


def test_every_column_is_described_in_its_order():
    assert tuple(COLUMNS["cells.csv"]) == ("study", *CELL_COLUMNS)
    assert tuple(COLUMNS["cells.csv of an open loop"]) == OPEN_COLUMNS
    assert ",".join(COLUMNS["calls.csv"]) == CALLS_HEADER


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_run_json_of_a_sample_has_described_keys_only(sample):
    with zipfile.ZipFile(sample) as archive:
        record = json.loads(archive.read(f"runs/{sample.stem}/run.json"))
    errors = list(Draft202012Validator(RUN).iter_errors(record))
    assert not errors, errors[0].message


def test_every_key_that_a_sweep_writes_into_run_json_is_described():
    record = yaml.safe_load((ROOT / "roles/sweep/tasks/record.yml").read_text())
    keys = {key for task in record if "vars" in task for key in task["vars"]["__sweep_record"]}
    tasks = yaml.safe_load((ROOT / "playbooks/tasks/run.yml").read_text())
    keys |= {key for task in tasks for key in task.get("vars", {}).get("sweep_provenance", {})}
    assert len(keys) > 15
    assert keys <= RUN["properties"].keys()


def test_run_json_of_a_made_up_run_has_described_keys(tmp_path):
    make_run(tmp_path / "run", sort_times, study="sort")
    record = json.loads((tmp_path / "run/run.json").read_text())
    assert record.keys() <= RUN["properties"].keys()


def test_every_short_option_of_a_sweep_is_in_the_reference():
    text = make_reference.sweep_page()
    for name in ("study", "profile", "run", "fit", "rotate", "capture", "seed", "deadline", "wait"):
        assert f"| `{name}` |" in text
    assert "| `without` |" in text


def test_every_study_of_ours_loads_by_the_schema():
    for path in sorted((ROOT / "playbooks/studies").glob("*.yml")):
        assert load_study(path)
