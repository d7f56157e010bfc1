import csv
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trial_layout import faults_below

from collect.cells.analysis import analyse
from collect.cells.cells import write_cells
from collect.cli import main
from collect.csv_fields import LONGEST_FIELD
from collect.errors import InputError
from collect.exchange.calls import JTL_COLUMNS
from collect.exchange.jtl import read_jtl
from collect.proof.check import prove
from collect.run.cell import Cell
from collect.run.directory import open_run

START_MS = 1_772_402_400_000
YEAR_MS = 366 * 86_400_000
HEADER = b"timeStamp,elapsed,label,success\n"
ROW = b"1772402400000,12,GET /,true\n"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Runs are made in results/ of the working directory; every trial has the layout."""
    monkeypatch.chdir(tmp_path)
    yield
    assert faults_below(tmp_path) == []


def sample(place=0, **changes):
    """A line of a log as JMeter writes it."""
    values = {
        "timeStamp": START_MS + 20 * place,
        "elapsed": 10 + place % 3,
        "label": "GET /",
        "responseCode": "200",
        "responseMessage": "OK",
        "threadName": f"users 1-{1 + place % 2}",
        "dataType": "text",
        "success": "true",
        "failureMessage": "",
        "bytes": 900,
        "sentBytes": 120,
        "grpThreads": 2,
        "allThreads": 2,
        "URL": "null",
        "Latency": 9,
        "IdleTime": 0,
        "Connect": 1,
    }
    return {**values, **changes}


def write(name, samples, columns=JTL_COLUMNS, **options):
    path = Path(name)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, columns, extrasaction="ignore", **options)
        writer.writeheader()
        writer.writerows(samples)
    return path


def three_logs():
    for log in range(3):
        write(f"log{log}.jtl", [sample(place, elapsed=10 + log + place % 3) for place in range(12)])
    return ["log0.jtl", "log1.jtl", "log2.jtl"]


def logs_of(labels, rounds, **changes):
    """Write a log for each round, with three samples of each label; `changes` depend on it."""
    for log in range(rounds):
        samples = [
            sample(
                100 * log + place,
                label=label,
                **{name: of(label) for name, of in changes.items()},
            )
            for place, label in enumerate(3 * labels)
        ]
        write(f"log{log}.jtl", samples)
    return [f"log{log}.jtl" for log in range(rounds)]


def test_three_logs_are_three_trials_of_a_run_that_every_command_takes(capsys):
    assert main(["import", "jtl", *three_logs(), "--run", "jm"]) == 0
    assert "3 trials, 36 calls, 1 cells of label" in capsys.readouterr().out
    run = open_run("jm")
    (cell,) = analyse(run).cells
    assert cell.cell.levels == ("GET /",)
    assert cell.samples == {1: 11, 2: 12, 3: 13}
    assert (cell.mean.value, cell.calls, cell.errors) == (
        pytest.approx((11 * 12 * 13) ** (1 / 3)),
        36,
        0,
    )
    assert (cell.bytes_of("request_bytes"), cell.bytes_of("response_bytes")) == (120, 900)
    assert main(["check", "jm"]) == 0
    assert main(["export", "jm", "--format", "jtl"]) == 0
    assert main(["report", "jm"]) == 0
    assert "knows whole milliseconds" in Path("results/jm/report.html").read_text()
    record = json.loads(Path("results/jm/run.json").read_text())
    assert set(record["imported"]["files_by_sha256"].values()) == {
        "log0.jtl",
        "log1.jtl",
        "log2.jtl",
    }


def test_errors_are_rows_and_in_no_time():
    bad = [
        sample(1, success="false", responseCode="500", elapsed=9999),
        sample(
            2,
            success="false",
            elapsed=9999,
            responseCode="Non HTTP response code: java.net.SocketTimeoutException",
        ),
        sample(
            3, success="false", elapsed=9999, failureMessage="Test failed: text expected, twice"
        ),
    ]
    write("a.jtl", [sample(), *bad, *(sample(place, elapsed=10) for place in range(4, 33))])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    run = open_run("jm")
    (cell,) = analyse(run).cells
    assert (cell.outcome, cell.calls, cell.errors) == ("ok", 30, 3)
    assert cell.mean.value == pytest.approx(10)
    log = (cell.trials[0].trial.directory / "calls.csv").read_text().splitlines()[1:]
    assert [line.rsplit(",", 1)[1] for line in log[:4]] == ["ok", "error", "timeout", "wrong"]
    assert [error.text for error in cell.trials[0].trial.errors] == [
        "OK",
        "OK",
        "Test failed: text expected, twice",
    ]


@pytest.mark.parametrize(
    "said",
    [
        {"responseCode": "Non HTTP response code: java.net.SocketTimeoutException"},
        {"responseMessage": "Non HTTP response message: Read timed out"},
        {"responseMessage": "Connection TIMEOUT", "failureMessage": "no answer"},
    ],
)
def test_a_call_that_timed_out_is_a_timeout_as_in_logs_of_programs(said):
    write("a.jtl", [sample(1, success="false", **said), *(sample(k) for k in range(2, 22))])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    (cell,) = analyse(open_run("jm")).cells
    log = (cell.trials[0].trial.directory / "calls.csv").read_text().splitlines()
    assert log[1].endswith(",timeout")


def test_a_failed_sample_is_an_error_whatever_its_code():
    write("a.jtl", [sample(1, success="false", responseCode="ok"), *map(sample, range(2, 22))])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    (cell,) = analyse(open_run("jm")).cells
    assert (cell.calls, cell.errors) == (20, 1)


def test_the_reasons_of_the_first_hundred_failed_samples_are_kept():
    write("a.jtl", [sample(place, success="false") for place in range(101)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    (cell,) = analyse(open_run("jm")).cells
    assert [error.seq for error in cell.trials[0].trial.errors] == [*range(100)]
    assert cell.errors == 101


@pytest.mark.parametrize(("failed", "outcome"), [(2, "ok"), (3, "failed")])
def test_the_mean_of_survivors_is_no_time(failed, outcome):
    samples = [sample(place, success=str(place >= failed).lower()) for place in range(20)]
    write("a.jtl", samples)
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    (cell,) = analyse(open_run("jm")).cells
    assert (cell.outcome, cell.mean is None, cell.errors) == (outcome, failed == 3, failed)
    if failed == 3:
        assert cell.trials[0].trial.reason == "17 of 20 calls were ok, fewer than the share 0.9"


def test_a_log_of_errors_alone_is_a_failed_trial():
    write("a.jtl", [sample(success="false")])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    (cell,) = analyse(open_run("jm")).cells
    assert (cell.outcome, cell.mean) == ("failed", None)


def test_samples_are_put_in_the_order_of_their_start():
    write("a.jtl", [sample(place, elapsed=place) for place in (3, 0, 2, 1)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    (trial,) = open_run("jm").directories()
    rows = list(csv.DictReader((trial / "calls.csv").open()))
    assert [row["seq"] for row in rows] == ["0", "1", "2", "3"]
    assert [int(row["start_ns"]) for row in rows] == [0, 20_000_000, 40_000_000, 60_000_000]
    assert [int(row["elapsed_ns"]) for row in rows] == [0, 1_000_000, 2_000_000, 3_000_000]


def test_a_trial_lasts_until_its_last_call_has_ended():
    write("a.jtl", [sample(), sample(1, elapsed=9000), sample(2)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    (cell,) = analyse(open_run("jm")).cells
    assert cell.trials[0].trial.seconds == pytest.approx(9.02)


def test_the_text_of_an_error_stays_with_its_sample():
    failed = sample(1, success="false", failureMessage="too late")
    write("a.jtl", [sample(3), sample(2), failed, sample(0)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    (trial,) = open_run("jm").directories()
    rows = list(csv.DictReader((trial / "calls.csv").open()))
    (error,) = json.loads((trial / "trial.json").read_text())["errors"]
    assert error["text"] == "too late"
    assert [row["seq"] for row in rows if row["status"] != "ok"] == [str(error["seq"])]


def test_labels_are_cells(capsys):
    for log in "ab":
        write(
            f"{log}.jtl",
            [
                sample(place, label=f"page {place % 2}, Grüße", elapsed=ord(log))
                for place in range(6)
            ],
        )
    assert main(["import", "jtl", "a.jtl", "b.jtl", "--run", "jm", "--factor", "servers=3"]) == 0
    run = open_run("jm")
    assert run.factors == {"label": ("page 0, Grüße", "page 1, Grüße"), "servers": (3,)}
    assert [len(cell.counted) for cell in analyse(run).cells] == [2, 2]
    assert (
        main(
            [
                "import",
                "jtl",
                "a.jtl",
                "--run",
                "one",
                "--label",
                "page 1, Grüße",
                "--factor",
                "transport=soap",
                "--factor",
                "pooled=true",
            ]
        )
        == 0
    )
    assert open_run("one").cells == (Cell.of(pooled=True, transport="soap"),)
    assert main(["import", "jtl", "a.jtl", "--run", "none", "--label", "page 7"]) == 2
    assert "the labels are page 0, Grüße, page 1, Grüße" in capsys.readouterr().err


def test_our_own_run_goes_out_and_comes_back(run_of, capsys):
    run = run_of(
        lambda planned, rng: [3.0 + planned.block + planned.factors["servers"]] * planned.calls
    )
    assert main(["export", str(run.directory), "--format", "jtl", "-o", "out.jtl"]) == 0
    assert main(["import", "jtl", "out.jtl", "--run", "back", "--study", "sort"]) == 0
    there, back = analyse(run), analyse(open_run("back"))
    assert dict(there.run.factors).keys() == dict(back.run.factors).keys()
    for cell in back.cells:
        twin = next(c for c in there.cells if c.cell == cell.cell)
        assert cell.samples == twin.samples  # a trial each, in its own block
        assert cell.calls == twin.calls
    capsys.readouterr()
    assert main(["compare", str(run.directory), "back", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert len(cells) == 12
    assert {cell["verdict"] for cell in cells} == {"no verdict"}  # one run on each side


def test_blocks_of_an_export_are_kept_by_label_and_next_to_those_of_other_logs(run_of):
    run = run_of(lambda planned, rng: [3.0 + planned.block] * planned.calls)
    assert main(["export", str(run.directory), "--format", "jtl", "-o", "out.jtl"]) == 0
    label = read_jtl(Path("out.jtl")).labels[0]
    write("a.jtl", [sample(label=label)])
    files = ["a.jtl", "out.jtl"]
    assert main(["import", "jtl", *files, "--run", "back", "--label", label]) == 0
    (cell,) = analyse(open_run("back")).cells
    assert cell.samples == {1: 10, 2: 4, 3: 5, 4: 6}


@pytest.mark.parametrize(
    ("starts", "overlaps"), [([0, 240], False), ([240, 0], False), ([0, 239], True), ([9, 0], True)]
)
def test_logs_that_ran_at_the_same_time_are_no_replicates(starts, overlaps, capsys):
    """As those of two engines of one test, or a log to which JMeter appended and its copy."""
    for name, start in zip("ab", starts, strict=True):
        rows = [sample(k, timeStamp=START_MS + start + 20 * k, elapsed=20) for k in range(12)]
        write(f"{name}.jtl", rows)
    assert main(["import", "jtl", "a.jtl", "b.jtl", "--run", "jm"]) == 0
    sentence = "Logs overlap in time, such as"
    assert (sentence in capsys.readouterr().err) == overlaps
    assert (sentence in Path("results/jm/run.json").read_text()) == overlaps


@pytest.mark.parametrize(
    ("logs", "parted"), [(["ab", "ab"], False), (["a", "b"], True), (["ab", "a"], False)]
)
def test_logs_of_one_label_each_have_no_cells_to_compare(logs, parted, capsys):
    for log, labels in enumerate(logs):
        write(f"{log}.jtl", [sample(100 * log + k, label=one) for k, one in enumerate(labels)])
    files = [f"{log}.jtl" for log in range(len(logs))]
    assert main(["import", "jtl", *files, "--run", "jm"]) == 0
    assert ("No log holds two labels" in capsys.readouterr().err) == parted


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", "^", "~", ":", " ", "\xa6"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_other_separators_are_seen_in_the_header(separator, quoting, end, mark):
    options = {"delimiter": separator, "quoting": quoting, "lineterminator": end}
    path = write("a.jtl", [sample(label="a,b|c")], **options)
    path.write_bytes(mark.encode() + path.read_bytes())
    assert read_jtl(path).labels == ["a,b|c"]


def test_a_row_that_sums_samples_is_refused(capsys):
    columns = (*JTL_COLUMNS, "SampleCount", "ErrorCount")
    single = sample(SampleCount=1, ErrorCount=1)
    for changes, part in (
        ({"SampleCount": 100, "ErrorCount": 0}, "sums 100 samples"),
        ({"SampleCount": 0, "ErrorCount": 0}, "sums 0 samples"),
        ({"SampleCount": "", "ErrorCount": 2}, "sums 2 errors"),
    ):
        write("a.jtl", [single, sample(1, **changes)], columns)
        assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 2
        message = capsys.readouterr().err
        assert f"a.jtl: line 3 {part}" in message
        assert "mode=Standard" in message
        assert "torn" not in message
        assert not Path("results").exists()
    write("a.jtl", [single, sample(1, SampleCount="", ErrorCount="")], columns)
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0


def test_engines_are_told_apart_by_hostname():
    rows = [
        {"threadName": "Thread Group 1-1", "Hostname": f"gen-{'ab'[k % 2]}", "grpThreads": 1}
        for k in range(12)
    ]
    samples = [sample(place, **changes) for place, changes in enumerate(rows)]
    write("a.jtl", samples, (*JTL_COLUMNS, "Hostname"))
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    (planned,) = open_run("jm").plan
    assert (planned.threads, planned.calls) == (2, 6)
    (trial,) = open_run("jm").directories()
    assert {row["thread"] for row in csv.DictReader((trial / "calls.csv").open())} == {"0", "1"}


@pytest.mark.parametrize(
    "engines",
    [
        ("10.0.0.1:1099", "10.0.0.2:1099"),
        ("10.0.0.1", "10.0.0.2"),
        ("gen-a:1099", "gen-b:1099"),
        ("[2001:db8::1]:1099", "[2001:db8::2]:1099"),
        ("[2001:db8::1]", "[::1]"),
        ("2001:db8::1:1099", "2001:db8::2:1099"),
        ("fe80::1%eth0", "fe80::2%eth0"),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2"),
    ],
)
def test_engines_are_told_apart_by_the_prefix_of_their_threads(engines):
    rows = [
        {"threadName": f"{engines[k % 2]}-Thread Group 1-1", "grpThreads": 1} for k in range(12)
    ]
    write("a.jtl", [sample(place, **changes) for place, changes in enumerate(rows)])
    (samples,) = read_jtl(Path("a.jtl")).blocks[0].values()
    assert (samples.concurrency, len(samples.active)) == (2, 2)


def test_throughput_is_that_of_the_whole_test_as_threads_are_not_held():
    """Ten users, one after the other: each makes one call of 100 ms in a second of its own."""
    rows = [
        {"timeStamp": START_MS + 1000 * k, "threadName": f"users 1-{1 + k}", "elapsed": 100}
        for k in range(10)
    ]
    write("a.jtl", [sample(**changes, grpThreads=1, allThreads=1) for changes in rows])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    (cell,) = analyse(open_run("jm")).cells
    assert cell.throughput.value == pytest.approx(10 / 9.1)
    # The version before wrote the sum of the threads' rates.
    path = Path("results/jm/cells.csv")
    write_cells(path, open_run("jm"), [cell])
    path.write_text(path.read_text().replace("1.098901", "12.685969"))
    assert [one for one in prove(open_run("jm")).findings if one.kind == "cells"] == []
    path.write_text(path.read_text().replace("12.685969", "1.05"))
    assert [one.kind for one in prove(open_run("jm")).findings] == ["cells"]


@pytest.mark.parametrize("name", ["users 1-1", "setUp Thread Group 1-1", "a: b-c 1-1", "Browse-1"])
def test_other_names_of_threads_have_no_engine(name):
    write("a.jtl", [sample(threadName=name)])
    (samples,) = read_jtl(Path("a.jtl")).blocks[0].values()
    assert list(samples.active) == [""]


def test_a_long_field_is_read_and_its_line_is_that_where_it_begins(capsys):
    long = sample(success="false", failureMessage="x\n" * 70_000)
    write("a.jtl", [long, *map(sample, range(1, 11))])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    assert main(["check", "jm"]) == 0
    (cell,) = analyse(open_run("jm")).cells
    assert (cell.calls, cell.errors) == (10, 1)
    (error,) = cell.trials[0].trial.errors
    assert error.text.startswith("x x x")
    assert len(error.text) == 300
    write("b.jtl", [{**long, "elapsed": "soon"}, sample(1)])
    assert main(["import", "jtl", "b.jtl", "--run", "b"]) == 2
    assert "b.jtl: line 2 has the elapsed 'soon'" in capsys.readouterr().err
    assert csv.field_size_limit() == 1 << 17


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (["Step=Login", "Step=Logout"], "'Step' cannot name a factor"),
        (["Größe=1", "Größe=2"], "'Größe' cannot name a factor"),
        (["calls=1", "calls=2"], "'calls' cannot name a factor"),
        (["Step=Login", "Browse"], ""),
        (["a=b=c x", "a=1"], ""),
    ],
)
def test_labels_that_cannot_be_levels_are_plain(labels, why, capsys):
    write("a.jtl", [sample(place, label=labels[place % 2]) for place in range(6)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    said = capsys.readouterr().err
    assert why in said
    assert bool(why) == bool(said)
    assert open_run("jm").factors == {"label": tuple(sorted(labels))}
    if why:
        assert why in (Path("results/jm/run.json").read_text(encoding="utf-8"))
    one = ["import", "jtl", "a.jtl", "--label", labels[0]]
    assert main([*one, "--run", "one"]) == 0
    assert main([*one, "--run", "two", "--factor", "page=1"]) == 0
    if why:
        assert open_run("one").factors == {"label": (labels[0],)}
        assert open_run("two").factors == {"page": (1,)}


def test_labels_that_name_levels_are_plain_on_demand():
    write("a.jtl", [sample(label="size=1"), sample(1, label="size=true")])
    assert main(["import", "jtl", "a.jtl", "--run", "jm", "--plain-labels"]) == 0
    assert open_run("jm").factors == {"label": ("size=1", "size=true")}


def test_a_level_of_more_digits_than_a_number_has_is_a_text():
    digits = "9" * 400
    write("a.jtl", [sample(label=f"id={digits}")])
    assert main(["import", "jtl", "a.jtl", "--run", "jm", "--factor", f"size=-{digits}"]) == 0
    (cell,) = analyse(open_run("jm")).cells
    assert cell.cell == Cell.of(id=digits, size=f"-{digits}")
    assert main(["check", "jm"]) == 0


@pytest.mark.parametrize("label", ["a\rb", "a\r\nb", "a\nb"])
def test_a_label_with_a_line_end_is_one_field_of_each_table(label):
    write("a.jtl", [sample(k, label=("c", label)[k % 2]) for k in range(6)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    assert main(["report", "jm"]) == 0
    assert main(["check", "jm"]) == 0
    for table in ("cells", "trials", "csv"):
        assert main(["export", "jm", "--format", table, "-o", table]) == 0
        with Path(table).open(newline="") as stream:
            assert {row["label"] for row in csv.DictReader(stream)} == {"c", label}


def test_labels_that_differ_in_blanks_alone_are_refused(capsys):
    write("a.jtl", [sample(label="Buy"), sample(1, label="Buy ")])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 2
    assert 'the levels "Buy" and "Buy "' in capsys.readouterr().err
    assert main(["import", "jtl", "a.jtl", "--run", "jm", "--label", "Buy "]) == 0


def test_a_sampler_without_a_name_is_a_cell_of_its_own(capsys):
    write("a.jtl", [sample(label=""), sample(1, label="Buy")])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    assert main(["check", "jm"]) == 0
    assert main(["report", "jm"]) == 0
    assert main(["check", "jm"]) == 0
    write("b.jtl", [sample(label=""), sample(1, label="(none)")])
    assert main(["import", "jtl", "b.jtl", "--run", "b"]) == 2
    assert 'the levels "" and "(none)"' in capsys.readouterr().err


def test_two_labels_that_name_one_cell_are_refused(capsys):
    write("a.jtl", [sample(label="a=1 b=2"), sample(1, label="b=2  a=1")])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 2
    assert "'a=1 b=2' and 'b=2  a=1' name one cell" in capsys.readouterr().err
    assert main(["import", "jtl", "a.jtl", "--run", "jm", "--plain-labels"]) == 0


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"timeStamp": 0}, "is in 1970 if read as milliseconds"),
        ({"timeStamp": START_MS // 1000}, "timestamp_format=ms"),
        ({"timeStamp": 31_535_999_999}, "is in 1970 if read as milliseconds"),
        ({"timeStamp": 9_214_646_399_999, "elapsed": 1}, "beyond any test"),
        ({"timeStamp": 9_214_646_400_001, "elapsed": 1}, "which is more than"),
        ({"elapsed": YEAR_MS + 1}, "which is more than 31622400000 ms"),
    ],
)
def test_times_that_no_trial_may_have_are_refused(changes, part, capsys):
    write("a.jtl", [sample(), sample(1, **changes)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 2
    message = capsys.readouterr().err
    assert "a.jtl: line 3 " in message
    assert part in message
    assert not Path("results").exists()


@pytest.mark.parametrize("started", [31_536_000_000, 9_214_646_399_000])
def test_the_first_and_last_times_of_a_trial_are_imported_and_proven(started):
    write("a.jtl", [sample(timeStamp=started)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    assert main(["check", "jm"]) == 0


def test_the_longest_times_of_a_trial_are_imported_and_proven():
    write("a.jtl", [sample(elapsed=YEAR_MS), sample(timeStamp=START_MS + YEAR_MS)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    assert main(["check", "jm"]) == 0


def test_samples_of_a_label_that_began_more_than_a_year_apart_are_refused(capsys):
    later = START_MS + YEAR_MS + 1
    write("a.jtl", [sample(label="a"), sample(label="b"), sample(label="a", timeStamp=later)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 2
    assert (
        capsys.readouterr()
        .err.strip()
        .endswith(
            "a.jtl: samples of 'a' began more than a year apart, so the log holds several tests; "
            "split it, as each is a block"
        )
    )
    assert not Path("results").exists()
    assert main(["import", "jtl", "a.jtl", "--run", "jm", "--label", "b"]) == 0


def purchase(begin, thread="T 1-1"):
    """The samples of one transaction as JMeter writes them: the children, then the controller."""
    common = {"threadName": thread}
    return [
        sample(label="GET /a", timeStamp=begin, elapsed=100, **common),
        sample(label="POST /b", timeStamp=begin + 100, elapsed=200, **common),
        sample(label="Buy", timeStamp=begin, elapsed=300, **common),
    ]


def thoughtful(begin):
    """A transaction whose children have think times before them, which its total lacks."""
    message = "Number of samples in transaction : 2, number of failing samples : 0"
    common = {"threadName": "T 1-1"}
    return [
        sample(label="GET /a", timeStamp=begin + 1000, elapsed=100, **common),
        sample(label="POST /b", timeStamp=begin + 2100, elapsed=400, **common),
        sample(label="Buy", timeStamp=begin, elapsed=500, responseMessage=message, **common),
    ]


def test_totals_of_transactions_with_think_times_are_said(capsys):
    write("a.jtl", [row for k in range(3) for row in thoughtful(START_MS + 3000 * k)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    sentence = "3 of 9 samples are totals of transaction controllers, next to single samples"
    assert sentence in capsys.readouterr().err
    assert sentence in Path("results/jm/run.json").read_text()
    for run, label in (("total", "Buy"), ("single", "GET /a")):
        assert main(["import", "jtl", "a.jtl", "--run", run, "--label", label]) == 0
        assert capsys.readouterr().err == ""


def test_a_log_to_which_a_second_test_was_appended_is_said(capsys):
    rows = [sample(label="a"), sample(1, label="b", elapsed=60_000)]
    last = START_MS + 20 + 60_000
    write("a.jtl", [*rows, sample(label="a", timeStamp=last + 60_000)])
    assert main(["import", "jtl", "a.jtl", "--run", "a"]) == 0
    assert capsys.readouterr().err == ""
    write("b.jtl", [*rows, sample(label="a", timeStamp=last + 3_600_000)])
    assert main(["import", "jtl", "b.jtl", "--run", "b", "--label", "b"]) == 0
    sentence = "b.jtl: no sample ran for 60 min in the middle of the log. JMeter appends"
    assert sentence in capsys.readouterr().err
    assert sentence in Path("results/b/run.json").read_text()


@pytest.mark.parametrize(
    "rows",
    [
        # A call that ran for all of that time.
        [
            sample(elapsed=600_000),
            sample(1, label="b"),
            sample(1, label="b", timeStamp=START_MS + 500_000),
        ],
        # Two blocks of an exported run.
        [
            sample(threadName="b01-t001-soap 0"),
            sample(threadName="b02-t002-soap 0", timeStamp=START_MS + 3_600_000),
        ],
    ],
)
def test_a_log_without_a_pause_within_a_test_is_no_news(rows, capsys):
    write("a.jtl", rows)
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_logs_joined_with_their_headers_are_refused(quoting, capsys):
    one = write("a.jtl", map(sample, range(3)), quoting=quoting)
    one.write_bytes(2 * one.read_bytes())
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 2
    said = capsys.readouterr().err
    assert "a.jtl: line 5 repeats the header, so two logs were joined; split the file" in said
    assert "torn" not in said
    assert not Path("results").exists()


def test_a_label_that_one_of_the_logs_lacks_is_refused(capsys):
    write("a.jtl", [sample(label="Buy")])
    write("b.jtl", [sample(1, label="buy"), sample(2, label="Browse")])
    assert main(["import", "jtl", "a.jtl", "b.jtl", "--run", "jm", "--label", "Buy"]) == 2
    said = capsys.readouterr().err
    assert "b.jtl: no sample has the label 'Buy'; the labels are buy, Browse" in said
    assert not Path("results").exists()


def test_labels_of_one_log_are_no_pilot_since_they_ran_at_once(capsys):
    for log in "ab":
        rows = [
            sample(place, label=f"page {place % 2}", timeStamp=START_MS + 1000 * place)
            for place in range(ord(log) % 2, 13)
        ]
        write(f"{log}.jtl", rows)
    assert main(["import", "jtl", "a.jtl", "b.jtl", "--run", "jm"]) == 0
    assert main(["power", "jm"]) == 2
    assert "jm: the trials of a block ran at the same time" in capsys.readouterr().err
    one = ["import", "jtl", "a.jtl", "b.jtl", "--label", "page 0"]
    assert main([*one, "--run", "one"]) == 0
    assert main(["power", "one"]) == 0


def test_samples_that_lie_within_others_of_their_thread_are_said(capsys):
    rows = [row for k in range(3) for row in purchase(START_MS + 301 * k)]
    write("a.jtl", rows)
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    sentence = "6 of 9 samples lie within another sample of their thread"
    said = capsys.readouterr().err
    assert sentence in said
    assert "within Buy: transaction controllers stand next to their children" in said
    assert sentence in Path("results/jm/run.json").read_text()
    assert main(["report", "jm"]) == 0
    assert sentence in Path("results/jm/report.html").read_text()
    capsys.readouterr()
    assert main(["import", "jtl", "a.jtl", "--run", "one", "--label", "Buy"]) == 0
    assert capsys.readouterr().err == ""


def test_samples_within_others_are_counted_over_all_logs(capsys):
    for log in range(2):
        begin = START_MS + 5000 * log
        write(f"{log}.jtl", [row for k in range(3) for row in purchase(begin + 301 * k)])
    assert main(["import", "jtl", "0.jtl", "1.jtl", "--run", "jm"]) == 0
    assert "12 of 18 samples lie within another sample" in capsys.readouterr().err


def test_a_transaction_of_one_child_contains_it_and_not_the_other_way_round(capsys):
    both = {"elapsed": 100, "threadName": "T 1-1"}
    rows = [
        sample(label=label, timeStamp=START_MS + 101 * k, **both)
        for k in range(3)
        for label in ("GET /a", "Buy")
    ]
    write("a.jtl", rows)
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    assert "such as GET /a within Buy: transaction" in capsys.readouterr().err
    assert main(["check", "jm"]) == 0  # which has the same times, but is no copy


@pytest.mark.parametrize(
    "rows",
    [
        # One after the other, also in the same millisecond.
        [sample(label=f"p{k % 2}", timeStamp=START_MS + 10 * k, elapsed=10) for k in range(9)],
        [sample(label=f"p{k % 2}", timeStamp=START_MS, elapsed=0) for k in range(9)],
        # One after the other, their starts cut to milliseconds and their times rounded to them.
        [
            sample(label=f"p{k % 2}", timeStamp=START_MS + 3 * (k // 2) + 2 * (k % 2), elapsed=took)
            for k, took in enumerate([3, 1] * 5)
        ],
        # At once, but in two threads, on two engines, or in threads without a name.
        [sample(label=f"p{k}", threadName=f"T 1-{k}", elapsed=9) for k in range(2)],
        [sample(label=f"p{k}", threadName=f"10.0.0.{k}-T 1-1", elapsed=9) for k in range(2)],
        [sample(label=f"p{k}", threadName="", elapsed=9) for k in range(2)],
        # A clock that was set once.
        [sample(k, threadName="T 1-1", elapsed=10) for k in range(200)]
        + [sample(5, threadName="T 1-1", elapsed=3)],
    ],
)
def test_samples_of_one_thread_after_the_other_are_no_news(rows, capsys):
    write("a.jtl", rows)
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("table", "factor", "instead"),
    [
        ("trials", "block", "export parquet"),
        ("trials", "trial", "export parquet"),
        ("trials", "errors", "export parquet"),
        ("warmup", "unit", "`collect report`"),
        ("spent", "of", "`collect report`"),
        ("frames", "frame", "`collect report`"),
    ],
)
def test_a_factor_with_the_name_of_a_column_is_in_no_table(table, factor, instead, capsys):
    write("a.jtl", [sample(label=f"{factor}={k % 2}") for k in range(4)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    assert main(["export", "jm", "--format", table]) == 2
    said = capsys.readouterr().err
    assert f"the factor {factor} has the name of a column" in said
    assert instead in said
    assert main(["export", "jm", "--format", "parquet"]) == 0


def test_times_of_0_ms_are_in_a_report_without_ratios_and_logarithms():
    """TCP takes less than JMeter's clock can tell, SOAP 13 ms."""
    labels = [
        f"experiment={experiment} protocol={protocol} reply_bytes=1 elements=1"
        for experiment in ("one-byte", "size")
        for protocol in ("tcp", "soap")
    ]
    logs = logs_of(labels, 10, elapsed=lambda label: 13 if "soap" in label else 0)
    assert main(["import", "jtl", *logs, "--run", "jm", "--study", "overhead"]) == 0
    assert main(["report", "jm"]) == 0
    page = Path("results/jm/report.html").read_text()
    assert "values of 0 have no ratio" in page
    assert "nan %" not in page


