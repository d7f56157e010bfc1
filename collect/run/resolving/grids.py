"""The grids of a profile: the study's or its own, with the rates of an open loop as a factor."""

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from collect.run.arrival import RATE, geometric_rates
from collect.run.cell import CELL_COLUMNS, OPEN_COLUMNS, Level
from collect.run.levels import Grid, grids_of, levels_in, two_alike, two_alike_in_print
from collect.run.resolving.stated import Stated


@dataclass(frozen=True)
class PlacedGrid:
    """A grid, and for each factor the place in the file that has its levels."""

    levels: Grid
    places: Mapping[str, str]


def find_grids(stated: Stated) -> list[PlacedGrid]:
    """Return the grids of the profile; raises InputError where two of them do not go together."""
    grids = _with_rates(stated, _overridden(stated))
    _check_same_factors(stated, grids)
    _check_levels_differ(stated, grids)
    return grids


def without_levels(
    stated: Stated, grids: Sequence[PlacedGrid], left_out: Mapping[str, Container[Level]]
) -> tuple[Mapping[str, tuple[Level, ...]], ...]:
    """Return the grids without the levels left out, and without grids that are empty then.

    Raises InputError if no grid remains.
    """
    fitting = [
        {
            factor: tuple(level for level in levels if level not in left_out.get(factor, ()))
            for factor, levels in grid.levels.items()
        }
        for grid in grids
    ]
    kept = tuple(grid for grid in fitting if all(grid.values()))
    if not kept:
        raise stated.fail(
            f"no cell of the profile {stated.name} fits the inventory, which has "
            f"{stated.shown_workers}; add workers"
        )
    return kept


def _overridden(stated: Stated) -> list[PlacedGrid]:
    """Return the grids of the study with the profile's own levels, or the profile's own grids."""
    factors, own = stated.content["factors"], stated.own("factors", {})
    prefix = f"profiles.{stated.name}.factors"
    if isinstance(own, list):
        return [
            PlacedGrid(grid, dict.fromkeys(grid, f"{prefix}[{index}]"))
            for index, grid in enumerate(own)
        ]
    grids = grids_of(factors)
    known = dict.fromkeys(factor for grid in grids for factor in grid)
    if unknown := [factor for factor in own if factor not in known]:
        raise stated.fail(
            f"{prefix}.{unknown[0]} is not a factor of this study; "
            f"its factors are {', '.join(known)}"
        )
    placed = []
    for index, grid in enumerate(grids):
        base = f"factors[{index}]" if isinstance(factors, list) else "factors"
        levels = {factor: own.get(factor, grid[factor]) for factor in grid}
        placed.append(PlacedGrid(levels, {f: prefix if f in own else base for f in grid}))
    return placed


def _with_rates(stated: Stated, grids: list[PlacedGrid]) -> list[PlacedGrid]:
    """Return the grids with the factor that an arrival with `{from, to, steps}` makes."""
    arrival = stated.arrival
    if arrival is None or not isinstance(arrival["rate"], Mapping):
        return grids
    place = f"{stated.place('arrival')}.rate"
    if any(RATE in grid.levels for grid in grids):
        raise stated.fail(
            f"{place} has from, to and steps, which make the factor {RATE}, but the study has "
            f"that factor already; write `rate: {RATE}`, or remove the factor"
        )
    try:
        rates = geometric_rates(arrival["rate"])
    except ValueError as error:
        raise stated.fail(f"{place} {error}") from error
    return [
        PlacedGrid({**grid.levels, RATE: rates}, {**grid.places, RATE: place}) for grid in grids
    ]


def _check_same_factors(stated: Stated, grids: Sequence[PlacedGrid]) -> None:
    """Check that all grids have the same factors, and that none is named like a column."""
    first = list(grids[0].levels)
    for index, grid in enumerate(grids[1:], start=1):
        if list(grid.levels) != first:
            raise stated.fail(
                f"factors[{index}] has the factors {', '.join(grid.levels)}, but factors[0] has "
                f"{', '.join(first)}; give every grid the same factors in the same order"
            )
    for factor in first:
        if factor in ("study", *CELL_COLUMNS, *OPEN_COLUMNS):
            raise stated.fail(
                f"factors.{factor} has the name of a column of cells.csv; choose another name"
            )


def _check_levels_differ(stated: Stated, grids: Sequence[PlacedGrid]) -> None:
    """Check that no two levels of a factor would be one cell, or look like one."""
    for factor, place in grids[0].places.items():
        levels = levels_in([grid.levels for grid in grids], factor)
        if alike := two_alike(levels) or two_alike_in_print(levels):
            first, second = map(json.dumps, alike)
            raise stated.fail(
                f"{place}.{factor} has the levels {first} and {second}, which would be one cell or "
                "look like one; write one level, or rename one of the two"
            )
