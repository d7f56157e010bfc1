"""The results of each combination of levels, computed from its trials, and cells.csv."""

import io
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from collect.costs.limits import Limit, limit_of
from collect.costs.part_means import PartMeans, part_means
from collect.costs.usage import Mean, Usage, cpu_a_call, mean_usage, usage_of_trial
from collect.csv_fields import row_writer
from collect.files import write_text
from collect.logs.calls import Calls
from collect.logs.cell_trial import CellTrial
from collect.logs.pooled import APART, Pooled
from collect.run.cell import CELL_COLUMNS, OPEN_COLUMNS, Cell, level_text
from collect.run.directory import Run
from collect.run.trials import Trial
from collect.stats.components import VarianceSplit, split_variance
from collect.stats.course import Course, Steadiness, course_of
from collect.stats.estimates import Estimate, Moments, geometric_t, outliers, positive_mean_t
from collect.stats.spending import ERROR

NOT_RUN = "not run"
_SEVERITY = ("oom", "timeout", "failed")


@dataclass(frozen=True)
class WarmupOfCell:
    """The fewest and most warm-up calls of a thread over the trials of a cell.

    Of the `decided` trials, whose calls decided how long it took, `steady` became steady; the
    others warmed up to their end.
    """

    least: int
    most: int
    steady: int
    decided: int

    def __str__(self) -> str:
        """Return it as the report writes it."""
        calls = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
        if not self.decided:
            return calls
        if self.steady == self.decided:
            return f"{calls}, steady"
        return f"{calls}, {f'{self.steady} of {self.decided}' if self.steady else 'not'} steady"


