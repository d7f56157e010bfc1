"""A node's file system: its own layer over the image, with its name, address and keys."""

import os
import re
from pathlib import Path

from ansible.module_utils import host

from .lab import Node

NETWORK = """\
[Match]
Name=host0
[Network]
Address={node.address}/24
{gateway}LinkLocalAddressing=no
IPv6AcceptRA=no
"""


def mounts_under(path: Path) -> list[str]:
    """Return the mount points at or below a path, innermost first."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    points = [line.split()[1].encode().decode("unicode_escape") for line in lines]
    inside = [point for point in points if point == str(path) or point.startswith(f"{path}/")]
    return sorted(inside, key=len, reverse=True)


def host_key(node: Node) -> Path:
    """Return the node's private SSH host key, which is made before its first boot."""
    key = node.directory / "ssh_host_ed25519_key"
    if not key.exists() or not key.with_suffix(".pub").exists():
        key.unlink(missing_ok=True)
        host.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", node.name, "-f", str(key))
    return key


def mount(node: Node) -> None:
    """Mount the node's file system: its own layer over the image."""
    image, own = node.lab.image, node.directory
    os.umask(0o022)  # the mode of upper becomes that of the node's /
    for part in ("upper", "work", "tree"):
        (own / part).mkdir(parents=True, exist_ok=True)
    if mounts_under(node.tree):
        return
    host.write(own / "image", str(image))  # first: check_nodes compares it even after a kill
    options = f"lowerdir={image},upperdir={own}/upper,workdir={own}/work"
    host.run("mount", "-t", "overlay", "overlay", "-o", options, str(node.tree))


def configure(node: Node) -> None:
    """Set the node's name, address, keys and the one account that may log in."""
    lab, etc, key = node.lab, node.tree / "etc", host_key(node)
    account = re.search(rf"^{lab.user}:x:(\d+):", (etc / "passwd").read_text(), re.MULTILINE)
    owner = int(account[1])  # type: ignore[index]
    gateway = f"Gateway={lab.gateway}\n" if lab.internet else ""
    host.write(etc / "hostname", f"{node.name}\n")
    if not (node.directory / "booted").exists():
        host.write(etc / "hosts", f"127.0.0.1 localhost\n{node.address} {node.name}\n")
    network = NETWORK.format(node=node, gateway=gateway)
    host.write(etc / "systemd/network/10-host0.network", network)
    host.write(etc / "ssh/ssh_host_ed25519_key", key.read_text(), 0o600)
    host.write(etc / "ssh/ssh_host_ed25519_key.pub", key.with_suffix(".pub").read_text())
    ssh = node.tree / "home" / lab.user / ".ssh"
    host.write(ssh / "authorized_keys", f"{lab.authorized_key}\n", 0o600, owner)
    os.chown(ssh, owner, owner)
    ssh.chmod(0o700)
    (node.directory / "booted").touch()
