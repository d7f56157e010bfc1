"""Exports the measured times of a run as an HdrHistogram log, one histogram for each trial."""

from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from hdrh.histogram import HdrHistogram

from collect.cells.analysis import Analysis
from collect.exchange.calls import calls_of
from collect.exchange.labels import label_of
from collect.run.trials import Trial

SIGNIFICANT_DIGITS = 3
_BATCH = 100_000
_TAG_SAFE = " =.:'()/@"


def write_hdr(analysis: Analysis, path: Path) -> None:
    """Write a histogram of each trial that counts: its ok calls in ns, three significant digits.

    The log has format 1.2. The tag of a line is the cell, percent-encoded where the format needs
    it, so that the lines of a cell can be added up.
    """
    trials = {trial.id: trial for trial in analysis.counted}
    with calls_of(analysis, path.parent) as database, path.open("w", encoding="utf-8") as log:
        log.write("#[Histogram log format version 1.2]\n#[values are nanoseconds]\n")
        counted = "counts AND phase = 'measure' AND status = 'ok'"
        ranges = database.execute(
            f"""SELECT trial, min(anchor_ns::HUGEINT + begun_ns),
                       max(anchor_ns::HUGEINT + begun_ns + time_ns),
                       max(time_ns) FROM calls WHERE {counted} GROUP BY trial"""  # noqa: S608
        ).fetchall()
        if not ranges:
            return
        spans = {trial: (start / 1e9, end / 1e9) for trial, start, end, _ in ranges}
        highest = max(2, *(most for *_, most in ranges))
        log.write(f"#[StartTime: {min(start for start, _ in spans.values()):.3f} ")
        log.write("(seconds since epoch)]\n")
        log.write(
            '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
        )
        database.execute(
            f"""SELECT trial, time_ns, count(*) FROM calls WHERE {counted}
                GROUP BY trial, position, time_ns ORDER BY position, time_ns"""  # noqa: S608
        )
        rows = (row for batch in iter(lambda: database.fetchmany(_BATCH), []) for row in batch)
        for name, counts in groupby(rows, key=lambda row: row[0]):
            histogram = HdrHistogram(1, highest, SIGNIFICANT_DIGITS)
            most = 0
            for _, time_ns, count in counts:
                histogram.record_value(time_ns, count)
                most = time_ns
            start, end = spans[name]
            payload = histogram.encode().decode("ascii")
            tag = _tag(trials[name])
            log.write(f"Tag={tag},{start:.3f},{end - start:.3f},{most / 1e6:.6f},{payload}\n")


def _tag(trial: Trial) -> str:
    # The format has no quotation marks: a comma, a space or a line end would end the tag.
    return quote(label_of(trial.factors), safe=_TAG_SAFE).replace(" ", ";")
