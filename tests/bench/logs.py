"""Times raw logs to cells.csv: collect against DuckDB's bare scan, and against pandas.

All read the same made-up run, each in its own process, in turns. A time is the median over the
rounds, from the start of the process to its end. The contestants:

- scan: DuckDB counts the rows and adds up `elapsed_ns`, with given types. It checks nothing.
- pandas: reads the same files one by one, omits warm-up and failed calls, and computes mean,
  exact p50 and p99 of each cell, which must equal those of collect. It checks nothing.
- collect: reads the plan and the seals, checks row count, SHA-256 and schema of every log, writes
  cells.csv and the cache, which is empty before.
- again: the same after one more trial was sealed.

`make bench-collect`, or `make bench-collect CALLS=100000000` (about 6 GB in a temporary directory,
removed afterwards). The run has 10 000 trials in 20 cells.
"""

# ruff: noqa: PLC0415 - each contestant bears the cost of its own imports only

from __future__ import annotations

import argparse
import csv
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from row import Row, mebibytes

TRIALS = 10_000
CALLS = 10_000_000
ROUNDS = 3
_BYTES_A_CALL = 80
_LONGEST_S = 7200


@dataclass(frozen=True)
class Lap:
    """One contestant's turn: wall and processor time in seconds, peak memory in bytes."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    answer: Any


def rows(calls: int = CALLS, rounds: int = ROUNDS, *, with_pandas: bool = True) -> list[Row]:
    """Measure on a run of `calls` calls; exits with a message when two contestants disagree."""
    with made_up_run(calls) as run:
        laps = race(run, rounds, with_pandas=with_pandas)
    check(laps)

    def median(name: str, what: str = "wall_s") -> float:
        return statistics.median(getattr(lap, what) for lap in laps[name])

    def row(name: str, yardstick: str, target: str) -> Row:
        what = f"`cells.csv` of {calls:,} calls in {TRIALS:,} trials".replace(",", " ")
        more = ", one more trial" if name == "again" else ""
        return Row(what + more, median(name), names[yardstick], median(yardstick), target)

    names = {"scan": "DuckDB's bare scan", "pandas": "pandas", "collect": "the first time"}
    peak = max(lap.peak_bytes for lap in laps["collect"])
    return [
        row("collect", "scan", "<= 3"),
        *([row("collect", "pandas", "<= 0.2")] if with_pandas else []),
        row("again", "collect", ""),
        Row("its peak memory", peak, "2 GB", 2e9, "< 1", mebibytes),
    ]


def race(run: Path, rounds: int, *, with_pandas: bool) -> dict[str, list[Lap]]:
    """Let the contestants take turns."""
    names = ["scan", "collect", "again", *(["pandas"] if with_pandas else [])]
    laps: dict[str, list[Lap]] = {name: [] for name in names}
    last = max((run / "trials").iterdir())
    aside = run / last.name
    for number in range(1, rounds + 1):
        shutil.rmtree(run / ".cache", ignore_errors=True)
        # Rounds begin with different contestants, so that none is always the first after the rest.
        for name in names if number % 2 else [*names[3:], *names[:3]]:
            if name == "collect":
                last.rename(aside)
            lap = take(name, run)
            if name == "collect":
                aside.rename(last)
            laps[name].append(lap)
            print(
                f"round {number}: {name:8} {lap.wall_s:7.1f} s wall {lap.cpu_s:7.1f} s cpu "
                f"{mebibytes(lap.peak_bytes):>9}",
                flush=True,
            )
    return laps


def take(name: str, run: Path) -> Lap:
    """Run one contestant in a fresh process."""
    command = [sys.executable, __file__, "--contestant", name, "--run", str(run)]
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_S, check=False)
    wall = time.monotonic() - begin
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stderr[-2000:]}")
    return Lap(wall, **json.loads(done.stdout))


def check(laps: dict[str, list[Lap]]) -> None:
    """Check that all read every row, and that their cells agree."""
    (scanned,) = {lap.answer for lap in laps["scan"]}
    for mine, theirs in zip(laps["again"], laps.get("pandas", []), strict=False):
        for cell, numbers in theirs.answer["cells"].items():
            off = [abs(a - b) for a, b in zip(numbers, mine.answer["cells"][cell], strict=True)]
            if max(off) > 2e-6:
                sys.exit(f"{cell}: pandas has {numbers}, collect {mine.answer['cells'][cell]}")
    counted = {lap.answer["rows"] for name in ("again", "pandas") for lap in laps.get(name, [])}
    if counted != {scanned}:
        sys.exit(f"the scan saw {scanned} rows, others {counted}")


@contextmanager
def made_up_run(calls: int) -> Iterator[Path]:
    """Make a run in a temporary directory, which is removed; exit if the disk lacks space."""
    with tempfile.TemporaryDirectory(prefix="rackbench-logs-") as directory:
        wanted, free = calls * _BYTES_A_CALL, shutil.disk_usage(directory).free
        if wanted > free:
            sys.exit(
                f"{directory}: {wanted / 1e9:.1f} GB are needed and {free / 1e9:.1f} GB free; "
                "make room, set TMPDIR, or measure fewer calls"
            )
        run = Path(directory) / "bench"
        # In a process of its own, so that no contestant inherits its memory.
        maker = Path(__file__).with_name("made_up_logs.py")
        command = [sys.executable, str(maker), str(run), str(TRIALS), str(calls // TRIALS)]
        subprocess.run(command, check=True)
        yield run


def scan(run: Path) -> int:
    """Return the number of rows, by DuckDB's bare scan."""
    import duckdb

    from collect.exchange.calls import LOG_COLUMNS

    files = [str(path) for path in sorted(run.glob("trials/*/calls.csv"))]
    query = f"""
        SELECT count(*), sum(elapsed_ns)
        FROM read_csv({files}, columns = {LOG_COLUMNS}, header = true, delim = ',', quote = '',
                      escape = '', nullstr = '', auto_detect = false)"""  # noqa: S608
    (found,) = duckdb.execute(query).fetchall()
    return int(found[0])


