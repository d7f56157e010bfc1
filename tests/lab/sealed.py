"""Sealed trials read without any code of the project: hashes, and the cells they amount to."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

FACTORS = ("transport", "servers", "integers")
# Two-sided 95 % quantiles of Student's t by degrees of freedom, from a printed table.
STUDENT = {1: 12.706205, 2: 4.302653, 3: 3.182446, 4: 2.776445, 5: 2.570582}
# The fewest calls of which the largest is above the true p99 with 95 %: 0.99^299 < 0.05.
FEWEST_FOR_P99 = 299


@dataclass(frozen=True)
class Measured:
    """One trial: its cell, and its measured calls that were ok, in milliseconds and bytes."""

    cell: tuple[str, ...]
    outcome: str
    times: list[float]
    request_bytes: list[int]
    response_bytes: list[int]


def hashes(trials: Path) -> dict[str, str]:
    """SHA-256 of every file of the trials, by path."""
    return {
        str(path.relative_to(trials)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(trials.rglob("*"))
        if path.is_file()
    }


def read(directory: Path) -> Measured:
    """Read one trial from its two files."""
    record = json.loads((directory / "trial.json").read_text())
    with (directory / "calls.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    good = [row for row in rows if row["phase"] == "measure" and row["status"] == "ok"]
    return Measured(
        tuple(str(record["factors"][name]) for name in FACTORS),
        record["outcome"],
        [int(row["elapsed_ns"]) / 1e6 for row in good],
        [int(row["request_bytes"]) for row in good],
        [int(row["response_bytes"]) for row in good],
    )


def recomputed(trials: Path) -> dict[tuple[str, ...], dict[str, float]]:
    """The numeric columns of cells.csv, from the raw calls."""
    grouped: dict[tuple[str, ...], list[Measured]] = defaultdict(list)
    for directory in trials.iterdir():
        trial = read(directory)
        if trial.outcome == "ok" and trial.times:
            grouped[trial.cell].append(trial)
    return {cell: _columns(members) for cell, members in grouped.items()}


def _columns(members: list[Measured]) -> dict[str, float]:
    logs = [math.log(_mean(trial.times)) for trial in members]
    count, mean = len(logs), _mean(logs)
    spread = math.sqrt(sum((value - mean) ** 2 for value in logs) / (count - 1))
    half = STUDENT[count - 1] * spread / math.sqrt(count)
    times = sorted(time for trial in members for time in trial.times)
    return {
        "trials": count,
        "calls": len(times),
        "mean_ms": math.exp(mean),
        "ci95_low_ms": math.exp(mean - half),
        "ci95_high_ms": math.exp(mean + half),
        "p50_ms": _quantile(times, 0.50),
        **({"p99_ms": _quantile(times, 0.99)} if len(times) >= FEWEST_FOR_P99 else {}),
        "request_bytes": _mean([size for trial in members for size in trial.request_bytes]),
        "response_bytes": _mean([size for trial in members for size in trial.response_bytes]),
    }


def _mean(values: list[float] | list[int]) -> float:
    return math.fsum(values) / len(values)


def _quantile(ordered: list[float], share: float) -> float:
    """Linear between the two nearest order statistics (Hyndman and Fan's type 7)."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
