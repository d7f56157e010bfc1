import csv
import json
import re
import shutil

import duckdb
import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_studies import changed, study_of
from synthetic import reseal, seal

from collect.cells.analysis import analyse
from collect.cells.cells import cells_csv
from collect.cli import main
from collect.exchange.calls import JTL_COLUMNS, PARQUET_COLUMNS
from collect.exchange.formats import FORMATS
from collect.exchange.labels import factors_of, label_of
from collect.run.directory import open_run
from collect.run.trials import read_trial

ODD = [
    'a b, "c" | d',
    "Grüße & 50 % [x]",
    "1",
    "<b>*_#",
    "tab\there\nline",
    "nul\0",
    "it's $5 {~^\\}",
]


@pytest.fixture
def exported(tmp_path, capsys):
    """Return a function that exports a run in a format and returns the file."""

    def export(run, form, code=0, options=()):
        output = tmp_path / f"out.{form}"
        arguments = ["export", str(run.directory), "--format", form, "-o", str(output), *options]
        assert main(arguments) == code, capsys.readouterr().err
        return output

    return export


@pytest.fixture
def odd_run(run_of):
    study = study_of(
        {"transport": ODD, "label": [3, True, 2.5]},
        profiles={"demo": {"replicates": 1, "calls": 2, "warmup": 1}},
    )
    return run_of(lambda planned, rng: [1.5] * planned.calls, study=study)


def query(sql, path, *more):
    return duckdb.connect().execute(sql.replace("?", "$1"), [str(path), *more]).fetchall()


def histograms(path):
    """Return the histograms of an HdrHistogram log."""
    reader = HistogramLogReader(str(path), HdrHistogram(1, 10**12, 3))
    found = list(iter(reader.get_next_interval_histogram, None))
    reader.close()
    return found


def test_the_formats_offered_are_those_there_are(capsys):
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    printed = capsys.readouterr().out
    assert f"{{{','.join(FORMATS)}}}" in printed
    assert all(f"\n  {name} " in printed for name in FORMATS)


def test_parquet_holds_every_call_of_a_run_with_its_trial(run_of, exported):
    run = run_of()
    path = exported(run, "parquet")
    columns = query("SELECT name FROM parquet_schema(?) WHERE type IS NOT NULL", path)
    assert tuple(name for (name,) in columns) == PARQUET_COLUMNS
    for planned in run.plan[:3]:
        lines = (run.trials_directory / planned.id / "calls.csv").read_text().splitlines()[1:]
        rows = query(
            "SELECT seq, thread, phase, intended_ns, start_ns, elapsed_ns, request_bytes, "
            "response_bytes, status FROM read_parquet(?) WHERE trial = $2",
            path,
            planned.id,
        )
        assert [",".join("" if v is None else str(v) for v in row) for row in rows] == lines
    rows = query("SELECT DISTINCT trial, block, factors, run, study FROM read_parquet(?)", path)
    assert {
        (name, block, json.dumps(json.loads(factors), sort_keys=True))
        for name, block, factors, _, _ in rows
    } == {(t.id, t.block, json.dumps(dict(t.factors), sort_keys=True)) for t in run.plan}
    assert {row[3:] for row in rows} == {("night", "sort")}


def test_a_folder_that_is_named_as_a_column_changes_nothing(run_of, exported, tmp_path):
    """DuckDB reads `phase=2` as the value of a column unless told otherwise."""
    run = run_of(lambda planned, rng: [1.0] * planned.calls, until=2)
    before = exported(run, "jtl").read_bytes()
    there = tmp_path / "phase=2" / "night"
    shutil.copytree(run.directory, there)
    assert before.count(b"\n") > 1
    assert exported(open_run(str(there)), "jtl", options=["--force"]).read_bytes() == before


def test_all_studies_export_one_schema(run_of, exported):
    schemas = []
    for study in ("sort", "overhead"):
        run = run_of(
            lambda planned, rng: [1.0] * planned.calls * planned.threads,
            study=study,
            name=study,
            until=2,
        )
        path = exported(run, "parquet", options=["--force"])
        schemas.append(query("SELECT name, type, logical_type FROM parquet_schema(?)", path)[1:])
    assert schemas[0] == schemas[1]


