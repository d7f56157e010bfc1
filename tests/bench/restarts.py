"""Measures the time to restart and warm the services before a block."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

import yaml
from bench_lab import ROOT, BenchLab
from by_hand import HandRun, Trial
from row import Row

STUDIES = ("sort", "mtom")
"""One study with the broker, its workers and Tomcat, one with only Tomcat."""
BLOCKS = 2
WORKERS = 5


def rows(lab: BenchLab) -> list[Row]:
    """Return every row of this subject."""
    return [_row(lab, study) for study in STUDIES]


def _row(lab: BenchLab, study: str) -> Row:
    """Compare the seconds of starting and warming a block with those of the block's trials."""
    print(f"{BLOCKS} blocks of {study}, each with its own starts of the services …", flush=True)
    content = yaml.safe_load((ROOT / f"playbooks/studies/{study}.yml").read_text())
    # The demo's cells with the paper's calls: the largest cells alone would take hours.
    own = {"factors": content["profiles"]["demo"]["factors"], "replicates": BLOCKS}
    content["profiles"] = {"bench": {**own, "restart": "block"}}
    run = HandRun.planned(lab, f"bench-restarts-{study}", content, WORKERS)
    run.run(run.ids)
    trials = run.trials(run.ids)
    spent = [start for trial in trials for start in trial.record["block_starts"]]
    if len(spent) < BLOCKS:
        raise SystemExit(f"{study}: {len(spent)} of {BLOCKS} blocks were restarted")
    restart, warm = (sum(one[key] for one in spent) / 1e3 / BLOCKS for key in _PARTS)
    what = f"a block of {study}: services restarted ({restart:.1f} s) and warmed ({warm:.1f} s)"
    return Row(
        what, restart + warm, f"its {len(trials) // BLOCKS} trials", _seconds(trials) / BLOCKS
    )


_PARTS = ("restart_ms", "warm_ms")


def _seconds(trials: Iterable[Trial]) -> float:
    """Return the total time of trials in seconds."""
    moments = [
        [datetime.datetime.fromisoformat(trial.record[key]) for key in ("started_at", "ended_at")]
        for trial in trials
    ]
    return sum((ended - started).total_seconds() for started, ended in moments)
