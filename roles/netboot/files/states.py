"""The machines to install, and their progress."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from kept_log import KeptLog
from plan import Machine, Plan, offer_of

from collect.files import write_text
from collect.printable import printable

OPEN_ENDS = frozenset({"unstarted", "absent"})
"""Ends that a machine leaves again when it boots from the network while others install."""

ENDS = OPEN_ENDS | {"ready", "refused", "failed", "silent"}
DONE = (ENDS - OPEN_ENDS) | {"rebooting"}
BEFORE = OPEN_ENDS | {"waiting", "asked", "loading", "installing"}
MACHINE_FILES = frozenset({"preseed.cfg", "begin", "choose_disk", "finish"})
# An installer's reports, each with the file that it must have requested before.
REPORTS = {"installed": "finish", "refused": "choose_disk", "failed": ""}
STEPS = {
    "choose-mirror": "package source",
    "download-installer": "installer components",
    "disk-detect": "disks",
    "partman-base": "partitions",
    "bootstrap-base": "base system",
    "apt-setup-udeb": "package sources",
    "pkgsel": "packages",
    "grub-installer": "boot loader",
    "finish-install": "last steps",
}
ATTEMPTS = 3
STRANGERS = 3
REMEMBERED = 4096
SCAN_S = 5
SCANS_END_S = 60
NEIGHBOURS = Path("/proc/net/arp")

SAY = "#!ipxe\necho rackbench: {reason}, so this machine boots from its own disk\n"
# After an error, firmware goes on with its next boot device, by UEFI's specification and by custom.
# After a success it may stop in its menu.
LOCAL = SAY + "exit 1\n"
# For a machine that asks again, because its firmware did not go on to the next device.
LOCAL_AGAIN = SAY + (
    "iseq ${{platform}} pcbios && goto bios || goto efi\n"
    ":bios\n"
    "sanboot --no-describe --drive 0x80 || exit 1\n"
    ":efi\n"
    "sanboot --no-describe --drive 0 --filename \\EFI\\debian\\grubx64.efi ||\n"
    "sanboot --no-describe --drive 0 --filename \\EFI\\BOOT\\BOOTX64.EFI || exit 1\n"
)

_MAC = re.compile(r"([0-9a-f]{2}:){5}[0-9a-f]{2}")
_STEP = re.compile(r"Menu item '([^']+)' selected")
_FAILED = re.compile(r"Menu item '([a-z0-9-]+)' failed")
_KEY = re.compile(r"ssh-ed25519 [A-Za-z0-9+/]{68}(?=\s|$)")


class Machines:
    """The machines and their states; every change is reported at once."""

    def __init__(self, plan: Plan, out: Callable[[str], None]) -> None:
        """Begin with all waiting."""
        self._plan = plan
        self._out = out
        self._lock = threading.RLock()
        self._sent_away: dict[str, int] = defaultdict(int)
        machines = plan.machines.values()
        self._by_token = {machine.token: machine for machine in machines}
        self._by_address = {machine.address: machine for machine in machines}
        self._by_name = {machine.name: machine for machine in machines}
        self._logs = {
            machine.name: KeptLog(machine.directory / "installer.log") for machine in machines
        }

    def asked(self, mac: str) -> None:
        """Note that a machine sent a DHCP request."""
        machine = self._plan.machines.get(mac)
        if machine:
            self._to(machine, "asked", come_from=("waiting", "unstarted"))

    def unstarted(self, name: str, why: str) -> None:
        """Note that a machine could not be switched on from here; it may be up all the same."""
        machine = self._by_name.get(name)
        if machine:
            self._to(machine, "unstarted", why, come_from=("waiting",))

    def boot_script(self, mac: str, address: str) -> str | None:
        """Return the iPXE script for the machine with this card, at this address.

        None for an unknown card.
        """
        if not _MAC.fullmatch(mac):
            return None
        machine = self._plan.machines.get(mac)
        if machine is None:
            return self._local(mac, f"{mac} is not to be installed")
        with self._lock:
            if machine.state in DONE:
                return self._local(mac, f"{machine.name} is {machine.state}")
            if not self._boots_at(machine, address):
                self._stranger(machine, address)
                return self._local(mac, f"{address} is not the address of {machine.name}")
            machine.attempts += 1
            if machine.attempts > ATTEMPTS:
                self._to(machine, "failed", f"it began {ATTEMPTS} times and never reported success")
                return self._local(mac, f"{machine.name} failed {ATTEMPTS} times")
            machine.began = time.monotonic()
            machine.took.clear()
            machine.offered = True
            offer_of(machine.directory).touch()
            self._logs[machine.name].begin()
            self._to(machine, "loading", "" if machine.attempts == 1 else "once more")
        return machine.files["boot.ipxe"]

    def file(self, token: str, name: str, address: str) -> str | None:
        """Return a file of the machine with this token, for that machine only."""
        with self._lock:
            machine = self._installing(token, address)
            if machine is None or name not in MACHINE_FILES:
                return None
            machine.took.add(name)
            if name == "preseed.cfg":
                self._to(machine, "installing", "preseed")
            return machine.files[name]

    def holds(self, token: str, address: str) -> bool:
        """Return whether the token belongs to the machine at this address, which is installing."""
        return self._installing(token, address) is not None

    def report(self, token: str, what: str, text: str, address: str) -> bool:
        """Accept an installer's report: installed (its host key), refused or failed (why)."""
        with self._lock:
            machine = self._installing(token, address)
            before = REPORTS.get(what)
            if machine is None or before is None or (before and before not in machine.took):
                return False
            if what != "installed":
                step = _FAILED.search(text)
                self._to(machine, what, step_of(step.group(1)) if step else printable(text))
                return True
            key = _KEY.match(text)
            if key is None:
                return False
            machine.host_key = key.group(0)
            took = time.monotonic() - machine.began if machine.began else None
            installed = {"host_key": machine.host_key, "at": time.time()}
            installed |= {"took_s": round(took)} if took else {}
            write_text(machine.directory / "installed.json", json.dumps(installed) + "\n")
            self._to(machine, "rebooting")
            return True

    def logged(self, address: str, line: bytes) -> None:
        """Keep a line of an installer's log, and read the current step from it.

        Anyone can send such a line in the name of another, so it ends nothing.
        """
        machine = self._by_address.get(address)
        if machine is None or not machine.offered or machine.state in ENDS:
            return
        text = line.decode(errors="replace").rstrip("\n\0")
        self._logs[machine.name].add(text)
        machine.sign = time.monotonic()
        step = _STEP.search(text)
        if step and step.group(1) in STEPS:
            self._to(machine, "installing", STEPS[step.group(1)], come_from=BEFORE)

    def installs_at(self, address: str) -> bool:
        """Return whether a machine that has the installer and is not done has this address."""
        machine = self._by_address.get(address)
        return bool(machine and machine.offered and machine.state not in DONE)

    def look(self) -> bool:
        """Find the machines that are back or late; return whether any machine is unfinished."""
        machines = self._plan.machines.values()
        shown = shown_keys(machine for machine in machines if machine.state == "rebooting")
        now = time.monotonic()
        for machine in machines:
            silent_s = now - machine.sign
            if machine.state in ("waiting", "asked"):
                if silent_s > self._plan.wait_s:
                    self._to(machine, "absent", "it never loaded the installer")
            elif machine.state == "rebooting" and machine.host_key in shown[machine.address]:
                self._to(machine, "ready")
            elif silent_s > self._plan.silence_s and machine.state not in ENDS:
                self._to(machine, "silent", f"it sent nothing for {silent_s:.0f} s")
        with self._lock:  # so an end that counts here has been reported
            return any(machine.state not in ENDS for machine in machines)

    def _installing(self, token: str, address: str) -> Machine | None:
        """Return the machine with a token, if it asks from its own address and may do so."""
        machine = self._by_token.get(token)
        if machine is None or not machine.offered or machine.state in DONE:
            return None
        if address != machine.address or neighbour(address) not in ("", machine.mac):
            self._stranger(machine, address)
            return None
        return machine

    def _boots_at(self, machine: Machine, address: str) -> bool:
        """Return whether a machine's firmware asks from here."""
        card = neighbour(address)
        if self._plan.proxy:
            return card == machine.mac
        return address == machine.address and card in ("", machine.mac)

    def _local(self, mac: str, reason: str) -> str:
        """Return the script that boots from the disk, in a different way at each request."""
        with self._lock:
            if len(self._sent_away) >= REMEMBERED:
                self._sent_away.clear()
            self._sent_away[mac] += 1
            script = LOCAL if self._sent_away[mac] % 2 else LOCAL_AGAIN
        return script.format(reason=reason)

    def _stranger(self, machine: Machine, address: str) -> None:
        """Report requests in a machine's name from elsewhere, the first few times."""
        with self._lock:
            if address in machine.strangers or len(machine.strangers) >= STRANGERS:
                return
            machine.strangers.add(address)
        card = f" (card {neighbour(address) or 'unknown'})"
        self._tell(
            machine,
            f"{machine.state}, {address}{card} sent a request under its name and was refused, "
            f"because its address is {machine.address}; "
            "does another DHCP server give addresses here?",
        )

    def _to(
        self, machine: Machine, state: str, detail: str = "", come_from: Iterable[str] = ()
    ) -> None:
        with self._lock:
            if machine.state in ENDS - OPEN_ENDS or (come_from and machine.state not in come_from):
                return
            machine.sign = time.monotonic()
            if (machine.state, machine.detail) == (state, detail):
                return
            machine.state, machine.detail = state, detail
            event = {"at": time.time(), "name": machine.name, "state": state, "detail": detail}
            self._out(json.dumps(event))

    def _tell(self, machine: Machine, note: str) -> None:
        self._out(json.dumps({"at": time.time(), "name": machine.name, "note": note}))