def test_csv_of_calls_and_trials_serve_the_analysis_of_variance(run_of, exported, capsys):
    run = run_of()
    calls = list(csv.DictReader(exported(run, "csv").open(newline="")))
    assert len(calls) == sum(p.warmup_rows[0] + p.measured_rows for p in run.plan)
    path = exported(run, "trials")
    trials = list(csv.DictReader(path.open(newline="")))
    assert len(trials) == len(run.plan)
    for trial in trials[:3]:
        times = [
            int(row["elapsed_ns"])
            for row in calls
            if row["trial"] == trial["trial"] and row["phase"] == "measure"
        ]
        assert float(trial["mean_ms"]) == pytest.approx(sum(times) / len(times) / 1e6)
        assert float(trial["median_ms"]) == pytest.approx(np.median(times) / 1e6)
        assert float(trial["variance_ms2"]) == pytest.approx(np.var(times, ddof=1) / 1e12)
        logs = np.log(np.array(times) / 1e6)
        assert float(trial["log_mean"]) == pytest.approx(np.mean(logs))
        assert float(trial["log_variance"]) == pytest.approx(np.var(logs, ddof=1))
    means = {t.trial.id: t.calls.mean_ms for cell in analyse(run).cells for t in cell.trials}
    assert {trial["trial"]: float(trial["mean_ms"]) for trial in trials} == means
    capsys.readouterr()
    assert main(["anova", str(path), "--response", "mean_ms", "--factor", "transport"]) == 0


@pytest.mark.parametrize("form", ["trials", "csv", "warmup"])
def test_a_level_that_is_an_empty_text_can_be_analysed(run_of, exported, capsys, form):
    study = study_of(
        {"options": ["", "-Xint"], "servers": [1]},
        constants={"client_heap_mb": 64, "jvm_options": "options"},
        profiles={"demo": {"replicates": 3, "calls": 4, "warmup": 2}},
    )
    run = run_of(lambda planned, rng: (1 + rng.random(planned.calls)).tolist(), study=study)
    path = exported(run, form)
    rows = list(csv.DictReader(path.open(newline="")))
    assert {row["options"] for row in rows} == {"(none)", "-Xint"}
    if form == "trials":
        command = ["anova", str(path), "--response", "log_mean", "--factor", "options"]
        capsys.readouterr()
        assert main([*command, "--block", "block"]) == 0


def test_cells_are_those_of_the_report(run_of, exported):
    run = run_of()
    analysis = analyse(run)
    assert exported(run, "cells").read_text() == cells_csv(run, analysis.cells)


def test_jtl_is_what_jmeter_writes(run_of, exported):
    run = run_of(until=0)
    planned = run.plan[0]
    times = [1.4, 2.6, 1000.0, *[1.0] * (planned.calls - 3)]
    text = 'refused, "again"\nand again'
    seal(
        run.trials_directory,
        planned,
        times,
        statuses={1: "error", 2: "wrong"},
        errors=[
            {"seq": planned.warmup_rows[0] + 1, "thread": 0, "text": said}
            for said in (text, "a second text of one call")
        ],
        clock={"anchor_start_utc": "2026-03-01T22:00:00.250Z"},
    )
    path = exported(run, "jtl")
    assert path.read_text().splitlines()[0] == ",".join(JTL_COLUMNS)
    rows = list(csv.DictReader(path.open(newline="")))
    assert len(rows) == planned.calls
    assert [int(row["elapsed"]) for row in rows[:3]] == [1, 3, 1000]
    assert [row["success"] for row in rows[:4]] == ["true", "false", "false", "true"]
    assert (rows[1]["responseCode"], rows[1]["responseMessage"]) == ("error", text)
    assert rows[2]["failureMessage"] == "wrong"
    assert {factors_of(row["label"])["transport"] for row in rows} == {planned.factors["transport"]}
    warmup_ms = planned.warmup_rows[0] * (3 * 1.4 + 0.001)
    anchor_ms = 1772402400250
    assert int(rows[0]["timeStamp"]) == pytest.approx(anchor_ms + warmup_ms, abs=1)
    for row in rows:
        assert int(row["timeStamp"]) > 0
        assert int(row["bytes"]) == 1900
        assert int(row["sentBytes"]) == 2000
        assert (row["grpThreads"], row["allThreads"]) == ("1", "1")


