"""The load during a trial: the samples that it seals next to its calls.

No time rests on them. A trial that was not sampled has none.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collect.errors import InputError
from collect.logs.columns import parsed
from collect.run.recorded import ResourcesSeal
from collect.run.trials import LONGEST_NS, Trial, TrialError

RESOURCES = "resources.csv"
AMOUNTS = (
    *("cpu_cores", "rss_bytes", "rx_bytes", "tx_bytes", "retransmits"),
    *("disk_read_bytes", "disk_write_bytes", "gc_ms"),
)
"""The columns of resources.csv after the time, the node and the service."""
_TYPES = {
    "t_ns": pa.int64(),
    "node": pa.string(),
    "service": pa.string(),
    **dict.fromkeys(AMOUNTS, pa.float64()),
}


class ResourcesError(InputError):
    """Samples that cannot be used; what they would say is not known."""


@dataclass(frozen=True)
class Series:
    """The samples of one service, or of a node, in the order of time.

    `t_ns` is on the scale of `start_ns` of the calls. Each amount is a float, NaN where it is not
    known; but for `rss_bytes` it is of the time since the sample before.
    """

    t_ns: NDArray[np.int64]
    amounts: Mapping[str, NDArray[np.float64]]


SeriesOf = Mapping[tuple[str, str], Series]
"""The series of a trial by node and service; the service of a node's own series is empty."""


def read_resources(directory: Path, sealed: ResourcesSeal) -> SeriesOf:
    """Read the load during a trial, proven against its seal; raises ResourcesError."""
    path = directory / RESOURCES
    if sealed.rows == 0 and not path.exists():
        return {}
    columns = _read(path, sealed)
    t_ns = columns["t_ns"]
    if (np.abs(t_ns) > LONGEST_NS).any():
        raise ResourcesError(f"{RESOURCES} has a time that is longer than a year")
    if any((columns[name] < 0).any() or np.isinf(columns[name]).any() for name in AMOUNTS):
        raise ResourcesError(f"{RESOURCES} has a negative or infinite amount")
    found = {}
    for key, rows in _grouped(columns["node"], columns["service"]).items():
        ordered = rows[np.argsort(t_ns[rows], kind="stable")]
        if (np.diff(t_ns[ordered]) <= 0).any():
            name = " on ".join(filter(None, reversed(key)))
            raise ResourcesError(f"{RESOURCES} has two readings of {name} at the same time")
        found[key] = Series(t_ns[ordered], {name: columns[name][ordered] for name in AMOUNTS})
    return found


def prove_resources(trial: Trial) -> None:
    """Check that the samples of a trial are those that were sealed, of the nodes that are named.

    A trial without them passes. Raises TrialError.
    """
    try:
        reason = _contradiction(trial)
    except ResourcesError as error:
        reason = str(error)
    if reason:
        raise TrialError(
            f"{trial.id}: {reason}; set the trial aside and sweep again to have its readings"
        )


def _contradiction(trial: Trial) -> str:
    """Return how the samples of a trial contradict trial.json, or ""."""
    if trial.resources is None:
        is_there = (trial.directory / RESOURCES).exists()
        return f"{RESOURCES} is there, but trial.json has no seal of it" if is_there else ""
    sampled = {node for node, _ in read_resources(trial.directory, trial.resources)}
    for name in sorted(sampled - trial.machines.keys()):
        return f"{RESOURCES} has rows of {name}, which trial.json does not name"
    for name, machine in trial.machines.items():
        if (name in sampled) == bool(machine.missing):
            has = "rows" if name in sampled else "no rows"
            said = machine.missing or "nothing missing"
            return f"{RESOURCES} has {has} of {name}, but trial.json says: {said}"
    return ""


def _read(path: Path, sealed: ResourcesSeal) -> Mapping[str, NDArray[Any]]:
    """Return the columns of the file; an amount that is not known is NaN."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ResourcesError(f"{path.name} cannot be read ({error.strerror})") from error
    if hashlib.sha256(content).hexdigest() != (sealed.sha256 or "").lower():
        raise ResourcesError(f"{path.name} is not the file that was sealed")
    if content.partition(b"\n")[0] != ",".join(_TYPES).encode():
        raise ResourcesError(f"{path.name} does not begin with the header of this version")
    try:
        table = parsed(content, _TYPES)
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise ResourcesError(f"{path.name} has a row that cannot be read ({reason})") from error
    if table.num_rows != sealed.rows:
        raise ResourcesError(
            f"{path.name} has {table.num_rows} rows, but trial.json says {sealed.rows or 'nothing'}"
        )
    if any(table.column(n).null_count for n, kind in _TYPES.items() if kind != pa.float64()):
        raise ResourcesError(f"{path.name} has a row without a time")
    return {name: table.column(name).to_numpy() for name in _TYPES}


def _grouped(
    nodes: NDArray[Any], services: NDArray[Any]
) -> Mapping[tuple[str, str], NDArray[np.intp]]:
    """Return the rows of each node and service, in the order in which they first appear."""
    rows: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(zip(nodes, services, strict=True)):
        rows.setdefault(key, []).append(row)
    return {key: np.array(of_key) for key, of_key in rows.items()}


def spans_of(series: Series, name: str) -> Iterator[tuple[int, int, float]]:
    """Yield from when to when, in ns, each amount was; NaN where it is not known.

    The first sample of a series ends no span, as nothing says when it began.
    """
    for place in range(1, len(series.t_ns)):
        begin, end = int(series.t_ns[place - 1]), int(series.t_ns[place])
        yield begin, end, float(series.amounts[name][place])
