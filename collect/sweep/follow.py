"""Follows a run on its client node: pulls sealed trials, removes them there, reports progress."""

import base64
import json
import os
import shlex
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from collect.files import MIB, NoRoomError, ask_for, flush, is_full, write_bytes
from collect.run.directory import open_run
from collect.run.plan import PlannedTrial
from collect.run.trials import TrialError, verify_trial
from collect.sweep.client_commands import Answer, ClientCommands
from collect.sweep.hook import Hook, summary_of
from collect.sweep.interim import decided
from collect.sweep.pull import RefusedTrialsError, accept_trials
from collect.sweep.state import UNHEARD, RunnerState
from collect.sweep.status import FOLLOWED, WAITING, Watch
from collect.sweep.status_page import write_page
from collect.time_left import in_words

_BATCH_TRIALS = 100
_BATCH_BYTES = 32 * MIB
_SPEAK_S = 5.0
_PAGE_S = 5.0
_PULLS_OF_TORN = 2
_PAUSE_S = 0.1

Node = Callable[[str], bytes]
"""Runs a shell command on the client node as root and returns what it prints."""


class NodeSilentError(Exception):
    """The node did not answer; it may later."""


class SweepStoppedError(Exception):
    """The run cannot continue without help; the message says why and what to do."""


@dataclass(frozen=True)
class Terms:
    """The settings of a sweep; times are in seconds, space is in MiB.

    `source` is the run's directory on the client. `account` owns it, and its files are read and
    removed as that account only; empty for the account that commands run as. `silence_s` is how
    long the node may not answer, or this disk may stay full, before the sweep gives up; `stall_s`
    how long no trial may be sealed before the hook is told; `reserve_mb` what stays free on this
    disk. `look` is the number of blocks that the runner was given, before the next interim
    analysis; 0 when it was given all. `group` are the trials that it was given if they are not all
    up to there, and `goes_on` whether the nodes are set for further ones after them.
    """

    source: str
    unit: str
    account: str = ""
    silence_s: float = 900.0
    stall_s: float = 3600.0
    reserve_mb: int = 200
    compress: bool = False
    look: int = 0
    group: frozenset[str] = frozenset()
    goes_on: bool = False


