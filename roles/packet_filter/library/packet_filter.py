#!/usr/bin/python
"""Closes every port of a node except the named ones, and never the one that Ansible uses."""

DOCUMENTATION = r"""
module: packet_filter
short_description: Admits only the traffic that one table of rules names
description:
  - Writes the table C(inet rackbench) of nftables and the units that load it, and loads it, in one
    transaction. Other tables of the node stay as they are, and drop the same packets as before.
  - Compares the kernel's table, not only the file, so it corrects a table that was changed by hand.
  - Refuses rules that would lock out an open SSH session.
  - With C(seconds), new rules are tried first; the action plug-in C(probation) makes them
    permanent.
options:
  rules:
    description: The file of rules, with C(@ssh_ports@) in place of the TCP ports of SSH.
    type: str
    required: true
  places: {description: Further addresses and networks to check, type: list, elements: str}
  ssh_from: {description: Those that may reach SSH; empty for all, type: list, elements: str}
  ssh_ports:
    description: TCP ports of SSH; by default those of sshd and of Ansible's connection.
    type: list
    elements: int
  shut_out: {description: Whether open SSH sessions may be locked out, type: bool, default: false}
  units:
    description: Files below C(/etc/systemd/system); C(packet-filter.service) loads the rules.
    type: dict
    required: true
  seconds: {description: Time for a new connection; 0 keeps at once, type: int, default: 0}
  state:
    description: Try rules, keep those that were tried, or wait until they are rolled back.
    choices: [tried, kept, undone]
    default: tried
"""

EXAMPLES = r"""
- name: Admit the traffic of a template, and SSH from one machine
  probation:
    module: packet_filter
    seconds: 30
    arguments:
      rules: "{{ lookup('ansible.builtin.template', 'packet-filter.nft.j2') }}"
      ssh_from: [192.168.1.2]
      units:
        packet-filter.service: "{{ lookup('ansible.builtin.file', 'packet-filter.service') }}"
"""

RETURN = r"""
rules: {description: The rules that nftables loaded, type: str, returned: when tried}
notes: {description: Who is admitted unnamed or locked out, type: list, returned: with other rules}
"""

import ipaddress
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.host import HostError, output, run, succeeds, text_of, write
from ansible.module_utils.probation import OPTIONS, OnProbation, exit_with
from ansible.module_utils.ssh_session import Session, plain, ssh_session

RULES = Path("/etc/rackbench/packet-filter.nft")
UNITS = Path("/etc/systemd/system")
UNIT = "packet-filter.service"
TABLE = "inet rackbench"
# Without counters, which change all the time.
LIST = f"nft --stateless list table {TABLE}"
ROOM = f"table {TABLE}\ndelete table {TABLE}\n"


def sessions(listing: str) -> set[Session]:
    """Return the connections in the output of `ss`: two numbers, this node's end, the other end."""
    ends = (line.split()[2:4] for line in listing.splitlines())
    return {
        Session(plain(peer.rpartition(":")[0].strip("[]")), int(own.rpartition(":")[2]))
        for own, peer in ends
    }


def let_in_now(table: str, ports: list[int]) -> list[Session]:
    """Return the connections to these ports that the kernel's table would admit again."""
    listed = run("ss", "--no-header", "--tcp", "--numeric", "state", "established")
    found = [one for one in sessions(listed) if one.port in ports]
    return [one for one in found if is_member(one.peer)] if "@ssh4 " in table else found


def is_member(peer: str) -> bool:
    """Return whether an address may reach SSH by the table's set."""
    version = ipaddress.ip_address(peer).version
    element = (*TABLE.split(), f"ssh{version}", f"{{ {peer} }}")
    return bool(succeeds("nft", "get", "element", *element))


def sshd_ports() -> list[int]:
    """Return the ports in the settings of sshd, and of its socket where that is on.

    None if neither reports them. A line `port` need not hold: a `listenaddress` may name another.
    """
    told = output("/usr/sbin/sshd", "-T") or ""
    named = re.findall(r"^listenaddress \S+:(\d+)(?: |$)", told, re.M)
    ports = {*(named or re.findall(r"^port (\d+)$", told, re.M))}
    socket = output("systemctl", "show", "-p", "ActiveState,Listen", "ssh.socket") or ""
    if "ActiveState=active" in socket.splitlines():
        ports.update(re.findall(r"^Listen=(?:\S*:)?(\d+) \(Stream\)$", socket, re.M))
    return sorted(map(int, ports))


