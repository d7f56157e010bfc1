"""Machines with blank disks on a lab's bridge: QEMU in software emulation, with memory bounded."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

OVMF = Path("/usr/share/OVMF")
MEMORY_MB = 1024
DISK_GB = 8
PACKAGES = ("qemu-system-x86", "qemu-utils", "ovmf", "ipxe-qemu", "cpio")

# A boot sector that says so on the serial port and stops, as a sign of a system on the disk:
# cli; xor ax,ax; mov ds,ax; cld; mov si,text; next: lodsb; or al,al; jz stop; mov dx,3F8h;
# out dx,al; jmp next; stop: hlt; jmp stop; text
SAID_BY_DISK = "booted from its own disk"
_CODE = bytes.fromhex("fa31c08ed8fcbe177cac08c07406baf803eeebf5f4ebfd")
BOOT_SECTOR = (_CODE + SAID_BY_DISK.encode()).ljust(510, b"\0") + b"\x55\xaa"

_ESCAPES = re.compile(r"\x1b\[[0-9;=?]*[A-Za-z]")


@dataclass
class Metal:
    """One machine that boots from the network first and from its disk then."""

    name: str
    mac: str
    bridge: str
    directory: Path
    firmware: str = "bios"
    process: subprocess.Popen[bytes] | None = None

    @property
    def link(self) -> str:
        """The name of this host's end of its cable."""
        return f"rbm{self.mac[-8:].replace(':', '')}"

    @property
    def disk(self) -> Path:
        """Its disk, a file of QEMU's own format: what was never written takes no room."""
        return self.directory / "disk.qcow2"

    @property
    def console(self) -> str:
        """All that its serial console showed since it was made."""
        log = self.directory / "console"
        return _ESCAPES.sub(" ", log.read_text(errors="replace")) if log.exists() else ""

    def make(self, first_sector: bytes = b"") -> None:
        """Give it a disk, blank but for its first sector, and a cable."""
        self.directory.mkdir(parents=True)
        raw = self.directory / "disk.raw"
        with raw.open("wb") as file:
            file.write(first_sector)
            file.truncate(DISK_GB << 30)
        _run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", str(raw), str(self.disk))
        raw.unlink()
        shutil.copy(OVMF / "OVMF_VARS_4M.fd", self.directory / "variables.fd")
        _run("ip", "tuntap", "add", self.link, "mode", "tap")
        _run("ip", "link", "set", self.link, "master", self.bridge)
        _run("ip", "link", "set", self.link, "up")

    def start(self) -> None:
        """Switch it on. It runs when nothing else wants to, as it takes all of a core."""
        log = (self.directory / "qemu.log").open("ab")
        self.process = subprocess.Popen(
            ["nice", "-n", "19", *self._command()],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        # Where the kernel shares time among sessions first, `nice` counts only within one.
        with suppress(OSError):
            Path(f"/proc/{self.process.pid}/autogroup").write_text("19")

    def stop(self) -> None:
        """Pull its plug."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def remove(self) -> None:
        """Leave nothing of it on this host but its files."""
        self.stop()
        subprocess.run(["ip", "link", "del", self.link], capture_output=True, check=False)

    def written_bytes(self) -> int:
        """How much of its disk holds anything."""
        shown = subprocess.run(
            ["qemu-img", "map", "--force-share", "--output=json", str(self.disk)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        lengths = re.findall(r'"length": (\d+), "depth": \d+, "present": \w+, "zero": false', shown)
        return sum(int(length) for length in lengths)

    def _command(self) -> list[str]:
        firmware = []
        if self.firmware == "uefi":
            code, variables = OVMF / "OVMF_CODE_4M.fd", self.directory / "variables.fd"
            firmware = [
                f"-drive=if=pflash,format=raw,readonly=on,file={code}",
                f"-drive=if=pflash,format=raw,file={variables}",
            ]
        # Without the card's own ROM, which is iPXE, UEFI boots by its own plain PXE.
        card = f"virtio-net-pci,netdev=cable,mac={self.mac},bootindex=1"
        # With one processor: with several, emulation gets code wrong that another one writes, as
        # Java's compiler does.
        options = {
            "machine": "q35,accel=tcg,graphics=off",
            "cpu": "max",
            "m": str(MEMORY_MB),
            "display": "none",
            "serial": f"file:{self.directory / 'console'}",
            "netdev": f"tap,id=cable,ifname={self.link},script=no,downscript=no",
        }
        devices = [
            f"-drive=if=none,id=disk,file={self.disk},format=qcow2,cache=unsafe",
            f"-device=virtio-blk-pci,drive=disk,serial={self.name},bootindex=2",
            f"-device={card}{',romfile=' if firmware else ''}",
            "-object=rng-random,id=random,filename=/dev/urandom",
            "-device=virtio-rng-pci,rng=random",
        ]
        pairs = [word for name, value in options.items() for word in (f"-{name}", value)]
        split = [word for part in firmware + devices for word in part.split("=", 1)]
        return ["qemu-system-x86_64", "-nodefaults", *pairs, *split]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
