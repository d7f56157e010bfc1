"""Lets Apache JMeter read an exported log, and compares its counts and means with ours."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/unit"))

import synthetic  # noqa: E402
from bench_lab import said  # noqa: E402
from jmeter_home import jmeter_home  # noqa: E402

from collect.cells.analysis import analyse  # noqa: E402
from collect.cells.cells import CellResult  # noqa: E402
from collect.cli import main as collect  # noqa: E402
from collect.exchange.labels import label_of  # noqa: E402
from collect.run.directory import Run, open_run  # noqa: E402

HALF_A_MS = 0.5  # JMeter has whole milliseconds


def main() -> int:
    """Make a run with failed calls, export it, and compare JMeter's report with ours."""
    with tempfile.TemporaryDirectory() as directory:
        run, log = made_up(Path(directory, "night")), Path(directory, "night.jtl")
        if collect(["export", str(run.directory), "--format", "jtl", "-o", str(log)]):
            return 1
        theirs = report(jmeter_home(Path(directory)), log, Path(directory, "report"))
        cells = {label_of(c.cell): c for c in analyse(run).cells}
    if cells.keys() != theirs.keys() - {"Total"}:
        sys.exit(f"JMeter shows {', '.join(theirs)}; ours are {', '.join(cells)}")
    wrong = [label for label, cell in cells.items() if not agree(cell, theirs[label])]
    for label in wrong:
        print(f"{label}: JMeter has {theirs[label]}, we have {cells[label].mean}")
    calls = theirs["Total"]["sampleCount"]
    print(f"JMeter read {calls} calls of {len(cells)} cells; {len(wrong)} differ from ours")
    return bool(wrong)


def made_up(directory: Path) -> Run:
    """Make a run of the sort study; in one trial a call failed and another timed out."""
    plan = synthetic.make_run(directory, synthetic.sort_times, profile="paper")

    def spoil(rows: str) -> str:
        return "error".join("timeout".join(rows.rsplit("ok", 1)).rsplit("ok", 1))

    synthetic.reseal(directory / "trials" / plan[0].id, spoil)
    return open_run(str(directory))


def report(home: Path, log: Path, output: Path) -> dict[str, Any]:
    """Return the numbers of JMeter's own report of a log, by label."""
    java = ["java", "-Djava.awt.headless=true", "-jar", str(home / "bin/ApacheJMeter.jar")]
    said([*java, "-g", str(log), "-o", str(output), "-j", str(output.with_suffix(".log"))])
    statistics: dict[str, Any] = json.loads((output / "statistics.json").read_text())
    return statistics


def agree(cell: CellResult, theirs: dict[str, Any]) -> bool:
    """Return whether counts agree, and means too if all calls are ok: JMeter averages all calls."""
    counts = (theirs["sampleCount"] - theirs["errorCount"], theirs["errorCount"])
    if counts != (cell.calls, cell.errors) or cell.mean is None:
        return False
    return cell.errors > 0 or abs(theirs["meanResTime"] - cell.mean.value) <= HALF_A_MS


if __name__ == "__main__":
    sys.exit(main())