@pytest.mark.parametrize(
    ("study", "labels"),
    [
        ("sort", [f"transport={t} servers=three integers=500" for t in ("jms", "soap")]),
        (
            "sort",
            [
                f"transport={transport} servers=1 integers={size}"
                for transport in ("jms", "soap")
                for size in (0, 5, 50)
            ],
        ),
        (
            "overhead",
            [
                f"experiment=size protocol={protocol} reply_bytes=1 elements=1"
                for protocol in ("tcp", "soap", "grpc")
            ],
        ),
        (
            "binding",
            [
                f"binding={binding} message_bytes=512 concurrency=1 pooled=true"
                for binding in ("http", "jms", "grpc")
            ],
        ),
        ("harness", [f"workload={w} concurrency=three" for w in ("noop", "http")]),
    ],
)
def test_levels_that_a_paper_does_not_have_are_reported(study, labels):
    """A third system's calls fail, so that it is in the tables of failures too."""
    logs = logs_of(labels, 3, success=lambda label: "false" if "grpc" in label else "true")
    assert main(["import", "jtl", *logs, "--run", "jm", "--study", study]) == 0
    assert main(["report", "jm"]) == 0
    assert "grpc" not in labels[-1] or "grpc" in Path("results/jm/report.html").read_text()


def test_a_log_with_the_needed_columns_alone_has_unknown_bytes():
    write("a.jtl", [sample()], columns=("timeStamp", "elapsed", "label", "success"))
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    (cell,) = analyse(open_run("jm")).cells
    assert cell.bytes_of("request_bytes") is None


