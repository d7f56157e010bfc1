#!/usr/bin/python
"""Describes a node in one dictionary: hardware, kernel, packages and rackbench's own files."""

DOCUMENTATION = r"""
module: fingerprint
short_description: Takes the fingerprint of a node
description:
  - Reads the properties in which two nodes may differ as measuring instruments. Changes nothing.
  - An item that cannot be read on this node is absent, not empty.
options:
  files: {description: Globs of files in the fingerprint, type: list, elements: str, default: []}
  files_not:
    description: Globs of those among them that are secret or differ by design.
    type: list
    elements: str
    default: []
  peer:
    description: >-
      Address and port (C(address:port)) of another node's health service, to measure the link to;
      empty measures nothing.
    type: str
    default: ""
  sysctls: {description: Kernel settings to read, type: list, elements: str, default: []}
  address: {description: The node's address on the lab network, type: str, required: true}
  roles:
    description: >-
      The words for the nodes' addresses in settings, by address, for example their roles. Files
      with these addresses then compare as equal if the addresses have the same roles.
    type: dict
    default: {}
  own: {description: The words for the node's own addresses outside lists, type: dict, default: {}}
  brief: {description: Whether to read only items that a sweep sets, type: bool, default: false}
  declared: {description: The settings that should be in force (README), type: dict, default: {}}
"""

EXAMPLES = r"""
- name: Take the fingerprint
  fingerprint:
    address: 192.168.1.11
    files: [/etc/rackbench/**/*]
    sysctls: [net.ipv4.tcp_congestion_control]
  register: taken
"""

RETURN = r"""
fingerprint:
  description: The items, by name.
  type: dict
  returned: always
undeclared:
  description: Settings that differ from the declaration, with C(item), C(value) and C(others).
  type: list
  returned: always
"""

import fnmatch
import hashlib
import json
import os
import platform
import re
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.host import output, read
from ansible.module_utils.in_force import not_in_force
from ansible.module_utils.kernel_words import kernel_words
from ansible.module_utils.lab_addresses import CONTROL, Roles, plain
from ansible.module_utils.netem import delay_and_loss
from ansible.module_utils.running_jvms import JAVA, Jvm, running
from ansible.module_utils.ssh_session import ssh_session

CONNECTIONS = 5
LEAST_TRANSFERS, MOST_TRANSFERS = 3, 12
NEAR = 0.9  # of the rate that the link allows
CONNECT_S = 2.0
ANSWER_S = 30.0
"""The first request starts the peer's health service, which takes seconds on a slow machine."""
BLOCK_BYTES = 1 << 16
# The kernel's value for no request.
NO_LATENCY_US = 2_000_000_000
NETWORK = Path("/sys/class/net")
# The fields that identify an Arm processor, which has no model name.
ARM = ("CPU implementer", "CPU part", "CPU variant", "CPU revision")


def processor() -> dict[str, object]:
    """Model, cores, microcode and turbo of the CPU."""
    blocks = re.split(r"\n\s*\n", read("/proc/cpuinfo") or "")
    cores = [dict(re.findall(r"^(.*?)\s*: *(.*)$", block, re.M)) for block in blocks]
    base = "/sys/devices/system/cpu"
    return {
        "cpu_model": "; ".join(sorted({model for core in cores if (model := model_of(core))}))
        or None,
        "cores": os.cpu_count(),
        "microcode": cores[0].get("microcode"),
        "clock_source": read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "no_turbo": read(f"{base}/intel_pstate/no_turbo"),
        "boost": read(f"{base}/cpufreq/boost"),
    }


def governor() -> str | None:
    """Return the frequency governors of the cores; None if the kernel has none."""
    paths = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    return ", ".join(sorted({text for path in paths if (text := read(str(path)))})) or None


def model_of(core: Mapping[str, str]) -> str:
    """Return a core's model from /proc/cpuinfo: its name, or on Arm its numbers."""
    numbers = [f"{name.removeprefix('CPU ')} {core[name]}" for name in ARM if name in core]
    return core.get("model name") or ", ".join(numbers)


