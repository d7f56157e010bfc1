"""Writes docs/project/benchmarks.md from benchmarks.csv next to it, which has every measured row.

A section that is measured again replaces its own rows, so no row is edited by hand.
`python tests/bench/bench_page.py` writes the page again from the existing rows.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs/project/benchmarks.csv"
PAGE = TABLE.with_suffix(".md")
TEMPLATE = Path(__file__).with_name("benchmarks.md.tmpl")
_SECONDS = {"ms": 1e-3, "s": 1.0}
SHOWN = (
    ("site.yml, 7 fresh nodes", "`ansible -m ping`"),
    ("site.yml again, 7 nodes", "`ansible -m ping`"),
    ("verify.yml, 7 nodes", "`ansible -m ping`"),
    ("a trial outside its JVM (median)", "multiplexed `ssh true`"),
    ("one of 200 trivial trials, all but its JVM", "ParamSweeper and Remote of execo, `true`"),
    ("the runner resumes 5000 trials: until the next starts", "200 trials, none sealed"),
    ("a change of `link_mbit` between groups", "7 links set by hand"),
    ("a change of Tomcat's threads between groups", "5 Tomcats restarted by hand, at once"),
    ("`http`, 1 thread: p50 with readings", "without"),
    ("`http`, 1 thread: rate", "wrk"),
    ("`http`, 30 threads: rate", "wrk"),
    ("SOAP call, 10 Mbit/s, 30 threads: rate", "JMeter, our call"),
    ("JMS request and reply, 100 Mbit/s, 30 threads: rate", "Gatling"),
    ("open loop, `noop` at 1000 /s on 8 threads: p99 of the lateness", "what a trial may have"),
    (
        "open loop, `http`, * Mbit/s, 80 % of capacity (* /s): p99 of the response time",
        "vegeta",
    ),
)
"""The rows of the page: their beginnings, with wildcards, and the reference of each."""


@dataclass(frozen=True)
class Line:
    """One row of the table as it is shown, with the place and date of its measurement."""

    section: str
    what: str
    measured: str
    compared_with: str
    measured_by_it: str
    ratio: str
    target: str
    date: str
    machine: str

    def markdown(self) -> str:
        """Return the row of the page."""
        cells = (self.what, self.measured, self.compared_with, self.measured_by_it)
        return f"| {' | '.join((*cells, self.ratio, self.target))} |"


def read(table: Path) -> list[Line]:
    """Return the rows of a table; none if there is no such file."""
    if not table.is_file():
        return []
    with table.open(encoding="utf-8", newline="") as file:
        return [Line(**row) for row in csv.DictReader(file)]


def merged(before: Iterable[Line], found: Sequence[Line]) -> list[Line]:
    """Return the rows, with those of newly measured sections replaced in their old places."""
    again: dict[str, list[Line]] = {}
    for line in found:
        again.setdefault(line.section, []).append(line)
    rows: list[Line] = []
    for line in before:
        if line.section not in again:
            rows.append(line)
        elif again[line.section]:
            rows += again[line.section]
            again[line.section] = []
    return [*rows, *(line for lines in again.values() for line in lines)]


def write(rows: Sequence[Line]) -> None:
    """Write the table and the page."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in fields(Line)])
    writer.writerows(astuple(line) for line in rows)
    TABLE.write_text(text.getvalue(), encoding="utf-8")
    PAGE.write_text(render(rows), encoding="utf-8")


def chosen(rows: Sequence[Line]) -> list[Line]:
    """Return the measured rows among SHOWN, in its order."""
    found = (
        next(
            (r for r in rows if fnmatchcase(r.what, f"{what}*") and r.compared_with == with_it),
            None,
        )
        for what, with_it in SHOWN
    )
    return [line for line in found if line is not None]


def misses(line: Line) -> bool:
    """Return whether a row misses its target, or likely does; one without a word is a bound."""
    if line.target.endswith(("met", "missed")):
        return line.target.endswith("missed")
    if found := re.fullmatch(r"([\d.]+) to ([\d.]+)", line.target):
        return not float(found[1]) <= float(line.ratio) <= float(found[2])
    found = re.match(r"(<|>=|>) ([\d.]+)(?: (ms|s)$)?", line.target)
    if not found:
        return False  # the row's name has the number that counts
    value, limit = float(line.ratio.split()[0]), float(found[2])
    if found[3]:
        number, unit = line.measured.split()
        value, limit = float(number) * _SECONDS[unit], limit * _SECONDS[found[3]]
    return {"<": value >= limit, ">=": value < limit, ">": value <= limit}[found[1]]


def render(rows: Sequence[Line]) -> str:
    """Return the page."""
    shown = chosen(rows)
    dates = sorted({line.date for line in rows})
    when = dates[0] if dates[:1] == dates[-1:] else f"{dates[0]} to {dates[-1]}"
    machines = "; ".join(dict.fromkeys(line.machine for line in rows))
    missed = sum(misses(line) for line in rows)
    aims = sum(bool(line.target) for line in rows)
    lines = "\n".join(line.markdown() for line in shown)
    return TEMPLATE.read_text(encoding="utf-8").format(
        count=len(rows), when=when, machines=machines, aims=aims, missed=missed, lines=lines
    )


def main() -> int:
    """Write the page again from its table."""
    write(read(TABLE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
