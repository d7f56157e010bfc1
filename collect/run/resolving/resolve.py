"""Resolves a profile: finds its values, checks them, and puts them together."""

from collections.abc import Mapping
from typing import Any

from collect.run.arrival import RATE
from collect.run.levels import by_text
from collect.run.profile import LEAST_OK, Profile
from collect.run.resolving.domains import check_constants, levels_beyond
from collect.run.resolving.grids import find_grids, without_levels
from collect.run.resolving.names import (
    check_choices_differ,
    check_constants_are_no_factors,
    check_counts,
    check_exceptions,
    check_names,
)
from collect.run.resolving.settings import check_constants_of_jvms, check_jdk, check_node
from collect.run.resolving.stated import Stated
from collect.run.resolving.times import check_arrival, check_times
from collect.run.setting import flat_node
from collect.run.stop import StopRule
from collect.run.warmup import Warmup


def resolve(stated: Stated, *, fit: bool) -> Profile:
    """Return the profile; with `fit`, without the levels that need more workers than there are.

    Raises InputError when a level lies outside its domain, a name refers to no factor, or nothing
    fits.
    """
    grids = find_grids(stated)
    left_out = levels_beyond(stated, grids, fit=fit)
    where = _exceptions(stated)
    constants, own = stated.content["constants"], stated.own("constants", {})
    placed = {"constants": constants, f"profiles.{stated.name}.constants": own}
    check_constants(stated, {**placed, **stated.constants_of_exceptions}, grids)
    profile = Profile(
        study=stated.content["study"],
        name=stated.name,
        seed=stated.content["seed"],
        grids=without_levels(stated, grids, left_out),
        clients=by_text(stated.content["clients"]),
        constants={**constants, **own},
        node={**flat_node(stated.content.get("node", {})), **flat_node(stated.own("node", {}))},
        where=where,
        threads=stated.value("threads", 1),
        needs=by_text(stated.content.get("needs", [])),
        servers=stated.content.get("servers", 1),
        restart=stated.value("restart", "block"),
        stop=_stop(stated),
        profile_forks=stated.value("profile_forks", 0),
        least_ok=stated.value("least_ok", LEAST_OK),
        arrival=_arrival(stated),
        left_out=left_out,
        fitted_to=stated.workers if left_out else 0,
        warmup=_warmup(stated, stated.value("warmup"), stated.place("warmup")),
        **{key: stated.value(key) for key in ("replicates", "calls", "timeout_s")},
    )
    _check(stated, profile)
    return profile


def _check(stated: Stated, profile: Profile) -> None:
    check_names(stated, profile)
    check_arrival(stated, profile)
    check_constants_are_no_factors(stated, profile)
    if not stated.is_recorded:  # earlier versions took what these refuse
        check_choices_differ(stated)
        check_counts(stated, profile)
        check_exceptions(stated, profile)
        check_constants_of_jvms(stated, profile)
        check_node(stated, profile)
    check_jdk(stated, profile)
    check_times(stated, profile)


def _exceptions(stated: Stated) -> tuple[Mapping[str, Any], ...]:
    """Return the entries under `where`, their warm-ups read."""
    entries: list[Mapping[str, Any]] = []
    for index, entry in enumerate(stated.exceptions):
        if "warmup" in entry:
            place = f"{stated.place('where')}[{index}].warmup"
            entries.append({**entry, "warmup": _warmup(stated, entry["warmup"], place)})
        else:
            entries.append(entry)
    return tuple(entries)


def _warmup(stated: Stated, value: Any, place: str) -> int | Warmup:
    try:
        return Warmup.parse(value) if isinstance(value, Mapping) else int(value)
    except ValueError as error:
        raise stated.fail(f"{place} {error}; correct it") from error


def _stop(stated: Stated) -> StopRule | None:
    """Return the stopping rule, which must not need more blocks than the profile has."""
    value, place = stated.value("stop", "none"), stated.place("stop")
    if value == "none":
        return None
    try:
        rule = StopRule.parse(value)
    except ValueError as error:
        raise stated.fail(f"{place} {error}; correct it") from error
    replicates = stated.value("replicates")
    if rule.most > replicates:
        raise stated.fail(
            f"{place}.looks ends at {rule.most} blocks, but {stated.place('replicates')} is "
            f"{replicates}; raise replicates to {rule.most}, remove that number from looks, or "
            "write stop: none"
        )
    return rule


def _arrival(stated: Stated) -> Mapping[str, Any] | None:
    """Return an arrival whose rate is a number or the name of a factor."""
    arrival = stated.arrival
    if arrival is None or not isinstance(arrival["rate"], Mapping):
        return arrival
    return {**arrival, "rate": RATE}
