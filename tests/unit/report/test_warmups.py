"""What the report says of warm-ups, of the first calls, and of runs without observers."""

import csv
import re

import pytest
from made_up_studies import with_demo
from synthetic import make_run, seal, sort_times

from collect.cells.analysis import analyse
from collect.cli import main
from collect.logs.warmth import warmth_of
from collect.report.warmups import beginnings_of
from collect.run.directory import open_run
from collect.run.trials import read_trial

GRID = {"transport": ["soap", "jms"], "servers": [1], "integers": [500]}
DEMO = {"restart": "none", "replicates": 3, "calls": 6, "warmup": 4, "timeout_s": 60, "where": []}
STUDY = with_demo(factors=GRID, **DEMO)
UNOBSERVED = with_demo(factors=GRID, constants={"observe": "none"}, **DEMO)
TIMES = [3.0, 1.0, 1.0, 1.0, 1.0, 1.0]


def phase(elapsed_s, compile_ms, classes, collections):
    return {
        "elapsed_ns": round(elapsed_s * 1e9),
        "compile_ms": compile_ms,
        "classes_loaded": classes,
        "gc_count": collections,
        "gc_ms": 1,
    }


def make(directory, study=STUDY, **seal_as):
    """A run of which block k warmed up for k s, compiling half of it, and then 1 % of 0.2 s."""
    plan = make_run(directory, sort_times, study=study, until=0)
    for planned in plan:
        phases = {
            "warmup": phase(planned.block, 500 * planned.block, 900, 4),
            "measure": phase(0.2, 2, planned.block - 1, 2 * planned.block),
        }
        told = {"phases": phases, "pause_ns": 5_000_000, **seal_as}
        seal(directory / "trials", planned, TIMES, **told)
    return open_run(str(directory))


def page_of(run):
    assert main(["report", str(run.directory)]) == 0
    return (run.directory / "report.html").read_text(encoding="utf-8")


def rows_of(page, name):
    """The texts of the cells of a table, found by its caption."""
    table = page[page.index(f"{name} of ") :]
    table = table[: table.index("</table>")]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table[table.index("<tbody") :], re.DOTALL)
    return [
        [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in rows
    ]


def test_phases_are_read_and_summed_up_over_the_trials(tmp_path):
    run = make(tmp_path / "night")
    trial = read_trial(run.trials_directory / run.plan[-1].id)
    measured = trial.phases["measure"]
    assert (measured.elapsed_ns, measured.classes_loaded, measured.gc_count) == (2e8, 2, 6)
    assert (measured.compiling, trial.phases["warmup"].compiling) == (0.01, 0.5)
    warmth = warmth_of(t.trial for t in analyse(run).cells[0].counted)
    assert (warmth.seconds.median, warmth.seconds.most) == (2, 3)
    assert (warmth.compiling.median, warmth.compiling.most) == (0.5, 0.5)
    assert (warmth.still_compiling.median, warmth.classes.most) == (0.01, 2)
    assert (warmth.collections.median, warmth.collections.most) == (4, 6)


def test_the_report_shows_how_each_cell_warmed_up_and_how_measuring_begins(tmp_path):
    page = page_of(make(tmp_path / "night"))
    rows = rows_of(page, "Warm-up of the cells")
    numbers = ["2.00 ≤ 3.00", "50.0 %", "1.00 %", "1 ≤ 2", "4 ≤ 6"]
    assert [row[3:] for row in rows] == [["4", *numbers]] * 2
    rows = rows_of(page, "First measured calls")
    assert [row[0] for row in rows] == ["SOAP", "JMS"]
    first, pause = "3.00", "5.00"
    assert [row[1:] for row in rows] == [["3", first, pause, "5\u202f000", "3"]] * 2


def test_the_export_has_the_numbers_of_the_report(tmp_path):
    run, path = make(tmp_path / "night"), tmp_path / "warmups.csv"
    assert main(["export", str(run.directory), "--format", "warmup", "-o", str(path)]) == 0
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["transport"] == "soap"]
    assert {row["what"]: (row["median"], row["most"], row["unit"]) for row in rows} == {
        "first call over the others": ("3", "3", ""),
        "pause before the first call": ("5", "5", "ms"),
        "pause over the usual gap": ("5000", "5000", ""),
        "warm-up": ("2", "3", "s"),
        "compiler in the warm-up": ("0.5", "0.5", ""),
        "compiler while measured": ("0.01", "0.01", ""),
        "classes loaded while measured": ("1", "2", ""),
        "collections while measured": ("4", "6", ""),
    }


@pytest.mark.parametrize(
    "phases",
    [None, "none", [], {"warmup": 3}, {"other": {}}],
)
def test_a_trial_without_phases_shows_nothing_of_them(tmp_path, phases):
    run = make(tmp_path / "night", phases=phases, warmup={"calls": 4, "rows": 4, "steady": None})
    page = page_of(run)
    assert ("How the JVMs warmed up" in page) == (phases == {"other": {}})
    # The calls themselves say how measuring began.
    assert "How the measured phase begins" in page
    assert main(["check", str(run.directory)]) == 0


def test_what_a_phase_does_not_say_is_not_known(tmp_path):
    whole = phase(0, 5, 3, 0)
    run = make(tmp_path / "night", phases={"measure": {**whole, "classes_loaded": "many"}})
    warmth = warmth_of(t.trial for t in analyse(run).cells[0].counted)
    assert (warmth.seconds, warmth.compiling, warmth.still_compiling, warmth.classes) == (
        *(None,) * 4,
    )
    assert warmth.collections.most == 0
    assert rows_of(page_of(run), "Warm-up of the cells")[0][4:] == ["\N{EN DASH}"] * 4 + ["0"]


def test_beginnings_are_those_of_each_system_or_of_all_cells(tmp_path):
    cells = analyse(make(tmp_path / "night")).cells
    names = {"soap": "SOAP", "jms": "JMS"}
    assert [one.system for one in beginnings_of(cells, "transport", names)] == ["SOAP", "JMS"]
    assert [one.system for one in beginnings_of(cells, None, {})] == ["all cells"]
    assert beginnings_of((), "transport", names) == []


def test_a_run_without_observers_is_said_to_be_one_and_is_no_fault(tmp_path, capsys):
    run = make(tmp_path / "night", UNOBSERVED, phases=None)
    assert main(["check", str(run.directory)]) == 0
    capsys.readouterr()
    page = page_of(run)
    head = page[: page.index(">Summary<")]
    assert "The run was measured without observers (observe: none)" in head
    assert 'class="warnings calm"' in head
    cell = analyse(run).cells[0]
    assert (cell.limit.text, cell.limit.name, cell.limit.by) == ("not observed", "not observed", "")
    assert "without observers" not in page_of(make(tmp_path / "other"))
    other = analyse(open_run(str(tmp_path / "other"))).cells[0].limit
    assert (other.name, other.text) == ("not known", "not known (not recorded)")


def test_cells_without_observers_are_named_where_others_have_them(tmp_path):
    where = [{"cells": {"transport": "jms"}, "constants": {"observe": "none"}}]
    run = make(tmp_path / "night", with_demo(factors=GRID, **{**DEMO, "where": where}))
    page = page_of(run)
    assert "1 cell was measured without observers" in page
    assert "<li>jms, 1, 500</li>" in page