def step_of(item: str) -> str:
    """Return a step of Debian's installer in words, if there are any for it."""
    return STEPS.get(item, item)


def neighbour(address: str, table: Path = NEIGHBOURS) -> str:
    """Return the card that answers for an address on the cable.

    Empty if the kernel knows none.
    """
    for row in table.read_text().splitlines()[1:]:
        fields = row.split()
        if fields[0] == address and fields[2] != "0x0":
            return fields[3].lower()
    return ""


def shown_keys(machines: Iterable[Machine]) -> dict[str, set[str]]:
    """Return the host keys of the machines' SSH servers, by address; it asks all in parallel."""
    ports: dict[int, list[str]] = defaultdict(list)
    for machine in machines:
        ports[machine.port].append(machine.address)
    shown: dict[str, set[str]] = defaultdict(set)
    for port, addresses in ports.items():
        asked = ["ssh-keyscan", "-T", str(SCAN_S), "-t", "ed25519", "-p", str(port), *addresses]
        try:
            said = subprocess.run(
                asked, capture_output=True, text=True, check=False, timeout=SCANS_END_S
            ).stdout
        except subprocess.TimeoutExpired:
            continue
        for line in said.splitlines():
            place, _, key = line.partition(" ")
            shown[place.rpartition("]")[0].lstrip("[") or place].add(key.strip())
    return shown
