"""What limits the calls of a cell: the rule, and the sentence that says what was busiest.

What was used is compared with what could be used: of the cores of a node as many as there are
client threads, since a thread makes one call at a time and a call keeps one core busy; of a link
its rate; of a disk DISK_BYTES_S. Two steps:

1. *Full.* Where cores, the processor time that a unit may have, a link or a disk were used to FULL,
   everything else waits for them, however much else is going on. Nodes that share one kernel share
   its cores, so what they used is summed. Full cores are named after their one user (client,
   service or broker, on one node) where it took SOLE of what services took; else they are
   `shared cores`.
2. *Largest.* Else the shares of client, service, broker, network and disk are compared: of each the
   busiest node. With one thread they are the parts of a call that were spent there. What is left
   when all are summed is `waiting`: for a timer, a lock, a flush of the disk, an acknowledgement.
   The largest of them all is the limit.

Where a part is not known, the limit is not known, except that what is full is full whatever the
rest. The use of a link matters only where waiting wins, which may then be the network. Where nodes
do not count the bytes of their disks, waiting includes the disk, and its sentence says so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collect.costs.usage import NOT_OBSERVED, Busy, Usage, kind_of
from collect.counts import show_count, show_percent

FULL = 0.9
"""Share from which on something is full.

Above it a queue forms before it, and a second's sample averages over pauses: a thread that starts
its next call is not always there at once.
"""
SOLE = 0.9
"""Share of what services took from which on one of them is the user of the cores."""
DISK_BYTES_S = 100e6
"""What a disk is taken to do, in bytes a second: one that turns does that in sequence.

