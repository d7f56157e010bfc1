"""The node setting that a trial asks for; in a block, trials of one setting are a whole plot."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol

from collect.run.cell import Level
from collect.run.fields import is_number, is_whole

Setting = Level | Sequence[Level]

HEAP = "_heap_mb"
LEAST_HEAP_MB = 8
COLLECTORS = {
    "serial": "-XX:+UseSerialGC",
    "parallel": "-XX:+UseParallelGC",
    "g1": "-XX:+UseG1GC",
}
_WORDS: Mapping[str, tuple[str, ...]] = {
    "collector": tuple(COLLECTORS),
    "persistence": ("none", "written", "synced"),
}
_NUMBERS = {"link_mbit": "Mbit/s", "tomcat_threads": "threads"}
_MOST = 2**31 - 1
JDK = "jdk"
LEAST_JDK = 17
"""The oldest release of a JDK that runs what rackbench builds."""
GOVERNOR = "governor"
NETEM = {"link_delay_ms": ("ms", 10_000), "link_loss": ("percent", 100)}
"""What netem does to each packet that a node sends: in which unit, and below which number."""
OPTIONS = "server_jvm_options"
SYSCTL = "sysctl."
OF_KINDS: Mapping[str, tuple[str, ...]] = {
    "tomcat": ("tomcat_heap_mb", "tomcat_threads"),
    "broker": ("broker_heap_mb", "synced"),
    "workers": ("worker_heap_mb",),
}
"""The settings that each kind of service takes alone; `persistence` asks a broker for `synced`."""
OF_ALL = ("collector", JDK, OPTIONS)
"""The settings that services of all kinds take; the options are those of a kind."""
OF_SERVICES = frozenset({*OF_ALL, *chain.from_iterable(OF_KINDS.values())})
"""The settings that services declare in their roles; a heap of one program as that of all."""
OF_NODES = ("link_mbit", *NETEM, GOVERNOR, SYSCTL)
"""How the settings begin that are no service's."""
PROGRAMS = ("sort-worker", "matrix-worker", "hello-listener", "tcp-server")
"""The worker programs of rackbench, which have heaps and options of their own."""
SYSCTLS = frozenset(
    {
        *("net.core.rmem_max", "net.core.somaxconn", "net.core.wmem_max"),
        *("net.ipv4.tcp_congestion_control", "net.ipv4.tcp_fin_timeout"),
        *("net.ipv4.tcp_max_syn_backlog", "net.ipv4.tcp_mtu_probing", "net.ipv4.tcp_rmem"),
        *("net.ipv4.tcp_sack", "net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_timestamps"),
        *("net.ipv4.tcp_window_scaling", "net.ipv4.tcp_wmem"),
        *("vm.dirty_background_ratio", "vm.dirty_ratio", "vm.swappiness"),
    }
)
"""The settings of the kernel that a study may change; each one is in the fingerprint."""


class Asking(Protocol):
    """A planned trial, or the settings of a cell."""

    @property
    def node(self) -> Mapping[str, Setting]:
        """What its nodes are set to."""

    @property
    def constants(self) -> Mapping[str, Setting]:
        """What it is told in addition to its levels."""


def setting_of(trial: Asking) -> dict[str, Setting]:
    """Return the node settings of a trial, and what its constants ask of the services."""
    asked = dict(trial.node)
    persistence = asked.pop("persistence", trial.constants.get("persistence"))
    for program, heap in worker_heaps(asked).items():
        if heap == asked.get("worker_heap_mb"):  # said twice; another study may say it once
            del asked[program.replace("-", "_") + HEAP]
    if collector := trial.constants.get("collector"):
        asked.setdefault("collector", collector)
    if persistence == "synced":
        asked["synced"] = True  # what is only written needs nothing of the broker
    return asked


def setting_key(setting: Mapping[str, Setting]) -> str:
    """Return one text for equal settings, in canonical JSON."""
    return json.dumps(dict(setting), sort_keys=True, separators=(",", ":"))


