"""Listens for machines that ask for an address, answers none, and lists them for the inventory."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from collect.sweep.follow import end_with_parent

DOCUMENTATION = r"""
module: discover_machines
short_description: Lists the machines that ask for an address
options:
  listener: {description: A DHCP server that is silent, type: list, elements: str, required: true}
  seconds: {description: How long to listen, type: int, required: true}
  vendors: {description: The registry of vendors of network cards, type: path, required: true}
  known: {description: Names of machines by their MAC addresses, type: dict, required: true}
"""

EXAMPLES = r"""
- name: Listen
  discover_machines:
    listener: [dnsmasq, --keep-in-foreground, --conf-file=/tmp/dnsmasq.conf]
    seconds: 300
    vendors: /usr/share/ieee-data/oui.txt
    known: {"52:54:00:00:00:01": rack03}
"""

# The architectures of RFC 4578 and its registry, as firmware names them.
ARCHITECTURES = {0: "BIOS x86", 6: "UEFI x86", 7: "UEFI x86-64", 9: "UEFI x86-64", 11: "UEFI ARM64"}

_ASKED = re.compile(
    r"(\d+) DHCP(?:DISCOVER|REQUEST)\(\S+\) (?:\S+ )?((?:[0-9a-f]{2}:){5}[0-9a-f]{2})"
)
_CLASS = re.compile(r"(\d+) vendor class: PXEClient:Arch:(\d{5})")


@dataclass
class Seen:
    """One machine that asked; `at` is the local time of its first request."""

    mac: str
    vendor: str
    at: str
    architecture: str = "no network boot"


def vendors_of(file: Path) -> dict[str, str]:
    """Registered vendors by the first six digits of a MAC address; empty without the file."""
    if not file.is_file():
        return {}
    rows = re.findall(
        r"^([0-9A-F]{6})\s+\(base 16\)\s+(.+)$", file.read_text(errors="replace"), re.MULTILINE
    )
    return {prefix: vendor.strip() for prefix, vendor in rows}


def vendor_of(mac: str, vendors: Mapping[str, str]) -> str:
    """Return who made a network card."""
    if int(mac[:2], 16) & 2:
        return "no vendor: an address made by software"
    return vendors.get(mac.replace(":", "").upper()[:6], "unknown vendor")


def seen_machines(
    lines: Iterable[str],
    vendors: Mapping[str, str],
    now: Callable[[], str],
    tell: Callable[[Seen], None],
) -> list[Seen]:
    """Return the machines in dnsmasq's log, in the order they asked.

    `tell` hears of each at once.
    """
    machines: dict[str, Seen] = {}
    classes: dict[str, str] = {}
    for line in lines:
        if said := _CLASS.search(line):
            number = int(said.group(2))
            classes[said.group(1)] = ARCHITECTURES.get(number, f"architecture {number}")
        elif asked := _ASKED.search(line):
            request, mac = asked.groups()
            new = mac not in machines
            machine = machines.setdefault(mac, Seen(mac, vendor_of(mac, vendors), now()))
            machine.architecture = classes.get(request, machine.architecture)
            if new:
                tell(machine)
    return list(machines.values())


def inventory_lines(machines: Sequence[Seen], known: Mapping[str, str]) -> str:
    """Return the machines as they belong into an inventory; `known` are names by MAC address."""
    lines = []
    for number, machine in enumerate((m for m in machines if m.mac not in known), 1):
        lines += [
            f"new{number}:  # {machine.vendor}, {machine.architecture}, asked at {machine.at}",
            "  ansible_host:  # the address it shall have",
            f'  netboot_mac: "{machine.mac}"',
            *(["  netboot_uefi: true"] if machine.architecture.startswith("UEFI") else []),
            "  netboot_disk: {min_gb: , max_gb: }",
            "  netboot_install: false",
        ]
    lines += [
        f"# {known[machine.mac]} is in the inventory already: {machine.mac}, {machine.architecture}"
        for machine in machines
        if machine.mac in known
    ]
    return "\n".join(lines)


class ActionModule(ActionBase):
    """`discover_machines`: `listener` (command line), `seconds`, `vendors` (file), `known`."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Listen for so long, and give `lines` for the inventory."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        end_with_parent()
        given = self._task.args
        display, seconds = Display(), float(given["seconds"])
        display.display(f"Listening for {seconds:.0f} s: let the machines boot from the network")
        vendors = vendors_of(Path(given["vendors"]))
        with subprocess.Popen(
            given["listener"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            assert process.stdin is not None and process.stdout is not None  # noqa: S101
            began = time.monotonic()
            end = threading.Timer(seconds, process.stdin.close)
            end.start()
            machines = seen_machines(
                process.stdout,
                vendors,
                lambda: time.strftime("%H:%M:%S"),
                lambda machine: display.display(f"{machine.at} {machine.mac}: {machine.vendor}"),
            )
            end.cancel()
        if time.monotonic() - began < seconds:
            raise AnsibleActionFail(
                "dnsmasq has ended; does another DHCP server run on this machine?"
            )
        result.update(changed=False, lines=inventory_lines(machines, given["known"]))
        return result
