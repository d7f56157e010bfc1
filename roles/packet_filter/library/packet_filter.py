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
  - With C(seconds), new rules are tried first; the action plug-in C(probation) has them kept.
options:
  lab:
    description: Addresses, networks or ranges that may reach C(ports).
    type: list
    elements: str
    required: true
  ports: {description: TCP ports of the services, type: list, elements: int, required: true}
  ssh_from:
    description: Addresses, networks or ranges that may reach SSH; by default all.
    type: list
    elements: str
    default: []
  ssh_ports:
    description: TCP ports of SSH; by default those of sshd and the one that Ansible came in by.
    type: list
    elements: int
    default: []
  more_ports:
    description: Further ports, each with C(port), C(protocol) (tcp or udp) and C(from).
    type: list
    elements: dict
    default: []
  snippets:
    description: Rules of the site by the name of their file, as they stand in a chain of nftables.
    type: dict
    default: {}
  shut_out:
    description: Whether SSH sessions that exist may be shut out.
    type: bool
    default: false
  unit: {description: The systemd unit that loads the rules at boot, type: str, required: true}
  seconds: {description: Time for a new connection; 0 keeps at once, type: int, default: 0}
  state:
    description: Try rules, keep those that were tried, or wait until they are taken back.
    choices: [tried, kept, undone]
    default: tried
"""

EXAMPLES = r"""
- name: Let in two ports from the lab, and SSH from one machine
  probation:
    module: packet_filter
    seconds: 30
    arguments:
      lab: [192.168.1.11-192.168.1.40]
      ports: [8080, 9102]
      ssh_from: [192.168.1.2]
      unit: "{{ lookup('ansible.builtin.file', 'packet-filter.service') }}"
"""

RETURN = r"""
rules:
  description: What nftables was told.
  type: str
  returned: when tried
notes:
  description: Who is let in though nobody was named, and who is shut out.
  type: list
  returned: when rules are tried that are others than before
pending:
  description: Whether the rules are taken back unless they are kept.
  type: bool
  returned: when tried
"""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.host import HostError, output, run, succeeds, write
from ansible.module_utils.probation import OPTIONS, Probation, exit_with
from ansible.module_utils.ssh_session import ssh_session

RULES = Path("/etc/rackbench/packet-filter.nft")
UNIT = Path("/etc/systemd/system/packet-filter.service")
TABLE = "inet rackbench"
# Without counters, which no two moments have alike.
LIST = f"nft --stateless list table {TABLE}"
ROOM = f"table {TABLE}\ndelete table {TABLE}\n"

TEXT = """\
# Managed by Ansible. Loaded whole or not at all; the first two lines make room for the new table.
{room}\
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
        # What a DHCP server says to all, or from another address than was asked.
        udp sport 67 udp dport 68 accept
        ip6 saddr fe80::/10 udp sport 547 udp dport 546 accept
{snippets}\
{doors}\
        meta l4proto tcp reject with tcp reset
        reject
    }}
}}
"""


class FilterError(HostError):
    """The filter cannot be as asked; the text names the thing, the reason and the next step."""


@dataclass(frozen=True)
class Connection:
    """Where somebody comes from, and the port of this node that he came in by."""

    peer: str
    port: int


def connection() -> Connection | None:
    """Return the SSH connection that this process was started by, or None."""
    session = ssh_session()
    return Connection(plain(session.peer), session.port) if session else None


def plain(peer: str) -> str:
    """Return an address without its zone, and as IPv4 where it is."""
    address = ipaddress.ip_address(peer.partition("%")[0])
    return str(getattr(address, "ipv4_mapped", None) or address)


def sessions(tables: str) -> Iterator[Connection]:
    """Yield every established TCP connection of the kernel's tables."""
    for line in tables.splitlines():
        words = line.split()
        if len(words) > 3 and words[3] == "01":
            peer = words[2].partition(":")[0]
            port = int(words[1].partition(":")[2], 16)
            yield Connection(plain(address_of(peer)), port)


def address_of(digits: str) -> str:
    """Return an address of /proc/net/tcp, whose words of four bytes are in machine order."""
    words = [bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8)]
    return str(ipaddress.ip_address(b"".join(words)))


