"""Whatever is wrong with what is read is a message or an empty cell, never a wrong number."""

import json
import resource
import subprocess
import sys

import pytest
from made_up_studies import changed, study_of
from synthetic import edit_json, reseal, seal

from collect.cells.analysis import analyse
from collect.cli import main
from collect.run.directory import open_run
from collect.strict_json import parse_json

ONE_CELL = changed(
    factors={"transport": ["soap"], "servers": [1]},
    domains={},
    clients="any",
    profiles={"demo": {"replicates": 2, "calls": 3, "warmup": 1}},
)
HUGE = 2**63 - 1
LONG = 10**15


@pytest.fixture
def small(run_of):
    """A run of one cell and two trials."""
    return run_of(lambda planned, rng: [1.0, 2.0, 3.0], study=ONE_CELL)


def edit_plan(run, **changes):
    path = run.directory / "plan.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), **changes}), *others, ""]))


def refused(run):
    """The findings about refused trials of a run opened again."""
    return analyse(open_run(str(run.directory))).of_kind("refused")


def column(place, value):
    """A change of a log: `value` in the column `place` of the last row."""

    def change(text):
        *others, last = text.splitlines()
        values = last.split(",")
        values[place] = value
        return "\n".join([*others, ",".join(values), ""])

    return change


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"schema": 2}, "line 1 is not of schema 1"),
        ({"factors": {"transport": ["soap"], "servers": 1}}, 'the level ["soap"] of transport'),
        ({"factors": {"transport": None, "servers": 1}}, "the level null of transport"),
        ({"factors": {"transport": float("nan"), "servers": 1}}, "NaN, which is not JSON"),
        ({"factors": {"transport": "\ud800", "servers": 1}}, "half a character"),
        ({"factors": {}}, "has no factors"),
        (
            {"factors": {"other": 1}},
            "line 2 has the factors transport, servers, but line 1 has other",
        ),
        ({"study": "other"}, "line 2 has the study sort, but line 1 has other"),
        ({"study": 7}, "has the study 7"),
        ({"block": "1"}, 'has the block "1"'),
        ({"block": True}, "has the block true"),
        ({"calls": -8}, "has the calls -8"),
        ({"threads": None}, "has the threads null"),
        ({"seed": 10**30}, "has the seed 1000000000"),
        ({"id": "../x"}, "unusable id"),
    ],
)
def test_a_plan_that_cannot_be_is_named_by_its_line(small, capsys, changes, part):
    edit_plan(small, **changes)
    for command in ("check", "status", "report"):
        assert main([command, str(small.directory)]) == 2
        message = capsys.readouterr().err
        assert "plan.jsonl: line" in message
        assert part in message


@pytest.mark.parametrize(
    "content", [b"", b"\0\0\n", b"\xff\xfe\n", b"[" * 100_000, b"{}\n", b"7\n"]
)
@pytest.mark.parametrize("name", ["plan.jsonl", "run.json"])
def test_a_file_of_other_bytes_is_one_message(small, capsys, name, content):
    (small.directory / name).write_bytes(content)
    is_fine = name == "run.json" and content == b"{}\n"
    assert main(["status", str(small.directory)]) == (0 if is_fine else 2)
    message = capsys.readouterr().err
    assert (name in message) != is_fine


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes": 7},
        {"nodes": [7]},
        {"deviations": "one"},
        {"versions": [1]},
        {"git": "main"},
        {"lab": []},
        {"study_file": 7},
    ],
)
def test_provenance_of_another_form_is_one_message(small, capsys, changes):
    edit_json(small.directory / "run.json", **changes)
    assert main(["report", str(small.directory)]) == 2
    message = capsys.readouterr().err
    assert f"run.json: {next(iter(changes))} " in message
    assert "restore or remove it" in message


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"schema": 3}, "schema 3"),
        ({"schema": None}, "schema null"),
        ({"block": 10**30}, "block is 1000"),
        ({"attempt": -1}, "attempt is -1"),
        ({"started_at": "0001-01-01T00:00:00Z"}, "of the year 1"),
        ({"reason": "\ud800"}, "half a character"),
    ],
)
def test_a_seal_that_cannot_be_refuses_its_trial_alone(small, changes, part):
    edit_json(small.directories()[0] / "trial.json", **changes)
    (finding,) = refused(small)
    assert part in finding.text


