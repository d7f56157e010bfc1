"""The running JVMs of rackbench's own units on a node, and their options."""

import os
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ansible.module_utils.host import read, texts_of

PROC = Path("/proc")
UNITS = Path("/etc/systemd/system")
KIT = "/opt/rackbench"
JAVA = f"{KIT}/jdk/bin/java"
VARIABLES_OF_JVMS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""A JVM reads the first two before its command line, the last after it."""


@dataclass(frozen=True)
class Jvm:
    """A running JVM: its flags in order, its executable, and its directories among rackbench's."""

    flags: list[str]
    executable: str
    directories: list[str]
    placement: str


def running() -> dict[str, Jvm]:
    """Return the running JVM of each of rackbench's own units, by the unit's name."""
    found = {}
    for process in PROC.glob("[0-9]*"):
        unit = re.search(r"/(rackbench-[^/]+)\.service$", read(f"{process}/cgroup") or "", re.M)
        if not unit or not (UNITS / f"{unit[1]}.service").exists():
            continue
        command = texts_of(process / "cmdline")
        if flags := flags_of(process, command):
            found[unit[1]] = Jvm(
                flags,
                os.path.realpath(process / "exe"),
                directories_of(command),
                placement(process),
            )
    return found


def flags_of(process: Path, command: list[str]) -> list[str]:
    """Return the flags that a JVM takes from its command line and from its environment.

    rackbench's JVMs write no performance data (`-XX:+PerfDisableSharedMem`), which would show them.
    """
    if Path(command[0]).name != "java":
        return []
    given = dict(text.split("=", 1) for text in texts_of(process / "environ") if "=" in text)
    first, second, last = (given.get(name, "").split() for name in VARIABLES_OF_JVMS)
    return [*first, *second, *command_flags(command[1:]), *last]


def command_flags(arguments: Iterable[str]) -> list[str]:
    """Return the flags of a JVM's arguments, up to its main class."""
    flags, left = [], iter(arguments)
    for argument in left:
        if argument in {"-cp", "-classpath", "--class-path"}:
            next(left, None)
        elif argument.startswith("-"):
            flags.append(argument)
        else:
            break
    return flags


def unit_flags(unit: str) -> list[str]:
    """Return the flags in rackbench's own file of a unit, without drop-ins."""
    text = re.sub(r"\\\n(?:[#;].*\n)*", " ", read(f"{UNITS}/{unit}.service") or "")
    command = re.search(r"^ExecStart=(.*)$", text, re.M)
    return command_flags(shlex.split(command[1])[1:]) if command else []


def directories_of(command: list[str]) -> list[str]:
    """Return rackbench's directories that a JVM uses, including Tomcat's applications."""
    text = " ".join(command[1:])
    if base := re.search(r"-Dcatalina\.base=(\S+)", text):
        text += read(f"{base[1]}/conf/server.xml") or ""
    return sorted(set(re.findall(rf"{KIT}/[\w.-]+", text)))


def java(home: str = "") -> str:
    """Return the program `java` of a JDK, by default the units' default JDK, without links."""
    return os.path.realpath(f"{home}/bin/java" if home else JAVA)


def release(home: str = "") -> str:
    """Return the version of the default JDK or of another one; nothing if there is none."""
    told = read(f"{Path(java(home)).parents[1]}/release") or ""
    version = re.search(r'^JAVA_VERSION="(.*)"', told, re.M)
    return version[1] if version else ""


def placement(process: Path) -> str:
    """Return the CPUs and NUMA nodes that a process may use, and its memory policy."""
    status = dict(re.findall(r"^(\w+):\s*(.*)$", read(f"{process}/status") or "", re.M))
    cpus, nodes = status.get("Cpus_allowed_list"), status.get("Mems_allowed_list")
    try:
        with (process / "numa_maps").open() as maps:
            policy = maps.readline().split()[1]
    except (OSError, IndexError):
        policy = "default"
    return f"CPUs {cpus}, memory of nodes {nodes}, policy {policy}"
