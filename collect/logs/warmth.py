"""What the client's JVM did while a trial warmed up and while it was measured."""

from collections.abc import Iterable
from dataclasses import dataclass

from collect.logs.first_calls import Typical, typical
from collect.run.recorded import Phase
from collect.run.trials import Trial

_NS_A_S = 1e9


@dataclass(frozen=True)
class Warmth:
    """The median and the maximum over trials, None where none of them recorded it.

    `seconds` is how long the warm-up lasted. `compiling` is the time of the compiler over that of
    the warm-up, `still_compiling` over that of the measured phase; `classes` were loaded and
    `collections` happened in the measured phase.
    """

    seconds: Typical | None
    compiling: Typical | None
    still_compiling: Typical | None
    classes: Typical | None
    collections: Typical | None


def warmth_of(trials: Iterable[Trial]) -> Warmth | None:
    """Return what the JVMs of trials did; None where no trial recorded its phases."""
    phases = [trial.phases for trial in trials if trial.phases]
    if not phases:
        return None
    warming = [found["warmup"] for found in phases if "warmup" in found]
    measuring = [found["measure"] for found in phases if "measure" in found]
    return Warmth(
        seconds=_typical(_seconds(phase) for phase in warming),
        compiling=_typical(phase.compiling for phase in warming),
        still_compiling=_typical(phase.compiling for phase in measuring),
        classes=_typical(phase.classes_loaded for phase in measuring),
        collections=_typical(phase.gc_count for phase in measuring),
    )


def _seconds(phase: Phase) -> float | None:
    return None if phase.elapsed_ns is None else phase.elapsed_ns / _NS_A_S


def _typical(values: Iterable[float | None]) -> Typical | None:
    return typical((value, value) for value in values)
