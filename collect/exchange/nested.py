"""Finds samples that lie within others of the same thread, such as those of a transaction."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from collect.exchange.jtl import Samples

_ROUNDING_MS = 1
"""By how much the end of a sample may be beyond the start of the next one of its thread."""
_LEAST_SHARE = 0.01
"""Below it, a clock that was set while the test ran explains as much."""


@dataclass(frozen=True)
class Nested:
    """How many samples lie `inside` another; `inner` and `outer` are the labels of most of them."""

    inside: int
    inner: str
    outer: str


def nested_in(samples: Mapping[str, Samples]) -> Nested | None:
    """Return the samples of one log that lie within others of their thread; None if there are none.

    A thread makes one call at a time, so that only a transaction controller, written next to its
    children, contains other samples. `samples` are those of one log by label. Threads without a
    name are left out, and samples of 0 or 1 ms: where a log cuts starts to whole milliseconds and
    rounds times to them, one of 1 ms may lie within the sample before it.
    """
    threads: dict[tuple[str, str], int] = {}
    columns = []
    for place, found in enumerate(samples.values()):
        known = np.array(
            [threads.setdefault(key, len(threads)) if key[1] else -1 for key in found.threads]
        )
        started, elapsed = np.array(found.started_ms), np.array(found.elapsed_ms)
        label = np.full(len(found), place)
        columns.append(np.stack([known[np.array(found.thread)], started, started + elapsed, label]))
    thread, started, ended, label = np.concatenate(columns, axis=1)
    kept = (thread >= 0) & (ended - started > _ROUNDING_MS)
    rows = np.stack([thread, started, ended, label])[:, kept]
    # Of two that are alike the later label contains the other: JMeter writes children first.
    rows = rows[:, np.lexsort((-rows[3], -rows[2], rows[1], rows[0]))]
    pairs: Counter[tuple[int, int]] = Counter()
    last_thread, last_end, outer = -1, -1, -1
    for of_thread, _, end, own in rows.T.tolist():
        if of_thread == last_thread and end <= last_end:
            pairs[own, outer] += 1
        else:
            last_thread, last_end, outer = of_thread, end, own
    inside = pairs.total()
    if not inside or inside < _LEAST_SHARE * sum(map(len, samples.values())):
        return None
    names = list(samples)
    inner, outer = pairs.most_common(1)[0][0]
    return Nested(inside, names[inner], names[outer])
