"""How long something will still take, from what has been done so far, and how that is said."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from statistics import fmean

_SLOWEST, _FASTEST = 4.0, 0.5


def in_words(seconds: float) -> str:
    """Return a time to wait such as `about 40 s`, `about 12 min` or `about 3 h 20 min`."""
    if seconds < 90:
        return f"about {max(round(seconds, -1), 10):.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"about {minutes} min"
    return f"about {minutes // 60} h {minutes % 60} min"


def of_steps(estimates_s: Sequence[float], taken_s: Sequence[float], running_s: float) -> float:
    """Return the seconds that steps with known estimates still need.

    `taken_s` is what each step took that has ended, `running_s` how long the next one has run. The
    estimates of the rest are corrected by what the ended steps took, within bounds and in the
    proportion of the two: a short step says little about a long one. A step that is late is given a
    tenth of its time more.
    """
    ended_s, rest_s = estimates_s[: len(taken_s)], estimates_s[len(taken_s) :]
    pace = 1.0
    if done_s := sum(ended_s):
        seen = min(max(sum(taken_s) / done_s, _FASTEST), _SLOWEST)
        pace += (seen - 1) * min(1, done_s / sum(rest_s))
    current, *later = [pace * estimate_s for estimate_s in rest_s]
    return max(current - running_s, running_s / 10) + sum(later)


def of_kinds(
    kinds: Iterable[Hashable], taken_s: Mapping[Hashable, Sequence[float]]
) -> float | None:
    """Return the seconds that items of these kinds need, None when no item is done yet.

    An item is expected to take the mean of the items of its kind that are done (`taken_s`), or the
    mean of all of them when there is none of its kind.
    """
    if not taken_s:
        return None
    usual_s = fmean(chain.from_iterable(taken_s.values()))
    mean_s = {kind: fmean(times) for kind, times in taken_s.items()}
    return sum(mean_s.get(kind, usual_s) for kind in kinds)