@dataclass(frozen=True)
class CellResult:
    """One combination of levels; times in ms, None when no trial counts.

    `trials` holds every verified trial in plan order, whatever its outcome; `threads` are those of
    its client, each of whose calls goes to `servers` servers. Times are service times; `response`
    is the same cell with its response times in an open loop, None in a closed one, and
    `offered_per_s` the rate at which its calls were to come.
    """

    cell: Cell
    planned: int
    trials: tuple[CellTrial, ...]
    pooled: Pooled | None
    threads: int = 1
    response: "CellResult | None" = None
    offered_per_s: float | None = None
    servers: int = 1

    @cached_property
    def counted(self) -> tuple[CellTrial, ...]:
        """The trials behind the averages."""
        return tuple(trial for trial in self.trials if trial.counts)

    @property
    def outcome(self) -> str:
        """`ok` when a trial counts, else the most frequent outcome, else `not run`."""
        if self.counted:
            return "ok"
        outcomes = Counter(trial.outcome for trial in self.trials)
        return max(
            outcomes, key=lambda name: (outcomes[name], name in _SEVERITY[:2]), default=NOT_RUN
        )

    @property
    def why_failed(self) -> str:
        """Why the first of its failed trials failed, where no trial counts; else ""."""
        if self.outcome != "failed":
            return ""
        failed = (t.trial.reason for t in self.trials if t.outcome == "failed")
        return next(failed, "")

    @property
    def failed_trials(self) -> int:
        """How many sealed trials are excluded from all averages."""
        return len(self.trials) - len(self.counted)

    @property
    def calls(self) -> int:
        """How many calls are in the averages."""
        return sum(trial.calls.calls for trial in self.counted)

    @property
    def errors(self) -> int:
        """How many measured calls were not ok, over all trials."""
        return sum(trial.calls.errors for trial in self.trials)

    @property
    def made(self) -> int:
        """How many calls were measured, ok or not, over all trials."""
        return sum(trial.calls.calls + trial.calls.errors for trial in self.trials)

    @property
    def samples(self) -> dict[int, float]:
        """The mean of each counted trial in ms, by block."""
        return {t.trial.block: t.calls.mean_ms for t in self.counted if t.calls.mean_ms is not None}

    @cached_property
    def mean(self) -> Estimate | None:
        """The geometric mean of the trial means, with the t interval of their logs."""
        if not self.counted:
            return None
        return replace(geometric_t(list(self.samples.values())), lost=self.failed_trials)

    @property
    def medians(self) -> dict[int, float]:
        """The median call of each counted trial in ms, by block."""
        known = ((t.trial.block, t.calls.median_ms) for t in self.counted)
        return {block: median for block, median in known if median is not None}

    @cached_property
    def typical(self) -> Estimate | None:
        """The geometric mean over trials of the median call, as `mean` is made."""
        if not self.medians:
            return None
        return replace(geometric_t(list(self.medians.values())), lost=self.failed_trials)

    def arithmetic_mean(self, error: float = ERROR) -> Estimate | None:
        """Return the arithmetic mean over trials of the mean call, which is what papers print."""
        means = list(self.samples.values())
        if not means:
            return None
        spread = statistics.variance(means) if len(means) > 1 else None
        found = positive_mean_t(Moments(len(means), statistics.fmean(means), spread), error)
        return replace(found, lost=self.failed_trials)

    @cached_property
    def throughput(self) -> Estimate | None:
        """Calls a second over all threads: the geometric mean over trials, as `mean` is made."""
        rates = [t.calls.calls_per_s for t in self.counted if t.calls.calls_per_s is not None]
        return geometric_t(rates) if rates else None

    @property
    def waited_share(self) -> float | None:
        """The share of the calls of an open loop that found no free thread; None otherwise."""
        waited = [t.calls.waited for t in self.counted if t.calls.waited is not None]
        return sum(waited) / self.calls if waited and len(waited) == len(self.counted) else None

    @property
    def achieved(self) -> dict[int, float]:
        """Of each counted trial of an open loop the rate of its answers over that offered."""
        return {
            t.trial.block: t.calls.calls_per_s / t.calls.offered_per_s
            for t in self.counted
            if t.calls.offered_per_s and t.calls.calls_per_s is not None
        }

    def answered(self, error: float = ERROR) -> Estimate | None:
        """Return the geometric mean of `achieved`, None where there is none."""
        return geometric_t(list(self.achieved.values()), error) if self.achieved else None

    @property
    def moments(self) -> Moments | None:
        """Count, mean and variance over all counted calls."""
        if self.pooled is None:
            return None
        return Moments(self.calls, self.pooled.mean_ms, self.pooled.variance_ms2)

    @property
    def calls_as_samples(self) -> Estimate | None:
        """The mean over calls with the t interval that takes every call for a sample."""
        return None if self.moments is None else positive_mean_t(self.moments)

    @property
    def variance(self) -> VarianceSplit | None:
        """How the variance splits between forks and calls; None without single calls."""
        parts = [trial.calls for trial in self.counted]
        if not all(part.is_single for part in parts):
            return None
        return split_variance(
            [part.calls for part in parts],
            list(self.samples.values()),
            [part.variance_ms2 for part in parts],
        )

    @cached_property
    def outliers(self) -> frozenset[str]:
        """The counted trials whose means lie far from the others', by id; they count like any."""
        ids = [t.trial.id for t in self.counted if t.calls.mean_ms is not None]
        return frozenset(ids[place] for place in outliers(list(self.samples.values())))

    @property
    def is_made_by_few(self) -> bool:
        """Whether rare calls or trials dominate its mean, so that its interval may be too narrow.

        Rare calls part the mean from the median call by over 20 %, and some trials have none of
        them: where each has some, its mean varies as the interval says. A rare trial is an outlier
        that is so far from the median trial.
        """
        if self.pooled and self.pooled.rare and self.pooled.rare.trials < len(self.counted):
            return True
        middle = statistics.median(self.samples.values()) if self.outliers else 0.0
        rare = [t.calls.mean_ms for t in self.counted if t.trial.id in self.outliers]
        return any(mean and not middle / APART <= mean <= middle * APART for mean in rare)

    @cached_property
    def course(self) -> Course:
        """Whether the measured phase was steady, and the smallest drift that would be seen."""
        return course_of([trial.course_ms for trial in self.counted])

    @property
    def steadiness(self) -> Steadiness:
        """Whether the measured phase was steady."""
        return self.course.steadiness

    @property
    def warmup(self) -> WarmupOfCell | None:
        """How long the counted trials warmed up; None where none of them recorded it."""
        found = [t.trial.warmup for t in self.counted if t.trial.warmup is not None]
        if not found:
            return None
        decided = [one.steady for one in found if one.steady is not None]
        calls = [one.calls for one in found]
        return WarmupOfCell(min(calls), max(calls), decided.count(True), len(decided))

    @property
    def has_resources(self) -> bool:
        """Whether any of its trials recorded the load."""
        return any(trial.trial.resources for trial in self.trials)

    @cached_property
    def _usages(self) -> list[Usage]:
        return [usage_of_trial(trial) for trial in self.counted]

    @cached_property
    def usage(self) -> Usage:
        """The load in the mean over the counted trials."""
        return mean_usage(self._usages)

    @cached_property
    def limit(self) -> Limit:
        """What limits its calls."""
        if self.trials and not self.counted:
            return Limit("", "not known (no trial counts)")
        # A program makes each call to one server, whichever it is.
        is_of_program = any(item.trial.program for item in self.counted)
        return limit_of(self.usage, self.threads, 1 if is_of_program else self.servers)

    @cached_property
    def cpu_a_call(self) -> Mapping[str, Mean]:
        """The processor time of a call in ms, by who used it."""
        return cpu_a_call(self.counted, self._usages)

    @cached_property
    def parts(self) -> PartMeans | None:
        """The parts of its calls; None where none was logged."""
        return part_means(self.counted)

    def bytes_of(self, name: str) -> float | None:
        """Return the mean of `request_bytes` or `response_bytes` over the counted calls."""
        sizes = [(getattr(t.calls, name), t.calls.calls) for t in self.counted]
        known = [(size, count) for size, count in sizes if size is not None]
        if not known:
            return None
        return float(sum(size * count for size, count in known) / sum(count for _, count in known))


