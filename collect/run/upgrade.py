"""Older layouts of a run's files, lifted to today's at the door, so that no reader knows of them.

A record keeps what it has. What an older version did not record becomes what means "not known": 0,
null, an empty text, list or object. Whether a value is of its kind is left to the reader.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from collect.errors import quoted

TRIAL_SCHEMA = 2
"""The layout of trial.json that trial.schema.json describes."""
_FIRST_TRIAL_SCHEMA = 1
NOT_RECORDED: Mapping[str, Any] = {
    "restart": "",
    "shift": 0,
    "profiled": False,
    "captured": False,
    "earlier_attempts": [],
    "host": None,
    "jvm": {},
    "calls_file": "calls.csv",
    "errors": [],
    "request_header_bytes": None,
    "response_header_bytes": None,
    "clock": None,
    "overhead": None,
    "gc": None,
    "warmup": None,
    "cooldown": None,
    "phases": None,
    "fork_ms": None,
    "services": {},
    "restarts": [],
    "block_starts": [],
    "left_work": None,
    "interference": {},
    "settings": {},
    "parts": None,
    "resources": None,
    "profiles": [],
    "capture": None,
    "imported": None,
    "program": None,
    "arrival": None,
}
"""What trial.json says of that which is not known; one of schema 1 may lack any of these keys."""
_ADDED_WITHIN: Mapping[str, Mapping[str, Any]] = {
    "warmup": {"lead_calls": None},
    "gc": {"measured_ns": None},
}
_ADDED_SINCE: Mapping[str, Any] = {"program": None, "arrival": None}
"""What the first runners that wrote today's layout did not know of."""
FIRST_DRAWING = 1
"""How data are drawn in plans that do not say it (`CallData.java`)."""
LEFT_OUT: Mapping[str, Any] = {
    "restart": "",
    "stop": None,
    "shift": 0,
    "calls_in_all": 0,
    "fitted_to": 0,
    "profiled": False,
    "captured": False,
    "drawing": FIRST_DRAWING,
    "least_ok": 0.0,
    "arrival": None,
}
"""What a line of plan.jsonl means that lacks one of these keys; no line states such a value."""
_LACKED_BY_PLANS: Mapping[str, Any] = {"needs": [], "servers": 1, **LEFT_OUT}
_SPENDING = "spending"
_ADDED_TO_PLANS = (
    frozenset({_SPENDING}),
    frozenset({"drawing", "least_ok"}),
    frozenset({"restart"}),
)
"""What every new plan states and plans of earlier versions do not, the newest first.

The first is of the rule `stop`, where there is one: how it spends its error.
"""


def lift_trial(value: Any) -> dict[str, Any]:
    """Return the content of a trial.json in today's layout; raises ValueError if it is unknown."""
    record = value if isinstance(value, dict) else {}
    schema = record.get("schema")
    if isinstance(schema, bool) or schema not in (_FIRST_TRIAL_SCHEMA, TRIAL_SCHEMA):
        raise ValueError(
            f"it has schema {quoted(schema)}, but this version reads schema {_FIRST_TRIAL_SCHEMA} "
            f"to {TRIAL_SCHEMA}"
        )
    if schema == TRIAL_SCHEMA:
        return record if _ADDED_SINCE.keys() <= record.keys() else {**_ADDED_SINCE, **record}
    lifted = {**NOT_RECORDED, **record, "schema": TRIAL_SCHEMA}
    for name, added in _ADDED_WITHIN.items():
        if isinstance(lifted[name], dict):
            lifted[name] = {**added, **lifted[name]}
    if lifted["restart"] is None:
        # So says a trial whose plan does not.
        lifted["restart"] = ""
    return lifted


def lift_planned(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of plan.jsonl with all of its keys."""
    return {**_LACKED_BY_PLANS, **line}


def plans_before(lines: Sequence[Mapping[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the lines of a plan as this version and each earlier one wrote them, newest first.

    So a run that an earlier version planned is known again by its bytes, and goes on as it began.
    """
    lacked: set[str] = set()
    for added in (frozenset[str](), *_ADDED_TO_PLANS):
        lacked |= added
        written = [_without(lacked, line) for line in lines]
        yield written
        yield [{**line, "factors": dict(sorted(line["factors"].items()))} for line in written]


def _without(keys: set[str], line: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in line.items() if name not in keys}
    if _SPENDING in keys and isinstance(kept.get("stop"), dict):
        kept["stop"] = {name: one for name, one in kept["stop"].items() if name != _SPENDING}
    return kept


def knows_order(factors: Iterable[str]) -> bool:
    """Tell whether a plan says in which order its factors are.

    Earlier versions sorted them by name. In such a plan the study file alone says it.
    """
    names = list(factors)
    return names != sorted(names)