def memory() -> dict[str, object]:
    """Memory and swap in MiB, the huge page setting, and the number of NUMA nodes."""
    info = dict(re.findall(r"^(\w+):\s+(\d+)", read("/proc/meminfo") or "", re.M))
    return {
        "memory_mb": int(info["MemTotal"]) // 1024,
        "swap_mb": int(info.get("SwapTotal", 0)) // 1024,
        "huge_pages": read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "numa_nodes": len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None,
    }


def idle() -> dict[str, object]:
    """Return the sleep settings of processors: driver, governor, states, requested latency.

    A state that is off on only some processors is named with their number.
    """
    base = "/sys/devices/system/cpu"
    off: dict[str, int] = {}
    for state in Path(base).glob("cpu[0-9]*/cpuidle/state*"):
        name = read(f"{state}/name") or state.name
        off[name] = off.get(name, 0) + (read(f"{state}/disable") != "0")
    states = [f"{name} off on {count}" if count else name for name, count in sorted(off.items())]
    return {
        "idle_driver": read(f"{base}/cpuidle/current_driver"),
        "idle_governor": read(f"{base}/cpuidle/current_governor")
        or read(f"{base}/cpuidle/current_governor_ro"),
        "idle_states": ", ".join(states) or None,
        "idle_latency_us": idle_latency(),
    }


def idle_latency() -> int | None:
    """Return the longest wake-up time that a program requests, in µs; None without a request."""
    try:
        (latency,) = struct.unpack("=i", Path("/dev/cpu_dma_latency").read_bytes()[:4])
    except (OSError, struct.error):
        return None
    return latency if latency < NO_LATENCY_US else None


def interrupts(cards: Iterable[str]) -> dict[str, object]:
    """Return the processors that serve interrupts: by default, and for the lab's cards.

    Interrupt numbers differ between machines, but not how many go where. irqbalance moves them.
    """
    places = [place for card in cards for place in (f"{card}/device", f"{card}/device/..")]
    numbers = [path.name for place in places for path in (NETWORK / place).glob("msi_irqs/*")]
    served = Counter(read(f"/proc/irq/{number}/smp_affinity_list") for number in numbers)
    lists = ", ".join(f"{count} on {cpus}" for cpus, count in sorted(served.items(), key=str))
    moved = output("systemctl", "is-active", "irqbalance")
    return {
        "irq_default_affinity": read("/proc/irq/default_smp_affinity"),
        "link_irq_affinity": "moved by irqbalance" if moved else lists or None,
    }


def time_source() -> str | None:
    """Return what sets the clock, or None if it is unknown. This starts no service."""
    if output("systemd-detect-virt", "--container"):
        return "host's clock"
    if tracking := output("chronyc", "-n", "-c", "tracking"):
        return f"chrony {tracking.split(',')[1] or 'without a source'}"
    if output("systemctl", "is-active", "systemd-timesyncd"):
        shown = output("timedatectl", "show-timesync", "--property=ServerAddress", "--value")
        return f"timesyncd {shown or 'without a source'}"
    if peers := output("ntpq", "-pn"):
        chosen = re.search(r"^[*o](\S+)", peers, re.M)
        return f"ntpd {chosen[1] if chosen else 'without a source'}"
    return None


def link(address: str) -> dict[str, Any]:
    """Return the link of the lab's address: driver, speed, duplex, MTU, and tc's settings."""
    for entry in json.loads(output("ip", "-json", "address", "show") or "[]"):
        if plain(address) in (plain(info["local"]) for info in entry["addr_info"]):
            return {
                "link_device": entry["ifname"],
                "link_mtu": entry["mtu"],
                "link_duplex": read(f"{NETWORK}/{entry['ifname']}/duplex"),
                **shaped(entry["ifname"]),
                **hardware(cards_of(entry["ifname"])),
            }
    return {}


def cards_of(device: str) -> list[str]:
    """Return the devices below a network device: the cards of a bond or VLAN, or itself."""
    lower = sorted(path.name.removeprefix("lower_") for path in (NETWORK / device).glob("lower_*"))
    return [card for one in lower for card in cards_of(one)] or [device]


