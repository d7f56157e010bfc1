"""`rackbench doctor`: what is missing on this machine and on those of the inventory."""

import argparse
import getpass
import os
import platform
import shlex
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from collect.commands.arguments import Commands, command
from collect.commands.exits import FINDINGS, GOOD
from collect.errors import InputError
from collect.files import MIB, expanded, free_mb
from collect.front import ports, ssh
from collect.front.ask import has_root, sudo_rule
from collect.front.bench import BECOME_METHOD, lack_of_root
from collect.front.inventory import Inventory, Node, read_inventory
from collect.front.kit import NO_CHECKOUT, Kit, add_kit, kit_of
from collect.printable import printable
from collect.project import MARK, find_project

_AT_ONCE = 10
_EDITOR = "${EDITOR:-nano}"
_MEMORY_FILE = Path("/proc/meminfo")
_ANALYSIS_MB, _LAB_DISK_MB, _RESULTS_MB = 1500, 10_000, 1000
_NODE_MEMORY_MB = 1800
_VIRTUAL_MEMORY_MB = "2048"
_CLOCKS_S = 2.0
_ASKED = shlex.join(
    [
        "sh",
        "-c",
        "echo time $(date +%s.%N); said=$(LC_ALL=C sudo -n true 2>&1 </dev/null) && echo can-sudo; "
        "case $said in *'have a tty'*) echo sudo-wants-tty; esac; "
        '[ "$(id -u)" = 0 ] && echo is-root; [ -x /usr/bin/python3 ] && echo has-python; '
        "awk '/^MemTotal/ {all = $2} /^Hugetlb/ {huge = $2} "
        'END {print "memory-mb", int((all - huge) / 1024)}\' /proc/meminfo; '
        # The card with the address that ssh reached; a bond or VLAN has no driver.
        "set -- $SSH_CONNECTION; card=/sys/class/net/$(ip -o address show 2>/dev/null | "
        'awk -v at="$3" \'{sub("/.*", "", $4)} $4 == at {print $2; exit}\'); '
        "[ -e $card/device/driver ] && echo link-mbit $(cat $card/speed 2>/dev/null); true",
    ]
)