def make_cells(run: Run, trials: Sequence[Trial], calls: Calls) -> list[CellResult]:
    """Group the verified trials of a run by cell; every planned cell is there, in order."""
    cell_of = {planned.id: planned.factors for planned in run.plan}
    plan_of = {planned.factors: planned for planned in run.plan}
    planned = Counter(cell_of.values())
    grouped: dict[Cell, list[CellTrial]] = {cell: [] for cell in run.cells}
    for trial in trials:
        grouped[cell_of[trial.id]].append(calls.trial(trial))
    made = []
    for cell, members in grouped.items():
        counted = [member.trial.id for member in members if member.counts]
        arrival = plan_of[cell].arrival
        result = CellResult(
            cell,
            planned[cell],
            tuple(members),
            calls.pooled(counted),
            plan_of[cell].threads,
            offered_per_s=arrival.rate if arrival else None,
            servers=plan_of[cell].servers,
        )
        responses = tuple(member.response or member for member in members)
        pooled = calls.pooled_responses(counted)
        response = replace(result, trials=responses, pooled=pooled) if arrival else None
        made.append(replace(result, response=response))
    return made


def cells_csv(run: Run, cells: Sequence[CellResult], *, as_before: bool = False) -> str:
    """Return cells.csv: one row a cell, times in ms to the nanosecond, empty where there is none.

    `trials` counts those in the averages, or the sealed ones of a cell without any, `failed_trials`
    the sealed ones that are excluded from all averages, `calls` the calls in the averages;
    `mean_ms` is the geometric mean of the trial means and the interval that of Student's t over
    their logs; `calls_per_s` is the throughput over all threads, with its interval; `limited_by` is
    what limits the calls, see collect.costs.limits;
    `typical_ms` is the geometric mean over trials of the median call, with the same kind of
    interval, and `arithmetic_mean_ms` the arithmetic mean of the trial means. These are service
    times; in an open loop the last columns have the response times, made in the same way, and the
    share of the calls that found no free thread when they were due. Earlier versions, `as_before`,
    wrote every percentile, however few the calls, and an interval of no length for equal times.
    """
    text = io.StringIO()
    writer = row_writer(text)
    is_open = any(cell.response for cell in cells)
    further = OPEN_COLUMNS if is_open else ()
    writer.writerow(["study", *run.factors, *CELL_COLUMNS, *further])
    for result in cells:
        row = _row(result, as_before)
        row += _open_row(result, as_before) if is_open else []
        writer.writerow([run.study, *map(level_text, result.cell.levels), *row])
    return text.getvalue()


def write_cells(path: Path, run: Run, cells: Sequence[CellResult]) -> None:
    """Write cells.csv, whole or not at all."""
    write_text(path, cells_csv(run, cells))


def _row(cell: CellResult, as_before: bool) -> list[str]:
    trials = len(cell.counted) if cell.counted else len(cell.trials)
    arithmetic = cell.arithmetic_mean()
    further = [*_interval(cell.typical, as_before), arithmetic.value if arithmetic else None]
    sizes = [cell.bytes_of("request_bytes"), cell.bytes_of("response_bytes")]
    numbers = map(_number, [*_times(cell, as_before), *sizes])
    rates = map(_number, _interval(cell.throughput, as_before))
    outcome = [cell.outcome, str(cell.failed_trials)]
    known = [str(trials), str(cell.calls), *numbers, *outcome, *rates, cell.limit.by]
    return [*known, *map(_number, further)]


def _open_row(cell: CellResult, as_before: bool) -> list[str]:
    mean, low, high, p50, p99 = _times(cell.response, as_before)
    return [*map(_number, [cell.offered_per_s, mean, p50, p99, cell.waited_share, low, high])]


def _times(cell: CellResult | None, as_before: bool) -> list[float | None]:
    """Return the mean with its interval, p50 and p99; None for each that there is not."""
    if cell is None or cell.mean is None:
        return [None] * 5
    percentiles: list[float | None] = [None, None]
    if pooled := cell.pooled:
        known = [(pooled.p50_ms, pooled.p50), (pooled.p99_ms, pooled.p99)]
        percentiles = [ms if as_before or shown else None for ms, shown in known]
    return [*_interval(cell.mean, as_before), *percentiles]


def _interval(mean: Estimate | None, as_before: bool) -> list[float | None]:
    if mean is None:
        return [None] * 3
    is_tied = as_before and mean.low is None and mean.samples > 1
    return [mean.value] * 3 if is_tied else [mean.value, mean.low, mean.high]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}".rstrip("0").rstrip(".")
