"""Lists and masks of processors and of NUMA nodes, as the kernel writes them."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .processor import CPU

NUMA = "sys/devices/system/node"


def numbers(text: str) -> set[int]:
    """Return the numbers of a list as the kernel writes it, `0-3,8`."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise ValueError(f"{text!r} is not a list such as 0-3,8")
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise ValueError(f"{text!r} counts downwards")
        found.update(range(int(first), int(last or first) + 1))
    return found


def listed(found: set[int]) -> str:
    """Return the shortest list of these numbers, as the kernel writes it."""
    parts: list[list[int]] = []
    for number in sorted(found):
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


def mask(cpus: set[int]) -> str:
    """Return processors as the kernel's mask: groups of eight hexadecimal digits."""
    digits = f"{sum(1 << cpu for cpu in cpus):x}"
    return ",".join(textwrap.wrap(digits.zfill(-(-len(digits) // 8) * 8), 8))


def same_mask(one: str, other: str) -> bool:
    """Return whether two masks are the same, whatever their numbers of digits."""
    return int(one.replace(",", ""), 16) == int(other.replace(",", ""), 16)


def refusals(root: Path, params: dict[str, Any]) -> list[str]:
    """Return the requested settings that this machine can never have."""
    found = [
        *absent(root, "irq_cpus", params["irq_cpus"], f"{CPU}/online", "the processors"),
        *absent(root, "jvm_cpus", params["jvm_cpus"], f"{CPU}/online", "the processors"),
        *absent(root, "jvm_numa", params["jvm_numa"], f"{NUMA}/online", "the NUMA nodes"),
    ]
    if params["max_cstate_us"] is not None and params["max_cstate_us"] < 0:
        found.append("max_cstate_us is negative; give microseconds, at least 0")
    return found


def absent(root: Path, name: str, asked: str | None, online: str, what: str) -> Iterator[str]:
    """Yield why this machine does not have a list of processors or NUMA nodes."""
    try:
        wanted = numbers(asked) if asked else set()
    except ValueError as error:
        yield f"{name}: {error}"
        return
    path = root / online
    present = numbers(path.read_text().strip()) if path.exists() else set()
    if present and wanted - present:
        missing = listed(wanted - present)
        yield f"{name}: this machine has {what} {listed(present)} and not {missing}"
