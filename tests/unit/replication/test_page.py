"""The pages of the replication: their commands print what stands there, also its numbers."""

import csv
import hashlib
import math
import os
import re
import subprocess
import sys
import zipfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from collect.cells.analysis import analyse
from collect.exchange.archive.sources import open_sources
from collect.exchange.export import export
from collect.replication.studies import find
from collect.run.stop import OBRIEN_FLEMING, StopRule

ROOT = Path(__file__).parents[3]
ARCHIVES = sorted((ROOT / "docs/replication").glob("*.zip"))
CHARTS = sorted((ROOT / "docs/replication").glob("*.svg"))
SUMMARIES = sorted(path for path in (ROOT / "docs/replication").iterdir() if path.is_dir())
ATTACHMENTS, BINDING, MTOM, OVERHEAD = (
    ROOT / f"docs/replication/paper-{name}"
    for name in ("attachments", "binding", "mtom", "overhead")
)
STUDIES = ("sort", "binding", "mtom", "overhead", "attachments")
PAGES = {
    name: (ROOT / f"docs/replication/{name}.md").read_text(encoding="utf-8")
    for name in ("README", *STUDIES)
}
COMMAND = re.compile(
    r"^`((?:cd|collect|sed) [^`]+)`:\n\n((?:\|[^\n]*\n)+)|^```console\n(.*?)^```\n", re.M | re.S
)
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+")


def commands_of(text):
    """Yield each command of a text with what the page says that it prints."""
    for table, rows, console in COMMAND.findall(text):
        if table:
            yield table, rows
        for part in re.split(r"^\$ ", console, flags=re.M)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


COMMANDS = [pair for page in PAGES.values() for pair in commands_of(page)]
SECTIONS = [part for page in PAGES.values() for part in re.split(r"^(?=## )", page, flags=re.M)]


