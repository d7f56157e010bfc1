"""The page of benchmarks follows from its table, and a section measured again replaces its rows."""

from dataclasses import replace

import bench_page
import pytest
from bench_page import SHOWN, Line, chosen, merged, misses, read, render


def line(section, what, measured="1 s"):
    return Line(section, what, measured, "other", "2 s", "0.50", "", "2026-01-01", "a machine")


def test_the_page_is_what_its_table_says():
    assert bench_page.PAGE.read_text(encoding="utf-8") == render(read(bench_page.TABLE))


def test_the_page_has_the_rows_that_a_person_wants_and_no_more():
    rows = read(bench_page.TABLE)
    assert len(rows) > 200
    assert len(chosen(rows)) == len(SHOWN) == 15


def test_a_section_that_is_measured_again_replaces_its_rows_where_they_were():
    before = [line("a", "one"), line("a", "two"), line("b", "three")]
    after = merged(before, [line("a", "one", "3 s"), line("c", "four")])
    assert [(row.what, row.measured) for row in after] == [
        ("one", "3 s"),
        ("three", "1 s"),
        ("four", "1 s"),
    ]


def test_rows_survive_being_written_and_read(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_page, "TABLE", tmp_path / "benchmarks.csv")
    monkeypatch.setattr(bench_page, "PAGE", tmp_path / "benchmarks.md")
    rows = [line("a", 'with "quotes", commas'), line("b", "two")]
    bench_page.write(rows)
    assert read(bench_page.TABLE) == rows
    assert bench_page.main() == 0
    assert bench_page.PAGE.read_text() == render(rows)


@pytest.mark.parametrize(
    ("measured", "ratio", "target", "is_missed"),
    [
        ("51 ms", "0.97", "< 50 ms", True),
        ("545 ms", "0.97", "< 3 s", False),
        ("1 s", "1.49", "0.85 to 1.15", True),
        ("1 s", "0.81", ">= 0.85", True),
        ("1 s", "1.39", "< 1 times execo's", True),
        ("1 s", "0.81", "< 1, met", False),
        ("1 s", "0.81", "< 0.9, likely missed", True),
    ],
)
def test_a_row_misses_its_target_with_or_without_a_word_that_says_so(
    measured, ratio, target, is_missed
):
    row = replace(line("a", "one", measured), ratio=ratio, target=target)
    assert misses(row) is is_missed