@dataclass(frozen=True)
class Finding:
    """What is wrong, and the command that fixes it."""

    text: str
    mend: str


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "doctor",
        run,
        "check this machine and the inventory before anything starts",
        """\
Check this machine and those of the inventory: Python, root, memory and disk, ports, clocks,
links, names, keys. It changes nothing. Each finding comes with the command that fixes it.

examples:
  rackbench doctor
  rackbench doctor -i inventory/mylab""",
    )
    add_kit(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    number = 0
    for number, finding in enumerate(examine(options), 1):  # noqa: B007 - their number
        print(f"- {finding.text}\n  fix: {finding.mend}", flush=True)
    print(f"{number or 'no'} finding{'' if number == 1 else 's'}")
    return FINDINGS if number else GOOD


def examine(options: argparse.Namespace) -> Iterator[Finding]:
    """Yield what is wrong, and print what was checked."""
    print(f"this machine: Python {platform.python_version()}, {memory_mb()} MiB of memory")
    try:
        kit = kit_of(options)
    except InputError as error:
        yield Finding(str(error), _mend_checkout(str(error), shlex.quote(options.program)))
        return
    yield from of_this_machine(kit)
    try:
        inventory = read_inventory(kit)
        problems = inventory.problems()
    except InputError as error:
        yield Finding(str(error), f"{_EDITOR} {shlex.quote(_hosts_file(kit))}")
        return
    print(f"{inventory.name}: {inventory.machines()}", flush=True)
    for problem in problems:
        edit = f"{_EDITOR} {shlex.quote(_hosts_file(kit))}"
        yield Finding(problem, f"unset {BECOME_METHOD}" if BECOME_METHOD in problem else edit)
    if inventory.is_virtual:
        yield from of_virtual_lab(inventory, memory_mb("MemAvailable"))
    elif not problems:
        yield from of_clock(_is_synchronised())
        yield from of_machines(inventory)


def of_this_machine(kit: Kit) -> Iterator[Finding]:
    """Yield what this machine lacks for any lab."""
    if memory_mb() < _ANALYSIS_MB:
        yield Finding(
            f"this machine has {memory_mb()} MiB of memory, but long reports need {_ANALYSIS_MB}",
            "free -m   # run `rackbench report` on a machine with more memory",
        )
    if (free := free_mb(kit.root)) < _RESULTS_MB:
        yield Finding(
            f"{kit.root} has {free} MiB free, but results need {_RESULTS_MB}",
            f"du -xh --max-depth=2 {shlex.quote(str(kit.root))} | sort -h | tail",
        )
    for program, package in (("ssh", "openssh-client"), ("git", "git")):
        if shutil.which(program) is None:
            yield Finding(f"{program} is not installed", f"sudo apt-get install {package}")
    if not (kit.checkout / "java-apps/dist/SHA256SUMS").is_file() and not has_root():
        yield Finding(
            "nothing is built yet, and building installs Maven, which needs root",
            f"sudo make -C {shlex.quote(str(kit.checkout))} build",
        )
    try:
        socket.gethostbyname(socket.gethostname())
    except (OSError, UnicodeError):
        name = socket.gethostname()
        yield Finding(
            f"this machine cannot resolve its own name {name}",
            f"echo 127.0.1.1 {name} | sudo tee -a /etc/hosts",
        )


def of_virtual_lab(inventory: Inventory, available_mb: int) -> Iterator[Finding]:
    """Yield what this machine lacks for the virtual lab."""
    values = inventory.hostvars[inventory.nodes[0].name]
    addresses = {str(node.address) for node in inventory.nodes}
    lab, prefix = str(values.get("rackbench_lab")), str(values.get("virtual_lab_prefix"))
    if not has_root():
        yield Finding(
            "the virtual lab needs root, by sudo without a password", sudo_rule(getpass.getuser())
        )
    bridges = _links(prefix)
    if is_up := f"{lab[:13]}-0" in bridges:
        print(f"the virtual lab {lab} is up; `{_same(inventory.kit, 'lab', 'down')}` removes it")
    elif bridges:
        yield Finding(
            f"the network {prefix}.0/24 is taken on this machine by {', '.join(bridges)}",
            "sed -i 's/^virtual_lab_prefix: .*/virtual_lab_prefix: 10.99.0/' "
            + shlex.quote(_lab_file(inventory.kit)),
        )
    memory = str(values.get("virtual_lab_memory_mb"))
    # `rackbench lab up` refuses any other text.
    needed = len(addresses) * int(memory if memory.isdecimal() else _VIRTUAL_MEMORY_MB) // 2
    if available_mb < needed and not is_up:
        yield Finding(
            f"{available_mb} MiB of memory are available, but {len(addresses)} virtual machines "
            f"need {needed}",
            f"{_EDITOR} {shlex.quote(_hosts_file(inventory.kit))}   # fewer workers",
        )
    if (free := free_mb(Path("/var/lib"))) < _LAB_DISK_MB and not is_up:
        yield Finding(
            f"/var/lib has {free} MiB free, but the lab needs {_LAB_DISK_MB}",
            "sudo du -xh --max-depth=2 /var | sort -h | tail",
        )


def of_clock(is_synchronised: bool | None) -> Iterator[Finding]:
    """Yield a finding for a clock that no time server keeps; None is not known."""
    if is_synchronised is False:
        yield Finding(
            "no time server synchronises this machine's clock", "sudo timedatectl set-ntp true"
        )


def of_machines(inventory: Inventory) -> Iterator[Finding]:
    """Yield what the machines of an inventory lack; all are asked at once."""
    if shutil.which("ssh") is None:
        return  # a finding of this machine
    keys = {node.key for node in inventory.nodes if node.key}
    for key in sorted(keys):
        yield from of_key(expanded(key), _hosts_file(inventory.kit))
    sockets = ports.wanted(inventory)

    def examined(node: Node) -> list[Finding]:
        return of_machine(inventory, node, sockets.get(node.name, {}))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for found in pool.map(examined, inventory.nodes):
            yield from found


def of_key(key: Path, hosts: str) -> Iterator[Finding]:
    """Yield what is wrong with a private key that the inventory file `hosts` names."""
    named = shlex.quote(str(key))
    edit = f"{_EDITOR} {shlex.quote(hosts)}   # ansible_ssh_private_key_file: "
    try:
        mode = key.stat().st_mode
    except PermissionError:
        mode = None
    except OSError:
        is_path = not str(key).startswith("~")  # else this machine does not have that account
        make = f"ssh-keygen -t ed25519 -f {named}" if is_path else f"{edit}a key of your own"
        yield Finding(f"the key {key} does not exist", make)
        return
    if mode is not None and stat.S_ISDIR(mode):
        yield Finding(f"the key {key} is a directory", f"{edit}the file of a key")
    elif mode is None or not os.access(key, os.R_OK):
        yield Finding(f"{getpass.getuser()} may not read the key {key}", f"{edit}a key of your own")
    elif mode & 0o077:
        yield Finding(
            f"other accounts may read the key {key}, so ssh refuses it", f"chmod 600 {named}"
        )


def of_machine(inventory: Inventory, node: Node, sockets: ports.Sockets) -> list[Finding]:
    """Return what one machine lacks: name, port, host key, login, and what playbooks need."""
    label = _label(node)
    if not _is_name(node.address):
        hosts = shlex.quote(_hosts_file(inventory.kit))
        wrong = "its address has an empty part, or one of more than 63 letters"
        return [Finding(f"{label}: {wrong}", f"{_EDITOR} {hosts}   # ansible_host: its address")]
    if ssh.is_direct(node) and (closed := _closed(node)):
        return [Finding(f"{label}: {closed[0]}", closed[1])]
    if not ssh.known_fingerprints(node):
        unknown = "its SSH host key is not in known_hosts, so nothing else on it was checked"
        return [Finding(f"{label}: {unknown}", _same(inventory.kit, "trust"))]
    before = time.time()
    done = ssh.answer(node, _ASKED)
    after = time.time()
    if done.returncode == 255:
        reason = (done.stderr.strip().splitlines() or ["ssh gave no reason"])[-1]
        return [
            Finding(
                f"{label}: login failed ({printable(reason)})",
                " ".join(filter(None, ("ssh-copy-id", _way(node), _target(node)))),
            )
        ]
    found = list(of_answer(inventory.kit, node, done.stdout, (before, after)))
    found += of_link(inventory, node, done.stdout)
    return found or list(of_ports(inventory.kit, node, sockets))


def of_answer(kit: Kit, node: Node, said: str, between: tuple[float, float]) -> Iterator[Finding]:
    """Yield what a machine lacks by its own words; it was asked between two moments."""
    label = _label(node)
    facts = _facts_of(said)
    yield from _of_root(kit, node, label, facts)
    if "has-python" not in facts:
        yield Finding(f"{label}: has no python3", f"{_reach(node)} sudo apt-get install python3")
    memory = facts.get("memory-mb", "")
    if memory.isdigit() and int(memory) < _NODE_MEMORY_MB:
        yield Finding(
            f"{label}: has {memory} MiB of memory, but its services need {_NODE_MEMORY_MB}",
            f"{_EDITOR} {shlex.quote(_lab_file(kit))}   # lower the heaps",
        )
    clock = facts.get("time", "")
    seconds = float(clock) if clock.replace(".", "", 1).isdigit() else between[0]
    off = max(between[0] - seconds, seconds - between[1], 0.0)
    if off > _CLOCKS_S:
        yield Finding(
            f"{label}: its clock is {off:.0f} s off this machine's",
            f"{_reach(node)} sudo timedatectl set-ntp true",
        )


def of_link(inventory: Inventory, node: Node, said: str) -> Iterator[Finding]:
    """Yield a network card whose rate is not the declared one, if ssh uses the lab's network."""
    values = inventory.hostvars.get(node.name, {})
    if inventory.is_virtual or values.get("node_address") != values.get("ansible_host"):
        return
    rate = _facts_of(said).get("link-mbit", "")
    declared = str(values.get("rackbench_link_mbit", ""))
    if rate.isdigit() and declared.isdigit() and int(declared) not in {0, int(rate)}:
        yield Finding(
            f"{_label(node)}: its network card has {rate} Mbit/s, but rackbench_link_mbit is "
            f"{declared}",
            f"{_EDITOR} {shlex.quote(_lab_file(inventory.kit))}   # rackbench_link_mbit: {rate}, "
            "unless its cable or switch is at fault",
        )


def _label(node: Node) -> str:
    return f"{node.name} ({ssh.known_as(node)})"


def _facts_of(said: str) -> dict[str, str]:
    return {words[0]: words[-1] for line in said.splitlines() if (words := line.split())}


def _of_root(kit: Kit, node: Node, label: str, facts: Mapping[str, str]) -> Iterator[Finding]:
    """Yield why playbooks could not act as root on a machine."""
    lack = lack_of_root(facts, becomes=node.becomes)
    if lack is None:
        return
    user = node.user or getpass.getuser()
    edit = f"{_EDITOR} {shlex.quote(_hosts_file(kit))}   # ansible_become: "
    tty = f"echo 'Defaults:{user} !requiretty' | sudo tee /etc/sudoers.d/rackbench-tty"
    text, mend = {
        "root": ("is not root, and the inventory does not ask for sudo", f"{edit}true"),
        "sudo": (
            "is root and sudo is not installed, but the inventory asks for sudo",
            f"{edit}false",
        ),
        "terminal": (
            "may use sudo only at a terminal (requiretty)",
            f"{_reach(node)} {shlex.quote(tty)}",
        ),
        "rule": (
            "may not use sudo without a password",
            f"{_reach(node)} {shlex.quote(sudo_rule(user))}",
        ),
    }[lack]
    yield Finding(f"{label}: {user} {text}", mend)


def of_ports(kit: Kit, node: Node, sockets: ports.Sockets) -> Iterator[Finding]:
    """Yield what holds a port on a machine that a service of rackbench needs."""
    for one in ports.holders(kit, node, sockets) if sockets else ():
        named = "no unit" if one.unit == "none" else one.unit
        if one.unit.endswith((".service", ".socket")):
            mend = f"{_reach(node)} sudo systemctl disable --now {shlex.quote(one.unit)}"
        else:
            mend = f"{_EDITOR} {shlex.quote(_lab_file(kit))}   # {one.variable}: another port"
        yield Finding(
            f"{_label(node)}: port {one.port} is held by {one.process} "
            f"({named}, account {one.account})",
            mend,
        )


def _same(kit: Kit, *words: str) -> str:
    """Return a command of rackbench for this inventory and these variables."""
    project = find_project()
    usual = project.inventory if project else kit.checkout / "inventory/virtual"
    named = () if kit.inventories == (str(usual),) else kit.inventories
    inventories = [word for one in named for word in ("-i", one)]
    settings = [word for one in kit.settings for word in ("-e", one)]
    return shlex.join([kit.program, *words, *inventories, *settings])


def _target(node: Node) -> str:
    return f"{node.user}@{node.address}" if node.user else node.address


def _way(node: Node) -> str:
    """Return the options by which ssh and ssh-copy-id reach a machine, as words of a shell."""
    key = f"-i {shlex.quote(str(expanded(node.key)))}" if node.key else ""
    port = f"-p {node.port}" if node.port else ""
    return " ".join(filter(None, (node.arguments, key, port)))


def _reach(node: Node) -> str:
    """Return the beginning of a command that runs something on a machine, and may ask there."""
    return " ".join(filter(None, ("ssh", _way(node), "-t", _target(node))))


def memory_mb(kind: str = "MemTotal") -> int:
    """Return this machine's memory in MiB, all of it or what is available."""
    for line in _MEMORY_FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1]) * 1024 // MIB
    return 0