def test_jtl_and_hdr_have_no_call_of_a_trial_that_does_not_count(run_of, exported):
    run = run_of(lambda planned, rng: [1.0] * planned.calls, until=1)
    counted, late = run.plan[:2]
    seal(run.trials_directory, late, [900.0] * late.calls, outcome="timeout", reason="too late")
    rows = csv.DictReader(exported(run, "jtl").open(newline=""))
    assert {row["threadName"].split()[0] for row in rows} == {counted.id}
    (histogram,) = histograms(exported(run, "hdr"))
    assert histogram.get_total_count() == counted.calls


def test_an_interval_of_hdr_lasts_until_its_last_call_has_ended(run_of, exported):
    run = run_of(lambda planned, rng: [*[1.0] * (planned.calls - 1), 900.0], until=1)
    (line,) = re.findall(r"(?m)^Tag=.*", exported(run, "hdr").read_text())
    assert float(line.split(",")[2]) == pytest.approx(0.899 + run.plan[0].calls / 1000, abs=0.002)


def test_hdr_logs_read_back_and_add_up_to_the_cell(run_of, exported):
    run = run_of()
    path = exported(run, "hdr")
    total = {}
    intervals = histograms(path)
    for histogram in intervals:
        total.setdefault(histogram.get_tag(), []).append(histogram)
    assert len(intervals) == len(run.plan)
    analysis = analyse(run)
    assert len(total) == len(analysis.cells)
    for cell in analysis.cells:
        tag = label_of(cell.cell).replace(" ", ";")
        first, *others = total[tag]
        for other in others:
            first.add(other)
        assert first.get_total_count() == cell.calls
        assert first.get_mean_value() / 1e6 == pytest.approx(cell.moments.mean, rel=2e-3)
        assert first.get_max_value() / 1e6 == pytest.approx(
            max(max(trial.course_ms) for trial in cell.counted), rel=2e-3
        )


def test_tags_of_two_cells_differ(run_of, exported):
    profiles = {"demo": {"replicates": 1, "calls": 2, "warmup": 1}}
    study = study_of({"options": ["-Xint -Xss1m", "-Xint;-Xss1m"], "size": [1]}, profiles=profiles)
    path = exported(run_of(lambda planned, rng: [1.5] * planned.calls, study=study), "hdr")
    assert len({histogram.get_tag() for histogram in histograms(path)}) == 2


def test_a_histogram_holds_no_failed_call(run_of, exported):
    run = run_of(until=0)
    planned = run.plan[0]
    times = [1.0, 900.0] + [1.0] * (planned.calls - 2)
    directory = seal(run.trials_directory, planned, times, statuses={1: "error"})
    path = exported(run, "hdr")
    (histogram,) = histograms(path)
    assert histogram.get_total_count() == planned.calls - 1
    assert histogram.get_max_value() / 1e6 == pytest.approx(1.0, rel=2e-3)
    (line,) = re.findall(r"(?m)^Tag=.*", path.read_text())
    start, length, most = map(float, line.split(",")[1:4])
    assert (length, most) == (pytest.approx((900 + planned.calls - 1) / 1000, abs=0.002), 1.0)
    rows = csv.DictReader((directory / "calls.csv").read_text().splitlines())
    first_ns = next(int(row["start_ns"]) for row in rows if row["phase"] == "measure")
    began = read_trial(directory).started_at.timestamp()
    assert start == pytest.approx(began + first_ns / 1e9, abs=0.001)


def test_the_wait_of_an_open_loop_is_in_the_times_for_jmeter_and_hdr(run_of, exported):
    run = run_of(lambda planned, rng: [2.0] * planned.calls, until=1)
    directory = run.trials_directory / run.plan[0].id

    def start_late(text):
        header, *lines = text.splitlines()
        rows = [line.split(",") for line in lines]
        for row in rows:
            row[3] = str(int(row[4]) - 5_000_000) if row[2] == "measure" else ""
        return "\n".join([header, *map(",".join, rows), ""])

    before = list(csv.DictReader(exported(run, "jtl").open(newline="")))
    reseal(directory, start_late)
    after = list(csv.DictReader(exported(run, "jtl", options=["--force"]).open(newline="")))
    assert {row["elapsed"] for row in before} == {"2"}
    assert {row["elapsed"] for row in after} == {"7"}
    waits = {int(b["timeStamp"]) - int(a["timeStamp"]) for b, a in zip(before, after, strict=True)}
    assert waits == {5}
    (histogram,) = histograms(exported(run, "hdr"))
    assert histogram.get_max_value() / 1e6 == pytest.approx(7.0, rel=2e-3)