def bounds(text: str) -> tuple[ipaddress._BaseAddress, ipaddress._BaseAddress]:
    """Return the first and last address of an address, a network or a range."""
    # A zone has a meaning on one machine only.
    first, dash, last = text.replace("%", " of zone ").partition("-")
    try:
        if dash:
            low, high = ipaddress.ip_address(first.strip()), ipaddress.ip_address(last.strip())
        else:
            network = ipaddress.ip_network(first)
            low, high = network[0], network[-1]
        is_range = low.version == high.version and int(low) <= int(high)
        wrong = "" if is_range else "its first address is not below its last"
    except ValueError as error:
        wrong = str(error)
    if wrong:
        raise HostError(
            f"{text!r} is not an address, network or range ({wrong}); correct the inventory, which "
            "takes 10.0.0.5, 10.0.0.0/24, 10.0.0.5-10.0.0.9 and IPv6 alike, and no names"
        )
    nobody = low.is_unspecified or low.is_loopback or str(low) == "255.255.255.255"
    if low.is_multicast or (low == high and nobody):
        raise HostError(f"{text!r} is not the address of a machine; correct the inventory")
    return low, high


def holds(places: list[str], address: str) -> bool:
    """Return whether an address is in one of these places."""
    wanted = ipaddress.ip_address(address)
    return any(
        low.version == wanted.version and low <= wanted <= high for low, high in map(bounds, places)
    )


def control_line(named: list[str], peers: list[str]) -> str:
    """Return the line for lab.yml that admits these and the peers to SSH.

    It names the network of a peer's IPv6 address, because the address may last only a day.
    """
    lasting = [f"{ipaddress.ip_interface(f'{p}/64').network}" if ":" in p else p for p in peers]
    places = ", ".join(f'"{place}"' for place in dict.fromkeys([*named, *lasting]))
    why = "the network of an IPv6 address, which may be a temporary one; name a lasting one instead"
    return f"rackbench_control: [{places}]" + (f" ({why})" if lasting != peers else "")


def shut_out(
    named: list[str], here: Session | None, others: Iterable[Session], ports: list[int]
) -> list[str]:
    """Return the sessions that these rules newly lock out, each with a line that admits it."""
    found = []
    if here and here.port not in ports:
        found.append(
            f"your session comes from {here.peer} to port {here.port}, and packet_filter_ssh_ports "
            f"({', '.join(map(str, ports))}) would close it; add it there"
        )
    if here and named and not holds(named, here.peer):
        found.append(
            f"your session comes from {here.peer} to port {here.port} (the address of a jump host "
            f"or router, if there is one), and rackbench_control does not name it; add it: "
            f"{control_line(named, [here.peer])}"
        )
    peers = {other.peer for other in others} - {here.peer if here else ""}
    away = sorted(
        peer
        for peer in peers
        if named and not ipaddress.ip_address(peer).is_loopback and not holds(named, peer)
    )
    if away:
        found.append(
            f"SSH sessions from {', '.join(away)} are open, but rackbench_control does not name "
            f"them, so they would be locked out; add them: {control_line(named, away)}"
        )
    return found


def what_is_let_in(here: Session | None, ports: list[int]) -> str:
    """Return the warning that no address was named."""
    return (
        f"SSH (port {', '.join(map(str, ports))}) is open to all addresses, as rackbench_control "
        "names none; to limit it, name your control and jump hosts in lab.yml, for example "
        f"{control_line([], [here.peer if here else '192.168.1.2'])}"
    )


def listing_of(rules: str) -> str:
    """Return the kernel's listing of these rules, from an empty network; refuse invalid rules."""
    try:
        listed: str = run("unshare", "--net", "sh", "-c", f"nft --file - && {LIST}", stdin=rules)
    except HostError as error:
        told = str(error).partition("failed: ")[2] or str(error)
        raise HostError(
            "nftables refuses the rules, and nothing was loaded; correct the inventory's "
            "ports and addresses, or the site's own file that is named (name interfaces by "
            f"iifname): {in_their_files(rules, told)}"
        ) from error
    return listed


