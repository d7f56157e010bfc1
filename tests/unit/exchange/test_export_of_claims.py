"""What a run says of its document, exported: claims, drawing, exhibits, and what calls cost."""

import csv
import io
import statistics
from collections import Counter, defaultdict
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from math import exp, log
from xml.etree import ElementTree

import pytest

from collect.cli import main

RUN = "sample-overhead"
ONE_BYTE = "For a reply of one byte, SOAP/HTTP takes over 13 times as long as TCP."


@pytest.fixture(scope="module")
def shown():
    """Return a function that prints an export of the sample run, as text."""

    @cache
    def show(form):
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            assert main(["export", RUN, "--format", form, "-o", "-"]) == 0
        return out.getvalue()

    return show


@pytest.fixture(scope="module")
def table(shown):
    return lambda form: list(csv.DictReader(io.StringIO(shown(form))))


def test_what_is_printed_has_the_bytes_of_the_file_on_any_terminal(shown):
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="latin-1", errors="replace")
    with redirect_stdout(terminal), redirect_stderr(io.StringIO()):
        assert main(["export", RUN, "--format", "replication", "-o", "-"]) == 0
    terminal.flush()
    text = shown("replication")
    assert terminal.buffer.getvalue() == text.encode()
    assert "\u202f" in text


def test_the_number_of_a_claim_is_that_of_the_trials(table):
    means = defaultdict(dict)
    for row in table("trials"):
        if row["experiment"] == "one-byte":
            means[row["block"]][row["protocol"]] = float(row["mean_ms"])
    ratios = [log(block["soap"] / block["tcp"]) for block in means.values()]
    (claim,) = (row for row in table("claims") if row["sentence"] == ONE_BYTE)
    assert float(claim["measured"]) == pytest.approx(exp(statistics.mean(ratios)))
    half = 4.302653 * statistics.stdev(ratios) / len(ratios) ** 0.5
    ends = [exp(statistics.mean(ratios) + side * half) for side in (-1, 1)]
    assert [float(claim[end]) for end in ("ci95_low", "ci95_high")] == pytest.approx(ends)
    assert (claim["bound"], claim["samples"]) == ("≥ 13", "3")
    assert float(claim["paper"]) == pytest.approx(7013 / 523, rel=0.001)


def test_the_interval_of_a_share_is_said_to_be_one_of_90_percent(table):
    rows = table("claims")
    shares = [row for row in rows if "90 % interval" in row["statistic"] and row["measured"]]
    assert shares
    for row in shares:
        assert row["ci95_low"] + row["ci95_high"] == ""
        assert float(row["ci90_low"]) <= float(row["measured"]) <= float(row["ci90_high"])
    others = [row for row in rows if "90 % interval" not in row["statistic"]]
    assert any(row["ci95_low"] for row in others)
    assert {row["ci90_low"] + row["ci90_high"] for row in others} == {""}


def test_a_claim_that_was_not_tested_has_no_number(table):
    untested = [row for row in table("claims") if row["verdict"] == "not tested"]
    assert untested
    assert {row["measured"] + row["ci95_low"] + row["samples"] for row in untested} == {""}


def test_the_drawing_has_a_row_for_each_claim_with_its_verdict(shown, table):
    of_claim = {
        row["claim"]: row["verdict_of_claim"] + ", drifting" * (row["drifting"] == "true")
        for row in table("claims")
    }
    verdicts = list(of_claim.values())
    drawing = ElementTree.fromstring(shown("chart"))  # noqa: S314 - our own
    texts = ["".join(one.itertext()) for one in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in texts if text in set(verdicts)] == verdicts
    assert f"Study overhead, run {RUN}" in texts


def test_the_drawing_has_each_bound_and_finding_whole(shown, table):
    drawing = ElementTree.fromstring(shown("chart"))  # noqa: S314 - our own
    texts = ["".join(one.itertext()) for one in drawing.iter("{http://www.w3.org/2000/svg}text")]
    drawn = " ".join(texts).replace("\N{NO-BREAK SPACE}", " ")
    assert "…" not in drawn
    numbers = Counter(row["claim"] for row in table("claims"))
    alone = [row for row in table("claims") if numbers[row["claim"]] == 1]
    assert alone
    assert all(f"{row['statistic']} {row['bound']}" in drawn for row in alone)


def test_the_markdown_has_the_claims_and_whole_tables(shown):
    blocks = shown("replication").split("\n\n")
    tables = [block.splitlines() for block in blocks if block.startswith("|")]
    assert any(ONE_BYTE in line for line in tables[0])
    assert len(tables) > 5
    for lines in tables:
        assert {line.replace("\\|", "").count("|") for line in lines} == {lines[0].count("|")}


def test_the_parts_of_a_call_add_up_to_its_mean(table):
    sums, calls = defaultdict(float), defaultdict(lambda: defaultdict(list))
    levels = ("experiment", "protocol", "reply_bytes", "elements")
    for row in table("spent"):
        if row["what"] == "part":
            sums[tuple(row[level] for level in levels)] += float(row["value"])
    for row in table("trials"):
        calls[tuple(row[level] for level in levels)][row["block"]].append(float(row["mean_ms"]))
    assert len(sums) == 5
    for cell, total in sums.items():
        mean = statistics.mean(value for block in calls[cell].values() for value in block)
        assert total == pytest.approx(mean, rel=1e-4)


def test_a_run_without_profiles_has_no_frames(shown):
    assert shown("frames").count("\n") == 1


def test_what_is_no_text_is_not_printed(capsys):
    assert main(["export", RUN, "--format", "parquet", "-o", "-"]) == 2
    assert "parquet is not a text format; name a file after -o" in capsys.readouterr().err
