"""Finds logs that are no replicates of each other, and blocks without cells to compare."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from collect.exchange.jtl import JtlFile
from collect.printable import printable

_LONGEST_PAUSE_MS = 60_000
"""A test may pause as long between two samples; beyond it, JMeter may have started another test."""


@dataclass(frozen=True)
class Timed:
    """A log with when each of its samples began and ended, in ms since 1970."""

    file: JtlFile
    started: NDArray[np.int64]
    ended: NDArray[np.int64]

    @classmethod
    def of(cls, file: JtlFile) -> Self:
        """Take the times of all samples of a log."""
        every = [found for samples in file.blocks for found in samples.values()]
        columns = [(found.started_ms, found.elapsed_ms) for found in every]
        started, elapsed = np.concatenate([np.array(one, np.int64) for one in columns], axis=1)
        return cls(file, started, started + elapsed)

    @property
    def span(self) -> tuple[int, int]:
        """When the first sample began and the last one ended."""
        return int(self.started.min()), int(self.ended.max())


def overlap_of(logs: Sequence[Timed]) -> str:
    """Return a sentence on logs that ran at the same time, "" where there are none."""
    last, *others = sorted((*log.span, printable(str(log.file.path))) for log in logs)
    for span in others:
        if span[0] < last[1]:
            return (
                f"Logs overlap in time, such as {last[2]} and {span[2]}. The logs of one test's "
                "engines, or a log and its earlier copy, are no replicates: join them under one "
                "header, or omit one of them."
            )
        last = span
    return ""


def parted(blocks: Sequence[Collection[str]]) -> str:
    """Return a sentence on blocks of one label each, "" where they are of one or share two."""
    if len({label for labels in blocks for label in labels}) == 1 or max(map(len, blocks)) > 1:
        return ""
    return (
        "No log holds two labels, so no block has two cells to compare. Import the logs of each "
        "label as a run of their own, and compare the runs (collect compare)."
    )


def pause_in(log: Timed) -> str:
    """Return a sentence on the longest time in which no sample ran, "" where that is short."""
    if len(log.file.blocks) > 1:
        return ""
    order = np.argsort(log.started)
    last = np.maximum.accumulate(log.ended[order])
    longest_ms = int((log.started[order][1:] - last[:-1]).max(initial=0))
    if longest_ms <= _LONGEST_PAUSE_MS:
        return ""
    return (
        f"{printable(log.file.path.name)}: no sample ran for {longest_ms / 60_000:.0f} min in the "
        "middle of the log. JMeter appends to a log that exists: if it holds several tests, split "
        "it, as each is a block."
    )
