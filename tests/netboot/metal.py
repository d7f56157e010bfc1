"""Machines with blank disks on a lab's bridge: QEMU in software emulation, with memory bounded."""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

OVMF = Path("/usr/share/OVMF")
MEMORY_MB = 1024
DISK_GB = 8
NICE = "5"
PACKAGES = ("qemu-system-x86", "qemu-utils", "ovmf", "ipxe-qemu", "cpio")

# A boot sector that says so on the serial port and stops, as a sign of a system on the disk:
# cli; xor ax,ax; mov ds,ax; cld; mov si,text; next: lodsb; or al,al; jz stop; mov dx,3F8h;
# out dx,al; jmp next; stop: hlt; jmp stop; text
SAID_BY_DISK = "booted from its own disk"
_CODE = bytes.fromhex("fa31c08ed8fcbe177cac08c07406baf803eeebf5f4ebfd")
BOOT_SECTOR = (_CODE + SAID_BY_DISK.encode()).ljust(510, b"\0") + b"\x55\xaa"

# The same for UEFI: lea rsi,[rip+15]; next: lodsb; test al,al; jz stop; mov dx,3F8h; out dx,al;
# jmp next; stop: hlt; jmp stop; text
_LONG_CODE = bytes.fromhex("488d350f000000ac84c0740766baf803eeebf4f4ebfd")

_ESCAPES = re.compile(r"\x1b\[[0-9;=?]*[A-Za-z]")


@dataclass
class Metal:
    """One machine that boots from the network first and from its disk then.

    `clock` is what its board's clock shows when it is switched on: a time, or `utc`.
    """

    name: str
    mac: str
    bridge: str
    directory: Path
    firmware: str = "bios"
    clock: str = "utc"
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

    def make(self, *, system: bool = False) -> None:
        """Connect a cable and a disk, blank or with what stands for a system."""
        self.directory.mkdir(parents=True)
        if system and self.firmware == "uefi":
            self._make_esp()
        else:
            raw = self.directory / "disk.raw"
            with raw.open("wb") as file:
                file.write(BOOT_SECTOR if system else b"")
                file.truncate(DISK_GB << 30)
            _run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", str(raw), str(self.disk))
            raw.unlink()
        shutil.copy(OVMF / "OVMF_VARS_4M.fd", self.directory / "variables.fd")
        _run("ip", "tuntap", "add", self.link, "mode", "tap")
        _run("ip", "link", "set", self.link, "master", self.bridge)
        _run("ip", "link", "set", self.link, "up")

    def _make_esp(self) -> None:
        """A disk with one FAT file system, which holds a program at the place of Debian's."""
        place = self.directory / "esp/EFI/BOOT/BOOTX64.EFI"
        place.parent.mkdir(parents=True)
        place.write_bytes(efi_program())
        source = f"fat:{self.directory / 'esp'}"
        _run("qemu-img", "convert", "-O", "qcow2", source, str(self.disk))

    def start(self) -> None:
        """Switch it on. What else runs here goes first, as it takes all of a core."""
        log = (self.directory / "qemu.log").open("ab")
        self.process = subprocess.Popen(
            ["nice", "-n", NICE, *self._command()],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        # Where the kernel shares time among sessions first, `nice` counts only within one.
        with suppress(OSError):
            Path(f"/proc/{self.process.pid}/autogroup").write_text(NICE)

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
            "rtc": f"base={self.clock}",
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


def efi_program() -> bytes:
    """A UEFI program that says on the serial port where it was booted from, and stops."""
    code = (_LONG_CODE + SAID_BY_DISK.encode()).ljust(512, b"\0")
    dos = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64)
    coff = b"PE\0\0" + struct.pack("<2H3I2H", 0x8664, 1, 0, 0, 0, 240, 0x22)
    sizes = struct.pack("<H2B5I", 0x20B, 0, 0, len(code), 0, 0, 0x1000, 0x1000)
    places = struct.pack("<Q2I6H4I2H", 0, 0x1000, 512, 0, 0, 0, 0, 0, 0, 0, 0x2000, 512, 0, 10, 0)
    rest = struct.pack("<4Q2I", 0, 0, 0, 0, 0, 16).ljust(240 - len(sizes + places), b"\0")
    section = b".text".ljust(8, b"\0")
    section += struct.pack("<6I2HI", len(code), 0x1000, len(code), 512, 0, 0, 0, 0, 0x60000020)
    return (dos + coff + sizes + places + rest + section).ljust(512, b"\0") + code


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