def test_the_mean_of_the_largest_sizes_is_one_of_them():
    write("a.jtl", [sample(place, bytes=2**62) for place in range(3)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    (cell,) = analyse(open_run("jm")).cells
    assert cell.bytes_of("response_bytes") == 2**62


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"elapsed": "-1"}, "has the elapsed '-1', not a whole number"),
        ({"elapsed": "1.5"}, "has the elapsed '1.5'"),
        ({"elapsed": "²"}, "has the elapsed '²'"),
        ({"elapsed": "9" * 5000}, "which is more than"),
        ({"elapsed": ""}, "has the elapsed ''"),
        ({"timeStamp": "2026/03/01 22:00:00"}, "(jmeter.save.saveservice.timestamp_format=ms)"),
        ({"timeStamp": "1772402400000.5"}, "since 1970; let JMeter write them"),
        ({"timeStamp": "soon"}, "not milliseconds since 1970; a torn or edited log"),
        ({"timeStamp": START_MS * 1000}, "ms since 1970; let JMeter write milliseconds (jmeter"),
        ({"timeStamp": str(10**18)}, "which is more than"),
        ({"success": "maybe"}, "neither true nor false"),
        ({"bytes": "many"}, "has the bytes 'many'"),
        ({"bytes": 2**63}, f"has the bytes {2**63}, which is more than {2**62}; a torn"),
    ],
)
def test_a_sample_that_cannot_be_used_is_named_by_its_line(changes, part, capsys):
    write("a.jtl", [sample(), sample(1), sample(2, **changes)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 2
    message = capsys.readouterr().err
    assert "a.jtl: line 4 " in message
    assert part in message
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "line 1 has no column timeStamp"),
        (b"timeStamp,elapsed,label,success\n", "holds no sample"),
        (b"1772402400000,12,GET /,true\n", "print_field_names=true"),
        (b"1772402400000;12;a,b;true\n", "(between ';' it has 1772402400000, 12, a,b, true)"),
        (b"<?xml version='1.0'?><testResults/>", "output_format=csv"),
        (HEADER + ROW + b"1772402400000,1,a", "line 3 has 3 columns"),
        (HEADER + ROW + b'1772402400000,1,"a,true\n' + ROW, "line 3 "),
        (HEADER + b"1772402400000,1,\xff,true\n", "a.jtl: line 2 is not UTF-8 ("),
        (HEADER + 9000 * ROW + b"1772402400000,1,\xff,true\n" + ROW, "a.jtl: line 9002 is not"),
        ((HEADER + ROW).decode().encode("utf-16"), "a.jtl: line 1 is not UTF-8 ("),
        (b"timeStamp,elapsed,label,label,success\n1,1,a,a,true\n", "column label twice"),
        (HEADER + b"1772402400000,1," + b"a" * 200_000 + b",true\n", "line 2 has a label of"),
        (b"timeStamp||elapsed||label||success\n1||1||a||true\n", "without a name between '|'"),
        (b"timeStampxelapsedxlabelxsuccess\n1x1xaxtrue\n", "default_delimiter"),
    ],
)
def test_a_file_that_is_no_log_is_one_message_and_no_run(content, part, capsys):
    Path("a.jtl").write_bytes(content)
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 2
    message = capsys.readouterr().err
    assert part in message
    assert "Traceback" not in message
    assert not Path("results").exists()