@dataclass
class Follower:
    """Follows one run: what has been pulled so far, and what was said last."""

    run: Path
    node: Node
    terms: Terms
    say: Callable[[str], None]
    hook: Hook | None = None
    clock: Callable[[], float] = time.monotonic
    state: RunnerState = UNHEARD
    pulled: int = 0
    not_ok: int = 0
    _proven: set[str] = field(default_factory=set)
    _damaged: set[str] = field(default_factory=set)
    _torn: Counter[str] = field(default_factory=Counter)
    _refused: list[str] = field(default_factory=list)
    _said: str = ""
    _stopped: str = ""
    _has_waited: bool = False

    def __post_init__(self) -> None:
        """Begin with the trials that an earlier sweep pulled."""
        self.planned: Mapping[str, PlannedTrial] = {
            trial.id: trial for trial in open_run(str(self.run)).all_trials
        }
        self.here = self._sealed_here()
        self._commands = ClientCommands(self.terms.source, self.terms.unit, self.terms.account)
        self._watch = Watch(open_run(str(self.run)))
        group = self.terms.group
        self._earlier = {
            name: why
            for name, why in (self._watch.status().put_off.items() if group else ())
            if name not in group
        }
        self._heard = self._sealed = self.clock()
        self._spoken = self._drawn = float("-inf")
        self._parent = os.getppid()

    def follow(self, poll_s: float = 1.0, sleep: Callable[[float], None] = time.sleep) -> None:
        """Follow until the runner has ended and everything it sealed is here; tell the hook.

        Raises SweepStoppedError when trials are open, unless the runner gives the reason: the
        deadline came, or the trials are deferred.
        """
        try:
            while self.step():
                sleep(_PAUSE_S if self._has_waited else poll_s)
            self._demand_all()
        except SweepStoppedError as stop:
            self._end("stopped", str(stop))
            raise
        late = self.state.state == "deadline"
        if not self.missing and self._goes_on():
            return
        if self.terms.goes_on and not late and not self._stopped and self._has_next_group():
            self._speak(self.line())
            return
        why = "the deadline came" if late else "some are deferred"
        missing = len(self.planned) - len(self.here) if self.terms.group else self.missing
        open_ones = f"{why}, {missing} trials are open" if missing else ""
        self._end("ended", open_ones or self._stopped)

    def _has_next_group(self) -> bool:
        """Return whether trials are due that no interim analysis with deferred ones holds back."""
        return not self.terms.look or self._watch.status().state == WAITING

    @property
    def missing(self) -> int:
        """How many of the trials that the runner was given have not been pulled."""
        given = {trial.id for trial in open_run(str(self.run)).upto(self.terms.look)}
        return len((given & self.terms.group if self.terms.group else given) - self.here)

    def step(self) -> bool:
        """Poll once; return whether more is to come. Raises SweepStoppedError."""
        if os.getppid() != self._parent:
            raise SweepStoppedError("the playbook of this sweep has ended; run its command again")
        more, self._has_waited = True, False
        try:
            more = self._poll()
            self._has_waited = bool(self.terms.group)
            self._heard = self.clock()
            self._speak_progress()
        except NodeSilentError as error:
            self._wait(f"the node does not answer ({error}); its runner may still be running")
        except NoRoomError as error:
            self._wait(f"{error}; pulling waits, and sealed trials stay on the client")
        except OSError as error:
            if not is_full(error):
                raise SweepStoppedError(
                    f"{self.run}: cannot be written ({error}); correct that, then run the same "
                    "command again: sealed trials stay on the client"
                ) from error
            self._wait(f"{self.run}: the disk is full; make room there")
        if self.clock() - self._sealed > self.terms.stall_s:
            self._sealed = self.clock()
            self._tell("stalled", f"no trial was sealed for {self.terms.stall_s:.0f} s")
        return more

    def line(self) -> str:
        """Return one line of progress, with the time left as `collect status` estimates it."""
        done, total = len(self.here), len(self.planned)
        text = f"[{done}/{total} {100 * done // total:3d} %]"
        if self.not_ok:
            text += f" {self.not_ok} not ok |"
        if self.state.state == "paused":
            text += f" paused: {self.state.reason} |"
        if self.state.running:
            text += f" running {self.state.running} |"
        left = self._watch.status().eta if done < total else None
        if left is not None:
            text += f" {in_words(left.total_seconds())} to go"
        return text.rstrip(" |")

    def _poll(self) -> bool:
        """Poll the run, pull new trials, remove there what is verified here."""
        text = self.node(self._commands.poll(awaits_end=bool(self.terms.group))).decode()
        # Another command may follow the same run, and what it pulls is here and no longer there.
        self._take_stock()
        try:
            answer = Answer.parse(text)
            self.state = RunnerState.parse(answer.state.encode()) if answer.state else self.state
        except ValueError as error:
            raise NodeSilentError(f"it answered {text[:60]!r}") from error
        self._record(answer)
        sizes = answer.sizes()
        if self.terms.group:
            # A finished runner left them; pulled now, their group would be skipped as not due, and
            # the nodes never set for it, although the group after it relies on that.
            for name in self.planned.keys() - self.terms.group - self.here:
                sizes.pop(name, None)
        for batch in _batches(
            {name: size for name, size in sizes.items() if name not in self.here}
        ):
            ask_for(self.run, sum(sizes[name] for name in batch), self.terms.reserve_mb)
            self._pull(batch)
            self._speak_progress()
        self._remove([name for name in sizes if name in self.here])
        if answer.is_running:
            return True
        self._draw()
        return bool(set(sizes) - self.here - set(self._refused))

    def _pull(self, names: list[str]) -> None:
        packed = self.node(self._commands.pack(names))
        try:
            accept_trials(
                base64.b64decode(packed), self.run, self.planned, compress=self.terms.compress
            )
        except RefusedTrialsError as error:
            self._set_aside(error)
        except TrialError as error:
            raise NodeSilentError(str(error)) from error
        arrived = self._take_stock() & set(names)
        self._proven |= arrived
        self.pulled += len(arrived)

    def _take_stock(self) -> set[str]:
        """Count the trials that arrived here since the last time; return them."""
        arrived = self._sealed_here() - self.here
        if arrived:
            self._sealed = self.clock()
            self.here |= arrived
            self.not_ok += sum(outcome != "ok" for outcome in self._watch.outcomes(arrived))
        return arrived

    def _set_aside(self, error: RefusedTrialsError) -> None:
        """Move trials that arrived torn twice aside on the client, so that they are open again."""
        self._torn.update(error.ids)
        names = [name for name in error.ids if self._torn[name] >= _PULLS_OF_TORN]
        if names:
            self.node(self._commands.move_aside(names))
            self._refused += names
            self._speak(f"{error}\nmoved to {shlex.quote(self.terms.source)}/refused on the client")

    def _remove(self, names: list[str]) -> None:
        """Remove from the node the trials that are here, verified and flushed to disk."""
        for name in [name for name in names if name not in self._proven | self._damaged]:
            try:
                verify_trial(self.run / "trials" / name, self.planned[name])
                self._proven.add(name)
            except TrialError as error:
                self._damaged.add(name)
                self._speak(f"{error}; the client still has it")
        gone = [name for name in names if name in self._proven]
        if gone:
            # An earlier pull may have been killed before it did so.
            flush(self.run / "trials")
        for start in range(0, len(gone), _BATCH_TRIALS):
            self.node(self._commands.remove(gone[start : start + _BATCH_TRIALS]))

    def _record(self, answer: Answer) -> None:
        if answer.state:
            write_bytes(self.run / "state.json", self._with_earlier(answer.state))
        if self.clock() - self._drawn >= _PAGE_S:
            content = {"schema": 1, "at": _now(), "client_free_mb": answer.free_mb}
            write_bytes(self.run / FOLLOWED, json.dumps(content).encode() + b"\n")
            self._draw()

    def _with_earlier(self, state: str) -> bytes:
        """Return the state with the trials of earlier groups that are deferred, and why."""
        earlier = {n: why for n, why in self._earlier.items() if n not in self.here}
        if not earlier:
            return state.encode()
        record = json.loads(state)
        record["put_off"] += [{"id": name, "reason": why} for name, why in earlier.items()]
        if record["state"] == "finished" and not record["reason"]:
            name, why = next(iter(earlier.items()))
            record["reason"] = f"{len(earlier)} trials are deferred, the first, {name}: {why}"
        return json.dumps(record).encode()

    def _draw(self) -> None:
        self._drawn = self.clock()
        write_page(self.run, self._watch.status())

    def _sealed_here(self) -> set[str]:
        trials = self.run / "trials"
        names = {path.name for path in trials.iterdir()} if trials.is_dir() else set()
        return names & set(self.planned)

    def _wait(self, why: str) -> None:
        if self.clock() - self._heard > self.terms.silence_s:
            raise SweepStoppedError(
                f"{why}; gave up after {self.terms.silence_s:.0f} s: "
                "run the same command again to attach to the run; sealed trials are kept"
            )
        self._speak(f"{why}; trying again")

    def _goes_on(self) -> bool:
        """Take the decision that is due and say it; return whether more trials are to come."""
        if not self.terms.look:
            return False
        run = decided(self.run)
        if not run.decisions or run.decisions[-1].blocks != self.terms.look:
            return False  # other groups of these blocks are open
        decision = run.decisions[-1]
        if decision.stops:
            self.planned = {
                name: trial
                for name, trial in self.planned.items()
                if not trial.counts or trial.block <= decision.blocks
            }
            self._stopped = (
                f"its intervals are as narrow as asked for after {decision.blocks} blocks"
            )
        left = len(self.planned) - len(self.here)
        what = "the run stops" if decision.stops or not left else f"at most {left} trials to come"
        width = "none"
        if run.stop is not None and decision.widest is not None:
            width = run.stop.show(decision.widest)
        self._speak(f"analysed after {decision.blocks} blocks: widest interval {width}; {what}")
        return left > 0

    def _demand_all(self) -> None:
        """Raise SweepStoppedError when trials are open and the runner did not say why."""
        self._take_stock()
        word = self.state.state
        was_stopped = self.state.reason.startswith("stopped")
        is_done = word == "finished" and not was_stopped
        accounted = word == "deadline" or (is_done and self.state.put_off)
        if not self.missing or accounted:
            return
        refused = f"{len(self._refused)} arrived torn and are open again; " if self._refused else ""
        raise SweepStoppedError(
            f"{self.missing} of {len(self.planned)} trials are open: "
            f"{refused}{self._last_words()}; run the same command again, sealed trials are kept"
        )

    def _last_words(self) -> str:
        """Return why the runner ended, by its own state or its journal."""
        if self.state.state == "finished" and self.state.reason:
            why = "by systemctl stop or because its node was shut down"
            return f"the runner was {self.state.reason}, {why}"
        if self.state.state == "finished":
            return "the runner has finished all trials that it was given"
        if self.state.reason:
            return f"the runner ended: {self.state.reason}"
        try:
            words = self.node(self._commands.last_words()).decode().split()
        except NodeSilentError:
            words = []
        return f"the runner ended: {' '.join(words) or 'its journal is empty'}"

    def _end(self, event: str, reason: str) -> None:
        self.state = replace(self.state, running=None)
        self._speak(self.line())
        if reason and event == "ended":
            self._speak(reason)
        self._tell(event, reason)

    def _tell(self, event: str, reason: str) -> None:
        if self.hook:
            problem = self.hook.call(summary_of(self._watch.status(), event, reason))
            if problem:
                self._speak(problem)

    def _speak_progress(self) -> None:
        """Say the line of progress unless something was said in the last few seconds."""
        if self.clock() - self._spoken >= _SPEAK_S:
            self._speak(self.line())

    def _speak(self, text: str) -> None:
        """Say a text, unless it is the text that was said last."""
        if text != self._said:
            self.say(text)
            self._said, self._spoken = text, self.clock()


def end_with_parent(grace_s: float = 10.0, poll_s: float = 1.0) -> None:
    """End this process `grace_s` after its parent, even while it waits for an answer.

    When a playbook is killed, the process that follows the run is left behind and may wait for
    ever. Ending it loses nothing: every file written here is whole or absent.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(poll_s)
        time.sleep(grace_s)
        os._exit(1)

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _batches(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Split trials into batches of bounded number and size; a large trial is a batch of its own."""
    batch: list[str] = []
    total = 0
    for name, size in sizes.items():
        if batch and (len(batch) == _BATCH_TRIALS or total + size > _BATCH_BYTES):
            yield batch
            batch, total = [], 0
        batch.append(name)
        total += size
    if batch:
        yield batch