@pytest.mark.parametrize(
    "changes",
    [
        {"errors": 7},
        {"errors": [7, {"seq": "x"}, {"seq": 10**30, "text": 5}, {"seq": 1}]},
        {"jvm": [1]},
        {"overhead": {"timer_ns": "x"}},
        {"clock": {"anchor_start_utc": "noon"}},
        {"clock": {"anchor_start_utc": "2026-03-01T22:00:00"}},
        {"reason": "\0<b>"},
    ],
)
def test_what_no_number_rests_on_stops_nothing(small, changes, tmp_path):
    edit_json(small.directories()[0] / "trial.json", **changes)
    for form in ("jtl", "hdr"):
        output = str(tmp_path / f"x.{form}")
        assert main(["export", str(small.directory), "--format", form, "-o", output]) == 0


@pytest.mark.parametrize(
    "change",
    [
        column(1, ""),
        column(5, f"{HUGE}0"),
        column(5, "-1"),
        column(5, ""),
        column(4, ""),
        column(0, "x"),
        column(2, "mea\0sure"),
        column(8, "o\0k"),
        column(8, "Ok"),
        column(8, "øk"),
    ],
)
def test_a_row_that_cannot_be_refuses_its_trial_alone(small, change):
    reseal(small.directories()[0], change)
    (finding,) = refused(small)
    assert finding.subject == small.directories()[0].name
    (cell,) = analyse(small).cells
    assert cell.mean.value == pytest.approx(2)
    assert (len(cell.counted), cell.mean.low) == (1, None)


def test_long_times_are_numbers_still(small, tmp_path):
    for directory in small.directories():
        reseal(directory, column(5, str(LONG)))
    (cell,) = analyse(small).cells
    assert cell.mean.value == pytest.approx((1 + 2 + LONG / 1e6) / 3)
    for form in ("jtl", "hdr", "latex"):
        output = str(tmp_path / f"x.{form}")
        assert main(["export", str(small.directory), "--format", form, "-o", output]) == 0


def test_times_of_zero_have_a_mean_and_no_ratio(run_of, capsys):
    runs = [run_of(lambda planned, rng: [0.0] * 3, study=ONE_CELL, name=name) for name in "ab"]
    (cell,) = analyse(runs[0]).cells
    assert (cell.mean.low, cell.mean.value, cell.mean.high) == (None, 0, None)
    assert main(["compare", *(str(run.directory) for run in runs), "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["ratio"] is None
    assert "ratios need times above zero" in cell["reason"]


def test_a_run_with_one_trial_and_one_call_says_what_it_cannot(run_of, capsys, tmp_path):
    study = study_of(
        {"transport": ["soap"]},
        profiles={"demo": {"replicates": 1, "calls": 1, "warmup": 0}},
    )
    runs = [run_of(lambda planned, rng: [4.0], study=study, name=name) for name in "ab"]
    (cell,) = analyse(runs[0]).cells
    assert (cell.mean.value, cell.mean.low, cell.variance) == (4, None, None)
    assert main(["compare", *(str(run.directory) for run in runs)]) == 0
    assert "at least two are needed to estimate" in " ".join(capsys.readouterr().out.split())
    output = tmp_path / "x.md"
    assert main(["export", str(runs[0].directory), "--format", "markdown", "-o", str(output)]) == 0
    assert "no interval" in output.read_text()


def test_a_run_whose_calls_all_failed_has_no_time_anywhere(run_of, tmp_path, capsys):
    run = run_of(study=ONE_CELL, until=0)
    for planned in run.plan:
        every = dict.fromkeys(range(planned.calls), "error")
        seal(run.trials_directory, planned, [1.0] * planned.calls, statuses=every)
    (cell,) = analyse(run).cells
    assert (cell.outcome, cell.mean, cell.pooled) == ("failed", None, None)
    output = tmp_path / "x.hlog"
    assert main(["export", str(run.directory), "--format", "hdr", "-o", str(output)]) == 0
    assert "Tag=" not in output.read_text()
    other = run_of(lambda planned, rng: [1.0, 2.0, 3.0], study=ONE_CELL, name="other")
    assert main(["compare", str(other.directory), str(run.directory), "--json"]) == 0
    assert '"fails now"' in capsys.readouterr().out


@pytest.mark.parametrize("command", [["report"], ["export", "--format", "parquet"]])
def test_a_full_disk_is_one_message_and_leaves_no_part(small, command):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    ended = subprocess.run(
        [sys.executable, "-m", "collect", command[0], str(small.directory), *command[1:]],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert ended.stderr.startswith("collect: ")
    parts = [path for path in small.directory.rglob("*") if path.is_file()]
    assert [p for p in parts if p.name.startswith(".") or p.parent.name == ".cache"] == []


@pytest.mark.parametrize(
    "content", [b"NaN", b"[Infinity]", b"[-1e999]", b"[" * 100_000, b'"\\ud800"', b"{"]
)
def test_what_is_no_json_is_refused(content):
    with pytest.raises(ValueError):
        parse_json(content)
