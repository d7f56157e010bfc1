"""Measures the report's page: its size, and the time that Chromium needs to open it.

The page covers made-up runs of the paper profiles of all five studies. Part of `make bench`.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/unit"))

import synthetic  # noqa: E402
from browser import answer_of_browser  # noqa: E402

from collect.cli import main as collect  # noqa: E402

STUDIES = ("sort", "binding", "mtom", "overhead", "attachments")
REPEATS = 5
EMPTY = b"<!doctype html><html lang='en'><title>empty</title><p>nothing"
CLOCK = b"""<script>addEventListener("load", () => setTimeout(() => fetch("found", {
  method: "POST",
  body: JSON.stringify(performance.getEntriesByType("navigation")[0].loadEventEnd)})));</script>"""


def main() -> int:
    """Make the runs, write the page, open it and an empty one in turn."""
    with tempfile.TemporaryDirectory() as directory:
        page = report(Path(directory))
        times: dict[bytes, list[float]] = {page: [], EMPTY: []}
        for number in range(REPEATS):
            for content, found in times.items():
                profile = Path(directory, f"{number}-{len(content)}")
                found.append(answer_of_browser(content + CLOCK, profile, 1280) / 1e3)
    seconds, yardstick = (statistics.median(found) for found in times.values())
    print(f"page over the paper profiles of five studies: {len(page) / 1e6:.1f} MB (target < 5 MB)")
    print(f"opened in {seconds:.2f} s, an empty page in {yardstick:.2f} s (target < 2 s)")
    return 0


def report(directory: Path) -> bytes:
    """Return the page over a made-up run of each study."""
    runs = []
    for study in STUDIES:
        times = getattr(synthetic, f"{study}_times")
        sizes = getattr(synthetic, f"{study}_sizes", lambda planned: (2000, 1900))
        run = directory / f"paper-{study}"
        synthetic.make_run(run, times, study=study, profile="paper", sizes=sizes)
        runs.append(str(run))
    output = directory / "report.html"
    if collect(["report", *runs, "-o", str(output)]):
        sys.exit("the report has findings; see above")
    return output.read_bytes()


if __name__ == "__main__":
    sys.exit(main())