def in_their_files(rules: str, told: str) -> str:
    """Return nftables' message about the rules, if possible with the site's own file and line.

    Each file follows a line with its name and ends before rackbench's next comment.
    """

    def named(place: re.Match[str]) -> str:
        above = rules.splitlines()[: int(place[1])]
        starts = [at for at, line in enumerate(above) if line.startswith("        # ")]
        name = above[starts[-1]].strip().removeprefix("# from ") if starts else ""
        return f"{name}:{len(above) - starts[-1] - 1}" if name.endswith(".nft") else place[0]

    return re.sub(r"/dev/stdin:(\d+)", named, told)


def held() -> str:
    """Return rackbench's table as the kernel holds it, or nothing."""
    return str(run("sh", "-c", f"{LIST} || true"))


class Filter(OnProbation):
    """The node's filter on its way from the old rules to the new ones."""

    kind = "packet-filter"

    def files(self, rules: str) -> dict[Path, str]:
        """Return the files that a boot reads, with their texts."""
        units = self.params["units"].items()
        return {RULES: rules, **{UNITS / name: text for name, text in units}}

    def tried(self) -> dict[str, Any]:
        """Load the rules if they differ from the old ones, and schedule their rollback."""
        here = ssh_session()
        own = {here.port} if here else set()
        ports = self.params["ssh_ports"] or sorted({*own, *sshd_ports()}) or [22]
        named = self.params["ssh_from"]
        for place in [*self.params["places"], *named]:
            bounds(place)
        rules = self.params["rules"].replace("@ssh_ports@", ", ".join(map(str, ports)))
        # site.yml would have installed nftables by now.
        if self.check and not succeeds("nft", "--version"):
            return {"changed": True, "pending": False, "rules": rules}
        wanted, now = listing_of(rules), held()
        others = now != wanted
        if (UNITS / UNIT).exists() and not RULES.exists():
            raise HostError(
                f"{UNITS / UNIT} is there, and rackbench did not make it; rename or remove it"
            )
        files = self.files(rules).items()
        at_boot = succeeds("systemctl", "is-enabled", "--quiet", UNIT)
        stale = others or not at_boot or any(text_of(path) != text for path, text in files)
        answer: dict[str, Any] = {"changed": stale, "pending": False, "rules": rules}
        if not stale:
            return answer
        answer["notes"] = [] if named else [what_is_let_in(here, ports)]
        out = shut_out(named, here, let_in_now(now, ports), ports) if others else []
        if out:
            if not self.params["shut_out"]:
                raise HostError(f"{'; '.join(out)}. Or set packet_filter_shut_out: true")
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
        """Save the tried rules for the next boot."""
        self.probation.keep()
        self._install(self.new.read_text())
        self.probation.end()
        return {"changed": True}

    def _install(self, rules: str) -> None:
        for path, text in self.files(rules).items():
            write(path, text)
        run("systemctl", "daemon-reload")
        run("systemctl", "enable", "--quiet", UNIT)
        run("systemctl", "reload-or-restart", UNIT)

    def undone(self) -> dict[str, Any]:
        """Wait until the node has restored the old rules, and check that the kernel has them."""
        self.probation.wait(self.params["seconds"])
        former = self.before.read_text().removeprefix(ROOM)
        if held() != former:
            raise HostError("the kernel has neither the tried rules nor the old ones")
        self.probation.end()
        return {"changed": False, "before": "the previous filter" if former else "no filter"}


def main() -> None:
    """Do what the task asks."""
    addresses = {"type": "list", "elements": "str", "default": []}
    module = AnsibleModule(
        argument_spec={
            "rules": {"type": "str", "required": True},
            "places": addresses,
            "ssh_from": addresses,
            "ssh_ports": {"type": "list", "elements": "int", "default": []},
            "shut_out": {"type": "bool", "default": False},
            "units": {"type": "dict", "required": True},
            **OPTIONS,
        },
        supports_check_mode=True,
    )
    exit_with(module, Filter(module))


if __name__ == "__main__":
    main()
