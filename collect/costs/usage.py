"""How busy services, nodes, links and disks were while calls were measured."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np

from collect.costs.resources import ResourcesError, Series, read_resources
from collect.counts import show_percent
from collect.logs.cell_trial import CellTrial
from collect.run.recorded import Machine

NOT_RECORDED, NOT_OBSERVED = "not recorded", "not observed"
LEAST_SEEN = 0.9
"""Share of the measured phase that samples must cover: what they do not show cannot change the mean
of a share by more than ten points.
"""
LEAST_MEASURED = 0.75
"""Share of the samples' time that must be measured phase: they may reach a third beyond it.

Beyond it threads that waited for each other made no call, and what is not used there looks like
waiting.
"""
NEAR_NS = 500_000_000
"""So far, before and after together, samples may reach beyond it where threads call on there.

They are taken before the threads have settled: a short measured phase is a small part of the time
between them, in which the same calls are made.
"""
_KINDS = {"runner": "client", "broker": "broker"}
_OF_THE_BENCH = {"health", "restart"}
_NS_A_S = 1e9
_QUANTITIES = {
    "cores": ("cpu_cores", None),
    "received": ("rx_bytes", _NS_A_S),
    "sent": ("tx_bytes", _NS_A_S),
    "read": ("disk_read_bytes", _NS_A_S),
    "written": ("disk_write_bytes", _NS_A_S),
    "collecting": ("gc_ms", _NS_A_S / 1e3),
}


@dataclass(frozen=True)
class Mean:
    """A mean over the measured phase; `value` is None where it is not known, and `why` says why."""

    value: float | None
    why: str = ""


@dataclass(frozen=True)
class Busy:
    """What a service, or a node, used in the mean over the measured phase.

    `cores` are the cores it kept busy, `received`, `sent`, `read` and `written` bytes a second of
    its links and disks, and `collecting` the share of the time that its JVM collected garbage.
    """

    cores: Mean
    received: Mean
    sent: Mean
    read: Mean
    written: Mean
    collecting: Mean


@dataclass(frozen=True)
class Usage:
    """The load in a trial, or in the mean over the trials of a cell.

    `busy` has everything by node and service, as SeriesOf; of a node that was not sampled, only
    `machines` has an entry. `why` says why nothing is known at all.
    """

    machines: Mapping[str, Machine]
    busy: Mapping[tuple[str, str], Busy]
    why: str = ""

    def services(self, kind: str) -> dict[tuple[str, str], Busy]:
        """Return the services of one kind: client, service, broker or bench."""
        return {key: b for key, b in self.busy.items() if key[1] and kind_of(key[1]) == kind}

    def node(self, name: str) -> Busy:
        """Return what a whole node used."""
        missing = self.machines[name].missing if name in self.machines else ""
        return self.busy.get((name, "")) or _unknown(missing or f"no readings of {name}")

    @cached_property
    def kernels(self) -> list[tuple[str, ...]]:
        """The nodes, those that share one kernel, and with it its cores, together."""
        grouped: dict[str, list[str]] = {}
        for name, machine in self.machines.items():
            grouped.setdefault(machine.boot or f"of {name}", []).append(name)
        return [tuple(names) for names in grouped.values()]


def kind_of(service: str) -> str:
    """Return what a service of rackbench is in a trial: client, service, broker or bench."""
    return "bench" if service in _OF_THE_BENCH else _KINDS.get(service, "service")


def usage_of_trial(item: CellTrial) -> Usage:
    """Return the load while the calls of a trial were measured."""
    trial, first, last = item.trial, item.calls.measured_from_ns, item.calls.measured_to_ns
    if trial.resources is None:
        return Usage({}, {}, NOT_RECORDED if trial.is_observed else NOT_OBSERVED)
    if first is None or last is None or last <= first:
        return Usage(trial.machines, {}, "no measured call")
    try:
        series = read_resources(trial.directory, trial.resources)
    except ResourcesError as error:
        return Usage(trial.machines, {}, str(error))
    calls_on = trial.warmup is not None and trial.warmup.lead_calls is not None
    near_ns = NEAR_NS if calls_on else 0
    found = {
        key: Busy(
            **{
                name: mean_over(one, column, (first, last), per, near_ns)
                for name, (column, per) in _QUANTITIES.items()
            }
        )
        for key, one in series.items()
    }
    # A node whose series breaks off says why in the seal; what was sampled before stays.
    return Usage(trial.machines, found)


def mean_over(
    series: Series, column: str, phase: tuple[int, int], per_ns: float | None, near_ns: int = 0
) -> Mean:
    """Return the mean of an amount over a phase, its begin and end in ns, weighted by time.

    With `per_ns` the amounts are sums over their spans, and the mean is that in so many ns. What
    has no value is left out; where too much is, or spans reach too far beyond, it is not known.
    `near_ns` is no distance too far.
    """
    first, last = phase
    begin, end = series.t_ns[:-1], series.t_ns[1:]
    amounts = series.amounts[column][1:]
    inside = np.minimum(end, last) - np.maximum(begin, first)
    kept = (inside > 0) & ~np.isnan(amounts)
    spans, inside = (end - begin)[kept], inside[kept]
    rates = amounts[kept] if per_ns is None else amounts[kept] * per_ns / spans
    seen, spanned = int(inside.sum()), int(spans.sum())
    if not seen:
        return Mean(None, "no readings of it in the measured phase")
    if seen < LEAST_SEEN * (last - first):
        covered = show_percent(seen / (last - first), 0, lambda share: share >= LEAST_SEEN)
        return Mean(None, f"readings cover {covered} of the measured phase")
    if seen < LEAST_MEASURED * spanned and spanned - seen > near_ns:
        return Mean(
            None,
            f"the measured phase of {(last - first) / _NS_A_S:.2g} s is too short for readings of "
            f"{spanned / _NS_A_S:.2g} s",
        )
    return Mean(float((inside * rates).sum()) / seen)


def mean_usage(usages: Sequence[Usage]) -> Usage:
    """Return the mean over the trials of a cell, each quantity over those in which it is known.

    It is known when it is in at least half of the trials.
    """
    told = [usage for usage in usages if not usage.why]
    if not told or 2 * len(told) < len(usages):
        return Usage({}, {}, _most_common(usage.why for usage in usages) or NOT_RECORDED)
    machines = {name: machine for usage in told for name, machine in usage.machines.items()}
    keys = dict.fromkeys(key for usage in told for key in usage.busy)
    busy = {key: _mean_busy([usage.busy.get(key) for usage in told], len(usages)) for key in keys}
    return Usage(machines, busy)


def _mean_busy(of_trials: Sequence[Busy | None], trials: int) -> Busy:
    means = {}
    for name in _QUANTITIES:
        parts = [getattr(one, name) if one else Mean(None, "no readings") for one in of_trials]
        means[name] = _mean_of(parts, trials)
    return Busy(**means)


def _mean_of(means: Sequence[Mean], trials: int) -> Mean:
    """Return the mean of those that are known, where these are at least half of the trials."""
    values = [mean.value for mean in means if mean.value is not None]
    if values and 2 * len(values) >= trials:
        return Mean(fmean(values))
    return Mean(None, _most_common(mean.why for mean in means) or NOT_RECORDED)


def cpu_a_call(items: Sequence[CellTrial], usages: Sequence[Usage]) -> Mapping[str, Mean]:
    """Return the processor time of a call in ms: of client, service and broker, and of all nodes.

    It is the cores in use over the calls a second, so that calls of other threads count as calls
    while they share the processors; the mean over the trials, as in `mean_usage`.
    """
    found = {}
    for name in ("client", "service", "broker", "nodes"):
        means = [_cpu(item, usage, name) for item, usage in zip(items, usages, strict=True)]
        found[name] = _mean_of(means, len(means))
    return found


def _cpu(item: CellTrial, usage: Usage, name: str) -> Mean:
    rate = item.calls.calls_per_s
    if usage.why or not rate:
        return Mean(None, usage.why or "no calls a second")
    if name == "nodes":
        cores = [usage.node(node).cores for node in usage.machines]
    else:
        cores = [busy.cores for busy in usage.services(name).values()]
    values = [mean.value for mean in cores if mean.value is not None]
    if not cores or len(values) < len(cores):
        why = next((mean.why for mean in cores if mean.value is None), "none in this trial")
        return Mean(None, why)
    return Mean(1000 * sum(values) / rate)


def _unknown(why: str) -> Busy:
    return Busy(**{name: Mean(None, why) for name in _QUANTITIES})


def _most_common(reasons: Iterable[str]) -> str:
    counted = Counter(filter(None, reasons))
    return max(counted, key=lambda reason: counted[reason], default="")