def sessions_here() -> list[Connection]:
    """Return every established TCP connection of this node."""
    tables = (Path(f"/proc/net/{name}") for name in ("tcp", "tcp6"))
    return list(sessions("\n".join(table.read_text() for table in tables if table.exists())))


def let_in_now(table: str, ports: list[int]) -> list[Connection]:
    """Return the connections to these ports that the kernel's table would let in again."""
    found = {one for one in sessions_here() if one.port in ports}
    if "@ssh4 " not in table:
        return list(found)
    return [one for one in found if is_member(one.peer)]


def is_member(peer: str) -> bool:
    """Return whether an address is in the set of those that may reach SSH."""
    version = ipaddress.ip_address(peer).version
    element = (*TABLE.split(), f"ssh{version}", f"{{ {peer} }}")
    return bool(succeeds("nft", "get", "element", *element))


def sshd_ports() -> list[int]:
    """Return the ports that sshd is set to; none when it does not say."""
    told = output("/usr/sbin/sshd", "-T") or ""
    return [int(line.split()[1]) for line in told.splitlines() if line.startswith("port ")]


def bounds(text: str) -> tuple[ipaddress._BaseAddress, ipaddress._BaseAddress]:
    """Return the first and last address of an address, a network or a range."""
    first, dash, last = text.partition("-")
    try:
        if dash:
            low, high = ipaddress.ip_address(first.strip()), ipaddress.ip_address(last.strip())
        else:
            network = ipaddress.ip_network(text)
            low, high = network[0], network[-1]
    except ValueError as error:
        raise FilterError(no_address(text, str(error))) from error
    if low.version != high.version or int(low) > int(high):
        raise FilterError(no_address(text, "its first address is not below its last"))
    if "%" in text:
        raise FilterError(no_address(text, "a zone is one machine's own view"))
    nobody = low.is_unspecified or low.is_loopback or str(low) == "255.255.255.255"
    if low.is_multicast or (low == high and nobody):
        raise FilterError(f"{text!r} is the address of no machine; correct the inventory")
    return low, high


def no_address(text: str, reason: str) -> str:
    """Return what to say of something that should be an address."""
    return (
        f"{text!r} is no address, network or range ({reason}); correct the inventory, which takes "
        "10.0.0.5, 10.0.0.0/24, 10.0.0.5-10.0.0.9 and IPv6 alike, and no names"
    )


def holds(places: list[str], address: str) -> bool:
    """Return whether an address is in one of these places."""
    wanted = ipaddress.ip_address(address)
    return any(
        low.version == wanted.version and low <= wanted <= high for low, high in map(bounds, places)
    )


def ranges(places: list[str], version: int) -> str:
    """Return the addresses of one family, as elements of a set."""
    pairs = sorted({pair for pair in map(bounds, places) if pair[0].version == version})
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in pairs)


def members(name: str, places: list[str]) -> str:
    """Return a set of the addresses of each family."""
    text = ""
    for version in (4, 6):
        elements = ranges(places, version)
        held = f" elements = {{ {elements} }}" if elements else ""
        kind = f"type ipv{version}_addr; flags interval; auto-merge;"
        text += f"    set {name}{version} {{ {kind}{held} }}\n"
    return text


def checked(port: object) -> int:
    """Return a port's number; refuses what is none."""
    try:
        number = int(str(port))
    except ValueError:
        number = 0
    if isinstance(port, bool) or not 1 <= number <= 65535:
        raise FilterError(f"{port!r} is no port; correct the inventory, which takes 1 to 65535")
    return number


def door(name: str, ports: list[int]) -> str:
    """Rules that let the members of a set, or everybody, reach these TCP ports."""
    if not ports:
        return ""
    listed = ", ".join(map(str, sorted({checked(port) for port in ports})))
    to_them = f"tcp dport {{ {listed} }} accept"
    if not name:
        return f"        {to_them}\n"
    return "".join(
        f"        {family} saddr @{name}{version} {to_them}\n"
        for family, version in (("ip", 4), ("ip6", 6))
    )


