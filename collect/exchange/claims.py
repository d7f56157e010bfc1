"""Exports what a run says of its document: the claims as CSV and drawing, and all as Markdown."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from collect.cells.analysis import Analysis
from collect.cells.notation import show_estimate
from collect.exchange.tables import markdown, write_rows
from collect.replication.claims import Judgement
from collect.replication.exhibits import Entry, Exhibit, Figure, Header, Table
from collect.replication.replicate import JudgedClaim, replicate
from collect.report.drawings.claims import in_words, pairs_of
from collect.report.picture import claims_picture
from collect.stats.estimates import Estimate

_COLUMNS = (
    *("claim", "sentence", "where", "statistic", "bound", "number", "paper", "measured"),
    *("ci95_low", "ci95_high", "samples", "verdict", "verdict_of_claim", "not_even_in_paper"),
)

_MOST_NUMBERS = 10
"""More numbers of one claim than this are counted in a table, and listed in the CSV alone."""


def write_claims(analysis: Analysis, path: Path) -> None:
    """Write a CSV row for each number of each claim, as printed and as measured, with verdicts."""
    rows = (
        [analysis.run.study, number, *row]
        for number, judged in enumerate(replicate(analysis).claims, start=1)
        for row in _numbers(judged)
    )
    write_rows(path, ["study", *_COLUMNS], rows)


def _numbers(judged: JudgedClaim) -> Iterator[list[Any]]:
    claim = judged.claim
    for _, result, printed in pairs_of(judged):
        if result is None:
            continue
        paper, number = printed.estimate if printed else None, result.estimate
        ends: tuple[Any, ...] = ("",) * 4
        if isinstance(number, Estimate):
            ends = number.value, number.low, number.high, number.samples
        yield [
            *(claim.sentence, claim.where, claim.statistic, claim.bound_of(result.label)),
            *(result.label, paper.value if isinstance(paper, Estimate) else ""),
            *ends,
            *(result.verdict, judged.measured.verdict),
            "true" if judged.is_not_even_in_paper else "false",
        ]


def write_chart(analysis: Analysis, path: Path) -> None:
    """Write the claims as a drawing (SVG): bounds, printed and measured numbers, verdicts."""
    run = analysis.run
    title = f"Study {run.study}, run {run.name}"
    path.write_text(claims_picture(title, replicate(analysis).claims), encoding="utf-8")


def write_replication(analysis: Analysis, path: Path) -> None:
    """Write claims, summary and exhibits as Markdown, numbers as the report shows them."""
    replication = replicate(analysis)
    parts = [
        [f"Run {analysis.run.name}: study {analysis.run.study}, profile {analysis.run.profile}."],
        [replication.paying] if replication.paying else [],
        ["## Claims"],
        _pipes(
            ["claim", "holds if", "the document", "measured", "verdict"],
            [_claim(judged) for judged in replication.claims],
        ),
        [f"- {markdown(sentence)}" for sentence in replication.summary],
        *(part for exhibit in replication.exhibits for part in _exhibit(exhibit)),
    ]
    text = "\n\n".join("\n".join(part) for part in parts if part)
    path.write_text(text + "\n", encoding="utf-8")


def _claim(judged: JudgedClaim) -> list[str]:
    claim, flag = judged.claim, ", not even in the document" * judged.is_not_even_in_paper
    return [
        f"{claim.sentence} ({claim.where})",
        f"{claim.statistic} {claim.bound}",
        _found(judged.published),
        _found(judged.measured),
        f"{judged.measured.verdict}{flag}",
    ]


def _found(judgement: Judgement) -> str:
    if len(judgement.results) > _MOST_NUMBERS:
        return in_words(judgement)
    return "; ".join(
        f"{result.label}: {_value(result.estimate)}" if result.label else _value(result.estimate)
        for result in judgement.results
    )


def _value(value: object) -> str:
    return show_estimate(value) if isinstance(value, Estimate) else "-"


def _exhibit(exhibit: Exhibit) -> Iterator[list[str]]:
    table = exhibit.data if isinstance(exhibit, Figure) else exhibit
    yield [f"## {markdown(exhibit.title)}"]
    yield [markdown(exhibit.caption)]
    yield _pipes(_columns(table), [[_entry(entry) for entry in row] for row in table.rows])


def _columns(table: Table) -> list[str]:
    """Return one name a column: that of each heading over it, from the top."""
    rows = [_spread(head) for head in table.heads]
    return [": ".join(dict.fromkeys(filter(None, names))) for names in zip(*rows, strict=True)]


def _spread(head: Sequence[Header]) -> list[str]:
    return [cell.text for cell in head for _ in range(cell.span)]


def _entry(entry: Entry) -> str:
    if entry.estimate is None:
        return entry.text
    over = f" ({show_estimate(entry.over_paper)}x the document's)" if entry.over_paper else ""
    return f"{show_estimate(entry.estimate)}{over}"


def _pipes(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = (header, ["---"] * len(header), *rows)
    return [f"| {' | '.join(markdown(text) for text in row)} |" for row in lines] if rows else []
