"""Levels and constants, each against its domain and the number of workers."""

import math
from collections.abc import Mapping, Sequence

from collect.errors import InputError
from collect.run.cell import Level, level_text
from collect.run.fields import is_number
from collect.run.levels import levels_in
from collect.run.profile import NAMING
from collect.run.resolving.grids import PlacedGrid
from collect.run.resolving.stated import Stated
from collect.run.setting import Setting

_WORKERS = "workers"
"""The limit of a domain that stands for their number."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
}


def levels_beyond(
    stated: Stated, grids: Sequence[PlacedGrid], *, fit: bool
) -> Mapping[str, tuple[Level, ...]]:
    """Return the levels of each factor that need more workers than there are.

    Raises InputError for a level outside its domain; unless levels are to `fit`, also for the first
    one that lacks workers.
    """
    beyond: dict[str, dict[Level, None]] = {}
    for grid in grids:
        for factor, levels in grid.levels.items():
            for index, level in enumerate(levels):
                place = f"{grid.places[factor]}.{factor}[{index}]"
                _check_domain(stated, factor, level, place)
                if _lacks_workers(stated, factor, level):
                    if not fit:
                        raise _too_few(stated, level, place)
                    beyond.setdefault(factor, {})[level] = None
    return {factor: tuple(levels) for factor, levels in beyond.items()}


def check_constants(
    stated: Stated, placed: Mapping[str, Mapping[str, Setting]], grids: Sequence[PlacedGrid]
) -> None:
    """Check the constants, which `placed` has by their place in the file, as levels are checked.

    One that names a factor is checked with each level of it.
    """
    for place, constants in placed.items():
        for name, value in constants.items():
            where = f"{place}.{name}"
            if name in NAMING and isinstance(value, str) and value in grids[0].levels:
                for level in levels_in([grid.levels for grid in grids], value):
                    _check_domain(stated, name, level, where)
                continue
            _check_domain(stated, name, value, where)
            if _lacks_workers(stated, name, value):
                raise _too_few(stated, value, where)


def _check_domain(stated: Stated, name: str, value: Setting, place: str) -> None:
    """Check a level or the value of a constant, whose place in the file is `place`."""
    if isinstance(value, float) and not math.isfinite(value):
        raise stated.fail(f"{place} is {value}, which is not a number; correct it")
    domain = stated.domain(name)
    wanted = domain.get("type")
    if wanted and not _is_of_type(value, wanted):
        raise stated.fail(f"{place} is {value!r}, not of type {wanted}; write a level of that type")
    if "of" in domain and not _is_one_of(value, domain["of"], is_recorded=stated.is_recorded):
        raise stated.fail(
            f"{place} is {value!r}; choose one of {', '.join(map(level_text, domain['of']))}"
        )
    if not is_number(value):
        return
    for bound, beyond in (("minimum", "below"), ("maximum", "above")):
        limit = domain.get(bound, _WORKERS)
        if limit != _WORKERS and (value < limit if bound == "minimum" else value > limit):
            raise stated.fail(
                f"{place} is {value}, {beyond} the {bound} of {limit}; correct the level"
            )


def _is_of_type(value: Setting, wanted: str) -> bool:
    is_boolean = isinstance(value, bool)
    return isinstance(value, _TYPES[wanted]) and is_boolean == (wanted == "boolean")


def _is_one_of(value: Setting, allowed: Sequence[Level], *, is_recorded: bool) -> bool:
    """Tell whether a value is among those; 0 and false are two, but once were one."""
    kinds = [other for other in allowed if isinstance(other, bool) == isinstance(value, bool)]
    return value in (allowed if is_recorded else kinds)


def _lacks_workers(stated: Stated, name: str, value: Setting) -> bool:
    """Tell whether a level needs more workers than there are."""
    if not is_number(value):
        return False
    domain = stated.domain(name)
    most = domain.get("maximum") == _WORKERS or name == stated.content.get("servers")
    return (most and value > stated.workers) or (
        domain.get("minimum") == _WORKERS and value < stated.workers
    )


def _too_few(stated: Stated, value: Setting, place: str) -> InputError:
    return stated.fail(
        f"{place} is {value}, but the inventory has {stated.shown_workers}; "
        "add workers, lower the level, or skip it with --fit (playbooks: -e fit=true)"
    )