# Starting `collect` and unpacking take seconds: all formats of an archive are exported at once.
COLLECT_ONCE = """#!/bin/sh
if [ "$1" = export ]; then exec cat {directory}/"$(basename "$2")-$4"; fi
exec {collect} "$@"
"""
EXPORT = re.compile(r"collect export (\S+) --format (\w+) -o -")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A PATH with a `collect` that prints what was exported before."""
    directory = tmp_path_factory.mktemp("collect")
    formats = {
        "replication",
        "chart",
        *(f for command, _ in COMMANDS for _, f in EXPORT.findall(command)),
    }
    with open_sources([str(archive) for archive in ARCHIVES]) as sources:
        for source in sources:
            analysis = analyse(source.run)
            for name in formats:
                export(analysis, name, directory / f"{source.archive.path.name}-{name}")
    script = directory / "collect"
    real = Path(sys.executable).with_name("collect")
    script.write_text(COLLECT_ONCE.format(directory=directory, collect=real))
    script.chmod(0o755)
    return f"{directory}:{Path(sys.executable).parent}:{os.environ['PATH']}"


def printed_by(command, path):
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=range(len(COMMANDS)))
def test_a_command_prints_what_stands_below_it(command, printed, path):
    assert printed_by(command, path) == printed


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text[:30])
def test_each_number_of_the_text_is_printed_by_a_command_of_its_section(section):
    printed = " ".join(printed for _, printed in commands_of(section)).replace("\u202f", "")
    known = [float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", printed)]
    unproven = []
    for text in NUMBER.findall(COMMAND.sub("", section)):
        half = 0.5 * 10.0 ** -len(text.partition(".")[2])
        if not any(abs(number - float(text)) <= half * 1.001 for number in known):
            unproven.append(text)
    assert unproven == []


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)
@pytest.mark.parametrize(("form", "suffix"), [("replication", ".md"), ("chart", ".svg")])
def test_what_stands_beside_an_archive_comes_from_it(archive, form, suffix, path):
    command = f"collect export {archive.relative_to(ROOT)} --format {form} -o -"
    beside = archive.with_suffix(suffix).read_text(encoding="utf-8")
    assert printed_by(command, path) == beside


def test_the_page_draws_each_run_that_it_archives():
    names = [path.stem for path in ARCHIVES]
    assert names
    for name in names:
        assert sum(f"]({name}.svg)" in page for page in PAGES.values()) == 1
        assert any(f"docs/replication/{name}.zip" in command for command, _ in COMMANDS)


def rows_of(summary, name):
    with (summary / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cell_of(row):
    """The levels of a row: what stands between the study and the first column that is ours."""
    names = list(row)
    ours = next(place for place, name in enumerate(names) if name in {"trial", "trials"})
    return tuple(row[name] for name in names[1:ours])


def times_of_cells(summary):
    """The geometric mean of the trials of each cell of a summary, by cell."""
    times = defaultdict(list)
    for row in rows_of(summary, "trials"):
        if row["outcome"] == "ok":
            times[cell_of(row)].append(float(row["mean_ms"]))
    return {cell: math.exp(math.fsum(map(math.log, of)) / len(of)) for cell, of in times.items()}


@pytest.mark.parametrize("summary", SUMMARIES, ids=lambda path: path.name)
def test_the_cells_of_a_summary_come_from_its_trials(summary):
    times = times_of_cells(summary)
    cells = [row for row in rows_of(summary, "cells") if row["outcome"] == "ok"]
    assert len(cells) == len(times) > 20
    for row in cells:
        assert float(row["mean_ms"]) == pytest.approx(times[cell_of(row)], rel=1e-6, abs=1e-6)


LABEL = re.compile(r"([\d.]+) KB, (\w+) / (\w+)(?:, (\d+) at once)?")
AT_ONCE = {"1": "1", "2": "30", "3": "100"}  # by claim, where the label does not say it


def test_the_claims_of_binding_come_from_its_trials():
    times = times_of_cells(BINDING)
    claims = rows_of(BINDING, "claims")
    assert len(claims) == 3 + 2 + 4 + 12
    for row in claims:
        size, first, second, said = LABEL.fullmatch(row["number"]).groups()
        rest = (f"{float(size) * 1024:.0f}", said or AT_ONCE[row["claim"]], "true")
        ratio = times[first.lower(), *rest] / times[second.lower(), *rest]
        assert float(row["measured"]) == pytest.approx(ratio, rel=1e-6)


def ratio_of(trials, factor, slow, fast, level):
    """The ratio of two levels of a factor, one a block, and the ends of its interval."""
    times = trials.pivot(index="block", columns=factor, values="mean_ms")
    logs = np.log(times[slow] / times[fast])
    ends = stats.t.interval(level, len(logs) - 1, logs.mean(), stats.sem(logs))
    return np.exp([logs.mean(), *ends])


def judged_in(row):
    """The ratio that a claim was judged by, and the ends of its interval."""
    return [float(row[name]) for name in ("measured", "ci95_low", "ci95_high")]


def test_the_ratios_of_mtom_come_from_its_trials():
    page = MTOM.with_suffix(".md").read_text(encoding="utf-8")
    # It pays for interim analyses.
    level = float(re.search(r"confidence level of ([\d.]+) %", page)[1]) / 100
    trials = pd.DataFrame(rows_of(MTOM, "trials")).astype({"mean_ms": float})
    judged = {row["number"]: row for row in rows_of(MTOM, "claims")}
    for number, size, slow, fast in (
        ("MTOM / inline at 1 KiB", "1024", "mtom", "inline"),
        ("inline / MTOM at 192 KiB", "196608", "inline", "mtom"),
    ):
        times = trials[trials["payload_bytes"] == size]
        wanted = ratio_of(times, "encoding", slow, fast, level)
        assert judged_in(judged[number]) == pytest.approx(wanted, rel=1e-4)


def test_the_ratios_of_attachments_come_from_its_trials():
    trials = pd.DataFrame(rows_of(ATTACHMENTS, "trials"))
    times = trials[trials["matrix"] == "50"].astype({"mean_ms": float})
    judged = {row["claim"]: row for row in rows_of(ATTACHMENTS, "claims")}
    for claim, fast in (("2", "mime"), ("3", "dime")):
        wanted = ratio_of(times, "encoding", "xml", fast, 0.95)
        assert judged_in(judged[claim]) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("summary", [ATTACHMENTS, BINDING], ids=lambda path: path.name)
def test_the_seals_of_a_summary_are_those_of_the_checksums(summary):
    lines = (summary / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sealed = {name: digest for digest, name in (line.split("  ") for line in lines)}
    with zipfile.ZipFile(summary / "trials.zip") as seals:
        found = {name: hashlib.sha256(seals.read(name)).hexdigest() for name in seals.namelist()}
    assert found
    archive = f"{summary.name}.zip"
    assert found.items() == sealed.items() - {(archive, sealed[archive])}


def test_a_summary_names_its_correction_as_a_report_does():
    page = MTOM.with_suffix(".md").read_text(encoding="utf-8")
    correction = StopRule(0.1, (3, 4), OBRIEN_FLEMING).correction
    assert f"are corrected ({correction})." in page


@pytest.mark.parametrize("name", ["fairness", "upstream"])
def test_the_calls_over_jms_without_an_answer_come_from_their_trials(name):
    with (ROOT / "docs/explain/unanswered.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    failed = sum(int(row["errors"]) for row in rows)
    made = sum(int(row["calls"]) for row in rows) + failed
    page = (ROOT / f"docs/explain/{name}.md").read_text(encoding="utf-8")
    assert f"{failed} of {made:,} calls".replace(",", " ") in " ".join(page.split())


def test_what_longer_replies_take_over_tcp_comes_from_the_trials_of_overhead():
    trials = overhead_trials("size")
    over_tcp = trials[trials["protocol"] == "tcp"]
    ratio, low, high = ratio_of(over_tcp, "reply_bytes", "500", "1", 0.95)
    said = f"takes {ratio:.3f} times as long as one of 1 byte, with an interval from {low:.3f} to"
    assert f"{said} {high:.2f}." in " ".join(PAGES["overhead"].split())


def overhead_trials(experiment):
    frame = pd.DataFrame(rows_of(OVERHEAD, "trials"))
    frame = frame[frame["experiment"] == experiment]
    numbers = ["calls", "mean_ms", "log_mean", "log_variance"]
    frame[numbers] = frame[numbers].astype(float)
    return frame


def claimed(claim, number):
    """The row of a number of a claim, both by how they begin."""
    (row,) = [
        row
        for row in rows_of(OVERHEAD, "claims")
        if row["sentence"].startswith(claim) and row["number"].startswith(number)
    ]
    return row


def test_the_ratio_of_overhead_comes_from_its_trials():
    wanted = ratio_of(overhead_trials("one-byte"), "protocol", "soap", "tcp", 0.95)
    row = claimed("For a reply of one byte", "one byte")
    assert judged_in(row) == pytest.approx(wanted, rel=1e-9)


def test_the_analysis_of_overhead_comes_from_its_trials():
    frame = overhead_trials("size")
    frame["log"] = np.log(frame["mean_ms"])
    model = ols("log ~ C(reply_bytes) * C(protocol) + C(block)", frame).fit()
    table = anova_lm(model, typ=2)
    for source, term in (
        ("size", "C(reply_bytes)"),
        ("protocol", "C(protocol)"),
        ("interaction", "C(reply_bytes):C(protocol)"),
    ):
        stated = claimed("Size, protocol", f"{source}, F")["number"].replace("\u202f", "")
        f = float(re.search(r"F ([\d.]+) against", stated)[1])
        assert f == pytest.approx(table.loc[term, "F"], rel=6e-3)


def test_the_share_of_overhead_comes_from_its_trials():
    frame = overhead_trials("one-byte")
    calls, logs = frame["calls"], frame["log_mean"]
    # A share excludes the differences between blocks.
    frame["level"] = logs - logs.groupby(frame["block"]).transform("mean") + logs.mean()
    means = frame["level"]
    within = ((calls - 1) * frame["log_variance"]).sum()
    of_cell = frame.groupby("protocol").apply(
        lambda rows: np.average(rows["level"], weights=rows["calls"]), include_groups=False
    )
    own = frame["protocol"].map(of_cell)
    within += (calls * (means - own) ** 2).sum()
    between = (calls * (own - np.average(means, weights=calls)) ** 2).sum()
    row = claimed("The protocol explains", "share of protocol")
    assert float(row["measured"]) == pytest.approx(between / (between + within), rel=1e-9)


@pytest.mark.parametrize("summary", SUMMARIES, ids=lambda path: path.name)
def test_a_summary_has_the_checksum_of_each_seal(summary):
    lines = (summary / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sealed = {line.split("/")[1] for line in lines if line.endswith("/trial.json")}
    assert {row["trial"] for row in rows_of(summary, "trials")} <= sealed
    assert all(re.fullmatch(r"[0-9a-f]{64}  \S+", line) for line in lines)


def test_the_first_table_has_every_claim_of_every_paper():
    table = next(printed for _, printed in commands_of(PAGES["README"]))
    rows = [line.split(" | ")[:2] for line in table.splitlines()[2:]]
    claims = {(study, claim.sentence) for study in STUDIES for claim in find(study).claims}
    assert {(study.removeprefix("| "), sentence) for study, sentence in rows} == claims


@pytest.mark.parametrize("summary", SUMMARIES, ids=lambda path: path.name)
def test_a_summary_is_judged_as_its_intervals_say(summary):
    for row in rows_of(summary, "claims"):
        verdict = row["verdict"]
        if verdict == "not tested":
            assert row["measured"] == ""
            continue
        if verdict in {"fails", "direction only", "sign open"}:
            assert row["size"] == "refuted"
        if verdict == "holds":
            assert row["size"] == "shown"
        low, high = (float(row[f"ci95_{end}"] or row[f"ci90_{end}"]) for end in ("low", "high"))
        assert low <= float(row["measured"]) <= high


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_paper_and_not_document(page):
    assert not re.search(r"\bdocuments?\b", PAGES[page])


@pytest.mark.parametrize("page", PAGES)
def test_no_page_blames_a_pause_that_the_runs_do_not_show(page):
    assert "suffer" not in PAGES[page]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda path: path.stem)
def test_a_chart_says_paper_and_not_document(chart):
    assert not re.search(r"\bdocuments?\b", chart.read_text(encoding="utf-8"))
