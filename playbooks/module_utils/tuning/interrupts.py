"""The processors that handle interrupts."""

from functools import partial
from pathlib import Path
from typing import Any

from .cpu_lists import listed, mask, numbers, same_mask
from .steps import SHARED, Back, Left, Step, Steps, at_boot, in_container, write_all, write_back

INTERRUPTS = "proc/irq"
AT_BOOT = "etc/tmpfiles.d/rackbench-interrupts.conf"


def steps(root: Path, params: dict[str, Any]) -> Steps:
    """Yield the steps that place interrupts: present ones, future ones, and both again at boot."""
    if not params["irq_cpus"]:
        return
    if in_container(root) or not (root / INTERRUPTS).exists():
        yield Left("interrupts", SHARED if in_container(root) else "this kernel shows none")
        return
    cpus = numbers(params["irq_cpus"])
    wanted, coming = listed(cpus), root / INTERRUPTS / "default_smp_affinity"
    wrong = {
        path: wanted
        for path in sorted((root / INTERRUPTS).glob("[0-9]*/smp_affinity_list"))
        if path.read_text().strip() != wanted and can_move(path)
    }
    if coming.exists() and not same_mask(coming.read_text().strip(), mask(cpus)):
        wrong[coming] = mask(cpus)
    if wrong:
        found = {str(path): path.read_text().strip() for path in wrong}
        yield Step("interrupts", "interrupts", found, partial(write_all, wrong))
    # Numbers of interrupts change from boot to boot, and some cannot be moved.
    lines = (
        f"w /{INTERRUPTS}/default_smp_affinity - - - - {mask(cpus)}\n"
        f"w- /{INTERRUPTS}/*/smp_affinity_list - - - - {wanted}\n"
    )
    yield from at_boot(root, AT_BOOT, lines)


def can_move(path: Path) -> bool:
    """Return whether this interrupt can be moved, by writing its own value back to the kernel."""
    if not path.stat().st_mode & 0o222:
        return False
    try:
        path.write_text(path.read_text().strip())
    except OSError:
        return False
    return True


# A boot has reset the interrupts that no longer exist.
BACK: Back = {"interrupts": write_back}
