"""How far a run is, from its sealed trials and the state its runner last wrote."""

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any, TypeVar

from collect.files import free_mb
from collect.run.directory import Run, open_run
from collect.run.fields import Fields
from collect.run.plan import PlannedTrial
from collect.run.setting import setting_of, text_of
from collect.run.stop import Decision, StopRule, read_decisions
from collect.run.trials import OUTCOMES, Trial, TrialError, read_trial
from collect.strict_json import parse_json
from collect.sweep.state import UNHEARD, NodeState, RunnerState, utc, utc_text
from collect.time_left import of_kinds

ENDED = {"finished", "failed", "deadline"}
"""The words of state.json after which a run goes on only when it is started again."""
WAITING = "waiting"
"""Between groups of trials: the control host has to set the nodes for the next ones."""
FOLLOWED = "follow.json"
"""What the control side last saw of the client: `at` in UTC and `client_free_mb` in MiB."""
_UNHEARD = timedelta(minutes=1)

T = TypeVar("T")


@dataclass(frozen=True)
class NextAnalysis:
    """The next interim analysis: after how many blocks, the trials before it, and the time."""

    blocks: int
    remaining: int
    eta: timedelta | None


@dataclass(frozen=True)
class Status:
    """A run at one moment; hashes are not checked here.

    `typed` is what to type for the run in a command. `eta` is the time left, None until a trial is
    sealed. `put_off` has the reasons of trials that wait for a node, by trial; `thrown_away` counts
    the attempts that a fault of the lab spoilt. `nodes` are those that the runner has asked so far,
    by name. `client_free_mb` is what was free on the client when it was last seen, at `seen`.
    `next_look` is the next interim analysis, None without a rule, after the last analysis and when
    the rule has stopped the run; `decisions` are those of earlier analyses, `rule` is None without
    one. `profiled` of the `total` trials run with a profiler, `captured` have their packets kept;
    they never count.
    """

    run: str
    typed: str
    total: int
    outcomes: Mapping[str, int]
    unusable: int
    state: str
    reason: str
    current: PlannedTrial | None
    attempt: int | None
    since: datetime | None
    eta: timedelta | None
    put_off: Mapping[str, str]
    thrown_away: int
    nodes: Mapping[str, NodeState]
    control_free_mb: int
    client_free_mb: int | None
    seen: datetime | None
    at: datetime
    rule: StopRule | None = None
    decisions: Sequence[Decision] = ()
    next_look: NextAnalysis | None = None
    profiled: int = 0
    captured: int = 0

    @property
    def sealed(self) -> int:
        """How many trials are sealed, whatever their outcome."""
        return sum(self.outcomes.values())

    @property
    def not_ok(self) -> int:
        """How many sealed trials did not end well."""
        return self.sealed - self.outcomes.get("ok", 0)

    @property
    def remaining(self) -> int:
        """How many planned trials are not sealed."""
        return self.total - self.sealed

    @property
    def has_ended(self) -> bool:
        """Whether no further trial will be sealed unless the sweep is started again.

        A runner that was given the trials up to an analysis is finished there, and the sweep goes
        on.
        """
        is_at_look = self.next_look and self.state == "finished" and not self.put_off
        return self.remaining == 0 or (self.state in ENDED and not is_at_look)

    @property
    def is_unheard(self) -> bool:
        """Whether the run goes on, but no sweep has followed it for a minute."""
        return not self.has_ended and self.seen is not None and self.at - self.seen > _UNHEARD

    def as_json(self) -> dict[str, Any]:
        """Return the status as `collect status --json` prints it, schema 1."""
        current = self.current
        return {
            "schema": 1,
            "run": self.run,
            "at": utc_text(self.at),
            "state": self.state,
            "reason": self.reason,
            "total": self.total,
            "profiled": self.profiled,
            "captured": self.captured,
            "sealed": self.sealed,
            "outcomes": dict(self.outcomes),
            "remaining": self.remaining,
            "unusable": self.unusable,
            "running": current
            and {
                "id": current.id,
                "factors": dict(current.factors),
                "attempt": self.attempt,
                "since": utc_text(self.since),
            },
            "eta_s": _seconds(self.eta),
            "put_off": dict(self.put_off),
            "thrown_away": self.thrown_away,
            "nodes": {name: node.as_json() for name, node in self.nodes.items()},
            "control_free_mb": self.control_free_mb,
            "client_free_mb": self.client_free_mb,
            "seen": utc_text(self.seen),
            "has_ended": self.has_ended,
            "is_unheard": self.is_unheard,
            "stop": self.rule and self.rule.record(),
            "looks": [asdict(decision) for decision in self.decisions],
            "next_look": self.next_look
            and {
                "blocks": self.next_look.blocks,
                "remaining": self.next_look.remaining,
                "eta_s": _seconds(self.next_look.eta),
            },
        }