def more_door(given: Mapping[str, Any]) -> str:
    """Rules for one further port of the site's own."""
    unknown = set(given) - {"port", "protocol", "from"}
    if unknown or "port" not in given:
        raise FilterError(
            f"packet_filter_more_ports has {dict(given)}; write it as "
            "{port: 123, protocol: udp, from: [10.0.0.0/24]}"
        )
    port, protocol, places = given["port"], given.get("protocol", "tcp"), given.get("from")
    if protocol not in ("tcp", "udp"):
        raise FilterError(f"packet_filter_more_ports: {protocol!r} is not tcp or udp; correct it")
    if not isinstance(places, list) or not places:
        raise FilterError(
            f"packet_filter_more_ports lets nobody reach port {port}; write who may as a list: "
            'from: [10.0.0.0/24], or everybody: ["0.0.0.0/0", "::/0"]'
        )
    sources = [(4, "ip"), (6, "ip6")]
    return "".join(
        f"        {family} saddr {{ {elements} }} {protocol} dport {checked(port)} accept\n"
        for version, family in sources
        if (elements := ranges([str(place) for place in places], version))
    )


def snippet(name: str, text: str) -> str:
    """Return the site's own rules out of one file."""
    return f"        # from {name}\n{text.rstrip()}\n"


def rules_of(params: Mapping[str, Any], ssh_ports: list[int]) -> str:
    """Return the ruleset."""
    if params["ports"] and not params["lab"]:
        raise FilterError(
            "packet_filter_lab is empty, so no node could reach another; name the nodes in "
            "rackbench_network"
        )
    ssh_from = params["ssh_from"]
    more = "".join(map(more_door, params["more_ports"]))
    return TEXT.format(
        room=ROOM,
        table=TABLE,
        sets=members("lab", params["lab"]) + (members("ssh", ssh_from) if ssh_from else ""),
        snippets="".join(snippet(name, text) for name, text in sorted(params["snippets"].items())),
        doors=door("ssh" if ssh_from else "", ssh_ports) + door("lab", params["ports"]) + more,
    )


def control_line(places: list[str]) -> str:
    """Return what to write into lab.yml so that SSH comes in from these places."""
    return "rackbench_control: [" + ", ".join(f'"{place}"' for place in places) + "]"


def shut_out(
    params: Mapping[str, Any], here: Connection | None, others: list[Connection], ports: list[int]
) -> list[str]:
    """Return what these rules would newly shut out, each with the line that lets it in."""
    named = params["ssh_from"]
    found = []
    if here and here.port not in ports:
        listed = ", ".join(map(str, ports))
        found.append(
            f"you come from {here.peer} to port {here.port}, and packet_filter_ssh_ports "
            f"({listed}) would shut it; add it there"
        )
    if here and named and not holds(named, here.peer):
        found.append(
            f"you come from {here.peer} to port {here.port} (a jump host's or router's address, if "
            f"there is one between), and rackbench_control does not name it; add it: "
            f"{control_line([*named, here.peer])}"
        )
    peers = {other.peer for other in others}
    away = sorted(
        peer
        for peer in peers - {here.peer if here else ""}
        if named and not ipaddress.ip_address(peer).is_loopback and not holds(named, peer)
    )
    if away:
        found.append(
            f"there are SSH sessions from {', '.join(away)}, which rackbench_control does not "
            f"name and would not let in again; add them: {control_line([*named, *away])}"
        )
    return found


def what_is_let_in(here: Connection | None, ports: list[int]) -> str:
    """Return the warning that nobody was named."""
    listed = ", ".join(map(str, ports))
    example = control_line([here.peer if here else "192.168.1.2"])
    return (
        f"SSH (port {listed}) is let in from everywhere, as rackbench_control names nobody; to "
        f"narrow it, name your control and jump hosts in lab.yml, for example {example}"
    )


def listing_of(rules: str) -> str:
    """Return how the kernel lists these rules, asked in an empty network; refuses wrong ones."""
    listed: str = run("unshare", "--net", "sh", "-c", f"nft --file - && {LIST}", stdin=rules)
    return listed


def refusal(params: Mapping[str, Any], ports: list[int], error: HostError) -> str:
    """Return which of the site's own files nftables does not take, and what it says of it."""
    for name, text in sorted(params["snippets"].items()):
        rules = rules_of({**params, "snippets": {name: text}}, ports)
        try:
            listing_of(rules)
        except HostError as why:
            told = by_its_lines(name, rules, str(why).partition("failed: ")[2])
            return (
                f"{name} is not taken as rules of an input chain, and nothing was loaded; correct "
                f"it on the control host (names of interfaces go with iifname): {told}"
            )
    return str(error)