def test_a_line_too_long_for_a_header_is_one_message(capsys):
    Path("a.jtl").write_bytes(b"x" * (LONGEST_FIELD + 1))
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 2
    assert capsys.readouterr().err == (
        "collect: a.jtl: line 1 has more than 67108864 characters, so it is no header; name a CSV "
        "log of JMeter\n"
    )


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_log_that_cannot_be_read_twice_is_refused(make, capsys):
    make("a.jtl")
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 2
    assert "a.jtl: is not a regular file, but a log is read twice; name a file" in (
        capsys.readouterr().err
    )


def test_a_log_whose_name_is_no_utf8_is_imported():
    name = os.fsdecode(b"m\xfcller.jtl")
    write(name, [sample()])
    assert main(["import", "jtl", name, "--run", "jm"]) == 0
    record = json.loads(Path("results/jm/run.json").read_bytes())
    assert list(record["imported"]["files_by_sha256"].values()) == ["m?ller.jtl"]
    assert main(["check", "jm"]) == 0


def test_nothing_half_made_is_left_when_the_disk_is_full(capsys, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main(["import", "jtl", *three_logs(), "--run", "jm"]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert not list(Path("results").iterdir())


@pytest.mark.parametrize(
    ("samples", "threads", "calls"),
    [
        # One thread twice as fast as the other.
        ([{"threadName": f"users 1-{1 + (place % 3 == 0)}"} for place in range(12)], 2, 6),
        # As many threads, but one after the other.
        ([{"threadName": f"users 1-{place}", "grpThreads": 1} for place in range(12)], 1, 12),
        # One thread ends before the other.
        (
            [
                {"threadName": f"users 1-{k % 2}", "grpThreads": left, "allThreads": left}
                for k, left in enumerate([*[2] * 11, 1])
            ],
            *(2, 6),
        ),
        # Another group of five sends another label.
        ([{"allThreads": 7} for _ in range(12)], 2, 6),
        # Two engines of a distributed test, which count each for itself.
        (
            [{"threadName": f"10.0.0.{k % 4 // 2}:1099-users 1-{k % 2}"} for k in range(12)],
            *(4, 3),
        ),
        # The same, of engines that were named without a port.
        *(
            (
                [
                    {"threadName": f"{name}{k % 4 // 2}-Thread Group 1-{1 + k % 2}"}
                    for k in range(12)
                ],
                *(4, 3),
            )
            for name in ("jmeter-slave-", "gen-")
        ),
        # Groups of one engine, whose names differ in the same way, have numbers of their own.
        (
            [
                {"threadName": f"{'ab'[k % 2]}-users {1 + k % 2}-{1 + k % 4 // 2}"}
                for k in range(12)
            ],
            *(2, 6),
        ),
        # Names or counts alone.
        ([{"threadName": "", "grpThreads": "", "allThreads": 3} for _ in range(12)], 3, 4),
        ([{"grpThreads": "", "allThreads": ""} for _ in range(12)], 2, 6),
        ([{"threadName": "", "grpThreads": "", "allThreads": ""} for _ in range(12)], 1, 12),
        # 12 calls are not divisible by five.
        (
            [
                {"threadName": f"users 1-{k % 5}", "grpThreads": 5, "allThreads": 5}
                for k in range(12)
            ],
            *(5, 3),
        ),
        # Two groups of one thread each.
        (
            [
                {"threadName": ("Readers 1-1", "Writers 2-1")[k % 2], "grpThreads": 1}
                for k in range(12)
            ],
            *(2, 6),
        ),
    ],
)
def test_client_threads_are_those_there_were_at_once(samples, threads, calls):
    write("a.jtl", [sample(place, **changes) for place, changes in enumerate(samples)])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 0
    run = open_run("jm")
    (planned,) = run.plan
    assert (planned.threads, planned.calls, planned.rows) == (threads, calls, 12)
    assert not analyse(run).findings


def test_labels_whose_levels_would_be_one_cell_are_refused(capsys):
    write("a.jtl", [sample(label="size=1"), sample(1, label="size=true")])
    assert main(["import", "jtl", "a.jtl", "--run", "jm"]) == 2
    assert "give size the levels 1 and true" in capsys.readouterr().err
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--run", "../x"], "is not a valid name"),
        (["--run", ".x"], "is not a valid name"),
        (["--run", "x", "--study", "A B"], "is not a valid name"),
        (["--run", "x", "--factor", "calls=3"], "not the name of a column of cells.csv"),
        (["--run", "x", "--factor", "My-Factor=3"], "cannot name a factor"),
        (["--run", "x", "--factor", "a=1", "--factor", "a=2"], "--factor a is given twice"),
    ],
)
def test_names_that_cannot_be_are_refused(options, part, capsys):
    assert main(["import", "jtl", *three_logs(), *options]) == 2
    assert part in capsys.readouterr().err
    assert not Path("results").exists()


def test_a_run_that_is_there_and_a_log_given_twice_are_refused(capsys):
    logs = three_logs()
    assert main(["import", "jtl", logs[0], logs[0], "--run", "jm"]) == 2
    assert "a copy is not a replicate" in capsys.readouterr().err
    assert main(["import", "jtl", *logs, "--run", "jm"]) == 0
    before = Path("results/jm/plan.jsonl").read_bytes()
    assert main(["import", "jtl", logs[0], "--run", "jm"]) == 2
    assert "choose another run name" in capsys.readouterr().err
    assert Path("results/jm/plan.jsonl").read_bytes() == before


@given(content=st.binary(max_size=300))
@settings(derandomize=True, max_examples=100)
def test_any_bytes_are_read_or_refused_without_a_traceback(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "a.jtl"
    path.write_bytes(b"timeStamp,elapsed,label,success\n" + content)
    try:
        blocks = read_jtl(path).blocks
    except InputError as error:
        assert str(path) in str(error)
    else:
        assert all(len(found) for samples in blocks for found in samples.values())
