"""A verified trial with what its log says, as cells are made of it."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from collect.logs.first_calls import FirstCalls
from collect.logs.summaries import CountedCalls, TrialSummary
from collect.run.trials import Trial


@dataclass(frozen=True, eq=False)
class CellTrial:
    """A verified trial with the summary of its measured calls.

    `course_ms` holds the measured times in the order of their starts as at most 200 means, and
    `course_at_ns` when the first call of each mean started; `spread_ms` the times in ascending
    order, or 200 quantiles of them. `first` says how the measured phase begins. `response` is the
    same of the response times in an open loop, None in a closed one.
    """

    trial: Trial
    calls: TrialSummary
    course_ms: NDArray[np.float64]
    course_at_ns: NDArray[np.int64]
    spread_ms: NDArray[np.float64]
    first: FirstCalls
    response: Self | None = None

    @classmethod
    def of(cls, trial: Trial, counted: CountedCalls) -> Self:
        """Return a trial with its log, without the time of each single call."""
        response = counted.response
        return cls(
            trial,
            counted.summary,
            counted.course_ms,
            counted.course_at_ns,
            counted.spread_ms,
            counted.first,
            cls.of(trial, response) if response else None,
        )

    @property
    def counts(self) -> bool:
        """Whether its calls are in the averages: its outcome is ok and a measured call is ok.

        The runner seals a trial as failed of which a smaller share than `least_ok` is ok.
        """
        return self.trial.outcome == "ok" and self.calls.mean_ms is not None

    @property
    def outcome(self) -> str:
        """Its outcome as cells count it: one that is ok without one good measured call failed."""
        return "failed" if self.trial.outcome == "ok" and not self.counts else self.trial.outcome
