"""Exports the cells of a run as tables for a paper, and its trials as a tidy CSV."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from collect.cells.analysis import Analysis
from collect.cells.cells import CellResult, cells_csv
from collect.cells.notation import show, show_level, show_lost
from collect.cells.plots import COLUMN, WholePlots, whole_plots
from collect.csv_fields import row_writer
from collect.errors import InputError
from collect.run.cell import Cell, level_field
from collect.run.directory import Run

_IN_REPORT = "read these numbers in the report (`collect report`)"
_TIMES = ("mean_ms", "median_ms", "variance_ms2", "log_mean", "log_variance")
_NUMBERS = ("trials", "mean, ms", "95 % interval, ms", "p50, ms", "p99, ms", "failed calls")
_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    # \textquotedbl is unknown in the encoding that LaTeX has unless told otherwise.
    '"': r"\symbol{34}",
    # At the start of a row these would be options of the end of the row before.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
    "\N{INFINITY}": r"$\infty$",
    "\N{LESS-THAN OR EQUAL TO}": r"$\leq$",
    "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$",
}
_LIGATURE = re.compile(r"([-',])(?=\1)")
_LAST_LATIN = "\N{LATIN SMALL LETTER LONG S}"
_KNOWN_TO_PDFLATEX = (
    "\N{EN DASH}\N{EM DASH}\N{HORIZONTAL ELLIPSIS}\N{EURO SIGN}\N{RIGHTWARDS ARROW}"
)


def write_csv(analysis: Analysis, path: Path) -> None:
    """Write cells.csv."""
    path.write_text(cells_csv(analysis.run, analysis.cells), encoding="utf-8")


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = row_writer(stream)
        writer.writerow(header)
        writer.writerows(rows)


def write_with_levels(
    run: Run,
    path: Path,
    columns: Sequence[str],
    rows: Iterable[tuple[Cell, Sequence[Any]]],
    instead: str = _IN_REPORT,
) -> None:
    """Write a CSV file of rows of cells, with columns of the study and the levels before these.

    Raises InputError where a factor has the name of one of them; `instead` is the next step.
    """
    twice = sorted({"study", *columns} & set(run.factors))
    if twice:
        raise InputError(
            f"{run.name}: the factor {twice[0]} has the name of a column of this table; {instead}"
        )
    lines = ([run.study, *map(level_field, cell.levels), *row] for cell, row in rows)
    write_rows(path, ["study", *run.factors, *columns], lines)


def write_trials(analysis: Analysis, path: Path) -> None:
    """Write a CSV row for each whole trial; its times are empty where it does not count.

    `variance_ms2`, `log_mean` and `log_variance` are those of its calls, the latter of logs of ms.
    A run of several node settings has that of each trial in the last column, `whole_plot`.
    """
    plots = whole_plots(analysis.run.plan)
    own = ("trial", "block", "position", "outcome", "calls", "errors", *_TIMES)
    columns = (*own, *([COLUMN] if plots else []))
    instead = "export parquet instead, which has one column for all levels"
    write_with_levels(analysis.run, path, columns, _trials(analysis, plots), instead)


def _trials(analysis: Analysis, plots: WholePlots | None) -> Iterator[tuple[Cell, list[Any]]]:
    for cell in analysis.cells:
        for trial in cell.trials:
            sealed, calls = trial.trial, trial.calls
            times = [getattr(calls, name) if trial.counts else None for name in _TIMES]
            row = [
                *(sealed.id, sealed.block, sealed.position, sealed.outcome),
                *(calls.calls, calls.errors),
                *("" if time is None else repr(time) for time in times),
                *([plots.of_trial[sealed.id][1]] if plots else []),
            ]
            yield cell.cell, row


def write_latex(analysis: Analysis, path: Path) -> None:
    """Write a table for the packages booktabs and longtable, numbers as the report shows them.

    The file begins with a comment when it holds letters that pdfLaTeX has no fonts for.
    """
    header, rows = _table(analysis, _latex)
    sides = "".join(
        "l" if any(isinstance(level, (str, bool)) for level in levels) else "r"
        for levels in analysis.run.factors.values()
    )
    is_beyond = any(
        character > _LAST_LATIN and character not in _KNOWN_TO_PDFLATEX
        for row in rows
        for character in "".join(row)
    )
    head = (r"\toprule", " & ".join(header) + r" \\", r"\midrule")
    lines = [
        *(
            ["% Compile with LuaLaTeX or XeLaTeX, and a font of these letters."]
            if is_beyond
            else []
        ),
        r"{\footnotesize\setlength{\tabcolsep}{4pt}",
        rf"\begin{{longtable}}{{{sides}{'r' * len(_NUMBERS)}}}",
        rf"\caption{{{_latex(_caption(analysis))}}}",
        rf"\label{{tab:{re.sub('[^A-Za-z0-9]+', '-', analysis.run.name)}}}\\",
        *(*head, r"\endfirsthead", *head, r"\endhead"),
        *(r"\bottomrule", r"\endlastfoot"),
        *(" & ".join(row) + r" \\" for row in rows),
        r"\end{longtable}}",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_markdown(analysis: Analysis, path: Path) -> None:
    """Write a pipe table, numbers as the report shows them."""
    header, rows = _table(analysis, markdown)
    count = len(analysis.run.factors)
    rule = ["---"] * count + ["---:"] * len(_NUMBERS)
    lines = [f"| {' | '.join(row)} |" for row in (header, rule, *rows)]
    text = "\n".join([*lines, "", markdown(_caption(analysis))]) + "\n"
    path.write_text(text, encoding="utf-8")


def _caption(analysis: Analysis) -> str:
    run = analysis.run
    return (
        f"Run {run.name}: study {run.study}, profile {run.profile}. Geometric means of trial means "
        "with Student's 95 % intervals over trials (JVM forks)."
    )


def _table(analysis: Analysis, escape: Callable[[str], str]) -> tuple[list[str], list[list[str]]]:
    header = [escape(text) for text in (*analysis.run.factors, *_NUMBERS)]
    rows = [
        [escape(text) for text in (*map(show_level, cell.cell.levels), *_numbers(cell))]
        for cell in analysis.cells
    ]
    return header, rows


def _numbers(cell: CellResult) -> Sequence[str]:
    failed = f"{cell.errors}" if cell.trials else ""
    if cell.mean is None:
        return str(len(cell.trials)), cell.outcome, "", "", "", failed
    low, high = cell.mean.low, cell.mean.high
    return (
        str(len(cell.counted)),
        f"{show(cell.mean.value)}{f' ({show_lost(cell.mean)})' if cell.mean.lost else ''}",
        "no interval" if low is None or high is None else f"{show(low)} to {show(high)}",
        show(cell.pooled.p50_ms) if cell.pooled and cell.pooled.p50 else "",
        show(cell.pooled.p99_ms) if cell.pooled and cell.pooled.p99 else "",
        failed,
    )


def _latex(text: str) -> str:
    composed = unicodedata.normalize("NFC", _one_line(text))
    escaped = "".join(_LATEX.get(character, character) for character in composed)
    return _LIGATURE.sub(r"\1{}", escaped)


def markdown(text: str) -> str:
    """Return a text as one cell of a pipe table, without marks that Markdown would read."""
    return re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", _one_line(text).replace("&", "&amp;"))


def _one_line(text: str) -> str:
    """Return a text without line ends and control characters, which no table can hold."""
    return "".join(
        character if character.isprintable() or character == "\N{NARROW NO-BREAK SPACE}" else " "
        for character in text
    )
