"""Writes docs/project/benchmarks.md from benchmarks.csv next to it, which has every row measured.

A section that is measured again replaces its own rows, so no row is edited by hand.
`python tests/bench/bench_page.py` writes the page again from the rows that are there.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs/project/benchmarks.csv"
PAGE = TABLE.with_suffix(".md")
SHOWN = (
    ("site.yml, 7 fresh nodes", "`ansible -m ping`"),
    ("site.yml again, 7 nodes", "`ansible -m ping`"),
    ("verify.yml, 7 nodes", "`ansible -m ping`"),
    ("a trial outside its JVM (median)", "multiplexed `ssh true`"),
    ("one of 200 trivial trials, all but its JVM", "ParamSweeper and Remote of execo, `true`"),
    ("the runner resumes 5000 trials: until the next starts", "200 trials, none sealed"),
    ("`http`, 1 thread: p50 with samples", "without"),
    ("`http`, 1 thread: rate", "wrk"),
    ("`http`, 30 threads: rate", "wrk"),
    ("`http`, 30 threads: rate", "JMeter"),
    ("SOAP call, 10 Mbit/s, 30 threads: rate", "JMeter, our call"),
    ("JMS request and reply, 10 Mbit/s, 30 threads: rate", "JMeter, our call"),
    ("time over JMS / time over SOAP, 10 Mbit/s, 30 threads: threads / rate", "JMeter, our call"),
    ("SOAP call, 100 Mbit/s, 30 threads: rate", "JMeter, our call"),
    ("JMS request and reply, 100 Mbit/s, 30 threads: rate", "Gatling"),
)
"""The rows of the page: how they begin, and what each is compared with."""


@dataclass(frozen=True)
class Line:
    """One row of the table as it is shown, with where and when it was measured."""

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
        """The row in the page."""
        cells = (self.what, self.measured, self.compared_with, self.measured_by_it)
        return f"| {' | '.join((*cells, self.ratio, self.target))} |"


def read(table: Path) -> list[Line]:
    """The rows of a table; none where there is no such file."""
    if not table.is_file():
        return []
    with table.open(encoding="utf-8", newline="") as file:
        return [Line(**row) for row in csv.DictReader(file)]


def merged(before: Iterable[Line], found: Sequence[Line]) -> list[Line]:
    """The rows with those of each section that was measured again replaced, in their old places."""
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
    """The rows that a person wants, in the order of SHOWN; those that were measured."""
    found = (
        next((r for r in rows if r.what.startswith(what) and r.compared_with == with_it), None)
        for what, with_it in SHOWN
    )
    return [line for line in found if line is not None]


def render(rows: Sequence[Line]) -> str:
    """The page."""
    shown = chosen(rows)
    dates = sorted({line.date for line in rows})
    when = dates[0] if dates[:1] == dates[-1:] else f"{dates[0]} to {dates[-1]}"
    machines = "; ".join(dict.fromkeys(line.machine for line in rows))
    missed = sum("missed" in line.target for line in rows)
    aims = sum(bool(line.target) for line in rows)
    lines = "\n".join(line.markdown() for line in shown)
    return f"""# Benchmarks of rackbench itself

`make bench` writes this page and [benchmarks.csv](benchmarks.csv), which has all {len(rows)} rows. Compare the ratios: the times
are those of one machine.

- Measured: {when}
- Machine: {machines}
- {aims} rows have a target; {missed} of the comparisons with other load generators miss it, or likely miss it.

| what | measured | compared with | measured | ratio | target |
|---|---|---|---|---|---|
{lines}

## How to read it

**Provisioning and trials.** The cost of a trial outside its JVM is the wall time of the runner minus that of the JVMs, divided by
the number of trials. The other tools run `true` on the node instead.

**`http`.** Only the time counts during which all threads make calls. wrk uses one thread for each connection, as the others do.
A p50 far below the mean shows that some calls wait much longer than others for one of the cores that client and server share here.

**JMS and SOAP.** rackbench's clients, JMeter and Gatling's JMS protocol use the same broker, queue, worker and number of bytes,
or the same envelope, and the same heap and collector. Runs alternate; values are medians of the runs.

- Over 100 Mbit/s, the papers' link, calls wait for the cores, which the tool shares here with broker and servers. Over 10 Mbit/s
  they wait for the link, so the rows show what the tools' clocks and messages add.
- *JMeter* is its own samplers. JMS Point-to-Point sends a text and uses the broker's older library. The HTTP sampler posts a
  ready envelope and parses nothing, as our *ready text* does.
- *JMeter, our call* is its Java sampler around the same call as ours, in JMeter's threads, loop and clock.
- *Gatling* has a connection for each user. Its default is one for all users: *Gatling, one connection*. Its clock stops when a
  reply arrives, and the next request does not wait for the acknowledgement. Compare it with *acknowledged some at a time*.
- *threads / rate* is the time of a call and of what a tool does until the next call, wherever its clock stops.
- The other tools measure whole milliseconds, so medians are compared in whole milliseconds. Below 2 ms compare the means. The
  median of many threads over JMS jumps from run to run, even of one tool.

**Intervals.** A ratio with an interval is the geometric mean of the ratios inside pairs or rounds, with its 95 % interval. A target is
*likely* met or missed where a bound of it lies inside the interval. *With samples* and *with marks* are pairs of trials, one with
and one without; the first one alternates.
"""


def main() -> int:
    """Write the page again from its table."""
    write(read(TABLE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
