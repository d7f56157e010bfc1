"""The settings of JVMs and nodes: each has a value that they understand, and reaches them."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from collect.run.fields import is_whole
from collect.run.profile import NAMING, OF_JVMS, Profile, Settings
from collect.run.resolving.stated import Stated
from collect.run.setting import (
    JDK,
    LEAST_HEAP_MB,
    LEAST_JDK,
    OPTIONS,
    is_setting,
    problem_of,
    problem_of_jdk,
)


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


def _is_set(factor: str, profile: Profile) -> bool:
    """Tell whether nodes get a factor's levels, or anyway have the value of each."""
    return factor in profile.node.values() or all(
        profile.settings(cell).node.get(factor) == cell[factor] for cell in profile.cells()
    )
