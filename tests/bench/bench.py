"""Measures rackbench itself, as ratios in one run, and writes the page of benchmarks.

It makes a lab of its own and removes it. Run it on an otherwise idle machine: `make bench`. With
names of sections it measures only those and replaces their rows; --print writes nothing.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import costs
import groups
import observers
import open_gatling
import open_loop
import provisioning
import reference_tools
import restarts
import rivals
import trials
from bench_lab import ROOT, BenchLab, bench_lab
from bench_page import PAGE, TABLE, Line, merged, read, write
from row import Row

SECTIONS: dict[str, Callable[[BenchLab], list[Row]]] = {
    "provisioning": provisioning.rows,
    "trials": trials.rows,
    "restarts": restarts.rows,
    "groups": groups.rows,
    "costs": costs.rows,
    "observers": observers.rows,
    "open-late": open_loop.lateness,
    "open-vegeta": open_loop.beside_vegeta,
    "open-gatling": open_gatling.http,
    "open-jms": open_gatling.jms,
    "other-tools": rivals.rows,
    "reference": reference_tools.rows,
}


def main() -> int:
    """Run the sections and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--print", action="store_true", help="print the rows, write nothing")
    options = parser.parse_args()
    asked = options.sections
    if unknown := set(asked) - set(SECTIONS):
        parser.error(f"no section {', '.join(unknown)}; choose of {', '.join(SECTIONS)}")
    chosen = [name for name in SECTIONS if name in asked or not asked]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    with bench_lab() as lab:
        if "provisioning" not in chosen:
            lab.play("site")
        for name in chosen:
            found = SECTIONS[name](lab)
            print("\n".join(row.line() for row in found), flush=True)
            today = str(datetime.datetime.now(datetime.UTC).date())
            lines = [Line(name, *row.cells(), today, machine_here()) for row in found]
            if not options.print:
                # At once: a later section may end the bench.
                write(merged(read(TABLE), lines))
                print(f"written to {PAGE.relative_to(ROOT)}", flush=True)
    return 0


def machine_here() -> str:
    """Return a description of the machine."""
    model = next(
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    return f"{os.cpu_count()} cores, {model}, Linux {platform.release()}"


if __name__ == "__main__":
    sys.exit(main())