def worker_heaps(node: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the heaps in MiB of single worker programs, by program, of some node settings."""
    return {
        name.removesuffix(HEAP).replace("_", "-"): value
        for name, value in node.items()
        if name.endswith(HEAP) and name not in OF_SERVICES
    }


def heaps_of_programs(
    node: Mapping[str, Setting],
    servers: Mapping[str, Mapping[str, Collection[str]]] | None = None,
) -> dict[str, Setting]:
    """Return the heaps in MiB of all worker programs, by program, that some node settings ask for.

    A heap of all programs is one of each, because an inventory may have others of single ones. It
    is also that of a service of `servers` that declares it: the settings by role and service.
    """
    of_single = worker_heaps(node)
    if (of_all := node.get("worker_heap_mb")) is None:
        return of_single
    programs = [*PROGRAMS]
    for services in (servers or {}).values():
        programs += [name for name, taken in services.items() if "worker_heap_mb" in taken]
    return {**dict.fromkeys(programs, of_all), **of_single}


def asked(node: Mapping[str, Setting], prefix: str) -> dict[str, str]:
    """Return the settings whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(prefix): str(value)
        for name, value in node.items()
        if name.startswith(prefix)
    }


def not_understood(node: Mapping[str, Setting], served: Mapping[str, Collection[str]]) -> list[str]:
    """Return the settings of services that no service takes; they would have no effect.

    `served` has the names of the settings that each service of a lab declares.
    """
    known = taken_by(served)
    return sorted(name for name in node if _is_of_services(name) and name not in known)


def taken_by(served: Mapping[str, Collection[str]]) -> set[str]:
    """Return the node settings that services take, by the names that each of them declares."""
    known: set[str] = set()
    for service, declared in served.items():
        known.update(declared)
        if "worker_heap_mb" in declared:
            known.add(f"{service.replace('-', '_')}{HEAP}")
        if OPTIONS in declared:
            known.add(f"{OPTIONS}.{service if service in OF_KINDS else 'workers'}")
    return known


def _is_of_services(name: str) -> bool:
    return name in OF_SERVICES or name.endswith(HEAP) or name.startswith(f"{OPTIONS}.")


def flat_node(node: Mapping[str, Any]) -> dict[str, Setting]:
    """Return node settings with the options of each service as a setting of its own, one text.

    Example: `server_jvm_options.tomcat`.
    """
    found: dict[str, Setting] = {}
    for name, value in node.items():
        if not isinstance(value, Mapping):
            found[name] = value
            continue
        for service, options in value.items():
            listed = options if isinstance(options, list) else [options]
            found[f"{name}.{service}"] = " ".join(map(str, listed))
    return found


def problem_of(name: str, value: Setting, services: Collection[str]) -> str:
    """Return what is wrong with a node setting and what to write, or an empty text.

    `services` are those that the study names in addition to rackbench's.
    """
    served = ("tomcat", "broker", "worker", *PROGRAMS, *services)
    heaps = {f"{one.replace('-', '_')}{HEAP}" for one in served}
    problem = _UNKNOWN
    if name == JDK:
        problem = problem_of_jdk(value)
    elif name == GOVERNOR:
        problem = _governor(value)
    elif name in _WORDS:
        known = _WORDS[name]
        problem = "" if value in known else f"is {value!r}; choose one of {', '.join(known)}"
    elif name in heaps:
        problem = _whole(value, LEAST_HEAP_MB, "MiB")
    elif name in _NUMBERS:
        problem = _whole(value, 1, _NUMBERS[name])
    elif name in NETEM:
        problem = _amount(value, *NETEM[name])
    elif name in {f"{OPTIONS}.{kind}" for kind in OF_KINDS}:
        problem = _options(value)
    elif name.startswith(SYSCTL):
        problem = _sysctl(name.removeprefix(SYSCTL), value)
    return problem


def is_setting(name: str, services: Collection[str]) -> bool:
    """Tell whether nodes have a setting of this name; `services` as in `problem_of`."""
    return name == OPTIONS or problem_of(name, "", services) != _UNKNOWN


_UNKNOWN = (
    "is not a node setting; correct the spelling (docs/reference/study-file.md lists the settings)"
)


def _whole(value: Setting, least: int, unit: str) -> str:
    told = f"is {value!r}; write a whole number of {unit}, at least {least} and at most {_MOST}"
    return "" if is_whole(value) and least <= value <= _MOST else told


def problem_of_jdk(value: Setting) -> str:
    """Return what is wrong with the release of a JDK and what to write, or an empty text."""
    is_release = is_whole(value) and value >= LEAST_JDK
    return "" if is_release else f"is {value!r}; write the release of a JDK, at least {LEAST_JDK}"


