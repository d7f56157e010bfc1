"""A rack of emulated machines with disks of their own, in a network of the test's own.

What a rack's owner has before rackbench comes: Debian, an account with sudo, a key. Nothing here is
made by rackbench's own installer.
"""

from __future__ import annotations

import shutil
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metal import OVMF, Metal
from playbook import Player

SUITE = "trixie"
ACCOUNT = "rack"
# Else the kernel finds out sooner or later that an emulated TSC is no good clock, on some machines.
KERNEL_WORDS = "ro quiet console=ttyS0 tsc=reliable"
MIB = 1 << 20
ESP_MIB, ROOT_MIB = 64, 4096
MEMORY_MB = 2048
"""What the README asks of a machine."""

INCLUDED = (
    *("ca-certificates", "dbus", "initramfs-tools", "iproute2", "linux-image-amd64"),
    *("openssh-server", "python3", "python3-apt", "sudo", "systemd-sysv", "systemd-timesyncd"),
)
# Nothing leads out of the rack: laid down beside, as on a machine with a mirror next to it.
AT_HAND = ("chrony", "curl", "nftables", "openjdk-21-jre-headless", "procps", "unzip")
LAB_SSHD = f"PasswordAuthentication no\\nAllowUsers {ACCOUNT}\\nUseDNS no\\n"
HOOKS = (
    f"chroot \"$1\" useradd --create-home --shell /bin/bash --password '*' {ACCOUNT}",
    f"echo '{ACCOUNT} ALL=(ALL) NOPASSWD: ALL' >\"$1/etc/sudoers.d/{ACCOUNT}\"",
    f"printf '{LAB_SSHD}' >\"$1/etc/ssh/sshd_config.d/site.conf\"",
    'rm -f "$1"/etc/ssh/ssh_host_*',
    'chroot "$1" systemctl enable systemd-networkd.service ssh.service',
    'chroot "$1" systemctl mask systemd-networkd-wait-online.service',
    'chroot "$1" apt-get install --yes --quiet --no-install-recommends --download-only '
    + " ".join(AT_HAND),
    ': >"$1/etc/machine-id"',
)


def run(*command: str, given: bytes | None = None) -> bytes:
    """What a command prints; one that fails is told with its words."""
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)} failed: {done.stderr.decode()[-2000:]}")
    return done.stdout


def install_tree(tree: Path) -> None:
    """Debian as it is on each of the machines, but for what is a machine's own."""
    partial = tree.with_name(f"{tree.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    options = [
        *("--variant=minbase", f"--include={','.join(INCLUDED)}"),
        *("--skip=cleanup/apt/lists,cleanup/apt/cache", '--aptopt=Acquire::Languages "none"'),
        "--dpkgopt=force-unsafe-io",
        *(f"--customize-hook={hook}" for hook in HOOKS),
    ]
    run("mmdebstrap", "--quiet", *options, SUITE, str(partial))
    partial.rename(tree)


@dataclass(frozen=True)
class Network:
    """A network of the rack's own on this host: nothing of it is to be seen outside."""

    name: str
    prefix: str

    @property
    def within(self) -> list[str]:
        """What a command is run by to be in there."""
        return ["ip", "netns", "exec", self.name]

    @property
    def bridge(self) -> str:
        """The switch that the machines' cables lead to."""
        return "rack0"

    def make(self) -> None:
        """Make it, with the control host on it."""
        run("ip", "netns", "add", self.name)
        for words in (
            "link set lo up",
            f"link add {self.bridge} type bridge stp_state 0",
            f"address add {self.prefix}.1/24 dev {self.bridge}",
            f"link set {self.bridge} up",
        ):
            run(*self.within, "ip", *words.split())

    def remove(self) -> None:
        """Remove it with all that is left in it."""
        if Path("/run/netns", self.name).exists():
            run("ip", "netns", "delete", self.name)


