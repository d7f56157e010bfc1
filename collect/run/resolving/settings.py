"""The settings of JVMs and nodes: each has a value that they understand, and reaches them."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collect.run.cell import Cell
from collect.run.fields import is_whole
from collect.run.profile import NAMING, OF_JVMS, Profile, Settings, is_chosen
from collect.run.resolving.stated import Stated
from collect.run.setting import (
    JDK,
    LEAST_HEAP_MB,
    LEAST_JDK,
    OF_ALL,
    OF_KINDS,
    OF_NODES,
    OPTIONS,
    Setting,
    flat_node,
    is_setting,
    problem_of,
    problem_of_client_options,
    problem_of_jdk,
    taken_by,
    varied,
)


@dataclass(frozen=True)
class _Replaced:
    """A setting of `cells` whose value takes the place of `before`, and the names still in use."""

    place: str
    name: str
    value: Setting
    before: Setting | None
    cells: Sequence[Cell]
    in_use: Collection[str]


def check_jdk(stated: Stated, profile: Profile) -> None:
    """Check that the JDK of each cell is the release of one."""
    for settings in _settings_of_all(profile):
        if problem := problem_of_jdk(settings.constants.get(JDK, LEAST_JDK)):
            raise stated.fail(f"constants.{JDK} {problem}")


def check_constants_of_jvms(stated: Stated, profile: Profile) -> None:
    """Check what constants of JVMs and of persistence take from a factor."""
    for settings in _settings_of_all(profile):
        constants = settings.constants
        for name in ("collector", "persistence"):
            if name in constants and (problem := problem_of(name, constants[name], ())):
                raise stated.fail(f"constants.{name} {problem}")
        if not isinstance(options := constants.get("jvm_options", []), list):
            raise stated.fail(
                f"constants.jvm_options is {json.dumps(options)}, which is neither a factor of "
                "texts nor a list; write a list of options, such as [-Xss1m, -Xint]"
            )
        if problem := problem_of_client_options(options):
            raise stated.fail(f"constants.jvm_options {problem}")
        heap = constants.get("client_heap_mb", LEAST_HEAP_MB)
        if not is_whole(heap) or heap < LEAST_HEAP_MB:
            raise stated.fail(
                f"constants.client_heap_mb is {json.dumps(heap)}, which is neither a factor "
                f"nor a heap; write whole numbers of MiB, at least {LEAST_HEAP_MB}"
            )


def check_node(stated: Stated, profile: Profile) -> None:
    """Check that nodes understand each setting, with the value that each cell gives it.

    And that each factor or constant with the name of a setting sets it: others would bear a wrong
    name.
    """
    every = _settings_of_all(profile)
    services = {name for settings in every for name in settings.needs}
    for settings in every:
        for name, value in settings.node.items():
            if problem := problem_of(name, value, services):
                raise stated.fail(f"{stated.place('node')}.{name} {problem}")
    _check_factors_of_nodes(stated, profile, services)
    _check_factors_of_jvms(stated, profile)
    _check_constants_of_nodes(stated, profile, services)
    _check_replaced(stated, profile)
    _check_services(stated, profile, [settings.node for settings in every], services)


def _settings_of_all(profile: Profile) -> Sequence[Settings]:
    return [profile.settings(cell) for cell in profile.cells()]


def _check_factors_of_nodes(stated: Stated, profile: Profile, services: Collection[str]) -> None:
    """Check that nodes get the levels of a factor that has the name of one of their settings."""
    for name in sorted(profile.grids[0].keys() - NAMING):
        if is_setting(name, services) and not _is_set(name, profile):
            line = f"{name}: {{tomcat: {name}}}" if name == OPTIONS else f"{name}: {name}"
            raise stated.fail(
                f"factors.{name} is a node setting, but no node gets its levels; write "
                f"`{line}` under node, or rename the factor"
            )


def _check_factors_of_jvms(stated: Stated, profile: Profile) -> None:
    """Check that the JVM of the client or those of the services get such a factor's levels."""
    every: Sequence[Mapping[str, Any]] = [
        profile.constants,
        *stated.constants_of_exceptions.values(),
    ]
    named = [constants.get(name) for constants in every for name in OF_JVMS]
    for name in OF_JVMS:
        if name not in profile.grids[0] or name in named or _is_set(name, profile):
            continue
        of_services = ", or under node for the services" * (name in ("collector", JDK))
        raise stated.fail(
            f"factors.{name} is a setting of JVMs, but no JVM gets its levels; write "
            f"`{name}: {name}` under constants for the client{of_services}, or rename the "
            "factor"
        )