class Watch:
    """Reads the status of a run again and again; each sealed trial is read only once."""

    def __init__(self, run: Run) -> None:
        """Read nothing yet."""
        self._run = run
        self._planned = {trial.id: trial for trial in run.all_trials}
        self._sealed: dict[str, Trial] = {}

    def status(self) -> Status:
        """Return the status of the run now; a trial that cannot be read counts as remaining."""
        if self._run.stop and [*self._run.decisions] != read_decisions(self._run.directory):
            self._run = open_run(str(self._run.directory))  # an interim analysis may have ended it
        run, planned = self._run, self._planned
        unusable = self._read_sealed()
        runner = _read(run, "state.json", RunnerState.parse, UNHEARD)
        room, seen = _read(run, FOLLOWED, _followed, _followed(b"{}"))
        counts = Counter(trial.outcome for trial in self._sealed.values())
        remaining = [trial for trial in run.all_trials if trial.id not in self._sealed]
        word = runner.state or ("unknown" if self._sealed else "not started")
        awaited = _awaited(run, runner, remaining)
        sealed = [(planned[name], trial) for name, trial in self._sealed.items()]
        return Status(
            run=run.name,
            typed=run.typed,
            total=len(run.all_trials),
            profiled=len(run.profiled),
            captured=len(run.captured),
            outcomes={outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]},
            unusable=unusable,
            state=WAITING if awaited else word,
            reason=awaited or runner.reason,
            current=planned.get(runner.running or "") if word not in ENDED else None,
            attempt=runner.attempt,
            since=runner.since,
            eta=_eta(remaining, sealed),
            put_off={
                name: reason
                for name, reason in runner.put_off.items()
                if name in {trial.id for trial in remaining}
            },
            thrown_away=runner.thrown_away,
            nodes=runner.nodes,
            control_free_mb=free_mb(run.directory),
            client_free_mb=room,
            seen=seen,
            at=datetime.now(UTC),
            rule=run.stop,
            decisions=run.decisions,
            next_look=_next_look(run, remaining, sealed),
        )

    def _read_sealed(self) -> int:
        """Read the trials that were sealed since; return how many directories are unusable."""
        present = {
            path.name: path for path in self._run.directories() if path.name in self._planned
        }
        self._sealed = {name: trial for name, trial in self._sealed.items() if name in present}
        unusable = 0
        for name, directory in present.items():
            try:
                if name not in self._sealed:
                    self._sealed[name] = read_trial(directory)
            except TrialError:
                unusable += 1
        return unusable

    def outcomes(self, names: Iterable[str]) -> list[str]:
        """Return the outcomes of those of the trials that are sealed here."""
        self.status()
        return [self._sealed[name].outcome for name in names if name in self._sealed]


def _awaited(run: Run, runner: RunnerState, remaining: Sequence[PlannedTrial]) -> str:
    """Return what the run waits for when its runner has ended one of several groups, or ""."""
    left = [trial for trial in remaining if trial.id not in runner.put_off]
    deferred = [one.block for one in remaining if one.counts and one.id in runner.put_off]
    if run.stop and deferred:
        # No trial starts after an interim analysis that waits for deferred ones.
        look = next(one for one in run.stop.looks if one >= min(deferred))
        due = {trial.id for trial in run.upto(look)}
        left = [trial for trial in left if trial.id in due]
    was_stopped = runner.reason and not runner.put_off
    if runner.state != "finished" or was_stopped or not left or not (varied := run.varied):
        return ""
    setting = text_of(setting_of(left[0]), varied)
    return f"waits for the control host to set the nodes for {setting}"


def read_status(run: Run) -> Status:
    """Look at a run once."""
    return Watch(run).status()


def _next_look(
    run: Run, remaining: Sequence[PlannedTrial], sealed: Sequence[tuple[PlannedTrial, Trial]]
) -> NextAnalysis | None:
    done = len(run.decisions)
    if run.stop is None or done == len(run.stop.looks) or (done and run.decisions[-1].stops):
        return None
    look = run.stop.looks[done]
    before = [trial for trial in remaining if trial.block <= look]
    return NextAnalysis(look, len(before), _eta(before, sealed))


def _seconds(left: timedelta | None) -> int | None:
    return None if left is None else round(left.total_seconds())


def _eta(
    remaining: Sequence[PlannedTrial], sealed: Sequence[tuple[PlannedTrial, Trial]]
) -> timedelta | None:
    """Return how long the rest takes: each trial what its cell took, and the usual pauses.

    A captured trial makes two calls only, so it takes no longer than the shortest one. A pause in
    which the nodes are set for other settings is of another kind.
    """
    taken: dict[Hashable, list[float]] = {}
    for planned, trial in sealed:
        if not planned.captured:
            taken.setdefault(planned.factors, []).append(trial.seconds)
    trials_s = of_kinds((trial.factors for trial in remaining if not trial.captured), taken)
    if trials_s is None:
        return None
    captured = sum(trial.captured for trial in remaining)
    trials_s += captured * min(trial.seconds for _, trial in sealed)
    ordered = sorted(sealed, key=lambda pair: pair[1].started_at)
    pauses: dict[Hashable, list[float]] = {}
    for (one, before), (other, after) in pairwise(ordered):
        pause_s = max(0.0, (after.started_at - before.ended_at).total_seconds())
        pauses.setdefault(_is_change(one, other), []).append(pause_s)
    ahead = [ordered[-1][0], *remaining]
    # The median: a run that rested over the day is not expected to rest before every trial.
    usual = {kind: [median(found)] for kind, found in pauses.items()}
    pauses_s = of_kinds((_is_change(*pair) for pair in pairwise(ahead)), usual) or 0.0
    return timedelta(seconds=trials_s + pauses_s)


def _is_change(before: PlannedTrial, after: PlannedTrial) -> bool:
    return setting_of(before) != setting_of(after)


def _read(run: Run, name: str, parse: Callable[[bytes], T], otherwise: T) -> T:
    """Read a small JSON file about the progress of a run; empty if it is missing or unusable."""
    try:
        return parse((run.directory / name).read_bytes())
    except FileNotFoundError:
        return otherwise
    except (OSError, ValueError) as error:
        print(f"{run.name}/{name} cannot be used ({error})", file=sys.stderr)
        return otherwise


def _followed(content: bytes) -> tuple[int | None, datetime | None]:
    """Read follow.json: the room on the client and when it was seen."""
    record = Fields(parse_json(content))
    return record.whole("client_free_mb"), utc(record.instant("at"))
