#!/usr/bin/python
"""Close every port of a node but those that are named, and never the one Ansible comes in by."""

from __future__ import annotations

DOCUMENTATION = r"""
module: packet_filter
short_description: Lets named ports in and nothing else
description:
  - Writes one nftables table and the unit that loads it at boot, and loads it, in one transaction.
  - Other tables of the node stay as they are; what they drop stays dropped.
  - What the kernel holds is compared, not only the file. A table changed by hand is put right.
options:
  lab:
    description: Addresses, networks or ranges that may reach C(ports).
    type: list
    elements: str
    required: true
  ports: {description: TCP ports of the services, type: list, elements: int, required: true}
  ssh_from:
    description: Addresses, networks or ranges that may reach SSH; by default where Ansible is.
    type: list
    elements: str
    default: []
  ssh_ports:
    description: TCP ports of SSH; by default the one that Ansible came in by.
    type: list
    elements: int
    default: []
  unit: {description: The systemd unit that loads the rules at boot, type: str, required: true}
"""

RETURN = r"""
rules:
  description: What nftables was told.
  type: str
  returned: always
"""

import ipaddress  # noqa: E402
import os  # noqa: E402
import subprocess  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

RULES = Path("/etc/rackbench/packet-filter.nft")
UNIT = Path("/etc/systemd/system/packet-filter.service")
TABLE = "inet rackbench"
LIST = f"nft list table {TABLE}"

TEXT = """\
# Managed by Ansible. Loaded whole or not at all; the first two lines make room for the new table.
table {table}
delete table {table}
table {table} {{
{sets}\
    chain input {{
        type filter hook input priority filter; policy drop;
        iif lo accept
        ct state established,related accept
        ct state invalid drop
        # Of a connection older than the filter, perhaps Ansible's own; none can begin by it.
        tcp flags & (syn | ack) == ack accept
        icmpv6 type {{ nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert }} accept
        ip saddr @lab4 icmp type echo-request accept
        ip6 saddr @lab6 icmpv6 type echo-request accept
{doors}\
        meta l4proto tcp reject with tcp reset
        reject
    }}
}}
"""


class FilterError(Exception):
    """The filter cannot be as asked; the text names the thing, the reason and the next step."""


@dataclass(frozen=True)
class Connection:
    """Where Ansible comes from, and the port of this node it came in by."""

    peer: str
    port: int


def run(*argv: str, stdin: str | None = None) -> str:
    """Run a command; its standard output, or a FilterError with what it said."""
    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise FilterError(f"{argv[0]} is not installed; apt-get install nftables there") from error
    if done.returncode:
        raise FilterError(f"{' '.join(argv)} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def connection() -> Connection | None:
    """The SSH connection that this process hangs on, or None.

    sudo hides it from the process itself, not from those above it.
    """
    pid = os.getpid()
    while pid > 1:
        try:
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return None
        for variable in variables:
            if variable.startswith(b"SSH_CONNECTION="):
                peer, _, _, port = variable.decode().partition("=")[2].split()
                return Connection(peer, int(port))
        pid = int(status.partition("\nPPid:")[2].split()[0])
    return None


def bounds(text: str) -> tuple[ipaddress._BaseAddress, ipaddress._BaseAddress]:
    """The first and last address of an address, a network or a range."""
    try:
        if "-" in text:
            low, _, high = text.partition("-")
            return ipaddress.ip_address(low.strip()), ipaddress.ip_address(high.strip())
        network = ipaddress.ip_network(text)
    except ValueError as error:
        raise FilterError(
            f"{text!r} is no address, network or range ({error}); correct the inventory"
        ) from error
    return network[0], network[-1]


def holds(places: list[str], address: str) -> bool:
    """Whether an address is in one of these places."""
    wanted = ipaddress.ip_address(address)
    return any(
        low.version == wanted.version and low <= wanted <= high for low, high in map(bounds, places)
    )


def members(name: str, places: list[str]) -> str:
    """A set of the addresses of each family."""
    text = ""
    for version in (4, 6):
        ranges = sorted(pair for pair in map(bounds, places) if pair[0].version == version)
        elements = ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)
        held = f" elements = {{ {elements} }}" if elements else ""
        kind = f"type ipv{version}_addr; flags interval; auto-merge;"
        text += f"    set {name}{version} {{ {kind}{held} }}\n"
    return text


def door(name: str, ports: list[int]) -> str:
    """Rules that let the members of a set reach these ports."""
    if not ports:
        return ""
    listed = ", ".join(map(str, sorted(set(ports))))
    to_them = f"tcp dport {{ {listed} }} accept"
    return "".join(
        f"        {family} saddr @{name}{version} {to_them}\n"
        for family, version in (("ip", 4), ("ip6", 6))
    )


def rules_of(params: dict[str, list], here: Connection | None) -> str:
    """The ruleset; refused when it would shut Ansible out."""
    ssh_from = params["ssh_from"] or ([here.peer] if here else [])
    ssh_ports = params["ssh_ports"] or ([here.port] if here else [22])
    if not ssh_from:
        raise FilterError(
            "this is no SSH connection, so where SSH may come from is not known; "
            "name the control host in packet_filter_ssh_from"
        )
    if here and not (holds(ssh_from, here.peer) and here.port in ssh_ports):
        ports = ", ".join(map(str, ssh_ports))
        raise FilterError(
            f"you come from {here.peer} to port {here.port}, which packet_filter_ssh_from "
            f"({', '.join(ssh_from)}) and packet_filter_ssh_ports ({ports}) would shut out; "
            "add them there"
        )
    return TEXT.format(
        table=TABLE,
        sets=members("lab", params["lab"]) + members("ssh", ssh_from),
        doors=door("ssh", ssh_ports) + door("lab", params["ports"]),
    )


def listing_of(rules: str) -> str:
    """How the kernel lists these rules, asked in an empty network; refuses wrong ones."""
    return run("unshare", "--net", "sh", "-c", f"nft --file - && {LIST}", stdin=rules)


def held() -> str:
    """The kit's table as the kernel holds it, or nothing."""
    return subprocess.run(LIST.split(), capture_output=True, text=True, check=False).stdout


def differs(path: Path, text: str) -> bool:
    """Whether a file is missing or other than this."""
    return not path.is_file() or path.read_text() != text


def apply(rules: str, unit: str, *, check: bool) -> bool:
    """Bring files, unit and kernel to these rules; whether anything changed."""
    new_unit = differs(UNIT, unit)
    asked = ["systemctl", "is-enabled", "--quiet", UNIT.name]
    enabled = subprocess.run(asked, check=False).returncode == 0
    stale = differs(RULES, rules) or held() != listing_of(rules)
    changed = new_unit or stale or not enabled
    if changed and not check:
        listing_of(rules)
        UNIT.write_text(unit)
        RULES.write_text(rules)
        RULES.chmod(0o644)
        run("systemctl", "daemon-reload")
        run("systemctl", "enable", "--quiet", UNIT.name)
        run("systemctl", "reload-or-restart", UNIT.name)
    return changed


def main() -> None:
    """Do what the task asks."""
    addresses = {"type": "list", "elements": "str"}
    ports = {"type": "list", "elements": "int"}
    module = AnsibleModule(
        argument_spec={
            "lab": {**addresses, "required": True},
            "ports": {**ports, "required": True},
            "ssh_from": {**addresses, "default": []},
            "ssh_ports": {**ports, "default": []},
            "unit": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    try:
        rules = rules_of(module.params, connection())
        changed = apply(rules, module.params["unit"].strip() + "\n", check=module.check_mode)
    except FilterError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, rules=rules)


if __name__ == "__main__":
    main()