def hardware(cards: list[str]) -> dict[str, object]:
    """Return the drivers of cards and the slowest speed in Mbit/s: any of them may carry a call.

    A port of a bond without a cable carries none, and its speed is -1. The number of such ports is
    `link_down`, if there are any.
    """
    drivers = [NETWORK / card / "device/driver" for card in cards]
    told = [speed for card in cards if (speed := read(f"{NETWORK}/{card}/speed"))]
    speeds = [speed for speed in told if int(speed) > 0] or told
    without = [
        card
        for card, driver in zip(cards, drivers, strict=True)
        if driver.exists() and read(f"{NETWORK}/{card}/carrier") == "0"
    ]
    down = {"link_down": len(without)} if without else {}
    return {
        **down,
        "link_driver": ", ".join(sorted(d.resolve().name for d in drivers if d.exists())) or None,
        "link_speed_mbit": min(speeds, key=int, default=None),
    }


def shaped(device: str) -> dict[str, float | None]:
    """Return the rate of a device's shaper in Mbit/s; delay in ms and loss in percent, if any.

    tc's JSON has bytes a second, whatever was written.
    """
    queues = json.loads(output("tc", "-json", "qdisc", "show", "dev", device) or "[]")
    rates = [row["options"]["rate"] * 8 / 1e6 for row in queues if row["kind"] == "tbf"]
    delay_ms, loss = delay_and_loss(queues)
    impaired = {"link_delay_ms": delay_ms, "link_loss": loss}
    return {
        "link_shaped_mbit": rates[0] if rates else None,
        **{name: value for name, value in impaired.items() if value},
    }


def disk() -> dict[str, object]:
    """Return the storage of the root file system.

    In a container or over a network it has no device of its own.
    """
    number = Path("/").stat().st_dev
    entry = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    device = entry.parent if (entry / "partition").exists() else entry
    spins = read(f"{device}/queue/rotational")
    mounts = (line.split() for line in (read("/proc/self/mounts") or "").splitlines())
    return {
        "disk_file_system": next((words[2] for words in mounts if words[1] == "/"), None),
        "disk_type": {"0": "solid state", "1": "rotating"}.get(spins or ""),
        "disk_model": read(f"{device}/device/model"),
    }


def allowed_mbit(carrier: Mapping[str, Any]) -> float:
    """Return the rate that the shaper or else the hardware of a link allows; 0 for none."""
    speed = carrier.get("link_speed_mbit") if carrier.get("link_driver") else None
    return max(0.0, float(carrier.get("link_shaped_mbit") or speed or 0))


def peer_link(peer: str, allowed: float) -> dict[str, object]:
    """Round trip (ms) and rate (Mbit/s) to a peer's health service; nothing if it is away.

    The round trip is the shortest of some TCP connects, the rate the best of a few transfers of
    at most a tenth of a second. Other work on the nodes can only worsen either, so more of them
    follow while the rate is below the link's. They alternate, because the peer may itself be
    sending at full rate for a while.
    """
    if not peer:
        return {}
    rates, trips = [], []
    try:
        for tried in range(1, MOST_TRANSFERS + 1):
            trips += [connect_seconds(peer) for _ in range(CONNECTIONS)]
            rates.append(transfer_mbit(peer))
            if tried >= LEAST_TRANSFERS and max(rates) >= NEAR * allowed:
                break
        trips += [connect_seconds(peer) for _ in range(CONNECTIONS)]
    except OSError:
        return {}
    return {"link_rtt_ms": round(min(trips) * 1e3, 3), "link_measured_mbit": round(max(rates), 1)}


def reach(peer: str) -> socket.socket:
    """Connect to a peer."""
    address, _, port = peer.rpartition(":")
    return socket.create_connection((address.strip("[]"), int(port)), CONNECT_S)


def connect_seconds(peer: str) -> float:
    """Return how long one TCP connect takes, which is one round trip."""
    began = time.perf_counter()
    reach(peer).close()
    return time.perf_counter() - began


def transfer_mbit(peer: str) -> float:
    """Return the rate of one transfer from its first block on."""
    with reach(peer) as connection:
        connection.settimeout(ANSWER_S)
        connection.sendall(b"GET /stream HTTP/1.0\r\n\r\n")
        if not connection.recv(BLOCK_BYTES):
            raise ConnectionError(f"{peer} sends nothing")
        began, received = time.perf_counter(), 0
        while block := connection.recv(BLOCK_BYTES):
            received += len(block)
        return received * 8 / 1e6 / (time.perf_counter() - began)


