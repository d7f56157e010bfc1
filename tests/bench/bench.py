"""Measures the kit itself, as ratios in one run, and writes docs/benchmarks.md.

Makes a lab of its own and removes it. Run it on an otherwise idle machine: `make bench`.
"""

from __future__ import annotations

import datetime
import os
import platform
import sys
from pathlib import Path

import provisioning
import trials
from bench_lab import ROOT, bench_lab
from row import Row

PAGE = ROOT / "docs/benchmarks.md"


def main() -> int:
    """Run every benchmark and write the page."""
    with bench_lab() as lab:
        rows = [*provisioning.rows(lab), *trials.rows(lab)]
    PAGE.write_text(render(rows))
    print("\n".join(row.line() for row in rows))
    print(f"written to {PAGE.relative_to(ROOT)}")
    return 0


def render(rows: list[Row]) -> str:
    """The page, with the machine and the date."""
    model = next(
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    lines = "\n".join(row.line() for row in rows)
    return f"""# Benchmarks of the kit itself

Written by `make bench`. Times are of one run on one machine; compare the ratios.

- Date: {datetime.datetime.now(datetime.UTC).date()}
- Machine: {os.cpu_count()} cores, {model}, Linux {platform.release()}

| what | measured | compared with | measured | ratio | target |
|---|---|---|---|---|---|
{lines}
"""


if __name__ == "__main__":
    sys.exit(main())
