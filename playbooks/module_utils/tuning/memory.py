"""Memory: transparent huge pages, and swap."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils import host

from .steps import SHARED, Back, Files, Left, Sought, Step, Steps, in_container, read_record

HUGE_PAGES = "sys/kernel/mm/transparent_hugepage/enabled"
SWAP = "swap.target"


def files(root: Path, params: dict[str, Any]) -> Sought:
    """Return the requested setting of transparent huge pages, if any."""
    path, wanted = root / HUGE_PAGES, params["huge_pages"]
    found: Files | Left = {path: wanted}
    if in_container(root) or not path.exists():
        found = Left("huge_pages", SHARED if in_container(root) else "this kernel has none")
    elif wanted not in (offered := re.findall(r"\w+", path.read_text())):
        reason = f"this kernel offers {', '.join(offered)} and not {wanted}"
        found = Left("huge_pages", reason)
    return {"huge_pages": found} if wanted else {}


def in_use(root: Path) -> list[str]:
    """Return the devices and files that the node swaps to."""
    return [line.split()[0] for line in (root / "proc/swaps").read_text().splitlines()[1:]]


def is_masked() -> bool:
    """Return whether nothing turns on swap at boot."""
    return bool(host.states(SWAP)[0]["LoadState"] == "masked")


def steps(root: Path, params: dict[str, Any]) -> Steps:
    """No swap now, and none at boot."""
    if params["swap"] is not False:
        return
    if in_container(root):
        yield Left("swap", SHARED)
        return
    used, masked = in_use(root), is_masked()
    if used or not masked:
        found = dict.fromkeys(used, "on")
        if masked and "swap" not in read_record(root):  # else rackbench itself masked it
            found[SWAP] = "masked"
        yield Step("swap", "swap", found, swap_off)


def swap_off() -> None:
    """Turn swap off, now and at boot."""
    host.run("swapoff", "--all")
    host.run("systemctl", "mask", SWAP)


def swap_on(root: Path, found: Mapping[str, str]) -> None:
    """Turn on the swap of fstab, and what else the node used and still has, such as zram.

    A node that used none, or whose owner masked the target, is left so.
    """
    if SWAP not in found:
        host.run("systemctl", "unmask", SWAP)
    places = [place for place in found if place != SWAP]
    if places:
        host.run("swapon", "--all", "--ifexists")  # fstab may name a disk that is gone
    used = in_use(root)
    for place in places:
        # After a boot another device may have the name, or zram whose unit has not made its swap.
        if place not in used and host.succeeds("swaplabel", str(root / place.lstrip("/"))):
            host.run("swapon", place)


BACK: Back = {"swap": swap_on}