def jvms(running: Mapping[str, Jvm], roles: Roles) -> dict[str, str]:
    """Heap, flags, executable and placement of each running JVM of rackbench's own units."""
    found = {}
    for unit, jvm in running.items():
        heap = [flag for flag in jvm.flags if flag.startswith(("-Xmx", "-Xms"))]
        others = [flag for flag in jvm.flags if flag not in heap]
        found[f"{unit} heap"] = " ".join(heap)
        found[f"{unit} flags"] = roles.neutral(" ".join(others))
        found[f"{unit} executable"] = jvm.executable
        found[f"{unit} placement"] = jvm.placement
    return found


def packages() -> dict[str, object]:
    """Return every installed package with its version, and their hash."""
    form = "${db:Status-Status} ${Package} ${Version}\n"
    listed = (output("dpkg-query", "-W", "-f", form) or "").splitlines()
    installed = sorted(row.partition(" ")[2] for row in listed if row.startswith("installed "))
    return {
        "packages": dict(line.split(" ", 1) for line in installed),
        "packages_sha256": hashlib.sha256("\n".join(installed).encode()).hexdigest(),
    }


def digest(path: Path, roles: Roles) -> str:
    """Return a file's SHA-256; in a setting, words for their roles replace the lab's addresses."""
    content = path.read_bytes()
    if path.is_relative_to("/etc"):
        content = roles.neutral(content.decode("latin-1")).encode("latin-1")
    return hashlib.sha256(content).hexdigest()


def files(patterns: list[str], but: list[str], roles: Roles) -> dict[str, str]:
    """SHA-256 of every file that the patterns name."""
    found = {path for pattern in patterns for path in Path("/").glob(pattern.lstrip("/"))}
    return {
        str(path): digest(path, roles)
        for path in sorted(found)
        if path.is_file() and not any(fnmatch.fnmatch(str(path), pattern) for pattern in but)
    }


def unchanging(
    params: Mapping[str, Any], roles: Roles, carrier: Mapping[str, Any]
) -> dict[str, object]:
    """Return the items that no sweep sets."""
    release = platform.freedesktop_os_release()
    return {
        "os": release.get("PRETTY_NAME"),
        "kernel": platform.release(),
        "kernel_command_line": kernel_words(
            roles.neutral(read("/proc/cmdline") or ""), platform.node()
        ),
        "architecture": platform.machine(),
        "time_zone": os.path.realpath("/etc/localtime").removeprefix("/usr/share/zoneinfo/"),
        "jdk": output(JAVA, "--version") or output("java", "--version"),
        "failed_units": output("systemctl", "--failed", "--plain", "--no-legend"),
        "files": files(params["files"], params["files_not"], roles),
        "time_source": time_source(),
        **processor(),
        **idle(),
        **disk(),
        **interrupts(cards_of(carrier["link_device"]) if carrier else []),
        **peer_link(params["peer"], allowed_mbit(carrier)),
        **packages(),
    }


def main() -> None:
    """Answer with the items that could be read."""
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "str", "default": []},
            "files_not": {"type": "list", "elements": "str", "default": []},
            "peer": {"type": "str", "default": ""},
            "sysctls": {"type": "list", "elements": "str", "default": []},
            "address": {"type": "str", "required": True},
            "roles": {"type": "dict", "default": {}},
            "own": {"type": "dict", "default": {}},
            "brief": {"type": "bool", "default": False},
            "declared": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    control = {session.peer: CONTROL} if (session := ssh_session()) else {}
    roles = Roles({**control, **module.params["roles"]}, module.params["own"])
    carrier = link(module.params["address"])
    services = running()
    items: dict[str, object] = {
        "sysctls": {
            name: value
            for name in module.params["sysctls"]
            if (value := read("/proc/sys/" + name.replace(".", "/"))) is not None
        },
        "jvms": jvms(services, roles),
        "governor": governor(),
        **memory(),
        **carrier,
    }
    if not module.params["brief"]:
        items |= unchanging(module.params, roles, carrier)
    module.exit_json(
        changed=False,
        fingerprint={name: value for name, value in items.items() if value is not None},
        undeclared=not_in_force(
            module.params["declared"], services, allowed_mbit(carrier), carrier
        ),
    )


if __name__ == "__main__":
    main()
