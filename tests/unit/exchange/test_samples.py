"""The sample runs that come with rackbench: whole, small, and read by their names anywhere."""

import json
import zipfile
from pathlib import Path

import pytest
from synthetic import make_run, sort_times

from collect.cli import main
from collect.exchange.archive.sources import SAMPLES
from collect.replication import charts

STUDIES = ("sort", "binding", "mtom", "overhead", "attachments", "harness")
MOST_BYTES = 1 << 20


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch) -> Path:
    """A directory without results, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_study_has_one_and_it_is_small():
    sizes = {path.stem: path.stat().st_size for path in SAMPLES.glob("*.zip")}
    assert sizes.keys() == {f"sample-{study}" for study in STUDIES}
    assert max(sizes.values()) < MOST_BYTES


@pytest.mark.parametrize("study", STUDIES)
def test_it_is_whole_and_of_the_profile_that_the_study_file_names(study, capsys):
    assert main(["check", f"sample-{study}"]) == 0
    assert "no findings" in capsys.readouterr().out
    with zipfile.ZipFile(SAMPLES / f"sample-{study}.zip") as archive:
        plan = archive.read(f"runs/sample-{study}/plan.jsonl").decode().splitlines()
    assert {(one["study"], one["profile"]) for one in map(json.loads, plan)} == {(study, "sample")}


def test_a_report_for_students_lies_where_results_lie(elsewhere, monkeypatch):
    monkeypatch.setattr(charts, "save", lambda panels, stem: None)
    monkeypatch.setattr(charts, "page_svg", lambda spec: "<svg></svg>")
    before = sorted(SAMPLES.iterdir())
    assert main(["report", "sample-sort", "--audience", "student"]) == 0
    assert (elsewhere / "results/sample-sort.html").is_file()
    assert (elsewhere / "results/sample-sort-answers.md").is_file()
    assert sorted(SAMPLES.iterdir()) == before


def test_a_table_of_it_lies_there_too(elsewhere):
    assert main(["export", "sample-harness", "--format", "csv"]) == 0
    assert [path.stem for path in (elsewhere / "results").iterdir()] == ["sample-harness.calls"]


def test_a_run_of_its_own_name_comes_first(elsewhere, capsys):
    make_run(elsewhere / "results/sample-sort", sort_times)
    assert main(["check", "sample-sort"]) == 0
    (elsewhere / "results/sample-sort/plan.jsonl").unlink()
    assert main(["check", "sample-sort"]) == 2
    assert "results/sample-sort" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["sample-none", "../samples/sample-sort", "sample-sort/x"])
def test_no_other_name_is_taken_for_one(name, capsys):
    assert main(["check", name]) == 2
    assert f"there is no run {name!r}" in capsys.readouterr().err