def with_collect(run: Path) -> dict[str, Any]:
    """Do the work of `collect report` until cells.csv is written."""
    from collect.cells.analysis import analyse
    from collect.cells.cells import write_cells
    from collect.run.directory import open_run

    analysis = analyse(open_run(str(run)))
    write_cells(run / "cells.csv", analysis.run, analysis.cells)
    with (run / "cells.csv").open() as stream:
        cells = {
            row["concurrency"]: [float(row[name]) for name in ("mean_ms", "p50_ms", "p99_ms")]
            for row in csv.DictReader(stream)
        }
    trials = [trial.trial.calls_rows for cell in analysis.cells for trial in cell.trials]
    return {"rows": sum(trials), "cells": cells}


def with_pandas(run: Path) -> dict[str, Any]:
    """Read the same files one after the other, and compute the same numbers, with pandas."""
    import numpy as np
    import pandas as pd

    means: dict[str, list[float]] = {}
    times: dict[str, list[Any]] = {}
    total = 0
    for line in (run / "plan.jsonl").read_text().splitlines():
        planned = json.loads(line)
        calls = pd.read_csv(run / "trials" / planned["id"] / "calls.csv")
        total += len(calls)
        counted = calls[(calls["phase"] == "measure") & (calls["status"] == "ok")]
        waited = (counted["start_ns"] - counted["intended_ns"]).fillna(0)
        elapsed = ((waited + counted["elapsed_ns"]) / 1e6).to_numpy()
        cell = str(planned["factors"]["concurrency"])
        means.setdefault(cell, []).append(elapsed.mean())
        times.setdefault(cell, []).append(elapsed)
    cells = {}
    for cell, parts in times.items():
        p50, p99 = pd.Series(np.concatenate(parts)).quantile([0.5, 0.99])
        cells[cell] = [statistics.fmean(means[cell]), p50, p99]
    return {"rows": total, "cells": cells}


CONTESTANTS: dict[str, Callable[[Path], Any]] = {
    "scan": scan,
    "collect": with_collect,
    "again": with_collect,
    "pandas": with_pandas,
}


def contest(name: str, run: Path) -> None:
    """Run as one contestant, and print its use of time and memory."""
    answer = CONTESTANTS[name](run)
    used = resource.getrusage(resource.RUSAGE_SELF)
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024
    cpu = used.ru_utime + used.ru_stime
    print(json.dumps({"cpu_s": cpu, "peak_bytes": peak, "answer": answer}))


def main() -> int:
    """Run the benchmark, or one contestant of it."""
    parser = argparse.ArgumentParser(
        description="Raw logs to cells.csv, against DuckDB and pandas."
    )
    parser.add_argument("--calls", type=int, default=CALLS, help=f"default: {CALLS}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default: {ROUNDS}")
    parser.add_argument("--without-pandas", action="store_true", help="it takes longest by far")
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        contest(options.contestant, options.run)
    else:
        if options.calls < TRIALS * 10:
            parser.error(f"--calls: at least {TRIALS * 10}, ten for each trial")
        found = rows(options.calls, options.rounds, with_pandas=not options.without_pandas)
        print("\n".join(row.line() for row in found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