def _check_constants_of_nodes(stated: Stated, profile: Profile, services: Collection[str]) -> None:
    """Check that no constant passes for a setting that the nodes do not have."""
    for settings in _settings_of_all(profile):
        for name in sorted(settings.constants.keys() - NAMING):
            is_taken = name in profile.node.values() or (
                settings.node.get(name) == settings.constants[name]
            )
            if is_setting(name, services) and not is_taken:
                raise stated.fail(
                    f"constants.{name} is a node setting, but no node gets it; write it under node"
                )


def _check_replaced(stated: Stated, profile: Profile) -> None:
    """Check that no profile or exception has a value in place of the name of a factor.

    The levels of that factor would set nothing, and its cells would bear a wrong name.
    """
    for one in _replaced(stated, profile):
        factor = one.before
        if not isinstance(factor, str) or factor not in profile.grids[0] or factor in one.in_use:
            continue
        if any(one.value != cell[factor] for cell in one.cells):
            raise stated.fail(
                f"{one.place}.{one.name} is {json.dumps(one.value)}, but the study gives it the "
                f"levels of the factor {factor}, which then set nothing; write "
                f"`{one.name}: {factor}`, or give {factor} that level alone"
            )


def _replaced(stated: Stated, profile: Profile) -> Iterator[_Replaced]:
    """Yield the node settings and constants that a profile or an exception replaces."""
    cells, own = profile.cells(), f"profiles.{stated.name}"
    selected = {factor for entry in profile.where for factor in entry["cells"]}
    in_use = {*_factors_in_use(profile, profile.constants), *selected}
    node = flat_node(stated.content.get("node", {}))
    for name, value in flat_node(stated.own("node", {})).items():
        yield _Replaced(f"{own}.node", name, value, node.get(name), cells, in_use)
    constants = stated.content["constants"]
    for name, value in stated.own("constants", {}).items():
        if name in NAMING:
            yield _Replaced(f"{own}.constants", name, value, constants.get(name), cells, in_use)
    for place, entry in zip(stated.constants_of_exceptions, stated.exceptions, strict=True):
        chosen = [cell for cell in cells if is_chosen(cell, entry)]
        replacing = entry.get("constants", {})
        others = _factors_in_use(profile, {**profile.constants, **replacing})
        for name, value in replacing.items():
            if name in NAMING:
                yield _Replaced(place, name, value, profile.constants.get(name), chosen, others)


def _factors_in_use(profile: Profile, constants: Mapping[str, Setting]) -> Collection[str]:
    """Return what settings and choices of a profile have in place of values."""
    choices = (one for one in (profile.clients, profile.needs) if isinstance(one, Mapping))
    named = (
        *profile.node.values(),
        *(constants.get(name) for name in NAMING),
        *(profile.threads, profile.servers, (profile.arrival or {}).get("rate")),
        *(choice["factor"] for choice in choices),
    )
    return {name for name in named if isinstance(name, str)}


def _check_services(
    stated: Stated,
    profile: Profile,
    nodes: Sequence[Mapping[str, Setting]],
    services: Collection[str],
) -> None:
    """Check that trials need a service which takes a setting that differs between cells.

    Of settings with the levels of one factor, one that is taken is enough. Trials record what the
    services that they need ran with, and no others.
    """
    of_services = {name for name in varied(nodes) if not name.startswith(OF_NODES)}
    workers = OF_KINDS["workers"]
    taken = taken_by({name: (*OF_KINDS.get(name, workers), *OF_ALL) for name in services})
    if "synced" in taken:
        taken.add("persistence")
    shared = {profile.node.get(name) for name in of_services & taken}
    idle = [name for name in of_services - taken if profile.node.get(name) not in shared]
    if idle:
        raise stated.fail(
            f"{stated.place('node')}.{min(idle)} differs between cells, but no trial needs "
            "a service that takes it; name the services that the client calls under needs"
        )


def _is_set(factor: str, profile: Profile) -> bool:
    """Tell whether nodes get a factor's levels, or anyway have the value of each."""
    return factor in profile.node.values() or all(
        profile.settings(cell).node.get(factor) == cell[factor] for cell in profile.cells()
    )
