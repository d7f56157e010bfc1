"""The names of factors and levels that a profile uses: each is one that the study has."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from collect.run.arrival import RATE, geometric_rates
from collect.run.cell import Level, level_text
from collect.run.fields import is_whole
from collect.run.levels import Grid, grids_of, levels_in, listed, two_alike
from collect.run.profile import Profile
from collect.run.resolving.stated import Stated

_MOST = 2**31 - 1
"""The largest number of threads, or of servers, that the runner takes."""


def check_names(stated: Stated, profile: Profile) -> None:
    """Check that each name that stands for a factor is one, and that there are enough workers."""
    factors = profile.grids[0]
    for key, number in (("threads", profile.threads), ("servers", profile.servers)):
        if isinstance(number, str) and number not in factors:
            raise stated.fail(
                f"{stated.place(key)} is {number!r}, which is not a factor; "
                f"write a number or one of {', '.join(factors)}"
            )
    if isinstance(profile.servers, int) and profile.servers > stated.workers:
        raise stated.fail(
            f"servers is {profile.servers}, but the inventory has {stated.shown_workers}; "
            "add workers or lower it"
        )
    for place, factor, _ in _selections(stated):
        if factor not in factors:
            raise stated.fail(
                f"{place} is not a factor of this study; its factors are {', '.join(factors)}"
            )
    _check_choice(stated, profile, "clients", "client", "CLIENT")
    _check_choice(stated, profile, "needs", "list", "[SERVICE, ...]")


def check_constants_are_no_factors(stated: Stated, profile: Profile) -> None:
    """Check that no factor is a constant too."""
    placed = {"constants": profile.constants, **stated.constants_of_exceptions}
    for place, constants in placed.items():
        for name, value in constants.items():
            if name in profile.grids[0] and value != name:
                raise stated.fail(
                    f"{place}.{name} has the value {json.dumps(value)}, but {name} is a factor "
                    "too, and a trial has one value; remove one of the two"
                )


def check_choices_differ(stated: Stated) -> None:
    """Check that no choice by level has two entries for one level, whose last would win."""
    for key in ("clients", "needs"):
        choice = stated.content.get(key)
        if isinstance(choice, Mapping) and (alike := two_alike(choice)):
            first, second = map(json.dumps, alike)
            raise stated.fail(
                f"{key} has the levels {first} and {second}, which are the same; remove one"
            )


def check_counts(stated: Stated, profile: Profile) -> None:
    """Check that a factor `threads` sets threads, and that levels of counts are counts."""
    if "threads" in profile.grids[0] and not _sets_threads(profile):
        raise stated.fail(
            "factors.threads does not set the threads of a trial; write `threads: threads`, or "
            "rename the factor"
        )
    for key, factor in (("threads", profile.threads), ("servers", profile.servers)):
        for level in levels_in(profile.grids, str(factor)):
            if not is_whole(level) or not 1 <= level <= _MOST:
                raise stated.fail(
                    f"factors.{factor} has the level {json.dumps(level)}, but {key} takes "
                    f"whole numbers from 1 to {_MOST}; correct the level"
                )


def check_exceptions(stated: Stated, profile: Profile) -> None:
    """Check that some profile has each level that an exception names."""
    known = _levels_of_all(stated, profile)
    for place, factor, levels in _selections(stated):
        unknown = [level for level in levels if level not in known[factor]]
        if unknown:
            idle = "the entry" if len(unknown) == len(levels) else "it"
            raise stated.fail(
                f"{place} has {json.dumps(unknown[0])}, which is a level of no profile, so "
                f"{idle} has no effect; correct it"
            )


def _selections(stated: Stated) -> Iterator[tuple[str, str, Sequence[Level]]]:
    """Yield each factor that exceptions select cells by: its place, its name, its levels."""
    for index, entry in enumerate(stated.exceptions):
        for factor, levels in entry["cells"].items():
            yield f"{stated.place('where')}[{index}].cells.{factor}", factor, listed(levels)


def _check_choice(stated: Stated, profile: Profile, key: str, what: str, example: str) -> None:
    """Check that a choice by level names a factor and has something for each of its levels."""
    choice: Any = getattr(profile, key)
    if not isinstance(choice, Mapping):
        return
    factors, chosen = profile.grids[0], choice["factor"]
    if chosen not in factors:
        raise stated.fail(
            f"{key}.factor is {chosen!r}, which is not a factor of this study; "
            f"its factors are {', '.join(factors)}"
        )
    for level in levels_in(profile.grids, chosen):
        if level_text(level) not in choice:
            raise stated.fail(
                f"{key} has no {what} for {chosen} {level!r}; "
                f"add the line `{level_text(level)}: {example}`"
            )


def _sets_threads(profile: Profile) -> bool:
    """Tell whether each cell has as many threads as its level of the factor `threads`."""
    levels = levels_in(profile.grids, "threads")
    return profile.threads == "threads" or levels == [profile.threads] * len(levels)


def _levels_of_all(stated: Stated, profile: Profile) -> Mapping[str, list[Level]]:
    """Return the levels of each factor in any profile, also those that did not fit."""
    content = stated.content
    every = [content, *content["profiles"].values()]
    grids: list[Grid] = [grid for one in every for grid in grids_of(one.get("factors", {}))]
    for arrival in (one.get("arrival") for one in every):
        if isinstance(arrival, Mapping) and isinstance(arrival["rate"], Mapping):
            with suppress(ValueError):  # what is wrong with the rates of another profile
                grids.append({RATE: geometric_rates(arrival["rate"])})
    known: dict[str, list[Level]] = {}
    for grid in (*grids, *profile.grids):
        for factor, levels in grid.items():
            known.setdefault(factor, []).extend(levels)
    return known
