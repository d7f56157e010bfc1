"""Exports what a run says of its paper: the claims as CSV and drawing, and all as Markdown."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from collect.cells.analysis import Analysis
from collect.cells.notation import show_estimate
from collect.exchange.tables import markdown, write_rows
from collect.replication.claims import Judgement, Result
from collect.replication.exhibits import Entry, Exhibit, Figure, Header, Table
from collect.replication.replicate import JudgedClaim, replicate
from collect.report.drawings.claims import in_words, pairs_of
from collect.report.picture import claims_picture
from collect.stats.estimates import Estimate
from collect.stats.groups import Explained

_COLUMNS = (
    *("claim", "sentence", "where", "statistic", "bound", "number", "paper", "measured"),
    *("ci95_low", "ci95_high", "samples", "verdict", "verdict_of_claim", "not_even_in_paper"),
    *("size", "sign", "drifting", "ci90_low", "ci90_high"),
)
_NO_ENDS = ("", "")

_MOST_NUMBERS = 10
"""More numbers of one claim than this are counted in a table, and listed in the CSV alone."""


def write_claims(analysis: Analysis, path: Path) -> None:
    """Write a CSV row for each number of each claim, as printed and as measured, with verdicts.

    A share that F explains has an interval of 90 %, whose lower end alone tells whether it is
    significant at 5 %: it stands in the last columns, and ci95_low and ci95_high are then empty.
    """
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
        known: tuple[Any, ...] = ("", _NO_ENDS, "")
        if isinstance(number, Estimate):
            known = number.value, (number.low, number.high), number.samples
        value, ends, samples = known
        of_95, of_90 = (_NO_ENDS, ends) if isinstance(number, Explained) else (ends, _NO_ENDS)
        yield [
            *(claim.sentence, claim.where, claim.statistic, claim.bound_of(result.label)),
            *(result.label, paper.value if isinstance(paper, Estimate) else "", value),
            *(*of_95, samples, result.verdict, judged.measured.verdict),
            "true" if judged.is_not_even_in_paper else "false",
            *(result.size, result.sign, "true" if judged.measured.is_drifting else "false"),
            *of_90,
        ]


def write_verdicts(analysis: Analysis, path: Path) -> None:
    """Write a Markdown table with a short row for each claim."""
    rows = [
        [
            analysis.run.study,
            judged.claim.sentence,
            _in_short(judged.published),
            _in_short(judged.measured),
            _verdict(judged),
        ]
        for judged in replicate(analysis).claims
    ]
    lines = _pipes(["study", "claim", "paper", "measured", "verdict"], rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _in_short(judgement: Judgement) -> str:
    """Return a number with its interval, or how many of several lie inside, and their range."""
    if not judgement.tested:
        return "-"
    if judgement.only is not None:
        return judgement.only.text
    return f"{judgement.holding} of {len(judgement.results)} inside, {judgement.span}"


def _verdict(judged: JudgedClaim) -> str:
    flag = ", not even in the paper" * judged.is_not_even_in_paper
    return f"{judged.measured.words}{flag}"


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
        [replication.correction] if replication.correction else [],
        ["## Claims"],
        _pipes(
            ["claim", "holds if", "the paper", "measured", "verdict"],
            [_claim(judged) for judged in replication.claims],
        ),
        [f"- {markdown(sentence)}" for sentence in replication.summary],
        *(part for exhibit in replication.exhibits for part in _exhibit(exhibit)),
    ]
    text = "\n\n".join("\n".join(part) for part in parts if part)
    path.write_text(text + "\n", encoding="utf-8")


def _claim(judged: JudgedClaim) -> list[str]:
    claim = judged.claim
    return [
        f"{claim.sentence} ({claim.where})",
        f"{claim.statistic} {claim.bound}",
        _found(judged.published),
        _found(judged.measured),
        _verdict(judged),
    ]


def _found(judgement: Judgement) -> str:
    if len(judgement.results) > _MOST_NUMBERS:
        return in_words(judgement)
    beside = (Result(f"not judged, {label}", number) for label, number in judgement.beside)
    return "; ".join(map(_number, (*judgement.results, *beside)))


def _number(result: Result) -> str:
    text = result.text if isinstance(result.estimate, Estimate) else "-"
    return f"{result.label}: {text}" if result.label else text


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
    over = f" ({show_estimate(entry.over_paper)}x the paper's)" if entry.over_paper else ""
    return f"{show_estimate(entry.estimate, entry.show)}{over}"


def _pipes(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = (header, ["---"] * len(header), *rows)
    return [f"| {' | '.join(markdown(text) for text in row)} |" for row in lines] if rows else []