def _is_name(address: str) -> bool:
    """Return whether a machine can have this address or name; 192.0.2..7 is none."""
    try:
        address.encode("idna")  # as Python does before it looks a name up
    except UnicodeError:
        return False
    return True


def _closed(node: Node) -> tuple[str, str] | None:
    """Return why no connection to a machine's SSH port can be made, and what helps; else None."""
    address, port = ssh.place(node)
    try:
        socket.create_connection((address, port), ssh.CONNECT_S).close()
    except socket.gaierror:
        line = f"echo ADDRESS {address}"
        return "no name server here knows that name", f"{line} | sudo tee -a /etc/hosts"
    except ConnectionRefusedError:
        install = "sudo apt-get install openssh-server"
        return f"its port {port} refuses connections", f"{install}   # there; or correct its port"
    except OSError as error:
        reason = f"its port {port} cannot be reached ({error.strerror or error})"
        return reason, f"ping -c 3 {shlex.quote(address)}   # is it on, and at this address?"
    return None


def _links(prefix: str) -> list[str]:
    """Return the network links of this machine that have an address with this beginning."""
    command = ["ip", "-o", "-4", "address", "show"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    rows = [line.split() for line in done.stdout.splitlines()]
    return [row[1] for row in rows if len(row) > 3 and row[3].startswith(f"{prefix}.")]


def _is_synchronised() -> bool | None:
    """Return whether a time server keeps this clock; None where nothing tells."""
    command = ["timedatectl", "show", "-p", "NTPSynchronized", "--value"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return {"yes": True, "no": False}.get(done.stdout.strip())


def _hosts_file(kit: Kit) -> str:
    path = Path(kit.inventories[0])
    return str(path / "hosts.yml" if path.is_dir() else path)


def _lab_file(kit: Kit) -> str:
    return str(Path(_hosts_file(kit)).parent / "group_vars/all/lab.yml")


def _mend_checkout(text: str, program: str) -> str:
    """Return the command that fixes why there is no checkout, inventory or file of variables."""
    if text == NO_CHECKOUT:
        return "make -C CLONE .venv/ready && CLONE/.venv/bin/rackbench doctor   # CLONE: its path"
    if "no such inventory" in text:
        return f"{program} doctor -i PATH   # a file or a directory that exists"
    if text.startswith("-e @"):
        return f"{program} doctor -e @PATH   # a file that exists"
    if "make -C" in text:
        return text.rpartition(": ")[2]
    return f"{_EDITOR} {shlex.quote(text.partition(f'{MARK}: ')[0] + MARK)}"