@dataclass
class Machine(Metal):
    """One machine of the rack: a disk with Debian on it, a cable, a firmware."""

    network: Network = Network("", "")
    address: str = ""

    @property
    def disk(self) -> Path:
        """Its disk; what was never written takes no room."""
        return self.directory / "disk.raw"

    @property
    def root_uuid(self) -> str:
        """By what its boot loader and its fstab know its root file system."""
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"root.{self.name}"))

    def install(self, tree: Path, authorized_key: str) -> str:
        """Lay Debian and what is this machine's own on its disk; its public host key."""
        self.directory.mkdir(parents=True)
        own = self.directory / "tree"
        # Links suffice: every file that is a machine's own is a new one.
        run("cp", "--archive", "--link", str(tree), str(own))
        host_key = self._settle(own, authorized_key)
        offset = (1 + ESP_MIB) * MIB if self.firmware == "uefi" else 0
        with self.disk.open("wb") as file:
            file.truncate(offset + (ROOT_MIB + 2) * MIB)
        if self.firmware == "uefi":
            self._make_bootable(own)
        make = ["mke2fs", "-q", "-F", "-t", "ext4", "-U", self.root_uuid, "-E", f"offset={offset}"]
        run(*make, "-d", str(own), str(self.disk), f"{ROOT_MIB}M")
        for part in ("vmlinuz", "initrd"):
            shutil.copy(_newest(tree / "boot", part), self.directory)
        shutil.rmtree(own)
        shutil.copy(OVMF / "OVMF_VARS_4M.fd", self.directory / "variables.fd")
        return host_key

    def _settle(self, tree: Path, authorized_key: str) -> str:
        key = self.directory / "host_key"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", str(key))
        public = key.with_suffix(".pub").read_text()
        account = (tree / "etc/passwd").read_text().split(f"\n{ACCOUNT}:x:")[1].split(":")[0]
        network = f"[Match]\nType=ether\n[Network]\nAddress={self.address}/24\n"
        files = {
            "etc/hostname": (f"{self.name}-box\n", 0o644),
            "etc/hosts": (f"127.0.0.1 localhost\n127.0.1.1 {self.name}-box\n# ours\n", 0o644),
            "etc/fstab": (f"UUID={self.root_uuid} / ext4 errors=remount-ro 0 1\n", 0o644),
            "etc/systemd/network/10-cable.network": (network, 0o644),
            "etc/ssh/ssh_host_ed25519_key": (key.read_text(), 0o600),
            "etc/ssh/ssh_host_ed25519_key.pub": (public, 0o644),
            f"home/{ACCOUNT}/.ssh/authorized_keys": (f"{authorized_key}\n", 0o600),
        }
        for name, (text, mode) in files.items():
            file = tree / name
            file.parent.mkdir(mode=0o700 if file.parent.name == ".ssh" else 0o755, exist_ok=True)
            file.unlink(missing_ok=True)
            file.write_text(text)
            file.chmod(mode)
        run("chown", "-R", f"{account}:{account}", str(tree / f"home/{ACCOUNT}"))
        return " ".join(public.split()[:2])

    def _make_bootable(self, tree: Path) -> None:
        """Lay out its disk for UEFI: a partition with GRUB beside the one with Debian."""
        kernel, initrd = (
            f"/boot/{_newest(tree / 'boot', part).name}" for part in ("vmlinuz", "initrd")
        )
        menu = self.directory / "grub.cfg"
        menu.write_text(
            f"search --no-floppy --fs-uuid --set=root {self.root_uuid}\n"
            f"linux {kernel} root=UUID={self.root_uuid} {KERNEL_WORDS}\ninitrd {initrd}\nboot\n"
        )
        loader, esp = self.directory / "BOOTX64.EFI", self.directory / "esp"
        modules = "--modules=part_gpt ext2 search search_fs_uuid linux"
        make = ["grub-mkstandalone", "-O", "x86_64-efi", modules, "-o", str(loader)]
        run(*make, f"boot/grub/grub.cfg={menu}")
        with esp.open("wb") as file:
            file.truncate(ESP_MIB * MIB)
        run("mformat", "-i", str(esp), "-F", "::")
        run("mmd", "-i", str(esp), "::/EFI", "::/EFI/BOOT")
        run("mcopy", "-i", str(esp), str(loader), "::/EFI/BOOT/BOOTX64.EFI")
        table = f"label: gpt\nsize={ESP_MIB}MiB, type=U\nsize={ROOT_MIB}MiB, type=L\n"
        run("sfdisk", "--quiet", str(self.disk), given=table.encode())
        place = ["bs=1M", "seek=1", "conv=notrunc,sparse", "status=none"]
        run("dd", f"if={esp}", f"of={self.disk}", *place)

    def make(self, first_sector: bytes = b"") -> None:
        """Connect a cable; its disk comes with `install`."""
        inside = [*self.network.within, "ip"]
        run(*inside, "tuntap", "add", self.link, "mode", "tap")
        run(*inside, "link", "set", self.link, "master", self.network.bridge)
        run(*inside, "link", "set", self.link, "up")

    def remove(self) -> None:
        """Stop it; its cable goes with the network, its disk with its directory."""
        self.stop()

    def _command(self) -> list[str]:
        if self.firmware == "uefi":
            code, variables = OVMF / "OVMF_CODE_4M.fd", self.directory / "variables.fd"
            start = [
                *("-drive", f"if=pflash,format=raw,readonly=on,file={code}"),
                *("-drive", f"if=pflash,format=raw,file={variables}"),
            ]
        else:
            kernel, initrd = (_newest(self.directory, part) for part in ("vmlinuz", "initrd"))
            # As GRUB would say it on a disk of another layout.
            words = f"BOOT_IMAGE=(hd0)/boot/{kernel.name} root=UUID={self.root_uuid} {KERNEL_WORDS}"
            start = ["-kernel", str(kernel), "-initrd", str(initrd), "-append", words]
        return [
            *self.network.within,
            *("qemu-system-x86_64", "-nodefaults", "-machine", "q35,accel=tcg,graphics=off"),
            # With one processor: with several, emulation gets code wrong that another one writes.
            *("-cpu", "max", "-m", str(MEMORY_MB), "-display", "none"),
            *("-serial", f"file:{self.directory / 'console'}", *start),
            *("-drive", f"if=none,id=disk,file={self.disk},format=raw,cache=unsafe"),
            *("-device", f"virtio-blk-pci,drive=disk,serial={self.name},bootindex=1"),
            *("-netdev", f"tap,id=cable,ifname={self.link},script=no,downscript=no"),
            *("-device", f"virtio-net-pci,netdev=cable,mac={self.mac},romfile="),
            *("-object", "rng-random,id=random,filename=/dev/urandom"),
            *("-device", "virtio-rng-pci,rng=random"),
        ]


def _newest(directory: Path, part: str) -> Path:
    """The newest kernel or initrd in a directory."""
    return sorted(directory.glob(f"{part}*-amd64"))[-1]


@dataclass(frozen=True)
class InsidePlayer(Player):
    """Runs playbooks on the control host as it stands in the rack's network."""

    network: Network

    def command(
        self, playbook: str, extra: Mapping[str, Any], inventory: Sequence[Path], options: list[str]
    ) -> list[str]:
        """The command line, from inside."""
        return [*self.network.within, *super().command(playbook, extra, inventory, options)]