def test_tables_have_a_row_a_cell_and_say_what_failed(run_of, exported):
    def times(planned, rng):
        time_ms = 2000 + 0.001 * planned.block
        return "oom" if planned.factors["servers"] == 3 else [time_ms] * planned.calls

    run = run_of(times)
    markdown = exported(run, "markdown").read_text().splitlines()
    rows = [line for line in markdown if re.match(r"\| (soap|jms) ", line)]
    assert len(rows) == 12
    assert sum("| oom |  |  |  |" in row for row in rows) == 4
    latex = exported(run, "latex").read_text()
    assert latex.count(r" \\") == 12 + 2  # a head for the first page, one for the others
    assert r"5\,000 & 3 & 2\,000 & 2\,000 to 2\,000 &" in latex
    assert latex.count("oom &  &  &  & 0") == 4


def test_a_row_of_a_table_counts_the_trials_of_its_numbers(run_of, exported):
    def times(planned, rng):
        is_lost = planned.block == 1 and planned.factors["servers"] == 3
        return "oom" if is_lost else [2000.0] * planned.calls

    run = run_of(times)
    table = exported(run, "markdown").read_text()
    shown = "2\N{NARROW NO-BREAK SPACE}000"
    assert table.count(f"| {run.blocks - 1} | {shown} (without 1 failed) |") == 4
    assert table.count(f"| {run.blocks} | {shown} |") == 8


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ('50 % of "x"', r"50 \% of \symbol{34}x\symbol{34}"),
        ("*a--b", r"{*}a-{}-b"),
        ("''x``", r"'{}'x\textasciigrave{}\textasciigrave{}"),
        (r"\end{a}[1]", r"\textbackslash{}end\{a\}{[}1{]}"),
        ("≥ 1", r"$\geq$ 1"),
        ("cafe\N{COMBINING ACUTE ACCENT}", "café"),
        ("日本", "日本"),
    ],
)
def test_what_latex_would_read_as_commands_is_escaped(run_of, exported, level, written):
    """What is expected here was compiled by pdfLaTeX once, but for the last, which it refuses."""
    profiles = {"demo": {"replicates": 1, "calls": 2, "warmup": 0}}
    study = study_of({"kind": [level], "size": [1]}, profiles=profiles)
    lines = exported(run_of(lambda planned, rng: [1.5, 1.5], study=study), "latex").read_text()
    assert f"\n{written} & 1 & 1 & 1.50 &" in lines
    assert r"\begin{longtable}{lrrrrrrr}" in lines
    assert lines.startswith("% Compile with LuaLaTeX") == (level == "日本")


WITH_EVERY_CELL = [
    name for name, form in FORMATS.items() if form.writer.split(":")[0] not in {"claims", "spent"}
]


@pytest.mark.parametrize("form", WITH_EVERY_CELL)
def test_odd_levels_survive_every_format(odd_run, exported, form):
    path = exported(odd_run, form)
    if form in {"csv", "trials", "cells", "warmup"}:
        rows = list(csv.DictReader(path.open(newline="", encoding="utf-8")))
        assert {row["transport"] for row in rows} == set(ODD)
        assert {row["label"] for row in rows} == {"3", "true", "2.5"}
    elif form == "jtl":
        labels = {row["label"] for row in csv.DictReader(path.open(newline=""))}
        assert {factors_of(label)["transport"] for label in labels} == set(ODD)
    elif form == "parquet":
        factors = query("SELECT DISTINCT factors FROM read_parquet(?)", path)
        assert {json.loads(text)["transport"] for (text,) in factors} == set(ODD)
    elif form == "hdr":
        tags = re.findall(r"(?m)^Tag=([^,\s]*),\d", path.read_text())
        assert len(tags) == len(odd_run.plan)
    else:
        lines = path.read_text().splitlines()
        ends = "|" if form == "markdown" else r"\\"
        row_count = sum(line.endswith(ends) for line in lines)
        assert row_count == len(odd_run.cells) + (2 if form == "markdown" else 3)