def release_of(version: object) -> str:
    """Return the release of a version of Java: 21 of 21.0.9+10-Debian, 25 of 25-ea."""
    return re.split(r"[^0-9]", str(version), maxsplit=1)[0]


def _sysctl(name: str, value: Setting) -> str:
    if name not in SYSCTLS:
        return f"cannot be set by a study; choose one of {', '.join(sorted(SYSCTLS))}"
    has_value = (isinstance(value, str) or is_number(value)) and str(value).strip()
    return "" if has_value else f"is {value!r}; write a value as `sysctl {name}` prints it"


def _governor(value: Setting) -> str:
    is_word = isinstance(value, str) and re.fullmatch(r"[a-z_]+", value)
    return "" if is_word else f"is {value!r}; write the name of a governor, such as performance"


def _amount(value: Setting, unit: str, below: int) -> str:
    told = f"is {value!r}; write a number of {unit}, at least 0 and below {below}"
    return "" if is_number(value) and 0 <= value < below else told


_HEAPS = (
    *("-Xms", "-Xmx", "-XX:MaxRAM"),
    *(f"-XX:{which}HeapSize" for which in ("Initial", "Max", "Min")),
)
_HEAPS_OF_THE_LAUNCHER = ("-ms", "-mx")
"""What the launcher takes for -Xms and -Xmx."""


def _options(value: Setting) -> str:
    """Return what is wrong with the options of a JVM: each is one word that begins with -X."""
    words = str(value).split()
    bad = [word for word in words if not word.startswith("-X")]
    if any(word.startswith(_HEAPS) for word in words):
        return f"is {value!r}; write heaps as tomcat_heap_mb, broker_heap_mb or worker_heap_mb"
    # Not "%", as in a unit of systemd it begins a specifier, such as %p.
    plain = all(char.isalnum() or char in "-+:=._/, " for char in str(value))
    told = (
        f"is {value!r}; write options of a JVM that begin with -X and have only letters, digits "
        "and -+:=._/,"
    )
    return "" if plain and not bad else told


def problem_of_client_options(options: Sequence[Setting]) -> str:
    """Return what is wrong with the options of a client's JVM and what to write, or nothing."""
    for option in options:
        if not isinstance(option, str) or not option.startswith("-"):
            return f"has {option!r}; write options of a JVM, each a text that begins with -"
        if option.startswith((*_HEAPS, *_HEAPS_OF_THE_LAUNCHER)):
            return f"has {option!r}; write the heap as client_heap_mb"
    return ""


def varied(settings: Collection[Mapping[str, Setting]]) -> set[str]:
    """Return the names of what differs between settings."""
    names = {name for setting in settings for name in setting}
    return {name for name in names if len({json.dumps(one.get(name)) for one in settings}) > 1}


def text_of(setting: Mapping[str, Setting], names: Collection[str]) -> str:
    """Return some of a setting in words, as `link_mbit 10, tomcat_heap_mb 64`."""
    return ", ".join(f"{name} {setting.get(name, 'as declared')}" for name in sorted(names))


_OF_LINKS = {"link_mbit": "link_shaped_mbit", **{name: name for name in NETEM}}
"""The item of a fingerprint that has what a setting makes of links."""


def items_of(names: Collection[str], services: Collection[str] = ()) -> tuple[str, ...]:
    """Return how the items of a fingerprint begin that change with these settings.

    `services` are those that the study names. Further ones have files below /etc/rackbench/NAME.
    """
    links = [item for name, item in _OF_LINKS.items() if name in names]
    of_nodes = {name for name in names if name.startswith(OF_NODES)}
    kernel = [f"sysctls {name.removeprefix(SYSCTL)}" for name in of_nodes if "." in name]
    governor = [GOVERNOR] if GOVERNOR in names else []
    further = sorted({*services} - {*PROGRAMS, *OF_KINDS})
    of_services = [
        *("jvms ", "files /etc/systemd/system/rackbench-", "files /etc/rackbench/openmq"),
        *(f"files /etc/rackbench/{name}/" for name in further),
    ]
    tuning = ["files /etc/tmpfiles.d/rackbench-tuning.conf"] if GOVERNOR in names else []
    return (*kernel, *governor, *links, *tuning, *(of_services if set(names) - of_nodes else ()))