def by_its_lines(name: str, rules: str, told: str) -> str:
    """Return what nftables says of the rules, with the lines of the file whose text they hold."""
    above = rules.partition(f"# from {name}\n")[0].count("\n") + 1
    return re.sub(r"/dev/stdin:(\d+)", lambda at: f"{name}:{int(at[1]) - above}", told)


def held() -> str:
    """Return the kit's table as the kernel holds it, or nothing."""
    try:
        return str(run(*LIST.split()))
    except HostError:
        return ""


def differs(path: Path, text: str) -> bool:
    """Return whether a file is missing or other than this."""
    return not path.is_file() or path.read_text() != text


class Filter:
    """The node's filter on its way from the rules before to the rules asked for."""

    def __init__(self, module: AnsibleModule) -> None:
        """Nothing is looked at yet."""
        self.params = module.params
        self.check = module.check_mode
        self.unit = module.params["unit"].strip() + "\n"
        self.probation = Probation("packet-filter")
        self.before = self.probation.directory / "before.nft"
        self.new = self.probation.directory / "new.nft"

    def tried(self) -> dict[str, Any]:
        """Load the rules if they are others than before, and let the node go back by itself."""
        here = connection()
        own = {here.port} if here else set()
        ports = self.params["ssh_ports"] or sorted({*own, *sshd_ports()}) or [22]
        rules = rules_of(self.params, ports)
        try:
            wanted = listing_of(rules)
        except HostError as error:
            raise FilterError(refusal(self.params, ports, error)) from error
        now = held()
        others = now != wanted
        stale = others or differs(RULES, rules) or differs(UNIT, self.unit) or not enabled()
        answer: dict[str, Any] = {"changed": stale, "pending": False, "rules": rules}
        if not stale:
            return answer
        answer["notes"] = [] if self.params["ssh_from"] else [what_is_let_in(here, ports)]
        out = shut_out(self.params, here, let_in_now(now, ports), ports) if others else []
        if out:
            if not self.params["shut_out"]:
                raise FilterError(f"{'; '.join(out)}. Or set packet_filter_shut_out: true")
            answer["notes"] += out
        if self.check:
            return answer
        if others and self.params["seconds"]:
            self._load_for_now(rules, now)
            return {
                **answer,
                "pending": True,
                "what": "the packet filter",
                "next_step": "Correct rackbench_control or the site's own rules, and run it again.",
            }
        self._install(rules)
        return answer

    def _load_for_now(self, rules: str, now: str) -> None:
        self.probation.clear()
        self.before.write_text(ROOM + now)
        self.new.write_text(rules)
        with self.probation.armed(self.params["seconds"], f"nft --file {self.before}"):
            run("nft", "--file", str(self.new))

    def kept(self) -> dict[str, Any]:
        """Write down what was tried, for the next boot."""
        self.probation.keep()
        self._install(self.new.read_text())
        self.probation.end()
        return {"changed": True}

    def _install(self, rules: str) -> None:
        write(RULES, rules)
        write(UNIT, self.unit)
        run("systemctl", "daemon-reload")
        run("systemctl", "enable", "--quiet", UNIT.name)
        run("systemctl", "reload-or-restart", UNIT.name)

    def undone(self) -> dict[str, Any]:
        """Wait until the node is back at the rules before, and look whether the kernel is."""
        self.probation.wait(self.params["seconds"])
        former = self.before.read_text().removeprefix(ROOM)
        if held() != former:
            raise FilterError("the kernel holds neither the rules tried nor those before")
        self.probation.end()
        return {"changed": False, "before": "the filter before" if former else "no filter"}


def enabled() -> bool:
    """Return whether the unit loads the rules at boot."""
    return bool(succeeds("systemctl", "is-enabled", "--quiet", UNIT.name))


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
            "more_ports": {"type": "list", "elements": "dict", "default": []},
            "snippets": {"type": "dict", "default": {}},
            "shut_out": {"type": "bool", "default": False},
            "unit": {"type": "str", "required": True},
            **OPTIONS,
        },
        supports_check_mode=True,
    )
    exit_with(module, Filter(module))


if __name__ == "__main__":
    main()