@pytest.mark.parametrize("form", FORMATS)
def test_a_run_without_one_trial_is_an_empty_file_of_its_format(run_of, exported, form):
    path = exported(run_of(until=0), form)
    if form == "parquet":
        assert query("SELECT count(*) FROM read_parquet(?)", path) == [(0,)]
    elif form in {"csv", "trials", "jtl"}:
        assert len(path.read_text().splitlines()) == 1
    else:
        assert path.stat().st_size > 0


def test_a_refused_trial_is_a_finding_and_in_no_export(run_of, exported, capsys):
    run = run_of()
    names = [planned.id for planned in run.plan]
    log = run.trials_directory / names[0] / "calls.csv"
    log.write_bytes(log.read_bytes()[:-3])
    reseal(run.trials_directory / names[1], lambda text: text.replace("\n3,", "\n4,", 1))
    path = exported(run, "csv", code=1)
    streams = capsys.readouterr()
    assert all(name in streams.err for name in names[:2])
    assert {row["trial"] for row in csv.DictReader(path.open())} == set(names[2:])


def test_a_file_that_is_there_is_refused_before_the_run_is_read(run_of, exported, monkeypatch):
    run = run_of(lambda planned, rng: [1.0] * planned.calls)
    exported(run, "cells")

    def read(runs):
        raise AssertionError("the run was read")

    monkeypatch.setattr("collect.commands.export.analyse_all", read)
    exported(run, "cells", code=2)


def test_a_file_that_is_there_is_replaced_only_by_force(run_of, exported, capsys, tmp_path):
    run = run_of(until=1)
    output = tmp_path / "out.cells"
    output.write_text("mine")
    exported(run, "cells", code=2)
    assert "--force" in capsys.readouterr().err
    assert output.read_text() == "mine"
    assert exported(run, "cells", options=["--force"]).read_text().startswith("study,")


def test_without_a_name_the_file_is_in_the_run(run_of, capsys):
    run = run_of(until=1)
    assert main(["export", str(run.directory), "--format", "markdown"]) == 0
    assert capsys.readouterr().out.strip() == str(run.directory / "night.md")


def test_a_factor_named_as_a_column_is_refused_where_it_would_hide_it(run_of, exported, capsys):
    study = study_of(
        {"thread": [1], "transport": ["a"]},
        profiles={"demo": {"replicates": 1}},
    )
    run = run_of(lambda planned, rng: [1.0] * planned.calls, study=study)
    exported(run, "csv", code=2)
    assert "the factor thread has the name of a column" in capsys.readouterr().err
    assert not list(run.directory.parent.parent.glob("out*"))
    exported(run, "parquet")


def test_a_full_disk_is_one_message_and_leaves_nothing(run_of, capsys):
    run = run_of(until=1)
    for form in ("parquet", "csv", "cells", "hdr"):
        arguments = ["export", str(run.directory), "--format", form, "-o", "/dev/full/out"]
        assert main(arguments) == 2
        assert "/dev/full" in capsys.readouterr().err


@given(
    factors=st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True),
        st.one_of(
            st.booleans(),
            st.integers(),
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(max_size=12),
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(derandomize=True, max_examples=200)
def test_a_label_reads_back_as_the_cell(factors):
    read = factors_of(label_of(factors))
    assert read == factors
    assert [type(level) for level in read.values()] == [type(v) for v in factors.values()]


@pytest.mark.parametrize("label", ["", "GET /", "a=1 b", "a=1 a=2", "it's", "=1", "a b=1", "1=2"])
def test_other_labels_are_no_cells(label):
    assert factors_of(label) is None


def test_exports_of_times_leave_the_cooldown_out_and_exports_of_calls_name_it(run_of, exported):
    times = [1.5] * 4
    demo = {"replicates": 1, "calls": len(times), "warmup": 2}
    run = run_of(lambda planned, rng: times, study=changed(profiles={"demo": demo}))
    for planned in run.plan:
        shutil.rmtree(run.trials_directory / planned.id)
        seal(run.trials_directory, planned, times, cooldown_ms=[90.0])
    assert {found.get_total_count() for found in histograms(exported(run, "hdr"))} == {len(times)}
    rows = list(csv.DictReader(exported(run, "jtl").open(newline="")))
    assert len(rows) == len(times) * len(run.plan)
    phases = query(
        "SELECT phase, count(*) FROM read_parquet(?) GROUP BY 1", exported(run, "parquet")
    )
    trials = len(run.plan)
    assert dict(phases) == {"warmup": 2 * trials, "measure": 4 * trials, "cooldown": trials}