The real rate is not measured. How long a flush takes is not in the bytes; it counts as waiting.
"""
SHARED = "shared cores"
PARTS = ("client", "service", "broker")
"""Who uses processors for a call."""
_BITS = 8
_LINK, _DISK = "network", "disk"
_IS_THE_LIMIT = {
    "client": "the load generator is the limit",
    "service": "the service is the limit",
    "broker": "the broker is the limit",
}


@dataclass(frozen=True)
class Limit:
    """What limits a cell: `by` in a word, empty where it is not known, and `text` in a sentence.

    `is_bench` says that the bench was the limit, not what it measures: the processors of the
    client, or cores that several nodes share.
    """

    by: str
    text: str
    is_bench: bool = False

    @property
    def name(self) -> str:
        """The word of the limit, or that there is none."""
        return self.by or (NOT_OBSERVED if self.text == NOT_OBSERVED else "not known")


@dataclass(frozen=True)
class _Share:
    """A share of what can be used, in words that begin a sentence."""

    of: str
    share: float
    text: str


def limit_of(usage: Usage, threads: int, servers: int = 1) -> Limit:
    """Return what limits a cell whose client has so many threads, from the load in it.

    A call of a thread may be under way to so many servers at once.
    """
    at_once = threads * servers
    if usage.why:
        return Limit("", usage.why if usage.why == NOT_OBSERVED else f"not known ({usage.why})")
    full = max(_full(usage, threads, at_once), key=lambda found: found[0], default=None)
    if full is not None:
        return full[1]
    if gap := next(_gaps(usage), None):
        return Limit("", f"not known ({gap})")
    shares = {share.of: share for share in _largest(usage, threads, at_once)}
    waiting = max(0.0, 1 - sum(share.share for share in shares.values()))
    others = {name: share.share for name, share in shares.items()}
    first = max(others, key=lambda name: others[name])
    if others[first] >= waiting:
        rest = {**others, "waiting": waiting}
        del rest[first]
        return Limit(first, f"{shares[first].text}, the largest part; {_listed(rest)}")
    if gap := next(_gaps_of_links(usage), None):
        return Limit(
            "", f"not known ({gap}; {_percent(waiting)} of the time nothing else was busy)"
        )
    text = f"nothing was busy for {_percent(waiting)} of the time: calls waited; {_listed(others)}"
    unseen = _unseen_disks(usage)
    disks = f"; the use of disks is unknown on {', '.join(unseen)}" if unseen else ""
    return Limit("waiting", text + disks)


def _full(usage: Usage, threads: int, at_once: int) -> Iterator[tuple[float, Limit]]:
    """Yield what was used to the full, with its share."""
    for (node, service), busy in usage.busy.items():
        held = usage.machines[node].limits.get(service) if node in usage.machines else None
        if held and kind_of(service) in PARTS and (busy.cores.value or 0) >= FULL * held:
            kind, found = kind_of(service), _of_service(usage, (node, service), busy, threads)
            yield found.share, Limit(kind, f"{found.text}: {_IS_THE_LIMIT[kind]}", kind == "client")
    for nodes in usage.kernels:
        cores = max((usage.machines[name].cores or 0 for name in nodes), default=0)
        # What is not known could only add to it.
        used = sum(usage.node(name).cores.value or 0 for name in nodes)
        if cores and used >= FULL * cores:
            yield used / cores, _cores_full(usage, nodes, cores, used)
    for beside in (_network(usage, at_once), _disk(usage)):
        if beside and beside.share >= FULL:
            yield beside.share, Limit(beside.of, f"{beside.text}: the {beside.of} is the limit")


def _cores_full(usage: Usage, nodes: tuple[str, ...], cores: float, used: float) -> Limit:
    users: dict[tuple[str, str], float] = {}
    for (node, service), busy in usage.busy.items():
        if node in nodes and service:
            who = (node, kind_of(service))
            users[who] = users.get(who, 0.0) + (busy.cores.value or 0)
    took = sum(users.values())
    (node, kind), most = max(users.items(), key=lambda user: user[1], default=(("", ""), 0.0))
    among = f", shared by {len(nodes)} nodes," if len(nodes) > 1 else ""
    if kind in PARTS and most >= SOLE * took and took >= used / 2:
        name = kind if kind != "service" else node
        told = f"{name} CPU {_percent(used / cores)} of {_cores(cores)}{among}"
        return Limit(kind, f"{told.rstrip(',')}: {_IS_THE_LIMIT[kind]}", kind == "client")
    by_kind = {part: sum(u for (_, k), u in users.items() if k == part) for part in PARTS}
    by_kind["other programs"] = max(0.0, used - sum(by_kind.values()))
    told = _listed({name: value / cores for name, value in by_kind.items()})
    whose = f"the {len(nodes)} nodes share" if len(nodes) > 1 else f"all on {nodes[0]} share"
    return Limit(
        SHARED,
        f"{whose} {_cores(cores)}, which were {_percent(used / cores)} busy: {told}",
        is_bench=True,
    )


def _gaps(usage: Usage) -> Iterator[str]:
    """Yield why the use of processors is not known, of each node and service where it is not."""
    for name, machine in usage.machines.items():
        if (cores := usage.node(name).cores).value is None:
            yield f"{name}: {cores.why}"
        if machine.cores is None:
            yield f"{name}: the number of its cores is not recorded"
    for (node, service), busy in usage.busy.items():
        if service and kind_of(service) in PARTS and busy.cores.value is None:
            yield f"{_name(node, service)}: {busy.cores.why}"
    if not usage.services("client"):
        yield "no readings of the client"


def _gaps_of_links(usage: Usage) -> Iterator[str]:
    """Yield why the use of links is not known."""
    for name, machine in usage.machines.items():
        if machine.link_mbit is None:
            yield f"{name}: the rate of its link is not known"
        busy = usage.node(name)
        for mean in (busy.received, busy.sent):
            if mean.value is None:
                yield f"{name}: bytes of its link: {mean.why}"


def _unseen_disks(usage: Usage) -> list[str]:
    """Return the nodes of which it is not known what their disks did."""
    busy = {name: usage.node(name) for name in usage.machines}
    return [name for name, b in busy.items() if b.read.value is None or b.written.value is None]


def _largest(usage: Usage, threads: int, at_once: int) -> Iterator[_Share]:
    for kind in PARTS:
        found = [
            _of_service(usage, key, busy, threads) for key, busy in usage.services(kind).items()
        ]
        if found:
            yield max(found, key=lambda one: one.share)
    for one in (_network(usage, at_once), _disk(usage)):
        if one:
            yield one


def _of_service(usage: Usage, key: tuple[str, str], busy: Busy, threads: int) -> _Share:
    node, service = key
    machine = usage.machines.get(node)
    cores = (machine.cores if machine else None) or 1.0
    held = machine.limits.get(service) if machine else None
    may = min(cores, threads, held or cores)
    share = (busy.cores.value or 0) / may
    of = _cores(may)
    if held is not None and may == held:
        of = f"the {held:g} cores that its unit may use"
    elif may < cores:
        of = f"the {_cores(may)} that {show_count(threads, 'client thread')} can keep busy"
    return _Share(kind_of(service), share, f"{_name(node, service)} CPU {_percent(share)} of {of}")


def _network(usage: Usage, at_once: int) -> _Share | None:
    """Return the busiest link: its busier direction, and both where there is one message at a time.

    `at_once` is how many messages can be under way.
    """
    found = []
    for name, machine in usage.machines.items():
        busy = usage.node(name)
        received, sent = busy.received.value, busy.sent.value
        if machine.link_mbit is None or received is None or sent is None:
            continue
        # One message at a time is sent, then its answer received: never both at once.
        rate = _BITS * max(received, sent, (received + sent) / at_once) / 1e6
        share = rate / machine.link_mbit
        told = f"link of {name} {_percent(share)} of {machine.link_mbit:g} Mbit/s"
        found.append(_Share(_LINK, share, told))
    return max(found, key=lambda one: one.share, default=None)


def _disk(usage: Usage) -> _Share | None:
    found = []
    for name in usage.machines:
        busy = usage.node(name)
        read, written = busy.read.value, busy.written.value
        if read is not None and written is not None:
            share = (read + written) / DISK_BYTES_S
            told = f"disk of {name} {_percent(share)} of the {DISK_BYTES_S / 1e6:g} MB/s assumed"
            found.append(_Share(_DISK, share, told))
    return max(found, key=lambda one: one.share, default=None)


def _name(node: str, service: str) -> str:
    kind = kind_of(service)
    return kind if kind in ("client", "broker") else f"{service} on {node}"


def _cores(number: float) -> str:
    return f"{number:g} core{'s' * (number != 1)}"


def _percent(share: float) -> str:
    return show_percent(share, 0, lambda of: of >= FULL)


def _listed(shares: Mapping[str, float]) -> str:
    """Name shares without those that round to nothing."""
    named = [f"{name} {_percent(share)}" for name, share in shares.items() if share >= 0.005]
    return ", ".join(named) or "nothing else"
